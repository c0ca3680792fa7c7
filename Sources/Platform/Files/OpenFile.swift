internal import Glibc

/// A file that is open, and is closed when its last owner lets go.
package final class OpenFile: Sendable {
    /// What errors call it.
    package let path: String
    private let fileSystem: any FileSystem
    private let descriptor: Int32

    /// - Parameter name: the path that it will have once it is written, if it is opened under another.
    package init(
        _ path: String, _ access: FileAccess, in fileSystem: any FileSystem, toBe name: String? = nil
    ) throws(FileError) {
        descriptor = try fileSystem.open(path, access)
        self.path = name ?? path
        self.fileSystem = fileSystem
    }

    deinit {
        fileSystem.close(descriptor)
    }

    /// Reads what there is into an array, behind its first `used` bytes, at most as much as fits; 0 at the end.
    package func read(at offset: Int, into bytes: inout [UInt8], behind used: Int = 0) throws(FileError) -> Int {
        // The method of the array does not pass on which error it was.
        let result: Result<Int, FileError> = bytes.withUnsafeMutableBytes { buffer in
            do throws(FileError) {
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[used...])
                return .success(try fileSystem.read(descriptor, path, at: offset, into: free))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Writes all of the bytes. If it throws, any part of them may have been written.
    package func write(_ bytes: Span<UInt8>, at offset: Int) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = try fileSystem.write(
                descriptor, path, bytes.extracting(done..<bytes.count), at: offset + done)
            guard count > 0 else { throw FileError(.write, path, code: ENOSPC) }
            done += count
        }
    }

    package func makeRoom(_ place: Range<Int>) throws(FileError) {
        try fileSystem.makeRoom(descriptor, path, place)
    }

    package func truncate(to size: Int) throws(FileError) {
        try fileSystem.truncate(descriptor, path, to: size)
    }

    package func syncData() throws(FileError) {
        try fileSystem.syncData(descriptor, path)
    }

    package func sync() throws(FileError) {
        try fileSystem.sync(descriptor, path)
    }

    package func startWriting(from offset: Int, count: Int, waits: Bool) throws(FileError) {
        try fileSystem.startWriting(descriptor, path, from: offset, count: count, waits: waits)
    }

    package func identity() throws(FileError) -> FileIdentity {
        try fileSystem.identity(of: descriptor, path)
    }

    package func lock() throws(FileError) -> Bool {
        try fileSystem.lock(descriptor, path)
    }
}
