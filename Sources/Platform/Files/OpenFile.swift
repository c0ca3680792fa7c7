internal import Glibc

/// An open file that closes itself when its last owner releases it.
package final class OpenFile: Sendable {
    /// The path that errors name.
    package let path: String
    private let fileSystem: any FileSystem
    private let descriptor: Int32

    /// - Parameter name: the path that errors name, where the file will be renamed once it is written.
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

    /// Reads into an array behind its first `used` bytes, at most as much as fits, and returns the count; 0 at the end.
    package func read(at offset: Int, into bytes: inout [UInt8], behind used: Int = 0) throws(FileError) -> Int {
        // The array's method does not pass on the type of the error.
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
            let count = try read(at: used, into: &bytes, behind: used)
            used += count
            guard count > 0 else { break }
            if used == bytes.count { bytes.append(contentsOf: repeatElement(0, count: used)) }
        }
        bytes.removeSubrange(used...)
        return bytes
    }

    /// Writes all of the bytes. After an error any part of them may have been written.
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

    package func startWriting(from offset: Int, count: Int) throws(FileError) {
        try fileSystem.startWriting(descriptor, path, from: offset, count: count)
    }

    package func status() throws(FileError) -> FileStatus {
        try fileSystem.status(of: descriptor, path)
    }

    package func identity() throws(FileError) -> FileIdentity {
        try fileSystem.identity(of: descriptor, path)
    }

    /// Gives the file the owner, the group and the permissions of a status.
    package func setAccess(like status: FileStatus) throws(FileError) {
        try fileSystem.setAccess(descriptor, path, like: status)
    }

    /// Locks the file until it is closed; false if another descriptor has the lock.
    package func lock() throws(FileError) -> Bool {
        try fileSystem.lock(descriptor, path)
    }

    /// True if a path leads to this very file, and not to another or to none.
    package func stands(at path: String) throws(FileError) -> Bool {
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
