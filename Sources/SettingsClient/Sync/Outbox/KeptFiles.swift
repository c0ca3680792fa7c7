internal import Glibc
internal import SettingsModel

/// Where an adapter keeps files of its own, if it does.
public struct KeptFiles: Hashable, Sendable {
    enum Place: Hashable, Sendable {
        case none
        case usual
        case directory(String)
    }

    let place: Place

    /// Nothing is kept.
    public static let none = KeptFiles(place: .none)

    /// In the user's directory for such files: of writes that wait `$XDG_STATE_HOME/settings/outbox`, else
    /// `~/.local/state/settings/outbox`; of what was read last `$XDG_CACHE_HOME/settings`, else `~/.cache/settings`.
    /// Nothing is kept where there is no such directory either, as the environment has no `HOME`.
    public static let usual = KeptFiles(place: .usual)

    /// In this directory, which is made if it is not there, for its owner alone. Several programs may share it. A path
    /// that begins nowhere begins where the program is at work at this moment.
    public static func directory(_ path: String) -> KeptFiles {
        guard path.utf8.first != UInt8(ascii: "/"), let here = getcwd(nil, 0) else {
            return KeptFiles(place: .directory(path))
        }
        defer { free(here) }
        return KeptFiles(place: .directory("\(String(cString: here))/\(path)"))
    }
}

extension KeptFiles {
    /// What is kept.
    enum Kind {
        /// Writes that wait.
        case outbox
        /// What was read last.
        case cache
    }

    /// The directory for what is kept of a suite; nil for none.
    func directory(
        for kind: Kind, of suite: SuiteName, at server: String, environment: (String) -> String? = Self.variable
    ) -> String? {
        let root: String
        switch place {
        case .none: return nil
        case .directory(let path): root = path
        case .usual:
            let (variable, usual, folder) =
                switch kind {
                case .outbox: ("XDG_STATE_HOME", "/.local/state", "/settings/outbox")
                case .cache: ("XDG_CACHE_HOME", "/.cache", "/settings")
                }
            // A path that begins nowhere is to be ignored.
            if let home = environment(variable), home.utf8.first == UInt8(ascii: "/") {
                root = home + folder
            } else if let home = environment("HOME"), home.utf8.first == UInt8(ascii: "/") {
                root = home + usual + folder
            } else {
                return nil
            }
        }
        return "\(root)/\(Self.encoded(server))/\(suite)"
    }

    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// A text as the name of a file: what is no letter, digit or sign that no file system minds stands as `%` and two
    /// digits. The end of what gets too long is replaced by a number that is made of all of it; the files themselves
    /// say whose they are.
    static func encoded(_ text: String) -> String {
        var name = ""
        var mixed: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 {
            mixed = (mixed ^ UInt64(byte)) &* 0x100_0000_01B3
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        if name.utf8.count > longestName { return "\(name.prefix(longestName - 17))~\(String(mixed, radix: 16))" }
        // The names of this directory and the one above.
        return name.utf8.allSatisfy({ $0 == UInt8(ascii: ".") }) ? "%2E\(name.dropFirst())" : name
    }

    /// What file systems take has 255 bytes.
    private static var longestName: Int { 200 }
}

/// Whose a file is.
struct KeptOwner: Hashable, Sendable {
    /// The address of the server.
    let server: String
    let suite: SuiteName
}
