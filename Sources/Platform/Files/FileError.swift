internal import Glibc

/// A call of the file system that failed.
package struct FileError: Error, Hashable, CustomStringConvertible {
    /// What was asked of the file system.
    package enum Call: String, Sendable {
        case makeDirectory = "mkdir"
        case open = "open"
        case read = "read"
        case write = "write"
        case makeRoom = "write of zeros"
        case truncate = "ftruncate"
        case sync = "fsync"
        case syncData = "fdatasync"
        case startWriting = "sync_file_range"
        case syncDirectory = "fsync of the directory"
        case rename = "rename"
        case remove = "unlink"
        case list = "readdir"
        case status = "stat"
        case kind = "fstat"
        case lock = "flock"
    }

    package let call: Call
    package let path: String
    /// The number that the system gives for the reason.
    package let code: Int32

    package init(_ call: Call, _ path: String, code: Int32) {
        self.call = call
        self.path = path
        self.code = code
    }

    /// Whether there was no room: the disk is full, or a quota is used up.
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether nothing can be written now, though it can be read: there is no room, or the file system is read-only.
    package var refusesWriting: Bool { isFull || code == EROFS }

    /// Whether the file is not there.
    package var isMissing: Bool { code == ENOENT }

    package var description: String {
        "\(path): \(reason)\(call == .kind ? "" : " (\(call.rawValue), error \(code))")"
    }

    /// What the system says, without the path: for callers of the daemon, who need not know where its files are.
    package var reason: String {
        if call == .kind { return "not a regular file" }
        // strerror answers from storage of its thread since glibc 2.32.
        return strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
