internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// An open journal to which the daemon appends commits: a file with one line of JSON for each commit.
///
/// If an operation fails and its effect on the file is unknown, the owner of this value must create another journal.
struct JournalFile: Sendable {
    /// A position between two lines of the file.
    struct Position: Sendable {
        var offset: Int
        /// The revision of the last commit before the position.
        var lastRevision: Revision
    }

    /// The error of a failed change to the file.
    struct Failure: Error {
        let cause: FileError
        /// True if the lines of the file are unchanged. If false, the effect is unknown, and the owner must not append
        /// to the file again.
        let isRolledBack: Bool
    }

    let file: OpenFile
    private let identity: FileIdentity
    /// The first line, which says where the journal continues the history.
    let head: JournalHead
    /// The end of the last line. Preallocated zeros may follow.
    private(set) var end: Position
    /// The position up to which the file is known to be on disk.
    private(set) var synced: Position
    /// The offset at which the preallocated space ends.
    private var allocatedEnd: Int

    /// True if the whole file is on disk.
    var isSynced: Bool { synced.offset == end.offset }

    /// Creates a journal with its first commits, and writes its name into the file `NEWEST`. Both files are durable
    /// when the initializer returns. Replaces a journal of the same name, which has no commit that is still needed.
    ///
    /// - Parameter commits: the commits after `head.revision` that the journal contains from the start.
    init(_ head: JournalHead, commits: [Commit] = [], in directory: DataDirectory) throws(Failure) {
        var batch = JournalBatch()
        batch.add(head)
        // A line with `followsSync` says that everything before the line was on disk. The mark is true here, because
        // the file is synced before it gets its name. An invalid line before a line with this mark is therefore damage,
        // and not the rest of an interrupted write.
        for commit in commits { batch.add(commit, after: batch.lastRevision ?? head.revision, followsSync: true) }
        let name = DataDirectory.journalName(after: head.revision)
        do throws(FileError) {
            file = try directory.writeTemporary(name, batch.bytes)
            identity = try file.identity()
            var newest = JournalBatch()
            newest.addNewestJournal(name)
            _ = try directory.writeTemporary(DataDirectory.newestName, newest.bytes)
        } catch {
            // If the removal fails, the next start removes the temporary file. A temporary file of `NEWEST` may also
            // stay until the next start, or until the next journal replaces it.
            try? directory.removeTemporary(name)
            throw Failure(cause: error, isRolledBack: true)
        }
        do throws(FileError) {
            try directory.renameTemporary(name)
            try directory.renameTemporary(DataDirectory.newestName)
        } catch {
            // The new journal may exist, now or after a crash.
            throw Failure(cause: error, isRolledBack: false)
        }
        self.head = head
        end = Position(offset: batch.bytes.count, lastRevision: batch.lastRevision ?? head.revision)
        synced = end
        allocatedEnd = end.offset
    }

    /// Appends the lines of a batch. If the write fails, truncates the file to the end of its last line.
    mutating func append(_ batch: JournalBatch) throws(Failure) {
        preallocate(for: batch.bytes.count)
        try write(batch.bytes.span)
        end = Position(offset: end.offset + batch.bytes.count, lastRevision: batch.lastRevision ?? end.lastRevision)
    }

    /// Allocates blocks by writing and syncing zeros, so that a later write of `count` bytes is likely to succeed.
    mutating func reserveSpace(_ count: Int) throws(Failure) {
        try write([UInt8](repeating: 0, count: count).span)
        allocatedEnd = max(allocatedEnd, end.offset + count)
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw Failure(cause: error, isRolledBack: false)
        }
    }

    mutating func sync() throws(Failure) {
        guard !isSynced else { return }
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw Failure(cause: error, isRolledBack: false)
        }
        synced = end
    }

    /// Records that a background queue has synced the file up to a position.
    mutating func recordSync(upTo position: Position) {
        if position.offset > synced.offset { synced = position }
    }

    /// Truncates the file to the synced position after a failed sync; ignores errors. Without the truncation, the next
    /// process could recover lines that are only in the page cache, and a sync by that process would succeed without
    /// writing these lines.
    func truncateUnsynced() {
        try? file.truncate(to: synced.offset)
    }

    /// Removes the preallocated zeros after the last line. Ignores errors, because readers ignore these zeros.
    mutating func truncatePadding() {
        guard allocatedEnd > end.offset else { return }
        allocatedEnd = end.offset
        try? file.truncate(to: end.offset)
    }

    /// True if the path of the journal still refers to the open file, so that the next start finds its commits.
    func isStillAtPath(in fileSystem: any FileSystem) -> Bool {
        (try? fileSystem.identity(of: file.path))?.isSameFile(as: identity) ?? false
    }

    /// The bytes that one preallocation adds: enough for about a thousand commits, and quick to allocate.
    private static let preallocatedBytes = 256 << 10

    /// If the next write, of `count` bytes, does not fit into the preallocated space, preallocates the space that
    /// follows the end of this write. The sync of a later write then need not allocate blocks, which halves the time of
    /// a sync under load.
    private mutating func preallocate(for count: Int) {
        let needed = end.offset + count
        guard needed > allocatedEnd else { return }
        allocatedEnd = needed + Self.preallocatedBytes
        do throws(FileError) {
            try file.preallocate(needed..<allocatedEnd)
        } catch {
            // If the disk is full, the write itself fails and reports the error.
            allocatedEnd = needed
        }
    }

    /// Writes bytes after the last line. If the write fails, truncates the file and syncs the truncation. Without the
    /// sync, the bytes could be back after a crash, and recovery would find a commit that the daemon had refused.
    private mutating func write(_ bytes: Span<UInt8>) throws(Failure) {
        do throws(FileError) {
            try file.write(bytes, at: end.offset)
        } catch {
            allocatedEnd = end.offset
            do throws(FileError) {
                try file.truncate(to: end.offset)
                try file.sync()
            } catch {
                throw Failure(cause: error, isRolledBack: false)
            }
            throw Failure(cause: error, isRolledBack: true)
        }
    }
}
