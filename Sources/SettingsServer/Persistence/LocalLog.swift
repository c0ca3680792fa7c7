internal import Dispatch
package import SettingsModel
internal import Synchronization

/// Commits made durable in a directory of this machine: a journal that is synced, and snapshots from time to time.
///
/// All that changes while it runs, `journal` and what follows it, is touched on the writer's queue only, where `CommitLog`
/// says that its calls come from; what other queues tell comes through `reports`. That is why it may be shared unchecked.
package final class LocalLog: CommitLog, @unchecked Sendable {
    /// How the log is to keep its promise.
    package struct Options: Sendable {
        package var durability: Configuration.Durability
        /// How often to sync where the durability is `interval`, in nanoseconds.
        package var syncInterval: UInt64 = 1_000_000_000
        /// How many bytes the journal may grow by before a snapshot is written; more if the snapshot is larger.
        package var snapshotJournalBytes = 64 << 20
        /// After how long with changes a snapshot is written, in nanoseconds.
        package var snapshotInterval: UInt64 = 300_000_000_000

        package init(durability: Configuration.Durability) {
            self.durability = durability
        }
    }

    private let directory: DataDirectory
    private let lock: DirectoryLock
    private let options: Options
    private let log: Log
    private let clock: @Sendable () -> UInt64
    /// Where snapshots are written and, with `interval`, the journal is synced.
    private let queue = DispatchQueue(label: "settingsd.snapshots", qos: .utility)
    private let reports = Mutex(Reports())
    private let obstacle = Mutex<String?>(nil)

    /// What the queue beside has to tell.
    private struct Reports {
        var snapshot: Result<(revision: Revision, size: Int), FileError>?
        var failedSync: FileError?
    }

    /// The journal that is appended to; nil after it failed, until there is another.
    private var journal: JournalFile?
    /// Where the journal ends, as far as it counts.
    private var end = 0
    /// How far there is room made for it.
    private var allocated = 0
    private var staged: [UInt8] = []
    private var stagedRevision: Revision
    private var epoch: Epoch
    /// The last commit that was flushed.
    private var flushed: Revision
    private var latest: State
    /// How many bytes of journals there are beyond the newest snapshot.
    private var unsnapshotted: Int
    private var snapshot: SnapshotProgress
    private var lastSync: UInt64 = 0
    private var hasUnsynced = false

    /// Where snapshots have got to.
    private struct SnapshotProgress {
        var revision: Revision
        var size = 0
        var isRunning = false
        var time: UInt64
        /// No other is begun before, after one failed.
        var notBefore: UInt64 = 0
        var failures: UInt64 = 0
    }

    /// Takes over a directory that was recovered: whatever was replayed is made durable, and a new journal is begun.
    init(
        _ recovered: Recovered, snapshotRevision: Revision, in directory: DataDirectory, lock: DirectoryLock,
        options: Options, log: Log, clock: @escaping @Sendable () -> UInt64
    ) throws(FileError) {
        self.directory = directory
        self.lock = lock
        self.options = options
        self.log = log
        self.clock = clock
        epoch = recovered.state.epoch
        flushed = recovered.state.revision
        stagedRevision = flushed
        latest = recovered.state
        unsnapshotted = recovered.replayed
        snapshot = SnapshotProgress(revision: snapshotRevision, time: clock())
        if recovered.beganEpoch && flushed > .zero {
            snapshot.size = try SnapshotWriter.write(recovered.state, in: directory)
            snapshot.revision = flushed
        }
        try beginJournal(after: flushed)
    }

    /// Why writes are not taken now; nil if they are. From any thread.
    package var health: String? { obstacle.withLock { $0 } }

    // MARK: CommitLog

    package func stage(_ commit: Commit, after predecessor: Revision) -> Int {
        let start = staged.count
        let followsSync = start == 0 && options.durability == .always
        JournalLine.commit(commit, after: predecessor, followsSync: followsSync).append(to: &staged)
        stagedRevision = commit.revision
        return staged.count - start
    }

    package func discard() {
        staged.removeAll(keepingCapacity: true)
    }

    package func flush() throws(CommitLogError) {
        defer { discard() }
        takeReports()
        do throws(CommitLogError) {
            if options.durability == .snapshot {
                unsnapshotted += staged.count
            } else {
                try append()
            }
            flushed = stagedRevision
            recovered()
        } catch {
            failed(error)
            throw error
        }
    }

    package func published(_ state: State) {
        latest = state
        snapshotIfDue()
    }

    package func tend() {
        takeReports()
        if journal == nil {
            do throws(FileError) {
                try beginJournal(after: flushed)
                recovered()
            } catch {
                failed(CommitLogError(.notDone, error.isFull ? .full : .failed, error.description))
            }
        }
        syncIfDue()
        snapshotIfDue()
    }

    // MARK: The journal

    /// Begins another journal, after everything in the one before is on disk.
    private func beginJournal(after revision: Revision) throws(FileError) {
        if let journal, hasUnsynced {
            try journal.file.syncData()
            hasUnsynced = false
        }
        let head = JournalHead(epoch: epoch, after: revision, durability: options.durability)
        let (file, size) = try JournalFile.create(head, in: directory)
        if let journal { abandon(journal) }
        journal = file
        end = size
        allocated = size
    }

    /// Gives back the room behind a journal that is complete.
    private func abandon(_ journal: JournalFile) {
        do throws(FileError) {
            try journal.file.truncate(to: end)
        } catch {
            // Zeros at the end of a journal mean nothing; they only take room.
            log.debug("\(error)")
        }
    }

    /// Makes room for what is to be written, and some more: a sync then has only content to write, not the length of the
    /// file as well, which takes it a quarter less time.
    private func makeRoom(in journal: JournalFile, for count: Int) {
        guard end + count > allocated else { return }
        do throws(FileError) {
            try journal.file.allocate(upTo: end + count + Self.room)
            allocated = end + count + Self.room
        } catch {
            // Not every file system can; and if there is no room at all, the write itself will say so.
            allocated = end + count
        }
    }

    private static let room = 1 << 20

    private func append() throws(CommitLogError) {
        if journal == nil {
            do throws(FileError) {
                try beginJournal(after: flushed)
            } catch {
                throw CommitLogError(.notDone, error)
            }
        }
        guard let journal else { return }
        makeRoom(in: journal, for: staged.count)
        do throws(FileError) {
            try journal.file.write(staged.span, at: end)
        } catch {
            throw cutBack(journal, after: error)
        }
        if options.durability == .always {
            do throws(FileError) {
                try journal.file.syncData()
            } catch {
                // Nobody knows what is on disk now, and a second sync that succeeds would prove nothing.
                self.journal = nil
                throw CommitLogError(.unknown, error)
            }
        } else {
            hasUnsynced = true
        }
        end += staged.count
        unsnapshotted += staged.count
        syncIfDue()
    }

    /// Takes back what was written of a batch. Only if that works is it certain that the batch will not come back.
    private func cutBack(_ journal: JournalFile, after error: FileError) -> CommitLogError {
        do throws(FileError) {
            try journal.file.truncate(to: end)
            try journal.file.sync()
            allocated = end
            return CommitLogError(.notDone, error)
        } catch let second {
            self.journal = nil
            return CommitLogError(.unknown, .failed, "\(error); then \(second)")
        }
    }

    /// With `interval`: has the journal synced beside, if it is time.
    private func syncIfDue() {
        guard options.durability == .interval, hasUnsynced, clock() &- lastSync >= options.syncInterval, let journal
        else {
            return
        }
        lastSync = clock()
        hasUnsynced = false
        queue.async {
            do throws(FileError) {
                try journal.file.syncData()
            } catch {
                self.reports.withLock { $0.failedSync = error }
            }
        }
    }

    // MARK: Snapshots

    private func snapshotIfDue() {
        let now = clock()
        guard !snapshot.isRunning, latest.revision > snapshot.revision, now >= snapshot.notBefore else { return }
        let isLong = unsnapshotted >= max(options.snapshotJournalBytes, snapshot.size)
        guard isLong || now &- snapshot.time >= options.snapshotInterval else { return }
        beginSnapshot()
    }

    /// Begins a new journal, and writes what came before beside, while writes go on.
    private func beginSnapshot() {
        do throws(FileError) {
            try beginJournal(after: latest.revision)
        } catch {
            postponeSnapshot(error)
            return
        }
        unsnapshotted = 0
        snapshot.isRunning = true
        let (state, directory) = (latest, directory)
        queue.async {
            let result: Result<(revision: Revision, size: Int), FileError>
            do throws(FileError) {
                let size = try SnapshotWriter.write(state, in: directory)
                try directory.removeOutdated()
                result = .success((state.revision, size))
            } catch {
                result = .failure(error)
            }
            self.reports.withLock { $0.snapshot = result }
        }
    }

    private func postponeSnapshot(_ error: FileError) {
        snapshot.failures = min(snapshot.failures + 1, 6)
        snapshot.notBefore = clock() &+ (1_000_000_000 << snapshot.failures)
        log.warning("no snapshot could be written, and it will be tried again; nothing is lost: \(error)")
    }

    private func takeReports() {
        let reports = self.reports.withLock { reports in
            defer { reports = Reports() }
            return reports
        }
        switch reports.snapshot {
        case .success(let done)?:
            snapshot = SnapshotProgress(revision: done.revision, size: done.size, time: clock())
            log.debug("wrote a snapshot of revision \(done.revision), \(done.size) bytes")
        case .failure(let error)?:
            snapshot.isRunning = false
            postponeSnapshot(error)
        case nil: break
        }
        if let error = reports.failedSync {
            // What was acknowledged may not be on disk: a snapshot of what is in memory makes good for it.
            log.error("the journal could not be synced; a snapshot will take its place: \(error)")
            journal = nil
            snapshot.time = clock() &- options.snapshotInterval
        }
    }

    // MARK: Health

    private func recovered() {
        let before = obstacle.withLock { obstacle in
            defer { obstacle = nil }
            return obstacle
        }
        if before != nil { log.info("writes are taken again") }
    }

    private func failed(_ error: CommitLogError) {
        let before = obstacle.withLock { obstacle in
            defer { obstacle = error.description }
            return obstacle
        }
        if before != error.description { log.error("writes fail: \(error)") }
    }

    // MARK: The end

    /// Makes everything durable, with a snapshot, says that the stop was a clean one, and lets go of the directory. On the
    /// writer's queue, after the last flush.
    package func close() throws(FileError) {
        // What is being written beside must be done before files are taken away.
        queue.sync {}
        takeReports()
        if latest.revision > snapshot.revision || journal == nil {
            try beginJournal(after: flushed)
            snapshot.size = try SnapshotWriter.write(latest, in: directory)
            try directory.removeOutdated()
        }
        guard let journal else { return }
        var line: [UInt8] = []
        JournalLine.closed(after: flushed).append(to: &line)
        try journal.file.write(line.span, at: end)
        try journal.file.truncate(to: end + line.count)
        try journal.file.sync()
        lock.release()
    }
}

extension CommitLogError {
    fileprivate init(_ outcome: Outcome, _ error: FileError) {
        let remedy =
            error.isFull
            ? "; free some room, and writes are taken again by themselves"
            : "; once the cause is gone, writes are taken again by themselves"
        self.init(outcome, error.isFull ? .full : .failed, error.description + remedy)
    }
}
