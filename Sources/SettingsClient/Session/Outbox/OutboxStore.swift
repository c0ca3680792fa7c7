internal import Platform
internal import SettingsModel

/// The queue of the writes of a session that the daemon has not answered, in memory and in a file.
///
/// Each program has its own file in the directory of a suite, and locks the file. If a file has no lock, its program
/// has ended, and the file is *abandoned*. The next program that finds the file adopts the writes: it adds the writes
/// to its own queue and file, and removes the abandoned file.
///
/// Lines are written without a sync. A write therefore survives the end of the program, but may be lost in a crash of
/// the machine. If a line cannot be written, the write is not refused but stays in the queue in memory, because the
/// daemon normally answers soon.
struct OutboxStore: Sendable {
    /// The reason why a file cannot be used, for an issue.
    struct FileProblem: Hashable, Sendable {
        let path: String
        let reason: String
    }

    /// The result of a search for abandoned files.
    struct AbandonedWrites: Equatable, Sendable {
        /// The writes in the order in which they have to be sent.
        var writes: [PendingChange] = []
        var problems: [FileProblem] = []
        /// True if the directory has files of programs that have not ended.
        var hasLockedFiles = false
    }

    /// An abandoned file. This program holds the lock of the file until this program's own file contains the writes.
    private struct AbandonedFile {
        let file: OpenFile
        /// A description of the damaged lines of the file. Nil if no line is damaged.
        let damage: String?
        /// True if the queue contains the writes of the file.
        var isAdopted = false
    }

    /// Nil if the queue is in memory only.
    private let directory: String?
    private let owner: FileOwner
    private let files: any FileSystem
    /// The fill level of the queue, which other threads read without the lock of the session's outbox.
    let fillLevel: OutboxFillLevel
    private var queue = Deque<QueuedWrite>()
    /// The size in bytes of all lines of the queue. Must be set after `queue`, because `didSet` reads the queue.
    private var queueSize = 0 {
        didSet { fillLevel.set(writes: queue.count, size: queueSize) }
    }
    /// This program's own file. Nil until there is a write.
    private var file: OpenFile?
    private var fileSize = 0
    /// True if this program's file contains the whole queue, so that a line can be appended. False if there is no file,
    /// and after a failed write, which may have left a part of a line in the file.
    private var isFileUsable = false
    /// True if a crash of the machine cannot undo the rename that put this program's file in its place.
    private var isRenameSynced = false
    /// The file is rewritten when it is larger than this size and most of its bytes belong to writes that have ended.
    private var rewriteSize = Self.minRewriteSize
    private var abandonedFiles: [AbandonedFile] = []
    /// The last failure to rewrite the file.
    private var failure: (error: FileError, moment: ContinuousClock.Instant)?

    /// A queue with more writes than this number is not rewritten in the pause after a failed rewrite.
    private static let longQueue = 1000
    private static let pauseAfterFailure = Duration.seconds(1)
    private static let minRewriteSize = 1 << 20
    /// A queue with more bytes than this number is not rewritten to make the file smaller, because callers would have
    /// to wait for the rewrite.
    private static let maxRewrittenQueueSize = 1 << 20
    /// The maximum number of attempts to create a draft. An attempt fails if another program locks or removes the
    /// draft.
    private static let maxDrafts = 20
    private static let suffix = ".outbox"
    /// The suffix of a draft: a new file that is renamed when it is complete.
    private static let draftSuffix = ".outbox.new"

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
    var isFileComplete: Bool { isFileUsable || queue.isEmpty }

    /// Adds a write to the queue and to the file. If the file cannot be written, throws the error, and the write is in
    /// the queue only.
    mutating func append(_ change: PendingChange, number: Int64) throws(FileError) {
        let line = OutboxLine.write(number, change).bytes
        insert(QueuedWrite(number: number, original: change, change: change, size: line.count))
        guard directory != nil else { return }
        if isFileUsable { return try append(line) }
        // Rewriting a long queue takes long. On a full disk, each setter would wait until the rewrite fails.
        if let failure, queue.count > Self.longQueue, failure.moment + Self.pauseAfterFailure > .now {
            throw failure.error
        }
        do throws(FileError) {
            try rewriteAndRemoveAbandonedFiles()
            failure = nil
        } catch {
            failure = (error, .now)
            throw error
        }
    }

    /// Replaces the change that is sent for the first write after a conflict, and syncs the new change to the disk.
    /// Without the sync, the program could, after a crash of the machine, merge the old change with a value that
    /// already contains the new change. The rename of the file is synced, too, because the crash could restore the
    /// file that was replaced.
    mutating func replaceFirst(by change: PendingChange) throws(FileError) {
        guard let first = queue.first else { return }
        let line = OutboxLine.write(first.number, change).bytes
        if directory != nil {
            if !isFileUsable { try rewriteAndRemoveAbandonedFiles() }
            // An adopted file that could not be emptied or renamed may still contain the old change. After a crash, the
            // next program would send both changes.
            _ = removeAbandonedFiles()
            if let abandonedFile = abandonedFiles.first(where: \.isAdopted) {
                throw FileError(.remove, abandonedFile.file.path, code: SystemErrorCode.inputOutput)
            }
            try append(line)
            try file?.syncData()
            try syncRename()
        }
        queue.update(0) { write in
            write.change = change
            write.size = line.count
            write.conflicts += 1
        }
        queueSize += line.count - first.size
    }

    /// Removes the first write, because it has ended. If a crash loses the line that says so, the write is sent again
    /// with the same request key, so the write has no second effect.
    mutating func removeFirst() {
        guard let first = queue.popFirst() else { return }
        queueSize -= first.size
        guard directory != nil else { return }
        try? append(OutboxLine.ended(first.number).bytes)
        if queue.isEmpty {
            // If the file cannot be removed, the next program finds no unanswered write in the file.
            if let file { try? files.remove(file.path) }
            file = nil
            isFileUsable = false
            // An empty queue still retains its storage.
            queue = Deque()
            _ = removeAbandonedFiles()
        } else if fileSize > rewriteSize, fileSize / 2 > queueSize, queueSize <= Self.maxRewrittenQueueSize {
            do {
                try rewriteAndRemoveAbandonedFiles()
            } catch {
                rewriteSize = 2 * fileSize
            }
        }
    }

    /// Inserts a write in the order of the numbers. Threads that append at the same time may call this method in a
    /// different order.
    private mutating func insert(_ write: QueuedWrite) {
        var later: [QueuedWrite] = []
        while let last = queue.last, last.number > write.number, let removed = queue.popLast() { later.append(removed) }
        queue.append(write)
        while let next = later.popLast() { queue.append(next) }
        queueSize += write.size
    }
}

/// This program's own file.
extension OutboxStore {
    private mutating func append(_ line: [UInt8]) throws(FileError) {
        guard let file, isFileUsable else {
            throw FileError(.write, directory ?? "", code: SystemErrorCode.inputOutput)
        }
        do throws(FileError) {
            try file.write(line.span, at: fileSize)
        } catch {
            isFileUsable = false
            try? file.truncate(to: fileSize)
            throw error
        }
        fileSize += line.count
    }

    /// Writes a file with the whole queue. If this program already has a file, the new file replaces it.
    ///
    /// - Parameter isSynced: true if the file must survive a crash of the machine, because other files with the same
    ///   writes are removed next.
    private mutating func rewrite(in directory: String, isSynced: Bool) throws(FileError) {
        if file == nil { try files.makeDirectory(directory) }
        let path = if let file { file.path } else { try newPath(in: directory) }
        let (draft, draftPath) = try openDraft(of: path, in: directory)
        var bytes = OutboxLine.head(owner).bytes
        for write in queue { bytes += OutboxLine.write(write.number, write.change).bytes }
        do throws(FileError) {
            try draft.write(bytes.span, at: 0)
            if isSynced { try draft.syncData() }
            try files.rename(draftPath, to: path)
        } catch {
            try? files.remove(draftPath)
            throw error
        }
        file = draft
        fileSize = bytes.count
        rewriteSize = Self.minRewriteSize
        isFileUsable = false
        isRenameSynced = false
        if isSynced { try syncRename() }
        isFileUsable = true
    }

    private mutating func syncRename() throws(FileError) {
        guard let directory, !isRenameSynced else { return }
        try files.syncDirectory(directory)
        isRenameSynced = true
    }

    /// Writes the file again, and removes the abandoned files whose writes the file now contains.
    private mutating func rewriteAndRemoveAbandonedFiles() throws(FileError) {
        guard let directory else { return }
        try rewrite(in: directory, isSynced: abandonedFiles.contains(where: \.isAdopted))
        _ = removeAbandonedFiles()
    }

    /// Returns a path that sorts after the paths of all existing files. A program adopts abandoned files in this order,
    /// so that it sends the oldest writes first.
    private func newPath(in directory: String) throws(FileError) -> String {
        let numbers = try files.list(directory).compactMap { name -> Int64? in
            guard name.hasSuffix(Self.suffix) else { return nil }
            return Int64(name.prefix { $0 != "-" }).flatMap { OutboxLine.validNumbers.contains($0) ? $0 : nil }
        }
        let digits = String((numbers.max() ?? 0) + 1)
        let zeros = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
        return "\(directory)/\(zeros)\(digits)-\(Self.randomText)\(Self.suffix)"
    }

    /// Creates and locks a draft. Other programs do not adopt a file with the suffix of a draft. Another program that
    /// removes old drafts may lock the draft first. This method then creates another draft.
    private func openDraft(of path: String, in directory: String) throws(FileError) -> (OpenFile, draftPath: String) {
        for _ in 0..<Self.maxDrafts {
            let draftPath = "\(directory)/\(Self.randomText)\(Self.draftSuffix)"
            let draft = try OpenFile(draftPath, .new, in: files, reportedAs: path)
            do throws(FileError) {
                if try draft.lock(), try draft.isLocated(at: draftPath) { return (draft, draftPath) }
            } catch {
                try? files.remove(draftPath)
                throw error
            }
            try? files.remove(draftPath)
        }
        throw FileError(.lock, path, code: SystemErrorCode.wouldBlock)
    }

    private static var randomText: String { String(UInt64.random(in: .min ... .max), radix: 36) }
}

/// The files of other programs.
extension OutboxStore {
    /// Locks and reads abandoned files. The caller gives their writes numbers and then calls ``adopt(_:)``.
    mutating func collectAbandonedWrites() -> AbandonedWrites {
        var abandonedWrites = AbandonedWrites()
        guard let directory else { return abandonedWrites }
        let names: [String]
        do throws(FileError) {
            names = try files.list(directory).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // A missing directory has no files. If the user may not list the directory, this method reports no problem,
            // because the next write to the directory fails and reports the problem.
            if !error.isMissingOrForbidden {
                abandonedWrites.problems.append(FileProblem(path: directory, reason: error.reason))
            }
            return abandonedWrites
        }
        let ownPaths = Set(abandonedFiles.map(\.file.path) + [file?.path].compactMap(\.self))
        for name in names {
            let path = "\(directory)/\(name)"
            if name.hasSuffix(Self.suffix), !ownPaths.contains(path) {
                do throws(FileError) {
                    try collect(path, &abandonedWrites)
                } catch {
                    if !error.isMissing {
                        abandonedWrites.problems.append(FileProblem(path: path, reason: error.reason))
                    }
                }
            } else if name.hasSuffix(Self.draftSuffix), let draft = try? OpenFile(path, .writing, in: files),
                (try? draft.lockIfPresent()) == true
            {
                // No program holds the lock, so the program that created the draft has ended.
                try? files.remove(path)
            }
        }
        return abandonedWrites
    }

    /// Locks and reads one file, unless its program has not ended.
    private mutating func collect(_ path: String, _ abandonedWrites: inout AbandonedWrites) throws(FileError) {
        let abandonedFile = try OpenFile(path, .writing, in: files)
        guard try abandonedFile.lockIfPresent() else {
            abandonedWrites.hasLockedFiles = true
            return
        }
        let bytes = try abandonedFile.readAll()
        let contents: OutboxContents
        do throws(OutboxLineError) {
            contents = try OutboxContents(bytes)
        } catch {
            let version = if case .future(let version) = error { " (format \(version))" } else { "" }
            let reason =
                "the file is from a later version of this library\(version), so its writes are not sent; "
                + "update this program"
            return abandonedWrites.problems.append(FileProblem(path: path, reason: reason))
        }
        // Long names of servers are shortened, so two servers may share a directory.
        if let other = contents.owner, other != owner { return }
        // If a program ended while it adopted writes, its file and the abandoned file may contain the same write.
        let knownRequestKeys = Set(queue.map(\.change.requestKey) + abandonedWrites.writes.map(\.requestKey))
        abandonedWrites.writes += contents.writes.map(\.write).filter { !knownRequestKeys.contains($0.requestKey) }
        let damage: String? =
            switch contents.damagedCount {
            case 0: nil
            case 1: "a line is damaged, so its write is lost"
            case let count: "\(count) lines are damaged, so their writes are lost"
            }
        abandonedFiles.append(AbandonedFile(file: abandonedFile, damage: damage))
    }

    /// Adds the writes of abandoned files to the queue and to this program's file, and removes the abandoned files. If
    /// this program's file cannot be written, keeps the abandoned files. Returns the problems to report.
    mutating func adopt(_ writes: [(number: Int64, change: PendingChange)]) -> [FileProblem] {
        for (number, change) in writes {
            let size = OutboxLine.write(number, change).bytes.count
            insert(QueuedWrite(number: number, original: change, change: change, size: size))
        }
        for index in abandonedFiles.indices { abandonedFiles[index].isAdopted = true }
        do throws(FileError) {
            if !writes.isEmpty {
                isFileUsable = false
                if let directory { try rewrite(in: directory, isSynced: true) }
            }
            return isFileComplete ? removeAbandonedFiles() : []
        } catch {
            return abandonedFiles.compactMap { abandonedFile in
                abandonedFile.damage.map {
                    FileProblem(
                        path: abandonedFile.file.path,
                        reason: "\($0); the file is kept, because the outbox file of this program cannot be written: "
                            + "\(error)")
                }
            }
        }
    }

    /// Removes the adopted files, because this program's file contains their undamaged writes. Renames a damaged file,
    /// so that a person can examine the file. Keeps the lock of a file that can be neither emptied nor renamed, so that
    /// no other program adopts the file. Returns the problems to report.
    private mutating func removeAbandonedFiles() -> [FileProblem] {
        var problems: [FileProblem] = []
        var remaining: [AbandonedFile] = []
        for abandonedFile in abandonedFiles {
            guard abandonedFile.isAdopted else {
                remaining.append(abandonedFile)
                continue
            }
            let path = abandonedFile.file.path
            let damagedPath = "\(path.dropLast(Self.suffix.utf8.count)).damaged"
            do throws(FileError) {
                if let damage = abandonedFile.damage {
                    try files.rename(path, to: damagedPath)
                    problems.append(
                        FileProblem(path: path, reason: "\(damage); the file was renamed to \(damagedPath)"))
                } else {
                    // If the empty file cannot be removed, the next program removes it.
                    try abandonedFile.file.truncate(to: 0)
                    try? files.remove(path)
                }
            } catch {
                remaining.append(abandonedFile)
                guard let damage = abandonedFile.damage else { continue }
                problems.append(FileProblem(path: path, reason: "\(damage); cannot rename the file: \(error)"))
            }
        }
        abandonedFiles = remaining
        return problems
    }
}

extension OpenFile {
    /// Locks the file. Returns false if another program has locked the file, or if the file is no longer at its path.
    func lockIfPresent() throws(FileError) -> Bool {
        guard try lock() else { return false }
        return try isLocated(at: path)
    }
}
