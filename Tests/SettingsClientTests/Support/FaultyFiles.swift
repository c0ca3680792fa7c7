import Glibc
import Platform
import Synchronization
import TestSupport

/// The file system of this machine. A test decides which calls fail.
final class FaultyFiles: FileSystem {
    enum Call: String, CaseIterable, Sendable {
        case makeDirectory, list, open, lock, read, write, truncate, syncData, syncDirectory, rename, remove
    }

    /// Wraps the closure, because each access to a closure that is the direct value of a `Mutex` adds another thunk
    /// around the closure.
    private struct Fault {
        /// Returns the error code of a call with a path, or nil if the call does not fail.
        var code: @Sendable (Call, String) -> Int32? = { _, _ in nil }
    }

    private let machine = POSIXFileSystem()
    private let fault = Mutex(Fault())
    /// The log has the name of each call of a kind in `Call`, and also `renamed` after a successful rename.
    let log = EventLog()

    /// Sets the function that returns the error code of a call with a path, or nil if the call does not fail. A test
    /// can also use the function to run code before a call.
    func fail(_ fault: @escaping @Sendable (Call, String) -> Int32?) {
        self.fault.withLock { $0.code = fault }
    }

    /// Makes all calls of these kinds fail.
    func fail(_ calls: Call..., code: Int32 = ENOSPC) {
        fail { call, _ in calls.contains(call) ? code : nil }
    }

    /// Ends all faults.
    func repair() {
        fail { _, _ in nil }
    }

    func makeDirectory(_ path: String) throws(FileError) {
        try check(.makeDirectory, path)
        try machine.makeDirectory(path)
    }

    func list(_ path: String) throws(FileError) -> [String] {
        try check(.list, path)
        return try machine.list(path)
    }

    func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32 {
        try check(.open, path)
        return try machine.open(path, access)
    }

    func close(_ descriptor: Int32) {
        machine.close(descriptor)
    }

    func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        try check(.lock, path)
        return try machine.lock(descriptor, path)
    }

    func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        try check(.read, path)
        return try machine.read(descriptor, path, at: offset, into: buffer)
    }

    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(FileError) -> Int {
        do throws(FileError) {
            try check(.write, path)
        } catch {
            // Writes half of the bytes, because a disk can become full during a write.
            _ = try machine.write(descriptor, path, bytes.extracting(0..<(bytes.count / 2)), at: offset)
            throw error
        }
        return try machine.write(descriptor, path, bytes, at: offset)
    }

    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError) {
        try check(.truncate, path)
        try machine.truncate(descriptor, path, to: size)
    }

    func syncData(_ descriptor: Int32, _ path: String) throws(FileError) {
        try check(.syncData, path)
        try machine.syncData(descriptor, path)
    }

    func syncDirectory(_ path: String) throws(FileError) {
        try check(.syncDirectory, path)
        try machine.syncDirectory(path)
    }

    func rename(_ path: String, to new: String) throws(FileError) {
        try check(.rename, path)
        try machine.rename(path, to: new)
        log.add("renamed")
    }

    func remove(_ path: String) throws(FileError) {
        try check(.remove, path)
        try machine.remove(path)
    }

    /// Logs the call, and throws the error that the test has set. All these errors have the operation `write`, because
    /// no test depends on the operation.
    private func check(_ call: Call, _ path: String) throws(FileError) {
        defer { log.add(call.rawValue) }
        if let code = fault.withLock({ $0.code })(call, path) { throw FileError(.write, path, code: code) }
    }
}

/// Calls for which a test cannot set an error.
extension FaultyFiles {
    func preallocate(_ descriptor: Int32, _ path: String, _ range: Range<Int>) throws(FileError) {
        try machine.preallocate(descriptor, path, range)
    }

    func sync(_ descriptor: Int32, _ path: String) throws(FileError) {
        try machine.sync(descriptor, path)
    }

    func writeBack(_ descriptor: Int32, _ path: String, from offset: Int, count: Int) throws(FileError) {
        try machine.writeBack(descriptor, path, from: offset, count: count)
    }

    func status(_ path: String) throws(FileError) -> FileStatus {
        try machine.status(path)
    }

    func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus {
        try machine.status(of: descriptor, path)
    }

    func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) throws(FileError) {
        try machine.setAccess(descriptor, path, like: status)
    }

    func identity(of path: String) throws(FileError) -> FileIdentity {
        try machine.identity(of: path)
    }

    func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity {
        try machine.identity(of: descriptor, path)
    }
}
