package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A log that keeps commits in a directory of this machine: a journal that is synced, and snapshots from time to time.
///
/// Used on the commit thread, except ``health``. That is why it may be shared unchecked.
/// What runs on other queues reports through the mutex of a ``BackgroundTask``, and `obstacle` has its own.
package final class LocalLog: StorageLog, @unchecked Sendable {
    package struct Options: Sendable {
        package var durability: Durability
        /// The time between syncs with durability `interval`, in nanoseconds.
        package var syncInterval: UInt64 = 1_000_000_000
        /// The growth of the journal after which a snapshot is written; more if the snapshot is larger.
        package var snapshotJournalBytes = 64 << 20
        /// The time with changes after which a snapshot is written, in nanoseconds.
        package var snapshotInterval: UInt64 = 300_000_000_000
        /// Charges for the memory of large values that were replaced while a snapshot holds them; called with 0 after it.
        package var chargeReplaced: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// Charges for the memory of a long line of a snapshot; called with 0 once the line is written.
        package var chargeSnapshotLine: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// Charges for the memory of commits that left the history and are not in a past file yet.
        package var chargePast: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// True to sync and to write snapshots in the call that finds them due, for tests.
        package var runsInline = false

        package init(durability: Durability) {
            self.durability = durability
        }
    }

    private let directory: DataDirectory
    private let name: String
    private let options: Options
    private let log: Log
    private let clock: @Sendable () -> UInt64
    private let obstacle = Mutex<CommitLogError?>(nil)
    package let figures = StorageFigures()

    /// The lock of the directory; nil after ``close(within:)``.
    private var lock: DirectoryLock?
    /// The recovery to clean up after before anything is written; nil once that is done.
    private var unsettled: Recovery?
    private var journal: JournalWriter
    private var snapshots: SnapshotSchedule
    /// Nil if the history is no longer than what memory has.
    private var past: PastSchedule?
    private var staged = JournalBatch()
    /// The memory of large values that the staged commits replaced, if a snapshot keeps them.
    private var stagedReplacedBytes = 0
    /// True if a commit whose outcome was reported as unknown may come back with the next start.
    private var isInDoubt = false
    /// The state that was published last: all that was flushed, whenever nothing is staged.
    private var latest: State
    /// The reason why the next start would not find what is written now; nil if the last look found all in place.
    private var displaced: CommitLogError?

    /// Locks a directory, recovers what is in it, logs what an operator should know of that, and begins a new journal.
    ///
    /// Nothing is changed if it throws because of damage. When it returns, whatever the state holds is on disk, and the
    /// new journal names the durability from now on. Where nothing can be written, because the disk is full or read-only,
    /// ``tend()`` begins that journal later, and no writes are taken before.
    package static func open(
        _ directory: DataDirectory, options: Options, limits: History.Limits, log: Log, newEpoch: () -> Epoch,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (Recovery, LocalLog) {
        let lock = try DirectoryLock(directory)
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        guard !listing.contains(DataDirectory.clusterName) else {
            throw RecoveryError(
                .inaccessible,
                "\(directory.path) has a copy of what etcd keeps; start with --etcd.endpoints, or choose another "
                    + "directory with --data")
        }
        // With durability `snapshot` a crash takes commits back that a file would still have.
        let keepsPast = limits.age < .max && options.durability != .snapshot
        // What past files do not have yet may be more than memory has room for.
        let bounds = keepsPast ? History.Limits.unbounded : limits
        var recovery = try Recovery(of: directory, limits: bounds) ?? Recovery(new: newEpoch(), limits: bounds)
        let (isOpenToOthers, name) = try directory.reading { () throws(FileError) in
            let isOpenToOthers = try directory.fileSystem.status(directory.path).isOpenToOthers
            let name = try directory.markedName() ?? newEpoch().text
            try directory.syncFiles()
            return (isOpenToOthers, name)
        }
        let past = try open(recovery, keepsPast: keepsPast, in: directory, options, limits: limits, log)
        if keepsPast { recovery.bound(by: limits) }
        if recovery.mustBeginEpoch { recovery = try recovery.beginning(newEpoch(), in: directory) }
        if isOpenToOthers {
            log.warning(
                "\(directory.path) can be entered by other users; 'chmod 700 \(directory.path)' keeps them out")
        }
        for note in recovery.notes {
            if note.isWarning { log.warning(note.description) } else { log.info(note.description) }
        }
        let localLog = LocalLog(
            recovery, in: directory, named: name, lock: lock, options: options, past, log: log, clock: clock)
        do throws(FileError) {
            try localLog.begin()
        } catch {
            guard error.refusesWriting else { throw RecoveryError(error) }
            localLog.report(CommitLogError(.notDone, error))
        }
        return (recovery, localLog)
    }

    private static func open(
        _ recovery: Recovery, keepsPast: Bool, in directory: DataDirectory, _ options: Options, limits: History.Limits,
        _ log: Log
    ) throws(RecoveryError) -> PastSchedule? {
        guard keepsPast else {
            let count = try directory.reading { () throws(FileError) in try directory.list().past.count }
            if count > 0 {
                log.warning(
                    "\(count) past files are not used, as history.days is 0 or durability is snapshot; remove them")
            }
            return nil
        }
        let files = try PastFiles.open(directory, upTo: recovery.last, recovery.state.history, log)
        var past = PastSchedule(files, recovery.state.history, limits: limits, runsInline: options.runsInline)
        if past.isDue(recovery.state) { past.add(recovery.state) }
        return past
    }

    private init(
        _ recovery: Recovery, in directory: DataDirectory, named name: String, lock: DirectoryLock, options: Options,
        _ past: PastSchedule?, log: Log, clock: @escaping @Sendable () -> UInt64
    ) {
        self.directory = directory
        self.name = name
        self.lock = lock
        self.options = options
        self.log = log
        self.clock = clock
        unsettled = recovery
        self.past = past
        latest = recovery.state
        snapshots = SnapshotSchedule(
            latest: recovery.snapshot ?? .zero, grown: recovery.replayed, options, now: clock())
        // What comes before counts up to the last commit that was recovered; an epoch may begin here.
        var after = recovery.last
        if let previous = recovery.head, previous.revision == latest.revision { after = previous.after }
        let head = JournalHead(
            epoch: latest.epoch, revision: latest.revision, after: after, durability: options.durability,
            directory: name)
        journal = JournalWriter(head, in: directory, options, figures)
    }

    /// The past files; nil if the history is no longer than what memory has. They are the same for as long as the log is.
    package var pastFiles: PastFiles? { past?.files }

    /// The reason why writes are refused now; nil if they are taken. May be called from any thread.
    package var health: String? { obstacle.withLock { $0?.reason } }

    /// Notes whether writes are taken. Logs each change.
    private func report(_ error: CommitLogError?) {
        let before = obstacle.withLock { obstacle in
            defer { obstacle = error }
            return obstacle
        }
        guard before?.description != error?.description else { return }
        if let error { log.error("writes fail: \(error)") } else { log.info("writes are taken again") }
    }

    // MARK: CommitLog

    package func stage(_ commit: KeptCommit, after predecessor: Revision) {
        // Only the first line of a batch can say that everything before it is on disk.
        let followsSync = staged.isEmpty && journal.file?.isSynced ?? true
        staged.add(commit.commit, after: predecessor, followsSync: followsSync)
        if snapshots.isWriting, commit.size >= SnapshotSchedule.largeCommitBytes {
            stagedReplacedBytes += commit.commit.replacedBytes
        }
    }

    package var requiresFlush: Bool { isInDoubt }

    package func flush(by deadline: UInt64 = .max) throws(CommitLogError) {
        defer {
            staged.removeAll()
            stagedReplacedBytes = 0
        }
        do throws(CommitLogError) {
            try ensureJournal()
            // If the outcome of a commit was unknown, the present journal begins without that commit.
            isInDoubt = false
            guard !staged.isEmpty else { return }
            try journal.append(staged)
            snapshots.noteCommits(bytes: staged.bytes.count, replacedBytes: stagedReplacedBytes)
            journal.syncIfDue(now: clock)
            report(nil)
        } catch {
            if error.outcome == .unknown { isInDoubt = true }
            report(error)
            throw error
        }
    }

    package func published(_ state: State) {
        latest = state
        if options.durability == .snapshot { journal.trusted = state.revision }
        keepPast()
        snapshotIfDue()
    }

    package func tend() {
        guard lock != nil else { return }
        displaced = displacement()
        do throws(CommitLogError) {
            try ensureJournal()
            if health != nil { try journal.reserve() }
            report(nil)
        } catch {
            report(error)
        }
        journal.syncIfDue(now: clock)
        if displaced == nil {
            keepPast()
            snapshotIfDue()
        }
        noteFigures()
    }

    private func noteFigures() {
        let (journalBytes, snapshots) = (journal.file?.place.end ?? 0, snapshots)
        let past = pastFiles?.list ?? []
        figures.update { kept in
            kept.journalBytes = journalBytes
            kept.replayBytes = snapshots.grown
            kept.snapshotBytes = snapshots.size
            kept.snapshotTime = snapshots.written
            kept.failedSnapshots = snapshots.failed
            kept.pastFiles = past.count
            kept.pastBytes = past.reduce(0) { $0 + $1.size }
            kept.oldestPast = past.first?.commits.first?.earliest
        }
    }

    // MARK: The journal

    /// Begins a journal if there is none that can be trusted. Throws if writes cannot be taken.
    private func ensureJournal() throws(CommitLogError) {
        guard lock != nil else { throw CommitLogError(.notDone, .failed, "the data directory is closed") }
        takeReports()
        if journal.file == nil { displaced = displacement() }
        if let displaced { throw displaced }
        guard journal.file == nil else { return }
        do throws(FileError) {
            try begin()
        } catch {
            throw CommitLogError(.notDone, error)
        }
    }

    /// The reason why the next start would not find what is written now: the directory or the journal was moved or
    /// removed. The look costs a system call or two, so it is taken once a second and before a new journal.
    private func displacement() -> CommitLogError? {
        // Where the path of the journal leads to the journal, that of the directory leads to the directory.
        if journal.file?.isInPlace(in: directory.fileSystem) ?? false { return nil }
        do throws(FileError) {
            try lock?.checkPlace()
        } catch {
            let found = error.code == SystemErrorCode.staleFile ? "another is in its place" : error.reason
            let what = "was moved or removed: \(found); move it back, and writes are taken again by themselves"
            return CommitLogError(
                .notDone, .failed, "the data directory \(directory.path) \(what)", reason: "the data directory \(what)")
        }
        guard let file = journal.file?.file else { return nil }
        let what =
            "was moved, removed or replaced; move it back, or stop the daemon, which then writes a snapshot of all data"
        return CommitLogError(.notDone, .failed, "\(file.path) \(what)", reason: "the journal \(what)")
    }

    /// Begins a journal behind the last commit that is on disk for sure, once the directory is cleaned up. What was
    /// acknowledged beyond that, with `interval`, is written to it again from memory.
    private func begin() throws(FileError) {
        try unsettled?.cleanUp(directory, as: name, log)
        if options.durability == .snapshot {
            try journal.begin(after: max(journal.head.revision, snapshots.latest))
        } else {
            let trusted = journal.trusted
            // The history may not reach back that far.
            if trusted < latest.revision && latest.history.oldestAvailable > trusted { try replaceJournals() }
            let commits = latest.history.commits(after: journal.trusted).map(\.commit)
            try journal.begin(after: journal.trusted, commits)
        }
        unsettled = nil
    }

    /// Writes a snapshot of the state in place of the journals up to now.
    private func replaceJournals() throws(FileError) {
        snapshots.grown = 0
        let size = try SnapshotWriter.write(latest, journal: latest.revision, in: directory)
        snapshots.note(latest.revision, size: size, now: clock())
        journal.trusted = latest.revision
    }

    /// Takes note of what the other queues did.
    private func takeReports() {
        journal.takeReport(log)
        guard let written = snapshots.takeReport(now: clock, log), options.durability == .snapshot else { return }
        // The journal names the snapshot, so that a start notices if that is missing.
        do throws(FileError) {
            try journal.begin(after: written)
        } catch {
            log.warning("cannot begin a journal after a snapshot: \(error); nothing is lost")
        }
    }

    /// Has commits written to a past file before memory drops them, once they are durable.
    private func keepPast() {
        past?.takeReport(now: clock(), log)
        guard past != nil, unsettled == nil, journal.file != nil else { return }
        if past?.isDue(latest) ?? false {
            if options.durability == .interval { journal.sync(log) }
            if journal.file != nil { past?.add(latest) }
        }
        past?.begin(now: clock())
        if options.runsInline { past?.takeReport(now: clock(), log) }
        options.chargePast(past?.heldBytes(beside: latest) ?? 0)
    }

    private func snapshotIfDue() {
        guard journal.file != nil, snapshots.isDue(latest.revision, now: clock()) else { return }
        // The journals that a snapshot outdates may be all that has these.
        if past?.isBehind(latest) ?? false { return }
        do throws(FileError) {
            try rotate()
        } catch {
            snapshots.postpone(now: clock())
            log.warning("cannot begin a snapshot: \(error); it is retried, nothing is lost")
            return
        }
        guard journal.file != nil else { return }
        snapshots.begin(latest, journal: journal.head.revision, in: directory)
        if options.runsInline { takeReports() }
    }

    /// Begins another journal once all of this one is on disk, so that those before can go with their snapshots.
    private func rotate() throws(FileError) {
        guard options.durability != .snapshot, let file = journal.file, file.place.last != file.head.revision else {
            return
        }
        // If snapshots fail again and again, there shall not be a journal for each attempt.
        if snapshots.isRetry && file.place.end < options.snapshotJournalBytes { return }
        if options.durability == .interval { journal.sync(log) }
        if journal.file != nil { try journal.begin(after: latest.revision) }
    }

    // MARK: The end

    /// Makes everything durable, with a snapshot, marks the stop as clean, and releases the directory. Runs after the last
    /// flush; no write is taken afterwards.
    ///
    /// - Parameter bound: the time that past files and the snapshot may take, in nanoseconds. What takes longer is abandoned,
    ///   which costs nothing but time at the next start where there is a journal.
    package func close(within bound: UInt64 = .max) throws(FileError) {
        guard let lock else { return }
        let (sum, isBeyond) = clock().addingReportingOverflow(bound)
        let end = isBeyond ? .max : sum
        defer {
            self.lock = nil
            journal.giveUp()
        }
        // Nothing was taken since the start.
        guard unsettled == nil else { return }
        snapshots.abandon()
        journal.sync(log)
        takeReports()
        do throws(FileError) {
            try lock.checkPlace()
        } catch {
            // Wherever the journal is now, it ends as it should.
            try? journal.close(after: latest.revision)
            throw error
        }
        // Without its mark, as `LOCK` was removed, the directory would be taken for a copy.
        if (try? directory.markedName()) == nil { try? directory.mark(as: name) }
        past?.finish(until: end, clock: clock, log)
        if let file = journal.file, !file.isInPlace(in: directory.fileSystem) {
            journal.giveUp()
            try replaceJournals()
        }
        do throws(FileError) {
            if journal.file == nil { try begin() }
            try writeLastSnapshot(until: end)
            try journal.close(after: latest.revision)
        } catch {
            guard options.durability == .always, journal.trusted == latest.revision else { throw error }
            log.warning("cannot mark the stop as clean: \(error); nothing is lost")
        }
    }

    private func writeLastSnapshot(until end: UInt64) throws(FileError) {
        guard latest.revision > snapshots.latest else { return }
        // The journals that it would outdate may be all that has these.
        guard !(past?.isBehind(latest) ?? false) else {
            return log.info(
                "stopped before the history was written to past files; the next start goes on from the journal")
        }
        let clock = clock
        do throws(FileError) {
            _ = try SnapshotWriter.write(
                latest, journal: journal.head.revision, in: directory, isAbandoned: { clock() >= end })
            try directory.removeOutdated()
        } catch {
            if options.durability == .snapshot { throw error }
            log.warning("cannot write the last snapshot: \(error); the next start replays the journal")
        }
    }
}

extension CommitLogError {
    /// The error of writes that the file system refused.
    init(_ outcome: Outcome, _ error: FileError) {
        let remedy =
            error.isFull
            ? "; free some room, and writes are taken again by themselves"
            : "; once the cause is gone, writes are taken again by themselves"
        self.init(
            outcome, error.isFull ? .full : .failed, error.description + remedy,
            reason: "cannot write to the data directory: \(error.reason)\(remedy)")
    }
}
