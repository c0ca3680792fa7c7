package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// The commit log in a local data directory, which makes commits durable. It appends commits to a journal (one line for
/// each commit), and sometimes writes a snapshot: a file with the complete state.
///
/// A start recovers the state from the newest snapshot and the journals after it. If the configuration keeps history
/// for a number of days, the log also writes past files: files with older commits, which the history in memory evicts.
/// Runs on the commit thread of ``WritePipeline``. Therefore `@unchecked Sendable` is safe. Other threads may use only
/// ``writeFailureReason`` and ``metrics``, which are thread-safe. Background queues return their results through a
/// ``BackgroundTask``.
package final class LocalLog: StorageLog, @unchecked Sendable {
    package struct Options: Sendable {
        /// The storage that a write must reach before the daemon acknowledges the write.
        package var durability: Durability
        /// The time between syncs with durability `interval`, in nanoseconds.
        package var syncInterval: UInt64 = 1_000_000_000
        /// A snapshot is due when the new commits have this many bytes, and are not smaller than the previous snapshot.
        package var snapshotJournalBytes = 64 << 20
        /// A snapshot is also due this many nanoseconds after the previous snapshot (or after the start, if no snapshot
        /// was written since the start), if there are new commits.
        package var snapshotInterval: UInt64 = 300_000_000_000
        /// Sets the charge against the memory budget for large values that writes have replaced and that a snapshot in
        /// progress still needs; 0 after the snapshot.
        package var chargeReplaced: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// Sets the charge against the memory budget for a long line of a snapshot; 0 after the line is written.
        package var chargeSnapshotLine: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// Sets the charge against the memory budget for evicted commits that are not in a past file yet.
        package var chargePast: @Sendable (_ bytes: Int) -> Void = { _ in }
        /// True to sync and to write files synchronously instead of on background queues, for tests.
        package var runsSynchronously = false

        package init(durability: Durability) {
            self.durability = durability
        }
    }

    private let directory: DataDirectory
    /// The random identifier of the directory, which `LOCK` and the journals contain to recognise a copied directory.
    private let directoryID: String
    private let options: Options
    private let log: Log
    /// Returns the monotonic time in nanoseconds.
    private let clock: @Sendable () -> UInt64
    private let writeFailure: WriteFailure
    package let metrics = StorageMetrics()

    /// The lock of the directory; nil after ``close(within:)``.
    private var lock: DirectoryLock?
    /// The recovery whose cleanup must be done before the log writes; nil after the cleanup.
    private var pendingCleanUp: Recovery?
    private var journal: JournalWriter
    private var snapshots: SnapshotSchedule
    /// Nil if the configuration does not keep past files.
    private var pastSchedule: PastSchedule?
    /// The staged commits: the next flush appends them to the journal.
    private var staged = JournalBatch()
    /// The memory of large values that the staged commits replaced and that a snapshot in progress still needs.
    private var stagedReplacedBytes = 0
    /// True if a flush failed and the next start might recover its commits. The next successful flush prevents that.
    private var hasUnknownOutcome = false
    /// The last published state. The commit stage publishes each successful flush before it stages the next commit, so
    /// this state contains all flushed commits whenever the log uses it.
    private var state: State
    /// The result of the last ``findDisplacement()``: the error if the directory or the journal was moved or removed.
    private var displacementError: CommitLogError?

    /// Locks a directory, recovers the state, logs the messages of the recovery (`Recovery.notes`), and begins a new
    /// journal. If commits may be missing, a new epoch begins, which invalidates the cursors of clients.
    ///
    /// If this method throws because of damage, the directory is unchanged. When this method returns, the recovered
    /// state is durable. On a full or read-only disk, the log refuses writes until ``performMaintenance()`` can begin a
    /// journal.
    package static func open(
        _ directory: DataDirectory, options: Options, limits: History.Limits, log: Log, newEpoch: () -> Epoch,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (Recovery, LocalLog) {
        let lock = try DirectoryLock(directory)
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        guard !listing.contains(DataDirectory.clusterName) else {
            throw RecoveryError(
                .inaccessible,
                "cannot use \(directory.path): it is a copy of a log in etcd; start with --etcd.endpoints, or choose "
                    + "another directory with --data")
        }
        // With durability `snapshot`, a past file could contain commits that a crash has removed from the state.
        let keepsPastFiles = limits.age < .max && options.durability != .snapshot
        // The journals may have commits that exceed the limits of the history and are not in a past file yet. The
        // history keeps these commits until `openPastFiles` has queued the state for writing to a past file.
        let recoveryLimits = keepsPastFiles ? History.Limits.unbounded : limits
        var recovery =
            try Recovery(of: directory, limits: recoveryLimits) ?? Recovery(new: newEpoch(), limits: recoveryLimits)
        let (isOpenToGroupOrOthers, directoryID) = try directory.mapErrors { () throws(FileError) in
            let isOpenToGroupOrOthers = try directory.fileSystem.status(directory.path).isOpenToGroupOrOthers
            // The name of an epoch is random, so a new name also serves as the identifier of a directory.
            let directoryID = try directory.lockFileDirectoryID() ?? newEpoch().text
            try directory.syncFiles()
            return (isOpenToGroupOrOthers, directoryID)
        }
        let pastSchedule = try openPastFiles(
            recovery, keepsPastFiles: keepsPastFiles, in: directory, options, limits: limits, log)
        if keepsPastFiles { recovery.setHistoryLimits(limits) }
        if recovery.mustBeginEpoch { recovery = try recovery.beginningEpoch(newEpoch(), in: directory) }
        if isOpenToGroupOrOthers {
            log.warning("other users can enter the data directory \(directory.path); run 'chmod 700 \(directory.path)'")
        }
        for note in recovery.notes {
            if note.isWarning { log.warning(note.description) } else { log.info(note.description) }
        }
        let localLog = LocalLog(
            recovery, in: directory, directoryID: directoryID, lock: lock, options: options, pastSchedule, log: log,
            clock: clock)
        do throws(FileError) {
            try localLog.beginJournal()
        } catch {
            guard error.refusesWriting else { throw RecoveryError(error) }
            localLog.writeFailure.record(CommitLogError(.notDone, error))
        }
        return (recovery, localLog)
    }

    /// Opens the past files. If the recovered commits that no past file has are enough for a file, queues the state for
    /// writing. Returns nil if the log keeps no past files.
    private static func openPastFiles(
        _ recovery: Recovery, keepsPastFiles: Bool, in directory: DataDirectory, _ options: Options,
        limits: History.Limits, _ log: Log
    ) throws(RecoveryError) -> PastSchedule? {
        guard keepsPastFiles else {
            let count = try directory.mapErrors { () throws(FileError) in try directory.list().pastFiles.count }
            if count > 0 {
                log.warning(
                    "the daemon does not use the past files in the data directory (\(count)), because history.days is 0 or "
                        + "durability is snapshot; remove them")
            }
            return nil
        }
        let files = try PastFiles.open(directory, upTo: recovery.lastRevision, recovery.state.history, log)
        var schedule = PastSchedule(
            files, recovery.state.history, limits: limits, runsSynchronously: options.runsSynchronously)
        if schedule.isDue(recovery.state) { schedule.enqueue(recovery.state) }
        return schedule
    }

    private init(
        _ recovery: Recovery, in directory: DataDirectory, directoryID: String, lock: DirectoryLock, options: Options,
        _ pastSchedule: PastSchedule?, log: Log, clock: @escaping @Sendable () -> UInt64
    ) {
        (self.directory, self.directoryID, self.lock, self.options) = (directory, directoryID, lock, options)
        self.log = log
        writeFailure = WriteFailure(log: log)
        self.clock = clock
        self.pastSchedule = pastSchedule
        pendingCleanUp = recovery
        state = recovery.state
        snapshots = SnapshotSchedule(
            latestRevision: recovery.snapshotRevision ?? .zero, bytesSinceSnapshot: recovery.replayedBytes, options,
            now: clock())
        // Recovery ignores the commits after `predecessor` in older journals. If the newest journal begins at the
        // recovered revision, the new journal replaces the newest journal, because both have the same name. The new
        // journal then gets the predecessor of the replaced journal.
        var predecessor = recovery.lastRevision
        if let previous = recovery.head, previous.revision == state.revision { predecessor = previous.predecessor }
        let head = JournalHead(
            epoch: state.epoch, revision: state.revision, predecessor: predecessor, durability: options.durability,
            directoryID: directoryID)
        journal = JournalWriter(head, in: directory, options, metrics)
    }

    /// The past files; nil if the log keeps no past files. The object is the same during the lifetime of the log.
    package var pastFiles: PastFiles? { pastSchedule?.files }

    /// The reason why the log refuses writes now; nil if it accepts writes. Thread-safe.
    package var writeFailureReason: String? { writeFailure.current?.reason }

    // MARK: CommitLog

    package func stage(_ commit: RetainedCommit, after predecessor: Revision) {
        // The journal line of a commit says whether everything before the line was synced. Only the first line of a
        // flush can follow a sync. Without a journal, the flush begins a journal, which is synced.
        let followsSync = staged.isEmpty && journal.file?.isSynced ?? true
        staged.add(commit.commit, after: predecessor, followsSync: followsSync)
        // The size of a commit includes the values that the commit replaced.
        if snapshots.isWriting, commit.size >= SnapshotSchedule.largeCommitBytes {
            stagedReplacedBytes += commit.commit.replacedBytes
        }
    }

    package var requiresFlush: Bool { hasUnknownOutcome }

    /// Ignores the deadline, because a local flush does not wait for etcd.
    package func flush(by deadline: UInt64 = .max) throws(CommitLogError) {
        defer {
            staged.removeAll()
            stagedReplacedBytes = 0
        }
        do throws(CommitLogError) {
            try ensureJournal()
            // After a flush with an unknown outcome, `ensureJournal` begins a new journal, whose head makes recovery
            // ignore the commits of that flush.
            hasUnknownOutcome = false
            guard !staged.isEmpty else { return }
            try journal.append(staged)
            snapshots.recordCommits(bytes: staged.bytes.count, replacedBytes: stagedReplacedBytes)
            journal.syncIfDue(now: clock)
            writeFailure.record(nil)
        } catch {
            if error.outcome == .unknown { hasUnknownOutcome = true }
            writeFailure.record(error)
            throw error
        }
    }

    package func recordPublication(of state: State) {
        self.state = state
        writePastFiles()
        beginSnapshotIfDue()
    }

    package func performMaintenance() {
        guard lock != nil else { return }
        displacementError = findDisplacement()
        do throws(CommitLogError) {
            try ensureJournal()
            // After a failure, test whether the disk accepts writes again.
            if writeFailureReason != nil { try journal.reserveSpace() }
            writeFailure.record(nil)
        } catch {
            writeFailure.record(error)
        }
        journal.syncIfDue(now: clock)
        if displacementError == nil {
            writePastFiles()
            beginSnapshotIfDue()
        }
        updateMetrics()
    }

    private func updateMetrics() {
        let (journalBytes, snapshots) = (journal.file?.end.offset ?? 0, snapshots)
        let pastFiles = pastFiles?.list ?? []
        metrics.update { metrics in
            metrics.journalBytes = journalBytes
            metrics.replayBytes = snapshots.bytesSinceSnapshot
            metrics.snapshotBytes = snapshots.latestSize
            metrics.snapshotTime = snapshots.writeTime
            metrics.failedSnapshots = snapshots.failureCount
            metrics.pastFiles = pastFiles.count
            metrics.pastBytes = pastFiles.reduce(0) { $0 + $1.size }
            metrics.oldestPastTime = pastFiles.first?.commitLines.first?.earliest
        }
    }

    // MARK: The journal

    /// Begins a journal if there is no journal to which the log may append, for example after a failed write. Throws if
    /// writes must fail.
    private func ensureJournal() throws(CommitLogError) {
        guard lock != nil else { throw CommitLogError(.notDone, .failed, "the data directory is closed") }
        collectResults()
        if journal.file == nil || options.durability == .always { displacementError = findDisplacement() }
        if let displacementError { throw displacementError }
        guard journal.file == nil else { return }
        do throws(FileError) {
            try beginJournal()
        } catch {
            throw CommitLogError(.notDone, error)
        }
    }

    /// Checks whether the directory or the journal was moved, removed or replaced. In these cases, the next start would
    /// not find new commits. Returns the error; nil if the directory and the journal are still at their paths. With the
    /// durability `always`, the log checks before each flush, whose sync takes much longer than the check.
    /// ``performMaintenance()``, which runs at least once a second, always checks. ``ensureJournal()`` checks before it
    /// begins a journal.
    private func findDisplacement() -> CommitLogError? {
        // If the path of the journal still refers to the open file, the directory has not been replaced.
        if journal.file?.isStillAtPath(in: directory.fileSystem) ?? false { return nil }
        do throws(FileError) {
            try lock?.verifyPath()
        } catch {
            let cause = error.code == SystemErrorCode.staleFile ? "another directory is in its place" : error.reason
            let text = "was moved or removed: \(cause); move it back, then the daemon accepts writes again"
            return CommitLogError(
                .notDone, .failed, "the data directory \(directory.path) \(text)", reason: "the data directory \(text)")
        }
        guard let file = journal.file?.file else { return nil }
        let text =
            "was moved, removed or replaced; move it back, or stop the daemon, which then writes a snapshot of all data"
        return CommitLogError(.notDone, .failed, "\(file.path) \(text)", reason: "the journal \(text)")
    }

    /// Cleans up after the recovery, then begins a journal after the last commit that is certainly on disk. With
    /// durability `interval`, later commits were acknowledged too; the log writes them from memory to the new journal.
    private func beginJournal() throws(FileError) {
        try pendingCleanUp?.cleanUp(directory, directoryID: directoryID, log)
        if options.durability == .snapshot {
            // The journal has no commits. The revision in its name tells the next start which snapshot must exist.
            try journal.beginFile(after: max(journal.head.revision, snapshots.latestRevision))
        } else {
            // If the history has evicted some of the later commits, only a snapshot can make them durable.
            let (durable, oldest) = (journal.durableRevision, state.history.oldestAvailable)
            if durable < state.revision && oldest > durable { try replaceJournalsWithSnapshot() }
            let commits = state.history.commits(after: journal.durableRevision).map(\.commit)
            try journal.beginFile(after: journal.durableRevision, with: commits)
        }
        pendingCleanUp = nil
    }

    /// Writes a snapshot of the published state, so that recovery needs no existing journal.
    private func replaceJournalsWithSnapshot() throws(FileError) {
        let size = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        snapshots.bytesSinceSnapshot = 0
        snapshots.recordSnapshot(state.revision, size: size, now: clock())
        journal.durableRevision = state.revision
    }

    /// Collects the results of syncs and snapshots that background queues have finished.
    private func collectResults() {
        journal.collectSyncResult(log)
        guard let written = snapshots.collectResult(now: clock, log), options.durability == .snapshot else { return }
        // The journal has no commits. The revision in its name tells the next start which snapshot must exist.
        do throws(FileError) {
            try journal.beginFile(after: written)
        } catch {
            log.warning("cannot begin a journal after a snapshot: \(error); no data is lost")
        }
    }

    /// Queues the published state if the commits since the last queued state are enough for a past file, and begins to
    /// write the next file. A past file may contain durable commits only.
    private func writePastFiles() {
        pastSchedule?.collectResult(now: clock(), log)
        guard pastSchedule != nil, pendingCleanUp == nil, journal.file != nil else { return }
        if pastSchedule?.isDue(state) ?? false {
            if options.durability == .interval { journal.sync(log) }
            if journal.file != nil { pastSchedule?.enqueue(state) }
        }
        pastSchedule?.beginNextFile(now: clock())
        if options.runsSynchronously { pastSchedule?.collectResult(now: clock(), log) }
        options.chargePast(pastSchedule?.evictedBytes(notIn: state) ?? 0)
    }

    private func beginSnapshotIfDue() {
        guard journal.file != nil, snapshots.isDue(state.revision, now: clock()) else { return }
        // After a snapshot, the log removes old journals, which may have commits that are not in a past file yet.
        if pastSchedule?.hasUnwrittenCommits(state) ?? false { return }
        do throws(FileError) {
            try rotateJournal()
        } catch {
            snapshots.postpone(now: clock())
            log.warning("cannot begin a snapshot: \(error); the daemon tries again, and no data is lost")
            return
        }
        guard journal.file != nil else { return }
        snapshots.beginSnapshot(of: state, journal: journal.head.revision, in: directory)
        if options.runsSynchronously { collectResults() }
    }

    /// Syncs the journal and begins a new journal, so that the older journals can be removed after the snapshot. Does
    /// nothing if the journal has no commits.
    private func rotateJournal() throws(FileError) {
        guard options.durability != .snapshot, let file = journal.file, file.end.lastRevision != file.head.revision
        else { return }
        // After a failed snapshot, a journal below the limit stays in use. Otherwise each retry would begin a journal.
        if snapshots.isRetry && file.end.offset < options.snapshotJournalBytes { return }
        if options.durability == .interval { journal.sync(log) }
        if journal.file != nil { try journal.beginFile(after: state.revision) }
    }

    // MARK: Stopping

    /// Syncs the journal, writes past files and a last snapshot, marks the stop as clean, and unlocks the directory.
    /// Runs after the last flush. The log accepts no write afterwards.
    ///
    /// - Parameter bound: the nanoseconds after which the log stops writing past files and the snapshot. Unless the
    ///   durability is `snapshot`, no data is lost, but the next start takes longer.
    package func close(within bound: UInt64 = .max) throws(FileError) {
        guard let lock else { return }
        let (sum, hasOverflowed) = clock().addingReportingOverflow(bound)
        let deadline = hasOverflowed ? .max : sum
        defer {
            self.lock = nil
            journal.abandonFile()
        }
        // While the cleanup is pending, the log has written nothing since the start, so there is nothing to close.
        guard pendingCleanUp == nil else { return }
        snapshots.abandon()
        journal.sync(log)
        collectResults()
        do throws(FileError) {
            try lock.verifyPath()
        } catch {
            // The directory was moved. The open file of the journal is still valid, so the mark of the clean stop
            // reaches the journal at its new path.
            try? journal.close(after: state.revision)
            throw error
        }
        // If `LOCK` was removed, write it again. Otherwise the next start would mistake the directory for a copy.
        if (try? directory.lockFileDirectoryID()) == nil { try? directory.writeLockFile(directoryID: directoryID) }
        pastSchedule?.writeQueuedStates(until: deadline, clock: clock, log)
        // If the journal was moved or removed, a snapshot stores its commits.
        if let file = journal.file, !file.isStillAtPath(in: directory.fileSystem) {
            journal.abandonFile()
            try replaceJournalsWithSnapshot()
        }
        do throws(FileError) {
            if journal.file == nil { try beginJournal() }
            try writeLastSnapshot(until: deadline)
            try journal.close(after: state.revision)
        } catch {
            guard options.durability == .always, journal.durableRevision == state.revision else { throw error }
            log.warning("cannot mark the stop as clean: \(error); no data is lost")
        }
    }

    private func writeLastSnapshot(until deadline: UInt64) throws(FileError) {
        guard state.revision > snapshots.latestRevision else { return }
        guard !(pastSchedule?.hasUnwrittenCommits(state) ?? false) else {
            return log.info(
                "stopped before all commits were written to past files; the next start reads them from the journal")
        }
        let clock = clock
        do throws(FileError) {
            _ = try SnapshotWriter.write(
                state, journal: journal.head.revision, in: directory, isCancelled: { clock() >= deadline })
            try directory.removeObsoleteFiles()
        } catch {
            if options.durability == .snapshot { throw error }
            log.warning("cannot write the snapshot at the stop: \(error); the next start replays the journal")
        }
    }
}

extension CommitLogError {
    /// Makes the error for a failed operation of the file system on the data directory.
    init(_ outcome: Outcome, _ error: FileError) {
        let action = error.isFull ? "free some disk space" : "remove the cause"
        let remedy = "; \(action), then the daemon accepts writes again"
        self.init(
            outcome, error.isFull ? .full : .failed, error.description + remedy,
            reason: "cannot write to the data directory: \(error.reason)\(remedy)")
    }
}
