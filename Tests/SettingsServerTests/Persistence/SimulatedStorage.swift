import Glibc
import Platform
import TestSupport

/// The contents of a simulated disk: as programs see them, and as they would be after a power loss.
struct SimulatedStorage: Sendable {
    /// A change of a file that may not be on disk yet.
    enum Change: Sendable {
        case write(offset: Int, bytes: [UInt8])
        case truncate(size: Int)
    }

    /// A change of the directory that may not be on disk yet.
    enum NameChange: Sendable {
        case set(String, inode: Int)
        case remove(String)
    }

    struct File: Sendable {
        /// The content that programs see.
        var current: [UInt8] = []
        /// The content that is certainly on disk.
        var durable: [UInt8] = []
        /// The changes since the last successful sync, without the changes that a failed sync should have written.
        var pending: [Change] = []
        /// The changes that a failed sync should have written. A later sync does not write them, but they may be on
        /// disk.
        var doubtful: [Change] = []
    }

    /// The files by inode number.
    var files: [Int: File] = [:]
    /// The inode numbers by file name.
    var names: [String: Int] = [:]
    /// The names that are certainly on disk.
    var durableNames: [String: Int] = [:]
    /// The changes of names since the last sync of the directory.
    var pendingNames: [NameChange] = []
    /// The inode numbers of open files by descriptor.
    var descriptors: [Int32: Int] = [:]
    /// The descriptors that hold the lock of a file, by inode number.
    var locks: [Int: Int32] = [:]
    /// The number of calls so far.
    var calls = 0
    /// The planned faults by the number of the call.
    var faults: [Int: SimulatedDisk.Fault] = [:]
    /// The error codes of the kinds of calls that fail.
    var failing: [FileError.Call: Int32] = [:]
    /// The error code of every call; nil if not all calls fail.
    var errorOfAllCalls: Int32?
    /// True after a power loss, until the restart.
    var isDown = false
    /// True if the next write stores only a part of its data.
    var isNextWriteShort = false
    /// The last number that was used for a file or a descriptor.
    private var lastNumber = 1

    /// The size of a sector in bytes. A power loss keeps or loses each sector of unsynced data as a whole.
    private static let sectorSize = 512

    /// Counts a call. Returns an error code if the call must fail.
    mutating func countCall(_ call: FileError.Call) -> Int32? {
        if isDown { return EIO }
        defer { calls += 1 }
        switch faults[calls] {
        case .error(let code)?: return code
        case .errorsFromHere(let code)?: errorOfAllCalls = code
        case .powerLoss?:
            isDown = true
            return EIO
        case .shortWrite?:
            guard call == .write else { break }
            isNextWriteShort = true
            faults[calls + 1] = .error(ENOSPC)
        case nil: break
        }
        return errorOfAllCalls ?? failing[call]
    }

    func file(_ descriptor: Int32) -> File {
        descriptors[descriptor].flatMap { files[$0] } ?? File()
    }

    mutating func open(_ path: String, _ access: FileAccess) -> Int32? {
        let name = String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...])
        lastNumber += 1
        let descriptor = Int32(lastNumber)
        guard access != .directory else {
            // The directory has the inode number 0.
            descriptors[descriptor] = 0
            return descriptor
        }
        if let file = names[name] {
            descriptors[descriptor] = file
            if access == .replacing { change(descriptor, .truncate(size: 0)) }
        } else {
            guard [.creating, .replacing].contains(access) else { return nil }
            files[lastNumber] = File()
            names[name] = lastNumber
            pendingNames.append(.set(name, inode: lastNumber))
            descriptors[descriptor] = lastNumber
        }
        return descriptor
    }

    /// The inode of a name; nil if the name does not exist. The directory itself has the number 0.
    func inode(of name: String) -> Int? {
        names[name] ?? (name == Self.directory ? 0 : nil)
    }

    /// The name of the only directory.
    static let directory = "data"

    mutating func change(_ descriptor: Int32, _ change: Change) {
        guard let id = descriptors[descriptor] else { return }
        files[id, default: File()].pending.append(change)
        Self.apply(change, to: &files[id, default: File()].current)
    }

    mutating func sync(_ descriptor: Int32) {
        guard let id = descriptors[descriptor], var file = files[id] else { return }
        for change in file.pending { Self.apply(change, to: &file.durable) }
        file.pending = []
        files[id] = file
    }

    /// Simulates a failed sync: the kernel does not write the pending changes again.
    mutating func failSync(_ descriptor: Int32) {
        guard let id = descriptors[descriptor], var file = files[id] else { return }
        file.doubtful += file.pending
        file.pending = []
        files[id] = file
    }

    mutating func syncNames() {
        durableNames = names
        pendingNames = []
    }

    mutating func rename(_ name: String, to new: String) -> Bool {
        guard let file = names.removeValue(forKey: name) else { return false }
        names[new] = file
        pendingNames += [.set(new, inode: file), .remove(name)]
        return true
    }

    mutating func remove(_ name: String) -> Bool {
        guard names.removeValue(forKey: name) != nil else { return false }
        pendingNames.append(.remove(name))
        return true
    }

    mutating func put(_ name: String, _ content: [UInt8]?) {
        names[name] = nil
        if let content {
            lastNumber += 1
            files[lastNumber] = File(current: content, durable: content)
            names[name] = lastNumber
        }
        syncNames()
    }

    mutating func restart(_ survival: SimulatedDisk.Survival, _ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        isDown = false
        faults = [:]
        failing = [:]
        errorOfAllCalls = nil
        isNextWriteShort = false
        descriptors = [:]
        locks = [:]
        switch survival {
        case .everything: return
        case .syncedOnly: names = durableNames
        case .some:
            var surviving = durableNames
            for change in pendingNames.prefix(Int.random(in: 0...pendingNames.count, using: &random)) {
                switch change {
                case .set(let name, let file): surviving[name] = file
                case .remove(let name): surviving[name] = nil
                }
            }
            names = surviving
        }
        for (id, file) in files.sorted(by: { $0.key < $1.key }) {
            var content = file.durable
            if survival == .some {
                var lostSectors: Set<Int> = []
                for change in file.doubtful + file.pending {
                    Self.applySome(change, to: &content, &lostSectors, &random)
                }
            }
            files[id] = File(current: content, durable: content)
        }
        syncNames()
    }

    private static func apply(_ change: Change, to content: inout [UInt8]) {
        switch change {
        case .truncate(let size):
            if size < content.count {
                content.removeLast(content.count - size)
            } else {
                content += [UInt8](repeating: 0, count: size - content.count)
            }
        case .write(let offset, let bytes):
            if content.count < offset + bytes.count {
                content += [UInt8](repeating: 0, count: offset + bytes.count - content.count)
            }
            content.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        }
    }

    /// Applies a random part of a change. Applies a truncation with a probability of a half. Loses all sectors of a
    /// write with a probability of a half; otherwise loses each sector with a probability of a quarter. The file may
    /// get its new length although data is missing. A lost sector keeps its older content, and loses later writes, too.
    private static func applySome(
        _ change: Change, to content: inout [UInt8], _ lostSectors: inout Set<Int>, _ random: inout SeededGenerator
    ) {
        guard case .write(let offset, let bytes) = change else {
            if Bool.random(using: &random) { apply(change, to: &content) }
            return
        }
        let isLost = Bool.random(using: &random)
        var position = offset
        while position < offset + bytes.count {
            let end = min((position / sectorSize + 1) * sectorSize, offset + bytes.count)
            if isLost || Int.random(in: 0..<4, using: &random) == 0 { lostSectors.insert(position / sectorSize) }
            if !lostSectors.contains(position / sectorSize) {
                apply(.write(offset: position, bytes: Array(bytes[(position - offset)..<(end - offset)])), to: &content)
            }
            position = end
        }
    }
}
