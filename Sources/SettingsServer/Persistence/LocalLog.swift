internal import Dispatch
internal import Glibc
package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A log that keeps commits in a directory of this machine: a journal that is synced, and snapshots from time to time.
///
/// Runs on the writer's queue, except ``health``. That is why it may be shared unchecked: its variables are touched there
/// only. What runs on other queues reports through the mutex of a ``BackgroundTask``, and `obstacle` has its own.
package final class LocalLog: CommitLog, @unchecked Sendable {
    package struct Options: Sendable {
        package var durability: Configuration.Durability
        /// The time between syncs with durability `interval`, in nanoseconds.
        package var syncInterval: UInt64 = 1_000_000_000
        /// The growth of the journal after which a snapshot is written; more if the snapshot is larger.
        package var snapshotJournalBytes = 64 << 20
        /// The time with changes after which a snapshot is written, in nanoseconds.
        package var snapshotInterval: UInt64 = 300_000_000_000
        /// True to sync and to write snapshots in the call that finds them due, for tests.
        package var runsInline = false

        package init(durability: Configuration.Durability) {
            self.durability = durability
        }
    }

    private struct SyncReport: Sendable {
        let file: OpenFile
        let place: JournalFile.Place
        let error: FileError?
    }

    private let directory: DataDirectory
    private let name: String
    private let options: Options
    private let log: Log
    private let clock: @Sendable () -> UInt64
    private let syncing: BackgroundTask<SyncReport>
    private let obstacle = Mutex<CommitLogError?>(nil)

    /// The lock of the directory; nil after ``close(within:)``.
    private var lock: DirectoryLock?
    /// What recovery found, to be cleaned up before anything is written; nil once that is done.
    private var unsettled: Recovery?
    /// The journal that is appended to; nil after it failed, until there is another, and after the end.
    private var journal: JournalFile?
    /// The head of the present journal, or of the last one.
    private var head: JournalHead
    private var staged = JournalBatch()
    /// The state that was published last: all that was flushed, whenever nothing is staged.
    private var latest: State
    /// The last commit that is on disk for sure, in the journals or, with snapshots alone, not in any.
    private var trusted: Revision
    private var snapshots: SnapshotSchedule
    private var lastSync: UInt64 = 0
    /// The bytes of the write that failed last.
    private var refused = 0
    /// The reason why the next start would not find what is written now; nil if the last look found all in place.
    private var displaced: CommitLogError?

    /// Locks a directory, recovers what is in it, logs what an operator should know of that, and begins a new journal.
    ///
    /// Nothing is changed if it throws because of damage. When it returns, whatever the state holds is on disk, and the
    /// new journal names the durability from now on. Where nothing can be written, because the disk is full or read-only,
    /// the log begins that journal later, and takes no writes before.
    package static func open(
        _ directory: DataDirectory, options: Options, limits: History.Limits, log: Log, newEpoch: () -> Epoch,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (Recovery, LocalLog) {
        let lock = try DirectoryLock(directory)
        var recovery = try Recovery(of: directory, limits: limits) ?? Recovery(new: newEpoch(), limits: limits)
        let (isOpenToOthers, name) = try directory.reading { () throws(FileError) in
            let isOpenToOthers = try directory.fileSystem.status(directory.path).isOpenToOthers
            let name = try directory.markedName() ?? newEpoch().text
            try directory.syncFiles()
            return (isOpenToOthers, name)
        }
        if recovery.mustBeginEpoch { recovery = try recovery.beginning(newEpoch(), in: directory) }
        if isOpenToOthers {
            log.warning(
                "\(directory.path) can be entered by other users; 'chmod 700 \(directory.path)' keeps them out")
        }
        for note in recovery.notes {
            if note.isWarning { log.warning(note.description) } else { log.info(note.description) }
        }
        let localLog = LocalLog(
            recovery, in: directory, named: name, lock: lock, options: options, log: log, clock: clock)
        try directory.reading { () throws(FileError) in try localLog.start() }
        return (recovery, localLog)
    }

    private init(
        _ recovery: Recovery, in directory: DataDirectory, named name: String, lock: DirectoryLock, options: Options,
        log: Log, clock: @escaping @Sendable () -> UInt64
    ) {
        self.directory = directory
        self.name = name
        self.lock = lock
        self.options = options
        self.log = log
        self.clock = clock
        syncing = BackgroundTask(label: "settingsd.sync", qos: .userInitiated, runsInline: options.runsInline)
        unsettled = recovery
        latest = recovery.state
        trusted = latest.revision
        snapshots = SnapshotSchedule(
            latest: recovery.snapshot ?? .zero, grown: recovery.replayed, options, now: clock())
        // What comes before counts up to the last commit that was recovered; an epoch may begin here.
        var after = recovery.last
        if let previous = recovery.head, previous.revision == latest.revision { after = previous.after }
        head = JournalHead(
            epoch: latest.epoch, revision: latest.revision, after: after, durability: options.durability,
            directory: name)
    }

    /// Cleans the directory up and begins a journal. Where nothing can be written now, ``tend()`` tries again.
    private func start() throws(FileError) {
        do throws(FileError) {
            try begin()
        } catch {
            guard error.refusesWriting else { throw error }
            report(CommitLogError(.notDone, error))
        }
    }

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

    package func stage(_ commit: Commit, after predecessor: Revision) {
        // Only the first line of a batch can say that everything before it is on disk.
        let followsSync = staged.isEmpty && journal?.isSynced ?? true
        staged.add(commit, after: predecessor, followsSync: followsSync)
    }

    package func discard() {
        staged.removeAll()
    }

    package func flush() throws(CommitLogError) {
        defer { discard() }
        do throws(CommitLogError) {
            try ensureJournal()
            guard !staged.isEmpty else { return }
            try append()
            report(nil)
        } catch {
            report(error)
            throw error
        }
    }

    package func published(_ state: State) {
        latest = state
        if options.durability == .snapshot { trusted = state.revision }
        snapshotIfDue()
    }

    package func tend() {
        guard lock != nil else { return }
        displaced = displacement()
        do throws(CommitLogError) {
            try ensureJournal()
            if health != nil { try reserve() }
            report(nil)
        } catch {
            report(error)
        }
        syncIfDue()
        if displaced == nil { snapshotIfDue() }
    }

    // MARK: The journal

    /// Begins a journal if there is none that can be trusted. Throws if writes cannot be taken.
    private func ensureJournal() throws(CommitLogError) {
        guard lock != nil else { throw CommitLogError(.notDone, .failed, "the data directory is closed") }
        takeReports()
        if journal == nil { displaced = displacement() }
        if let displaced { throw displaced }
        guard journal == nil else { return }
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
        if journal?.isInPlace(in: directory.fileSystem) ?? false { return nil }
        do throws(FileError) {
            try lock?.checkPlace()
        } catch {
            let found = error.code == ESTALE ? "another is in its place" : error.reason
            let what = "was moved or removed: \(found); move it back, and writes are taken again by themselves"
            return CommitLogError(
                .notDone, .failed, "the data directory \(directory.path) \(what)", reason: "the data directory \(what)")
        }
        guard let journal else { return nil }
        let what =
            "was moved, removed or replaced; move it back, or stop the daemon, which then writes a snapshot of all data"
        return CommitLogError(.notDone, .failed, "\(journal.file.path) \(what)", reason: "the journal \(what)")
    }

    /// No write within the usual limits is larger.
    private static let mostReserved = 16 << 20

    /// Tries a write as large as the one that failed, up to a bound. Throws if writes cannot be taken yet.
    private func reserve() throws(CommitLogError) {
        do throws(JournalFile.Failure) {
            try journal?.reserve(min(max(refused, 4096), Self.mostReserved))
        } catch {
            if !error.isUndone { journal = nil }
            throw CommitLogError(.notDone, error.cause)
        }
        refused = 0
    }

    /// Begins a journal behind the last commit that is on disk for sure, once the directory is cleaned up. What was
    /// acknowledged beyond that, with `interval`, is written to it again from memory.
    private func begin() throws(FileError) {
        try unsettled?.cleanUp(directory, as: name, log)
        if options.durability == .snapshot {
            try begin(after: max(head.revision, snapshots.latest))
        } else {
            // The history may not reach back that far.
            if trusted < latest.revision && latest.history.floor > trusted { try replaceJournals() }
            let commits = trusted < latest.revision ? latest.history.commits(after: trusted).map(\.commit) : []
            try begin(after: trusted, commits)
        }
        unsettled = nil
    }

    /// Writes a snapshot of the state in place of the journals up to now.
    private func replaceJournals() throws(FileError) {
        snapshots.grown = 0
        let size = try SnapshotWriter.write(latest, journal: latest.revision, in: directory)
        snapshots.note(latest.revision, size: size, now: clock())
        trusted = latest.revision
    }

    private func begin(after revision: Revision, _ commits: [Commit] = []) throws(FileError) {
        var next = head
        next.durability = options.durability
        if revision != head.revision {
            next.revision = revision
            next.after = revision
        }
        journal?.giveBackRoom()
        let begun: JournalFile
        do throws(JournalFile.Failure) {
            begun = try JournalFile(next, commits: commits, in: directory)
        } catch {
            // Where the new name may stand, recovery ignores what the journal before has beyond it.
            if !error.isUndone { journal = nil }
            throw error.cause
        }
        head = next
        journal = begun
        trusted = max(trusted, begun.place.last)
    }

    private func append() throws(CommitLogError) {
        snapshots.grown += staged.bytes.count
        guard options.durability != .snapshot else { return }
        do throws(JournalFile.Failure) {
            try journal?.append(staged)
            if options.durability == .always {
                try journal?.sync()
                trusted = journal?.place.last ?? trusted
            }
        } catch {
            snapshots.grown -= staged.bytes.count
            refused = staged.bytes.count
            if error.isUndone { throw CommitLogError(.notDone, error.cause) }
            // What is on disk now is unknown, and another sync that succeeds would prove nothing.
            if options.durability == .always { journal?.forgetUnsynced() }
            journal = nil
            throw CommitLogError(.unknown, error.cause)
        }
        syncIfDue()
    }

    /// Syncs the journal on another queue, with durability `interval` and if it is time.
    private func syncIfDue() {
        guard options.durability == .interval, let journal, !journal.isSynced, !syncing.isBusy,
            clock() &- lastSync >= options.syncInterval
        else { return }
        lastSync = clock()
        syncing.begin {
            do throws(FileError) {
                try journal.file.syncData()
                return SyncReport(file: journal.file, place: journal.place, error: nil)
            } catch {
                return SyncReport(file: journal.file, place: journal.place, error: error)
            }
        }
    }

    /// Takes note of what the other queues did.
    private func takeReports() {
        if let report = syncing.takeReport(), report.file === journal?.file {
            if let error = report.error {
                log.error("the journal could not be synced, and another takes its place: \(error)")
                journal = nil
            } else {
                journal?.noteSynced(to: report.place)
                trusted = max(trusted, report.place.last)
            }
        }
        if let written = snapshots.takeReport(now: clock(), log), options.durability == .snapshot { follow(written) }
    }

    // MARK: Snapshots

    /// With snapshots alone: begins the journal that names a snapshot, so that a start notices if that is missing.
    private func follow(_ snapshot: Revision) {
        do throws(FileError) {
            try begin(after: snapshot)
        } catch {
            log.warning("no journal could be begun behind the snapshot; nothing is lost: \(error)")
        }
    }

    private func snapshotIfDue() {
        takeReports()
        guard journal != nil, snapshots.isDue(latest.revision, now: clock()) else { return }
        do throws(FileError) {
            try rotate()
        } catch {
            snapshots.postpone(now: clock())
            log.warning("no snapshot could be begun, and it will be tried again; nothing is lost: \(error)")
            return
        }
        guard journal != nil else { return }
        snapshots.begin(latest, journal: head.revision, in: directory)
        if options.runsInline { takeReports() }
    }

    /// Begins another journal once all of this one is on disk, so that those before can go with their snapshots.
    private func rotate() throws(FileError) {
        guard options.durability != .snapshot, let begun = journal, begun.place.last != begun.head.revision else {
            return
        }
        // If snapshots fail again and again, there shall not be a journal for each attempt.
        if snapshots.isRetry && begun.place.end < options.snapshotJournalBytes { return }
        if options.durability == .interval {
            // A failed sync is reported once only: it must not be this one that seems to succeed.
            syncing.wait()
            takeReports()
            do throws(JournalFile.Failure) {
                try journal?.sync()
            } catch {
                journal = nil
            }
            guard let journal else { return }
            trusted = journal.place.last
        }
        try begin(after: latest.revision)
    }

    // MARK: The end

    /// Makes everything durable, with a snapshot, marks the stop as clean, and releases the directory. Runs after the last
    /// flush; no write is taken afterwards.
    ///
    /// - Parameter bound: the time that the snapshot may take, in nanoseconds. One that takes longer is abandoned, which
    ///   costs nothing but time at the next start where there is a journal.
    package func close(within bound: UInt64 = .max) throws(FileError) {
        guard let lock else { return }
        defer {
            self.lock = nil
            journal = nil
        }
        // Nothing was taken since the start.
        guard unsettled == nil else { return }
        snapshots.abandon()
        syncing.wait()
        takeReports()
        do throws(FileError) {
            try lock.checkPlace()
        } catch {
            // Wherever the journal is now, it ends as it should.
            try? markClosed()
            throw error
        }
        // Without its mark, as `LOCK` was removed, the directory would be taken for a copy.
        if (try? directory.markedName()) == nil { try? directory.mark(as: name) }
        if let journal, !journal.isInPlace(in: directory.fileSystem) {
            self.journal = nil
            try replaceJournals()
        }
        do throws(FileError) {
            if journal == nil { try begin() }
            try sync()
            try writeLastSnapshot(within: bound)
            try markClosed()
        } catch {
            guard options.durability == .always, trusted == latest.revision else { throw error }
            log.warning("the journal does not end as after a clean stop; nothing is lost: \(error)")
        }
    }

    private func writeLastSnapshot(within bound: UInt64) throws(FileError) {
        guard latest.revision > snapshots.latest else { return }
        let (clock, start) = (clock, clock())
        do throws(FileError) {
            _ = try SnapshotWriter.write(
                latest, journal: head.revision, in: directory, isAbandoned: { clock() &- start >= bound })
            try directory.removeOutdated()
        } catch {
            if options.durability == .snapshot { throw error }
            log.warning("there is no snapshot of the end; the next start replays the journal: \(error)")
        }
    }

    private func sync() throws(FileError) {
        do throws(JournalFile.Failure) {
            try journal?.sync()
        } catch {
            journal = nil
            try begin()
        }
    }

    private func markClosed() throws(FileError) {
        var mark = JournalBatch()
        mark.addClosed(after: latest.revision)
        do throws(JournalFile.Failure) {
            try journal?.append(mark)
            journal?.giveBackRoom()
            try journal?.sync()
        } catch {
            throw error.cause
        }
    }
}

extension CommitLogError {
    /// The error of writes that the file system refused.
    fileprivate init(_ outcome: Outcome, _ error: FileError) {
        let remedy =
            error.isFull
            ? "; free some room, and writes are taken again by themselves"
            : "; once the cause is gone, writes are taken again by themselves"
        self.init(
            outcome, error.isFull ? .full : .failed, error.description + remedy,
            reason: "cannot write to the data directory: \(error.reason)\(remedy)")
    }
}
