internal import Glibc

/// An open file, which is closed when the object is deallocated. Most methods call the method of ``FileSystem`` with
/// the same name.
package final class OpenFile: Sendable {
    /// The path that error messages contain.
    package let path: String
    private let fileSystem: any FileSystem
    private let descriptor: Int32

    /// - Parameter reportedPath: the path that error messages contain, if it is not `path`. For a temporary file, it
    ///   is the path to which the calling code will rename the file.
    package init(
        _ path: String, _ access: FileAccess, in fileSystem: any FileSystem, reportedAs reportedPath: String? = nil
    ) throws(FileError) {
        descriptor = try fileSystem.open(path, access)
        self.path = reportedPath ?? path
        self.fileSystem = fileSystem
    }

    deinit {
        fileSystem.close(descriptor)
    }

    /// Reads bytes at an offset of the file into the part of the array after its first `used` bytes, possibly fewer
    /// than fit. Returns the number of bytes that were read; 0 at the end of the file.
    package func read(at offset: Int, into bytes: inout [UInt8], after used: Int = 0) throws(FileError) -> Int {
        // A `Result`, because `withUnsafeMutableBytes` does not preserve the type of a thrown error.
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

    /// Reads the whole file.
    package func readAll() throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var used = 0
        while true {
            let count = try read(at: used, into: &bytes, after: used)
            used += count
            guard count > 0 else { break }
            if used == bytes.count { bytes.append(contentsOf: repeatElement(0, count: used)) }
        }
        bytes.removeSubrange(used...)
        return bytes
    }

    /// Writes all bytes. If an error is thrown, any part of the bytes may have been written.
    package func write(_ bytes: Span<UInt8>, at offset: Int) throws(FileError) {
        var writtenCount = 0
        while writtenCount < bytes.count {
            let count = try fileSystem.write(
                descriptor, path, bytes.extracting(writtenCount..<bytes.count), at: offset + writtenCount)
            // Without this error, the loop would not end.
            guard count > 0 else { throw FileError(.write, path, code: ENOSPC) }
            writtenCount += count
        }
    }

    package func preallocate(_ range: Range<Int>) throws(FileError) {
        try fileSystem.preallocate(descriptor, path, range)
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

    package func writeBack(from offset: Int, count: Int) throws(FileError) {
        try fileSystem.writeBack(descriptor, path, from: offset, count: count)
    }

    package func status() throws(FileError) -> FileStatus {
        try fileSystem.status(of: descriptor, path)
    }

    package func identity() throws(FileError) -> FileIdentity {
        try fileSystem.identity(of: descriptor, path)
    }

    /// Sets the owner, the group and the permissions of the file to the values in a status.
    package func setAccess(like status: FileStatus) throws(FileError) {
        try fileSystem.setAccess(descriptor, path, like: status)
    }

    /// Locks the file until it is closed. Returns false if another descriptor has the lock.
    package func lock() throws(FileError) -> Bool {
        try fileSystem.lock(descriptor, path)
    }

    /// Returns true if a path still resolves to this file. Returns false if the path does not exist or belongs to
    /// another file, because another process has removed, renamed or replaced the file.
    package func isLocated(at path: String) throws(FileError) -> Bool {
        let found: FileIdentity
        do throws(FileError) {
            found = try fileSystem.identity(of: path)
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
        return try found.isSameFile(as: identity())
    }
}
