import Glibc
import Platform
import Synchronization

/// A file system in memory. It distinguishes synced data from data in the page cache, and simulates failing calls and
/// power losses.
///
/// The disk has one directory. The directory part of a path is ignored.
final class SimulatedDisk: FileSystem {
    /// The fault of a call.
    enum Fault: Hashable {
        /// The call fails without an effect. If a sync fails, it is unknown whether the data of the file is on disk.
        case error(Int32)
        /// This call and all later calls fail until `heal` is called.
        case errorsFromHere(Int32)
        /// A write writes only a part of its data, and the next call fails because the disk is full. No effect on a
        /// call that is not a write.
        case shortWrite
        /// A power loss before the call.
        case powerLoss
    }

    /// The data that survives a restart.
    enum Survival: CaseIterable {
        /// All data, as after a crash of the process without a power loss. A later restart can still
        /// lose data that was not synced.
        case everything
        /// Only synced data.
        case syncedOnly
        /// Synced data, and a random part of the other data and names.
        case some
    }

    private let storage = Mutex(SimulatedStorage())

    /// The number of calls so far.
    var calls: Int { storage.withLock { $0.calls } }
    /// True after a power loss.
    var isDown: Bool { storage.withLock { $0.isDown } }
    /// True if all calls fail from now on.
    var isFailing: Bool { storage.withLock { $0.errorOfAllCalls != nil } }
    /// The file names in the directory, sorted.
    var names: [String] { storage.withLock { $0.names.keys.sorted() } }

    /// Plans a fault for a call, given by its number among all calls.
    func plan(_ fault: Fault, at call: Int) {
        storage.withLock { $0.faults[call] = fault }
    }

    /// Makes every call of a kind fail with an error code. With nil, calls of this kind succeed again.
    func fail(_ call: FileError.Call, with code: Int32?) {
        storage.withLock { $0.failing[call] = code }
    }

    /// Removes all planned faults, and makes all calls succeed again that fail because of `fail` or `errorsFromHere`.
    func heal() {
        storage.withLock { storage in
            storage.faults = [:]
            storage.failing = [:]
            storage.errorOfAllCalls = nil
            storage.isNextWriteShort = false
        }
    }

    /// Simulates the end of the process and its next start. Closes all files, removes all faults, and keeps only the
    /// data that `survival` describes. With `some`, the seed determines which data survives.
    func restart(_ survival: Survival, seed: UInt64 = 0) {
        storage.withLock { $0.restart(survival, seed) }
    }

    /// The content of a file; nil if it does not exist.
    func content(_ name: String) -> [UInt8]? {
        storage.withLock { storage in storage.names[name].flatMap { storage.files[$0]?.current } }
    }

    /// Stores a synced file. Removes the file if the content is nil.
    func put(_ name: String, _ content: [UInt8]?) {
        storage.withLock { $0.put(name, content) }
    }

    // MARK: FileSystem

    func makeDirectory(_ path: String) throws(FileError) {
        try storage.call(.makeDirectory, path) { _ in nil }
    }

    func open(_ path: String, _ access: FileAccess) throws(FileError) -> Int32 {
        var descriptor: Int32 = 0
        try storage.call(.open, path) { storage in
            if let opened = storage.open(path, access) {
                descriptor = opened
                return nil
            }
            return ENOENT
        }
        return descriptor
    }

    func close(_ descriptor: Int32) {
        storage.withLock { storage in
            guard let file = storage.descriptors.removeValue(forKey: descriptor) else { return }
            if storage.locks[file] == descriptor { storage.locks[file] = nil }
        }
    }

    func read(
        _ descriptor: Int32, _ path: String, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        nonisolated(unsafe) let buffer = buffer
        var count = 0
        try storage.call(.read, path) { storage in
            let bytes = storage.file(descriptor).current
            guard offset < bytes.count else { return nil }
            count = min(buffer.count, bytes.count - offset)
            buffer.copyBytes(from: bytes[offset..<(offset + count)])
            return nil
        }
        return count
    }

    func write(_ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int) throws(FileError) -> Int {
        let bytes = bytes.withUnsafeBufferPointer { Array($0) }
        var count = bytes.count
        try storage.call(.write, path) { storage in
            if storage.isNextWriteShort {
                storage.isNextWriteShort = false
                count = bytes.count / 2
            }
            storage.change(descriptor, .write(offset: offset, bytes: Array(bytes[..<count])))
            return nil
        }
        return count
    }

    /// Reserves only a small part of the space, because writing the zeros of the complete range for each journal would
    /// be slow.
    func preallocate(_ descriptor: Int32, _ path: String, _ range: Range<Int>) throws(FileError) {
        try storage.call(.preallocate, path) { storage in
            let zeros = [UInt8](repeating: 0, count: min(range.count, 3000))
            storage.change(descriptor, .write(offset: range.lowerBound, bytes: zeros))
            return nil
        }
    }

    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(FileError) {
        try storage.call(.truncate, path) { storage in
            storage.change(descriptor, .truncate(size: size))
            return nil
        }
    }

    func syncData(_ descriptor: Int32, _ path: String) throws(FileError) {
        try sync(.syncData, descriptor, path)
    }

    func sync(_ descriptor: Int32, _ path: String) throws(FileError) {
        try sync(.sync, descriptor, path)
    }

    private func sync(_ call: FileError.Call, _ descriptor: Int32, _ path: String) throws(FileError) {
        try storage.call(call, path, onFailure: { $0.failSync(descriptor) }) { storage in
            storage.sync(descriptor)
            return nil
        }
    }

    /// Has no effect, because starting to write data makes no data durable.
    func writeBack(
        _ descriptor: Int32, _ path: String, from offset: Int, count: Int
    ) throws(FileError) {
        try storage.call(.writeBack, path) { _ in nil }
    }

    func syncDirectory(_ path: String) throws(FileError) {
        try storage.call(.syncDirectory, path) { storage in
            storage.syncNames()
            return nil
        }
    }

    func rename(_ path: String, to new: String) throws(FileError) {
        try storage.call(.rename, path) { $0.rename(path.fileName, to: new.fileName) ? nil : ENOENT }
    }

    func remove(_ path: String) throws(FileError) {
        try storage.call(.remove, path) { $0.remove(path.fileName) ? nil : ENOENT }
    }

    func list(_ path: String) throws(FileError) -> [String] {
        var names: [String] = []
        try storage.call(.list, path) { storage in
            names = storage.names.keys.sorted()
            return nil
        }
        return names
    }

    /// Returns the size 0 for a file that does not exist.
    func status(_ path: String) throws(FileError) -> FileStatus {
        var status = FileStatus(size: 0)
        try storage.call(.status, path) { storage in
            if let file = storage.names[path.fileName].flatMap({ storage.files[$0] }) {
                status = FileStatus(size: file.current.count)
            }
            return nil
        }
        return status
    }

    func status(of descriptor: Int32, _ path: String) throws(FileError) -> FileStatus {
        try status(path)
    }

    /// Has no effect, because the files have no owners and no modes.
    func setAccess(_ descriptor: Int32, _ path: String, like status: FileStatus) {}

    func identity(of path: String) throws(FileError) -> FileIdentity {
        let inode = storage.withLock { $0.inode(of: path.fileName) }
        guard let inode else { throw FileError(.status, path, code: ENOENT) }
        return FileIdentity(device: 1, inode: UInt64(inode))
    }

    func identity(of descriptor: Int32, _ path: String) throws(FileError) -> FileIdentity {
        let inode = storage.withLock { $0.descriptors[descriptor] }
        guard let inode else { throw FileError(.status, path, code: EBADF) }
        return FileIdentity(device: 1, inode: UInt64(inode))
    }

    func lock(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        var isLocked = false
        try storage.call(.lock, path) { storage in
            guard let file = storage.descriptors[descriptor] else { return EBADF }
            isLocked = (storage.locks[file] ?? descriptor) == descriptor
            if isLocked { storage.locks[file] = descriptor }
            return nil
        }
        return isLocked
    }
}

extension Mutex<SimulatedStorage> {
    /// Counts a call. Applies the planned fault, or performs the call. `body` returns its error code; nil for success.
    fileprivate borrowing func call(
        _ call: FileError.Call, _ path: String, onFailure: (inout SimulatedStorage) -> Void = { _ in },
        _ body: (inout SimulatedStorage) -> Int32?
    ) throws(FileError) {
        let code = withLock { storage -> Int32? in
            if let code = storage.countCall(call) {
                onFailure(&storage)
                return code
            }
            return body(&storage)
        }
        if let code { throw FileError(call, path, code: code) }
    }
}

extension String {
    fileprivate var fileName: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self[self.index(after: $0)...]) } ?? self
    }
}
