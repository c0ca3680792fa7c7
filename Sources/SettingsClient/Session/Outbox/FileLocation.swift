internal import Platform
internal import SettingsModel

/// The location of the outbox files or the cache file of an adapter.
public struct FileLocation: Equatable, Sendable {
    enum Choice: Equatable, Sendable {
        case none
        case usual
        case directory(String)
    }

    let choice: Choice

    /// No file.
    public static let none = FileLocation(choice: .none)

    /// The standard directory of the user: for an outbox `$XDG_STATE_HOME/settings/outbox`, for a cache
    /// `$XDG_CACHE_HOME/settings`. If the variable is not an absolute path, the directories are
    /// `~/.local/state/settings/outbox` and `~/.cache/settings`. If `HOME` is not an absolute path either, there is no
    /// file.
    public static let usual = FileLocation(choice: .usual)

    /// A directory. Several programs may share it. If the directory does not exist, the adapter creates it so that only
    /// the user can access it. A relative path is resolved when this method is called.
    ///
    /// - Parameter path: the path of the directory.
    public static func directory(_ path: String) -> FileLocation {
        guard path.utf8.first != UInt8(ascii: "/"), let workingDirectory = CurrentProcess.workingDirectory else {
            return FileLocation(choice: .directory(path))
        }
        return FileLocation(choice: .directory("\(workingDirectory)/\(path)"))
    }
}

extension FileLocation {
    enum Kind {
        case outbox
        case cache
    }

    /// Returns the directory for the files of a suite. Returns nil if there is no file.
    func directory(
        for kind: Kind, of owner: FileOwner, environment: (String) -> String? = EnvironmentVariables.value
    ) -> String? {
        let root: String
        switch choice {
        case .none: return nil
        case .directory(let path): root = path
        case .usual:
            let (variable, fallback, folder) =
                switch kind {
                case .outbox: ("XDG_STATE_HOME", "/.local/state", "/settings/outbox")
                case .cache: ("XDG_CACHE_HOME", "/.cache", "/settings")
                }
            // The XDG Base Directory Specification requires that programs ignore a relative path.
            if let home = environment(variable), home.utf8.first == UInt8(ascii: "/") {
                root = home + folder
            } else if let home = environment("HOME"), home.utf8.first == UInt8(ascii: "/") {
                root = home + fallback + folder
            } else {
                return nil
            }
        }
        return "\(root)/\(Self.encoded(owner.server))/\(owner.suite)"
    }

    /// Converts a text into a file name. Percent-encodes bytes that a file system may refuse. Replaces the end of a
    /// long name by a hash of the whole text. Two long texts may get the same name, so the files contain their owner.
    static func encoded(_ text: String) -> String {
        var name = ""
        // The hash is FNV-1a with 64 bits.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        // The hash has at most 16 hexadecimal digits.
        if name.utf8.count > maxNameLength { return "\(name.prefix(maxNameLength - 17))~\(String(hash, radix: 16))" }
        // `.` and `..` have a special meaning in a path.
        return name.utf8.allSatisfy({ $0 == UInt8(ascii: ".") }) ? "%2E\(name.dropFirst())" : name
    }

    /// The maximum length in bytes. Most file systems allow 255 bytes.
    private static var maxNameLength: Int { 200 }
}

/// The suite and the server that an outbox file or a cache file belongs to.
struct FileOwner: Equatable, Sendable {
    let server: String
    let suite: SuiteName

    init(server: String, suite: SuiteName) {
        self.server = server
        self.suite = suite
    }

    /// Reads the members that ``writeMembers(to:)`` writes. Returns nil if a member is missing.
    init?(members json: JSONValue) {
        guard let server = json["server"]?.string, let name = json["suite"]?.string, let suite = try? SuiteName(name)
        else { return nil }
        self.init(server: server, suite: suite)
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.name("server")
        writer.write(string: server)
        writer.name("suite")
        writer.write(string: suite.text)
    }
}
