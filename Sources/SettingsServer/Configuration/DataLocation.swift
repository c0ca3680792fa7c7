internal import SettingsModel
package import SettingsWeb

/// Which directory holds the data, and who said so.
package struct DataLocation: Hashable, Sendable {
    package let path: String
    /// Who said so, for the log.
    package let reason: String

    /// The directory of a configuration, or the default one of the user who runs the daemon.
    ///
    /// - Parameters:
    ///   - environment: the value of an environment variable, if it is set.
    ///   - home: the home directory of the user that the system has on record.
    package init(
        configured: String?, isRoot: Bool, environment: (String) -> String?, home: () -> String?
    ) throws(ConfigurationError) {
        if let configured {
            self.init(path: configured, reason: "as configured")
        } else if let given = environment("STATE_DIRECTORY"), let first = Self.first(of: given) {
            self.init(path: first, reason: "from $STATE_DIRECTORY")
        } else if isRoot {
            self.init(path: "/var/lib/settingsd", reason: "the default for root")
        } else if let state = environment("XDG_STATE_HOME"), state.hasBytePrefix("/") {
            self.init(path: Self.settingsd(in: state), reason: "from $XDG_STATE_HOME")
        } else if let home = environment("HOME") ?? home(), home.hasBytePrefix("/") {
            self.init(path: Self.settingsd(in: Self.join(home, ".local/state")), reason: "the default for a user")
        } else {
            throw ConfigurationError(
                "there is no home directory to keep data in", remedy: "name a data directory with --data")
        }
    }

    private init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// A path as it was given, or what keeps it from being one.
    static func path(_ text: String, called name: String) throws(ConfigurationError) -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw ConfigurationError("\(name) is no path", remedy: "it must be one, such as /var/lib/settingsd")
        }
        return text
    }

    /// The service manager gives several directories with colons between them, if its unit asks for several.
    private static func first(of list: String) -> String? {
        list.utf8.split(separator: UInt8(ascii: ":")).first.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func settingsd(in directory: String) -> String {
        join(directory, "settingsd")
    }

    private static func join(_ directory: String, _ name: String) -> String {
        directory.utf8.last == UInt8(ascii: "/") ? directory + name : "\(directory)/\(name)"
    }
}
