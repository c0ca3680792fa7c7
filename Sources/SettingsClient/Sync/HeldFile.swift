internal import Glibc

/// A file that is open, locked if that was asked for, and closed when its last owner lets go: that frees the lock too.
final class HeldFile: Sendable {
    let path: String
    private let files: any StateFileSystem
    private let descriptor: Int32

    init(_ path: String, _ access: StateFileAccess, in files: any StateFileSystem) throws(StateFileError) {
        descriptor = try files.open(path, access)
        self.path = path
        self.files = files
    }

    deinit {
        files.close(descriptor)
    }

    /// False if somebody else has the file, or has removed it.
    func lock() throws(StateFileError) -> Bool {
        guard try files.lock(descriptor, path) else { return false }
        return try files.hasName(descriptor, path)
    }

    func read() throws(StateFileError) -> [UInt8] {
        try files.read(descriptor, path)
    }

    /// Writes all of the bytes. If it throws, any part of them may have been written.
    func write(_ bytes: [UInt8], at offset: Int) throws(StateFileError) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.span.extracting(done..<bytes.count)
            let count = try files.write(descriptor, path, rest, at: offset + done)
            guard count > 0 else { throw StateFileError(path, code: ENOSPC) }
            done += count
        }
    }

    func truncate(to size: Int) throws(StateFileError) {
        try files.truncate(descriptor, path, to: size)
    }

    func syncData() throws(StateFileError) {
        try files.syncData(descriptor, path)
    }
}
