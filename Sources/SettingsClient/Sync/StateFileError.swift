internal import Glibc
internal import SettingsHTTP

/// A call of the file system that failed.
struct StateFileError: Error, Hashable, CustomStringConvertible {
    let path: String
    /// The number that the system gives for the reason.
    let code: Int32

    init(_ path: String, code: Int32) {
        self.path = path
        self.code = code
    }

    /// Whether the file is not there.
    var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether the file is not there, or in a place where this user may not even look.
    var isOutOfReach: Bool { isMissing || code == EACCES }

    /// The system's words for the reason.
    var reason: String { SystemText.of(code) }

    var description: String { "\(path): \(reason)" }
}
