internal import SettingsModel
package import SettingsWeb

/// The path of the data directory, and the reason for its choice.
package struct DataLocation: Hashable, Sendable {
    package let path: String
    /// The reason for the choice of this path, such as `from $STATE_DIRECTORY`, for the log.
    package let reason: String

    /// Chooses the configured directory or, without one, the default directory of the user who runs the daemon.
    ///
    /// - Parameters:
    ///   - configured: the value of the option `data`; nil if it is not set.
    ///   - environment: returns the value of an environment variable; nil if it is not set, or if it is empty.
    ///   - home: returns the home directory from the user database of the system; nil if there is none.
    package init(
        configured: String?, isRoot: Bool, environment: (String) -> String?, home: () -> String?
    ) throws(ConfigurationError) {
        if let configured {
            self.init(path: configured, reason: "as configured")
        } else if let list = environment("STATE_DIRECTORY"), let first = Self.first(of: list) {
            self.init(path: first, reason: "from $STATE_DIRECTORY")
        } else if isRoot {
            self.init(path: "/var/lib/settingsd", reason: "the default for root")
        } else if let state = environment("XDG_STATE_HOME"), state.hasBytePrefix("/") {
            self.init(path: Self.settingsd(in: state), reason: "from $XDG_STATE_HOME")
        } else if let home = environment("HOME") ?? home(), home.hasBytePrefix("/") {
            let state = Self.join(home, ".local/state")
            self.init(path: Self.settingsd(in: state), reason: "the default for users other than root")
        } else {
            throw ConfigurationError(
                "cannot choose a data directory: the user has no home directory",
                remedy: "set the data directory with --data")
        }
    }

    private init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }

    /// Returns the text if it can be a path. Otherwise throws an error. `name` is the option in the error message.
    static func path(_ text: String, named name: String) throws(ConfigurationError) -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw ConfigurationError("\(name) is not a path", remedy: "it must be a path such as /var/lib/settingsd")
        }
        return text
    }

    /// Returns the first directory of a list. systemd separates the directories with colons.
    private static func first(of list: String) -> String? {
        list.utf8.split(separator: UInt8(ascii: ":")).first.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func settingsd(in directory: String) -> String { join(directory, "settingsd") }

    private static func join(_ directory: String, _ name: String) -> String {
        directory.utf8.last == UInt8(ascii: "/") ? directory + name : "\(directory)/\(name)"
    }
}
