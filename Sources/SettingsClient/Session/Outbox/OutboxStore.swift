internal import Platform
internal import SettingsModel
internal import Synchronization

/// The queue of the writes of a session that the daemon has not answered, in memory and in a file.
///
/// Each program has a file of its own in the directory of a suite, and locks it. A file without a lock is abandoned: its
/// program has ended. The next program that finds the file adopts the writes and removes the file.
///
/// Lines are written without a sync: a write survives the end of the program, and usually a crash of the machine. A failure to
/// write the file does not refuse a write, because the daemon normally answers soon.
struct OutboxStore: Sendable {
    /// The bounds of the queue. A session refuses writes beyond them.
    struct Limits: Equatable, Sendable {
        var writes = 100_000
        /// The bytes of the lines.
        var size = 64 << 20
    }

    /// A file that cannot be used as it is.
    struct Trouble: Hashable, Sendable {
        let path: String
        let reason: String
    }

    /// The result of a search for abandoned files.
    struct Inheritance: Equatable, Sendable {
        /// The writes in the order in which they have to be sent.
        var writes: [PendingChange] = []
        var troubles: [Trouble] = []
        /// True if other programs have locked some of the files.
        var hasOthers = false
    }

    /// An abandoned file. This program has locked it until the own file contains its writes.
    private struct Orphan {
        let file: OpenFile
        /// A description of its damaged lines. Nil if no line is damaged.
        let damage: String?
        /// True if the queue contains its writes.
        var isAdopted = false
    }

    /// Nil if the queue is in memory only.
    private let directory: String?
    private let owner: FileOwner
    private let files: any FileSystem
    /// The fill level of the queue, which other threads read without the lock of the session's outbox.
    let fillLevel: OutboxFillLevel
    private var queue = Deque<QueuedWrite>()
    /// The bytes of the lines of the queue. Changes after the queue.
    private var queueSize = 0 {
        didSet { fillLevel.set(writes: queue.count, size: queueSize) }
    }
    /// The own file. Nil until there is a write.
    private var file: OpenFile?
    private var fileSize = 0
    /// True if the own file contains the queue and lines can be appended. A failure may have left a part of a line behind.
    private var isSound = false
    /// The file is rewritten when it has this size and most of its writes have ended.
    private var rewriteSize = Self.leastRewriteSize
    private var orphans: [Orphan] = []
    /// The last failure to write the file again.
    private var failure: (error: FileError, moment: ContinuousClock.Instant)?

    private static let longQueue = 1000
    private static let pauseAfterFailure = Duration.seconds(1)
    private static let leastRewriteSize = 1 << 20
    /// A queue of more bytes is not rewritten, because callers would wait for that.
    private static let greatestRewrittenQueue = 1 << 20
    /// More programs do not remove drafts at the same moment.
    private static let maxDrafts = 20
    private static let ending = ".outbox"
    private static let draftEnding = ".outbox.new"

    /// - Parameter directory: the directory of the files, or nil for a queue in memory only.
    init(
        in directory: String?, of owner: FileOwner, files: any FileSystem = POSIXFileSystem(),
        limits: Limits = Limits()
    ) {
        self.directory = directory
        self.owner = owner
        self.files = files
        fillLevel = OutboxFillLevel(limits)
    }

    /// The write with the lowest number.
    var first: QueuedWrite? { queue.first }
    /// The write with the highest number.
    var last: QueuedWrite? { queue.last }
    var count: Int { queue.count }
    /// True if a write survives the end of the program.
    var isPersistent: Bool { directory != nil }
    /// True if the file contains the whole queue.
    var isFileComplete: Bool { isSound || queue.isEmpty }

    /// Adds a write to the queue and to the file. The queue has the write even if the file cannot be written.
    mutating func append(_ change: PendingChange, number: Int64) throws(FileError) {
        let line = OutboxLine.write(number, change).bytes
        insert(QueuedWrite(number: number, original: change, change: change, size: line.count))
        guard directory != nil else { return }
        if isSound { return try append(line) }
        // A long queue takes long to write. On a full disk, each setter would wait for that.
        if let failure, queue.count > Self.longQueue, failure.moment + Self.pauseAfterFailure > .now {
            throw failure.error
        }
        do throws(FileError) {
            try rewriteAndRemoveOrphans(isSynced: false)
            failure = nil
        } catch {
            failure = (error, .now)
            throw error
        }
    }

    /// Replaces the change that is sent for the first write. The new change is on the disk when this returns: after a crash of
    /// the machine, the old change could otherwise be merged with a value that contains the new change already.
    mutating func replaceFirst(by change: PendingChange) throws(FileError) {
        guard let first = queue.first else { return }
        let line = OutboxLine.write(first.number, change).bytes
        if directory != nil {
            if !isSound { try rewriteAndRemoveOrphans(isSynced: false) }
            // An abandoned file still contains the old change. After a crash both would be sent.
            _ = removeOrphans()
            if let orphan = orphans.first(where: \.isAdopted) {
                throw FileError(.remove, orphan.file.path, code: SystemErrorCode.inputOutput)
            }
            try append(line)
            try file?.syncData()
        }
        queue.update(0) { write in
            write.change = change
            write.size = line.count
            write.conflicts += 1
        }
        queueSize += line.count - first.size
    }

    /// Removes the first write. If a crash loses the line that says so, the write is sent again under its request key.
    mutating func removeFirst() {
        guard let first = queue.popFirst() else { return }
        queueSize -= first.size
        guard directory != nil else { return }
        try? append(OutboxLine.ended(first.number).bytes)
        if queue.isEmpty {
            // If the file cannot be removed, the next program finds that all of its writes have ended.
            if let file { try? files.remove(file.path) }
            file = nil
            isSound = false
            queue = Deque()
            _ = removeOrphans()
        } else if fileSize > rewriteSize, fileSize / 2 > queueSize, queueSize <= Self.greatestRewrittenQueue {
            do {
                try rewriteAndRemoveOrphans(isSynced: false)
            } catch {
                rewriteSize = 2 * fileSize
            }
        }
    }

    /// Inserts a write in the order of the numbers. Threads that append at the same time may arrive in another order.
    private mutating func insert(_ write: QueuedWrite) {
        var later: [QueuedWrite] = []
        while let last = queue.last, last.number > write.number, let removed = queue.popLast() { later.append(removed) }
        queue.append(write)
        while let next = later.popLast() { queue.append(next) }
        queueSize += write.size
    }
}

/// The number and the size of the writes in a queue. Thread-safe.
final class OutboxFillLevel: Sendable {
    private let limits: OutboxStore.Limits
    private let level = Mutex((writes: 0, size: 0))

    init(_ limits: OutboxStore.Limits) {
        self.limits = limits
    }

    func set(writes: Int, size: Int) {
        level.withLock { $0 = (writes, size) }
    }

    /// Says why the queue has no room for another write. Returns nil if it has room.
    var fullness: String? {
        let (writes, size) = level.withLock { $0 }
        guard writes >= limits.writes || size >= limits.size else { return nil }
        return "\(writes) writes of \(size) bytes wait for the daemon, and the queue has no room for more"
    }
}

/// A write in the queue of a session.
struct QueuedWrite: Equatable, Sendable {
    /// The number of the write in the session and in the file.
    let number: Int64
    /// The write as the program made it.
    let original: PendingChange
    /// The change that is sent. A conflict may have replaced the original.
    var change: PendingChange
    /// The bytes of the line in the file.
    var size: Int
    /// The number of conflicts that have replaced the change.
    var conflicts = 0
}

/// The own file.
extension OutboxStore {
    private mutating func append(_ line: [UInt8]) throws(FileError) {
        guard let file, isSound else { throw FileError(.write, directory ?? "", code: SystemErrorCode.inputOutput) }
        do throws(FileError) {
            try file.write(line.span, at: fileSize)
        } catch {
            isSound = false
            try? file.truncate(to: fileSize)
            throw error
        }
        fileSize += line.count
    }

    /// Writes a file with the whole queue, in the place of the own file if there is one.
    ///
    /// - Parameter isSynced: true if the file must survive a crash of the machine, because other copies are removed next.
    private mutating func rewrite(in directory: String, isSynced: Bool) throws(FileError) {
        if file == nil { try files.makeDirectory(directory) }
        let path = if let file { file.path } else { try newPath(in: directory) }
        let (draft, name) = try openDraft(of: path, in: directory)
        var bytes = OutboxLine.head(owner).bytes
        for write in queue { bytes += OutboxLine.write(write.number, write.change).bytes }
        do throws(FileError) {
            try draft.write(bytes.span, at: 0)
            if isSynced { try draft.syncData() }
            try files.rename(name, to: path)
        } catch {
            try? files.remove(name)
            throw error
        }
        file = draft
        fileSize = bytes.count
        rewriteSize = Self.leastRewriteSize
        isSound = false
        if isSynced { try files.syncDirectory(directory) }
        isSound = true
    }

    /// Writes the file again, and removes the abandoned files whose writes it contains then.
    private mutating func rewriteAndRemoveOrphans(isSynced: Bool) throws(FileError) {
        guard let directory else { return }
        try rewrite(in: directory, isSynced: isSynced || orphans.contains(where: \.isAdopted))
        _ = removeOrphans()
    }

    /// Returns a file name that sorts behind the existing names.
    private func newPath(in directory: String) throws(FileError) -> String {
        let numbers = try files.list(directory).compactMap { name -> Int64? in
            guard name.hasSuffix(Self.ending) else { return nil }
            return Int64(name.prefix { $0 != "-" }).flatMap { OutboxLine.numbers.contains($0) ? $0 : nil }
        }
        let digits = String((numbers.max() ?? 0) + 1)
        let zeros = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
        return "\(directory)/\(zeros)\(digits)-\(Self.random)\(Self.ending)"
    }

    /// Creates a locked file under a name that other programs do not adopt. A program that removes drafts may lock the file
    /// first. Then the function creates another file.
    private func openDraft(of path: String, in directory: String) throws(FileError) -> (OpenFile, name: String) {
        for _ in 0..<Self.maxDrafts {
            let name = "\(directory)/\(Self.random)\(Self.draftEnding)"
            let draft = try OpenFile(name, .new, in: files, reportedAs: path)
            do throws(FileError) {
                if try draft.lock(), try draft.isLocated(at: name) { return (draft, name) }
            } catch {
                try? files.remove(name)
                throw error
            }
            try? files.remove(name)
        }
        throw FileError(.lock, path, code: SystemErrorCode.wouldBlock)
    }

    private static var random: String { String(UInt64.random(in: .min ... .max), radix: 36) }
}

/// The files of other programs.
extension OutboxStore {
    /// Locks and reads the files of programs that have ended. The caller numbers the writes and calls ``adopt(_:)``.
    mutating func collectAbandonedWrites() -> Inheritance {
        var inheritance = Inheritance()
        guard let directory else { return inheritance }
        let names: [String]
        do throws(FileError) {
            names = try files.list(directory).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // If this user may not list the directory, a write that cannot be stored there reports the reason.
            if !error.isMissingOrForbidden {
                inheritance.troubles.append(Trouble(path: directory, reason: error.reason))
            }
            return inheritance
        }
        let own = Set(orphans.map(\.file.path) + [file?.path].compactMap(\.self))
        for name in names {
            let path = "\(directory)/\(name)"
            if name.hasSuffix(Self.ending), !own.contains(path) {
                do throws(FileError) {
                    try collect(path, &inheritance)
                } catch {
                    if !error.isMissing { inheritance.troubles.append(Trouble(path: path, reason: error.reason)) }
                }
            } else if name.hasSuffix(Self.draftEnding), let draft = try? OpenFile(path, .writing, in: files),
                (try? draft.lockIfNamed()) == true
            {
                // Its program ended before the draft was complete.
                try? files.remove(path)
            }
        }
        return inheritance
    }

    private mutating func collect(_ path: String, _ inheritance: inout Inheritance) throws(FileError) {
        let orphan = try OpenFile(path, .writing, in: files)
        guard try orphan.lockIfNamed() else {
            inheritance.hasOthers = true
            return
        }
        let bytes = try orphan.readAll()
        let contents: OutboxContents
        do throws(OutboxLineError) {
            contents = try OutboxContents(bytes)
        } catch {
            let version = if case .future(let version) = error { " (format \(version))" } else { "" }
            let reason = "a later version of this library\(version) wrote the file; it stays as it is"
            return inheritance.troubles.append(Trouble(path: path, reason: reason))
        }
        // Two servers whose names are too long for a directory may share a directory.
        if let other = contents.owner, other != owner { return }
        // A program that ended while it adopted writes may have left them in two files.
        let known = Set(queue.map(\.change.requestKey) + inheritance.writes.map(\.requestKey))
        inheritance.writes += contents.writes.map(\.write).filter { !known.contains($0.requestKey) }
        let damage: String? =
            switch contents.damagedCount {
            case 0: nil
            case 1: "a line is damaged, so its write is lost"
            case let count: "\(count) lines are damaged, so their writes are lost"
            }
        orphans.append(Orphan(file: orphan, damage: damage))
    }

    /// Adds the writes of abandoned files to the queue and to the own file, and removes the abandoned files.
    mutating func adopt(_ writes: [(number: Int64, change: PendingChange)]) -> [Trouble] {
        for (number, change) in writes {
            let size = OutboxLine.write(number, change).bytes.count
            insert(QueuedWrite(number: number, original: change, change: change, size: size))
        }
        for index in orphans.indices { orphans[index].isAdopted = true }
        do throws(FileError) {
            if !writes.isEmpty {
                isSound = false
                if let directory { try rewrite(in: directory, isSynced: true) }
            }
            return isSound || queue.isEmpty ? removeOrphans() : []
        } catch {
            return orphans.compactMap { orphan in
                orphan.damage.map { Trouble(path: orphan.file.path, reason: "\($0); it stays there, because \(error)") }
            }
        }
    }

    /// Removes the abandoned files, because the own file contains their readable writes. A damaged file is renamed, so that a
    /// person can examine it. A file that cannot be removed stays locked.
    private mutating func removeOrphans() -> [Trouble] {
        var troubles: [Trouble] = []
        var remaining: [Orphan] = []
        for orphan in orphans {
            guard orphan.isAdopted else {
                remaining.append(orphan)
                continue
            }
            let path = orphan.file.path
            let aside = "\(path.dropLast(Self.ending.utf8.count)).damaged"
            do throws(FileError) {
                if let damage = orphan.damage {
                    try files.rename(path, to: aside)
                    troubles.append(Trouble(path: path, reason: "\(damage); the file is now \(aside)"))
                } else {
                    // If the empty file cannot be removed, the next program removes it.
                    try orphan.file.truncate(to: 0)
                    try? files.remove(path)
                }
            } catch {
                remaining.append(orphan)
                guard let damage = orphan.damage else { continue }
                troubles.append(Trouble(path: path, reason: "\(damage); it stays there, because \(error)"))
            }
        }
        orphans = remaining
        return troubles
    }
}

extension OpenFile {
    /// Locks the file; false if another program has locked or removed it.
    func lockIfNamed() throws(FileError) -> Bool {
        guard try lock() else { return false }
        return try isLocated(at: path)
    }
}
