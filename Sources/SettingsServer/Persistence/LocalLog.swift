internal import Glibc
package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Commits made durable in a directory of this machine: a journal that is synced, and snapshots from time to time.
///
/// All that changes while it runs, from `journal` to `unsnapshotted`, is touched on the writer's queue only, where
/// `CommitLog` says that its calls come from, and ``close(within:)`` with them; what other queues tell comes through
/// the mutexes of `syncs` and `snapshots`, and `obstacle` has its own. That is why it may be shared unchecked.
package final class LocalLog: CommitLog, @unchecked Sendable {
    private let directory: DataDirectory
    private let name: String
    private let lock: DirectoryLock
    private let options: Options
    private let log: Log
    private let clock: @Sendable () -> UInt64
    private let syncs: JournalSync
    private let snapshots: SnapshotSchedule
    private let obstacle: LogObstacle

    /// What recovery found, to be settled before anything is written; nil once that is done.
    private var unsettled: Recovered?
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
    /// How many bytes the write took that failed last.
    private var refused = 0
    /// Why the directory or the journal is not where the next start looks for it; nil if the last look found both.
    private var displaced: CommitLogError?

    /// Takes over a directory that was recovered. Its journals will have the name of the directory.
    init(
        _ recovered: Recovered, in directory: DataDirectory, named name: String, lock: DirectoryLock, options: Options,
        log: Log, clock: @escaping @Sendable () -> UInt64
    ) {
        self.directory = directory
        self.name = name
        self.lock = lock
        self.options = options
        self.log = log
        obstacle = LogObstacle(log)
        self.clock = clock
        unsettled = recovered
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
            durability: options.durability, directory: name)
    }

    /// Settles the directory and begins a journal. Where nothing can be written there now, ``tend()`` tries again.
    func start() throws(FileError) {
        do throws(FileError) {
            try begin()
        } catch {
            guard error.refusesWriting else { throw error }
            obstacle.set(CommitLogError(.notDone, error))
        }
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
            guard !staged.isEmpty else { return }
            try append()
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
            try checkPlace()
            try ensureJournal()
        } catch {
            obstacle.set(error)
            syncIfDue()
            return
        }
        do throws(CommitLogError) {
            if obstacle.text != nil { try reserve() }
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
        if let displaced { throw displaced }
        guard journal == nil else { return }
        try checkPlace()
        do throws(FileError) {
            try begin()
        } catch {
            throw CommitLogError(.notDone, error)
        }
    }

    /// Checks that the next start finds what is written now: that neither the directory nor the journal was moved or
    /// removed. Writes are refused from a check that fails until one that succeeds. The check costs a system call or two,
    /// so it is made once a second and before a new journal, not before each flush.
    private func checkPlace() throws(CommitLogError) {
        do throws(CommitLogError) {
            try findPlace()
            displaced = nil
        } catch {
            displaced = error
            throw error
        }
    }

    private func findPlace() throws(CommitLogError) {
        // Where the path of the journal leads to the journal, that of the directory leads to the directory.
        if let journal, (try? journal.checkPlace(in: directory.fileSystem)) != nil { return }
        do throws(FileError) {
            try lock.checkPlace()
        } catch {
            let found = error.code == ESTALE ? "another is in its place" : error.reason
            let what = "was moved or removed: \(found); move it back, and writes are taken again by themselves"
            throw CommitLogError(
                .notDone, .failed, "the data directory \(directory.path) \(what)", reason: "the data directory \(what)")
        }
        guard let journal else { return }
        let what =
            "was moved, removed or replaced; move it back, or stop the daemon, which then writes a snapshot of all data"
        throw CommitLogError(.notDone, .failed, "\(journal.file.path) \(what)", reason: "the journal \(what)")
    }

    /// No write within the usual limits is larger.
    private static let mostReserved = 16 << 20

    /// Tries a write as large as the one that failed, up to a bound. Throws if writes cannot be taken yet.
    private func reserve() throws(CommitLogError) {
        do throws(Journal.Failure) {
            try journal?.reserve(min(max(refused, 4096), Self.mostReserved))
        } catch {
            if case .lost = error { journal = nil }
            throw CommitLogError(.notDone, error.cause)
        }
        refused = 0
    }

    /// Begins a journal behind the last commit that is on disk for sure, once the directory is settled. What was
    /// acknowledged beyond that, with `interval`, is written to it again from memory.
    private func begin() throws(FileError) {
        if let unsettled { try directory.settle(unsettled, as: name, log) }
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

    /// Has the state itself, as a snapshot, take the place of the journals up to now.
    private func replaceJournals() throws(FileError) {
        unsnapshotted = 0
        snapshots.wrote(
            latest.revision, size: try SnapshotWriter.write(latest, journal: latest.revision, in: directory),
            now: clock())
        trusted = latest.revision
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
        trusted = max(trusted, begun.last)
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
            refused = staged.bytes.count
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
            if options.durability == .snapshot { follow(revision) }
        case .failed(let error, let grown)?:
            unsnapshotted += grown
            log.warning("no snapshot could be written, and it will be tried again; nothing is lost: \(error)")
        case nil: break
        }
    }

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

    /// Makes everything durable, with a snapshot, marks the stop as clean, and releases the directory. Runs on the
    /// writer's queue, after the last flush; no write is taken afterwards.
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
        // Nothing was taken since the start.
        guard unsettled == nil else { return }
        snapshots.abandon()
        syncs.wait()
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
        if let journal, (try? journal.checkPlace(in: directory.fileSystem)) == nil {
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
