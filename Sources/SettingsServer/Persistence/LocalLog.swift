package import SettingsModel

/// Commits made durable in a directory of this machine: a journal that is synced, and snapshots from time to time.
///
/// All that changes while it runs, from `journal` to `unsnapshotted`, is touched on the writer's queue only, where
/// `CommitLog` says that its calls come from, and ``close(within:)`` with them; what other queues tell comes through the
/// mutexes of `syncs` and `snapshots`, and `obstacle` has its own. That is why it may be shared unchecked.
package final class LocalLog: CommitLog, @unchecked Sendable {
    private let directory: DataDirectory
    private let lock: DirectoryLock
    private let options: Options
    private let log: Log
    private let clock: @Sendable () -> UInt64
    private let syncs: JournalSync
    private let snapshots: SnapshotSchedule
    private let obstacle: LogObstacle

    /// The journal that is appended to; nil after it failed, until there is another, and after the end.
    private var journal: Journal?
    /// What the journal before the next one says of itself.
    private var head: JournalHead
    private var generation = 0
    private var isClosed = false
    private var staged = JournalBatch()
    /// What was published last: all that was flushed, whenever nothing is staged.
    private var latest: State
    /// The last commit that is on disk for sure, in the journals or, with snapshots alone, not in any.
    private var trusted: Revision
    /// How many bytes of commits there are beyond the newest snapshot.
    private var unsnapshotted: Int

    /// Takes over a directory that was recovered and settled, and begins a new journal.
    init(
        _ recovered: Recovered, in directory: DataDirectory, lock: DirectoryLock, options: Options, log: Log,
        clock: @escaping @Sendable () -> UInt64
    ) throws(FileError) {
        self.directory = directory
        self.lock = lock
        self.options = options
        self.log = log
        obstacle = LogObstacle(log)
        self.clock = clock
        latest = recovered.state
        trusted = latest.revision
        unsnapshotted = recovered.replayed
        syncs = JournalSync(isSingleFile: options.isSingleFile)
        snapshots = SnapshotSchedule(
            latest: recovered.snapshot ?? .zero, journalBytes: options.snapshotJournalBytes,
            interval: options.snapshotInterval, isSingleFile: options.isSingleFile, now: clock())
        // What comes before counts up to the last commit that was recovered; an epoch may begin here.
        var after = recovered.last
        if let previous = recovered.head, previous.revision == recovered.state.revision { after = previous.after }
        head = JournalHead(
            epoch: recovered.state.epoch, revision: recovered.state.revision, after: after,
            durability: options.durability)
        try begin()
    }

    /// Why writes are not taken now; nil if they are. From any thread.
    package var health: String? { obstacle.text }

    // MARK: CommitLog

    package func stage(_ commit: Commit, after predecessor: Revision) {
        // Only the first line of a batch can say that nothing before it is still on its way to the disk.
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
            if !staged.isEmpty { try append() }
            obstacle.clear()
        } catch {
            obstacle.set(error)
            throw error
        }
    }

    package func published(_ state: State) {
        latest = state
        if options.durability == .snapshot { trusted = state.revision }
        snapshotIfDue()
    }

    package func tend() {
        guard !isClosed else { return }
        do throws(CommitLogError) {
            try ensureJournal()
            obstacle.clear()
        } catch {
            obstacle.set(error)
        }
        syncIfDue()
        snapshotIfDue()
    }

    // MARK: The journal

    /// Sees that there is a journal that can be trusted.
    private func ensureJournal() throws(CommitLogError) {
        guard !isClosed else { throw CommitLogError(.notDone, .failed, "the data directory is closed") }
        takeReports()
        guard journal == nil else { return }
        do throws(FileError) {
            try begin()
        } catch {
            throw CommitLogError(.notDone, error)
        }
    }

    /// Begins a journal behind the last commit that is on disk for sure. What was acknowledged beyond that, with
    /// `interval`, is written to it again from memory.
    private func begin() throws(FileError) {
        if trusted < latest.revision && latest.history.floor > trusted {
            // The history does not reach back that far: the state itself takes the place of the journal.
            unsnapshotted = 0
            snapshots.wrote(
                latest.revision, size: try SnapshotWriter.write(latest, journal: latest.revision, in: directory),
                now: clock())
            trusted = latest.revision
        }
        let commits = trusted < latest.revision ? latest.history.commits(after: trusted).map(\.commit) : []
        try begin(after: trusted, commits)
    }

    private func begin(after revision: Revision, _ commits: [Commit] = []) throws(FileError) {
        var next = head
        next.durability = options.durability
        if revision != head.revision {
            next.revision = revision
            next.after = revision
        }
        generation += 1
        journal?.giveBackRoom()
        let begun: Journal
        do throws(Journal.Unbegun) {
            begun = try Journal(next, commits: commits, generation: generation, in: directory)
        } catch {
            // Where the new name may stand, recovery believes nothing that the journal before has beyond it.
            if error.mayBeThere { journal = nil }
            throw error.cause
        }
        head = next
        journal = begun
        trusted = begun.last
    }

    private func append() throws(CommitLogError) {
        unsnapshotted += staged.bytes.count
        guard options.durability != .snapshot else { return }
        do throws(Journal.Failure) {
            try journal?.append(staged)
            if options.durability == .always {
                try journal?.sync()
                trusted = journal?.last ?? trusted
            }
        } catch {
            unsnapshotted -= staged.bytes.count
            switch error {
            case .cut(let error): throw CommitLogError(.notDone, error)
            case .lost(let error):
                // Nobody knows what is on disk now, and another sync that succeeds would prove nothing.
                if options.durability == .always { journal?.forgetUnsynced() }
                journal = nil
                throw CommitLogError(.unknown, error)
            }
        }
        syncIfDue()
    }

    /// With `interval`: has the journal synced beside, if it is time.
    private func syncIfDue() {
        guard options.durability == .interval, let journal, !journal.isSynced else { return }
        syncs.begin(journal, every: options.syncInterval, now: clock())
    }

    // MARK: What is done beside

    private func takeReports() {
        switch syncs.takeReport() {
        case .synced(let generation, let place)? where generation == journal?.generation:
            journal?.noteSynced(to: place)
            trusted = max(trusted, place.last)
        case .failed(let generation, let error)? where generation == journal?.generation:
            log.error("the journal could not be synced, and another takes its place: \(error)")
            journal = nil
        default: break
        }
        switch snapshots.takeReport(now: clock()) {
        case .wrote(let revision, let size)?:
            log.debug("wrote a snapshot of revision \(revision), \(size) bytes")
        case .failed(let error, let grown)?:
            unsnapshotted += grown
            log.warning("no snapshot could be written, and it will be tried again; nothing is lost: \(error)")
        case nil: break
        }
    }

    private func snapshotIfDue() {
        takeReports()
        guard journal != nil, snapshots.isDue(latest.revision, grown: unsnapshotted, now: clock()) else { return }
        do throws(FileError) {
            try rotate()
        } catch {
            snapshots.postpone(now: clock())
            log.warning("no snapshot could be begun, and it will be tried again; nothing is lost: \(error)")
            return
        }
        guard journal != nil else { return }
        let grown = unsnapshotted
        unsnapshotted = 0
        snapshots.begin(latest, journal: head.revision, grown: grown, in: directory)
        if options.isSingleFile { takeReports() }
    }

    /// Begins another journal once all of this one is on disk, so that those before can go with their snapshots.
    private func rotate() throws(FileError) {
        guard options.durability != .snapshot, let begun = journal, begun.last != begun.head.revision else { return }
        // If snapshots fail again and again, there shall not be a journal for each attempt.
        if snapshots.isRetry && begun.end < options.snapshotJournalBytes { return }
        if options.durability == .interval {
            // A sync beside that fails is told of once only: it must not be this one that seems to succeed.
            syncs.wait()
            takeReports()
            do throws(Journal.Failure) {
                try journal?.sync()
            } catch {
                journal = nil
            }
            guard let journal else { return }
            trusted = journal.last
        }
        try begin(after: latest.revision)
    }

    // MARK: The end

    /// Makes everything durable, with a snapshot, says that the stop was a clean one, and lets go of the directory. On the
    /// writer's queue, after the last flush; nothing is taken any more afterwards.
    ///
    /// - Parameter bound: how long the snapshot may take, in nanoseconds. If it takes longer it is given up, which costs
    ///   nothing but time at the next start where there is a journal.
    package func close(within bound: UInt64 = .max) throws(FileError) {
        guard !isClosed else { return }
        defer {
            isClosed = true
            journal = nil
            lock.release()
        }
        let (clock, start) = (clock, clock())
        snapshots.abandon()
        syncs.wait()
        takeReports()
        if journal == nil { try begin() }
        try sync()
        if latest.revision > snapshots.latest {
            do throws(FileError) {
                _ = try SnapshotWriter.write(
                    latest, journal: head.revision, in: directory, isAbandoned: { clock() &- start >= bound })
                try directory.removeOutdated()
            } catch {
                if options.durability == .snapshot { throw error }
                log.warning("there is no snapshot of the end; the next start replays the journal: \(error)")
            }
        }
        try markClosed()
    }

    private func sync() throws(FileError) {
        do throws(Journal.Failure) {
            try journal?.sync()
        } catch {
            journal = nil
            try begin()
        }
    }

    private func markClosed() throws(FileError) {
        var mark = JournalBatch()
        mark.addClosed(after: latest.revision)
        do throws(Journal.Failure) {
            try journal?.append(mark)
            journal?.giveBackRoom()
            try journal?.sync()
        } catch {
            throw error.cause
        }
    }
}
