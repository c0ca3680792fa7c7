// The target SettingsCluster keeps the commit log (the record of all changes of settings) in etcd, so that several
// daemons serve the same settings. It contains a client for the JSON gateway of etcd, the format of the log, and the
// follower, which reads the commits of other daemons. It does not know how a daemon serves requests.
//
// Read this file first, then LogEntry.swift, LogWriter.swift, LogFollower.swift, StateSaver.swift and EtcdClient.swift.

package import Platform
package import SettingsAPI
package import SettingsEngine
package import SettingsStorage
internal import Synchronization

/// A commit log in etcd that several daemons share. Each flush appends a batch of commits in one transaction of etcd.
///
/// Used by the commit stage: the thread that flushes batches (makes them durable in etcd) and publishes the new state
/// to readers. ``writeFailureReason``, ``staleness``, ``hasUnresolvedBatch`` and ``currentMetrics`` are thread-safe.
/// ``flush(by:)`` and ``performMaintenance()`` take the writer out of its mutex while they use it, so that no mutex is
/// held while they wait for etcd.
package final class EtcdLog: StorageLog {
    package struct Options: Sendable {
        package var etcd: EtcdOptions
        /// The time between copies of the state to the data directory, in nanoseconds. A daemon starts from the copy.
        package var copyInterval: UInt64 = 300_000_000_000
        /// The daemon puts a snapshot of the state into etcd when the log has grown by this number of bytes since the
        /// last snapshot, or by the size of the last snapshot if that size is greater.
        package var snapshotLogBytes = 64 << 20
        /// The time limit of a flush. If etcd does not answer within this time, the outcome of the batch is unknown.
        package var flushTimeout = Duration.seconds(8)

        package init(_ etcd: EtcdOptions) { self.etcd = etcd }
    }

    /// The time limit of a flush while ``writeFailureReason`` is not nil, and of the calls to etcd during maintenance.
    /// It is short, so that the daemon refuses the writes of the flush soon.
    private static let shortTimeout = Duration.seconds(1)
    /// If the daemon has not read the end of the log from etcd for this time, its answers are marked as stale.
    package static let stalenessLimit = Duration.seconds(5)

    private let options: Options
    private let keys: LogKeys
    /// The identifier of this daemon, random for each start.
    private let daemon: String
    private let directory: DataDirectory
    /// The copy of the state in the data directory.
    private let cache: LogCache
    /// The batches of other daemons that the follower has read and the commit stage has not applied yet.
    private let inbox: LogInbox
    /// The log with messages for operators. In this file, all other uses of "log" mean the commit log.
    private let log: Log
    /// Returns the monotonic time in nanoseconds.
    private let clock: @Sendable () -> UInt64
    private let limits: History.Limits
    /// The metrics of the data directory. `Scrub`, which searches for damaged files, updates the metrics.
    package let metrics = StorageMetrics()

    /// The maximum of ``gatheringTime``, the time during which further writes may join the next batch, in nanoseconds.
    private static let maxGatheringTime: UInt64 = 5_000_000

    /// Nil while a call uses the writer, and after ``close(within:)``.
    private let writer: Mutex<LogWriter?>
    /// The value of ``hasUnresolvedBatch``: true if the outcome of a batch is unknown.
    private let isBatchUnresolved = Atomic(false)
    /// The duration of the last flush, in nanoseconds.
    private let flushDuration = Mutex<UInt64>(0)
    /// The commits that the next flush appends.
    private let staged = Mutex(JournalBatch())
    private let writeOrder: Mutex<WriteOrder>
    private let follower = Mutex<LogFollower?>(nil)
    private let exchange = Mutex<PeerExchange?>(nil)
    /// The staleness that ``reportStalenessIfChanged(_:)`` reported last, in seconds.
    private let reportedSeconds = Mutex<Int?>(nil)
    private let writeFailure: WriteFailure
    private let logMetrics = LogMetrics()
    private let saver: StateSaver

    /// Recovers the state: starts from the copy in the data directory, and applies the later batches of the log in
    /// etcd. If the read from etcd fails, returns the state of the copy. If there is no copy, reads the whole state
    /// from etcd, or creates the log if etcd has none, and retries until a read succeeds.
    package static func open(
        _ directory: DataDirectory, options: Options, limits: History.Limits, log: Log,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (State, EtcdLog) {
        let keys = LogKeys(options.etcd.prefix)
        let daemon = LogHead.randomID()
        let (cache, copy) = try LogCache.open(directory, prefix: options.etcd.prefix, limits: limits, log: log)
        var client = EtcdClient(options.etcd)
        var start: LogInbox.LoadedState
        // When the last successful read of the log began; nil if no read has succeeded.
        var lastContact: ContinuousClock.Instant?
        // If the state was not compared with the log in etcd, the daemon marks even its first answer as stale.
        var initialStaleness = stalenessLimit
        if let (copy, time) = copy {
            start = copy
            do throws(EtcdError) {
                let readStart = ContinuousClock.now
                start = try client.catchUp(from: copy, keys, limits: limits, in: directory, by: .now + stalenessLimit)
                lastContact = readStart
            } catch {
                log.warning(
                    "cannot read the log in etcd: \(error); serving the copy in the data directory until etcd answers")
                let copyAge = Timestamp.now().milliseconds - time.milliseconds
                initialStaleness = max(initialStaleness, .milliseconds(copyAge))
            }
        } else {
            (start, lastContact) = client.loadOrCreateLog(keys, daemon: daemon, limits: limits, in: directory, log)
        }
        let etcdLog = EtcdLog(
            start, copiedHead: copy?.0.head, lastContact: lastContact ?? .now - initialStaleness, client, keys, daemon,
            directory, cache, options, limits, log, clock)
        return (start.state, etcdLog)
    }

    private init(
        _ start: LogInbox.LoadedState, copiedHead: LogHead?, lastContact: ContinuousClock.Instant, _ client: EtcdClient,
        _ keys: LogKeys, _ daemon: String, _ directory: DataDirectory, _ cache: LogCache, _ options: Options,
        _ limits: History.Limits, _ log: Log, _ clock: @escaping @Sendable () -> UInt64
    ) {
        (self.keys, self.daemon, self.directory, self.cache) = (keys, daemon, directory, cache)
        (self.options, self.limits, self.log, self.clock) = (options, limits, log, clock)
        inbox = LogInbox(applied: start.head, lastContact: lastContact)
        writer = Mutex(LogWriter(client, keys, daemon: daemon, inbox))
        writeOrder = Mutex(WriteOrder(of: daemon))
        writeFailure = WriteFailure(log: log)
        saver = StateSaver(
            start, copiedHead: copiedHead, keys, directory, cache, inbox, options, logMetrics, log, clock)
    }

    /// Starts to follow the log.
    ///
    /// - Parameters:
    ///   - address: the address of this daemon in its record in etcd, which operators read; nil to write no record.
    ///   - wakeCommitStage: wakes the commit stage, which then calls ``follow(from:)``. Called on the follower's queue.
    package func start(
        announcing address: String? = nil, wakeCommitStage: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let record = address.map { DaemonRecord(id: daemon, address: $0) }
        let follower = try LogFollower(
            inbox, keys, daemon: daemon, in: directory, limits: limits, log: log, logMetrics, as: record,
            wakeCommitStage: wakeCommitStage)
        self.follower.withLock { $0 = follower }
        follower.start(EtcdClient(options.etcd))
    }

    /// The time since the daemon last read the end of the log from etcd; nil if it is below ``stalenessLimit``.
    package var staleness: Duration? {
        let staleness = inbox.staleness
        return staleness >= Self.stalenessLimit ? staleness : nil
    }

    /// If ``staleness`` in whole seconds has changed since the last call, calls `report` with the seconds, or with nil
    /// if ``staleness`` is nil.
    package func reportStalenessIfChanged(_ report: (Int?) -> Void) {
        let seconds = staleness.map { Int($0.components.seconds) }
        let before = reportedSeconds.withLock { reportedSeconds in
            defer { reportedSeconds = seconds }
            return reportedSeconds
        }
        if seconds != before { report(seconds) }
    }

    /// The reason why writes fail; nil if they succeed.
    package var writeFailureReason: String? {
        staleness != nil ? "etcd does not answer" : writeFailure.current?.reason
    }

    package var currentMetrics: LogMetrics.Contents {
        var contents = logMetrics.contents
        contents.staleness = inbox.staleness / .seconds(1)
        return contents
    }

    package var queries: ClusterQueries { ClusterQueries(EtcdClient(options.etcd), keys, daemon: daemon) }

    /// Exchanges records about clients with the other daemons until ``close(within:)``. See ``PeerExchange``, also for
    /// the parameters.
    package func exchange(
        retention: @escaping @Sendable () -> Duration, records: @escaping @Sendable () -> [[UInt8]],
        receive: @escaping @Sendable ([PeerExchange.Peer]) -> Void
    ) {
        let exchange = PeerExchange(
            EtcdClient(options.etcd), keys, daemon: daemon, retention: retention, records: records, receive: receive)
        self.exchange.withLock { $0 = exchange }
    }

    // MARK: CommitLog

    /// True: a batch that has only refused writes and writes that change nothing is flushed, too. The flush checks that
    /// the writes were decided on the newest state, because other daemons may have added commits.
    package var requiresFlush: Bool { true }
    /// With a higher maximum, a batch of another daemon would make all waiting batches invalid.
    package var maximumBatchesInFlight: Int { 1 }
    package var gatheringTime: UInt64 { flushDuration.withLock { min($0 / 2, Self.maxGatheringTime) } }
    package var hasUnresolvedBatch: Bool { isBatchUnresolved.load(ordering: .acquiring) }

    package func stage(_ commit: RetainedCommit, after predecessor: Revision) {
        // Only journal files use the mark `followsSync`, which says that everything before the line was synced.
        staged.withLock { $0.add(commit.commit, after: predecessor, followsSync: false) }
    }

    /// Waits until ``WriteOrder`` lets this daemon write. Returns true if batches of other daemons have arrived first.
    private func awaitTurnOrUpdates() -> Bool {
        inbox.awaitUpdates(until: writeOrder.withLock { $0.earliestWriteTime(at: .now) })
    }

    package func flush(by deadline: UInt64) throws(CommitLogError) {
        let batch = staged.withLock { staged in
            defer { staged.removeAll() }
            return staged
        }
        guard var writer = writer.withLock({ $0.take() }) else {
            throw CommitLogError(.notDone, .failed, "the log is closed")
        }
        defer { returnWriter(writer) }
        let start = clock()
        defer { flushDuration.withLock { $0 = clock() - start } }
        do throws(CommitLogError) {
            let time = Duration.nanoseconds(Int64(clamping: deadline - min(deadline, clock())))
            let timeout = writeFailureReason == nil ? options.flushTimeout : Self.shortTimeout
            try flush(batch, &writer, by: .now + min(time, timeout))
            // The flush of an empty batch only reads, so its success does not show that etcd has free space again.
            if batch.lastRevision != nil || !lacksSpace { writeFailure.record(nil) }
        } catch {
            if error.outcome == .unknown { logMetrics.update { $0.unknownOutcomes += 1 } }
            if error.cause != .contended { writeFailure.record(error) }
            throw error
        }
    }

    private var lacksSpace: Bool { writeFailure.current?.cause == .full }

    private func flush(
        _ batch: JournalBatch, _ writer: inout LogWriter, by deadline: ContinuousClock.Instant
    ) throws(CommitLogError) {
        try determineEarlierOutcome(&writer, by: deadline)
        // If `mustReplaceState` is true, this daemon cannot write, because it needs the whole state of the log first.
        // If the inbox has updates, such as this state, the `if` below ends the flush as overtaken instead, so that the
        // commit stage applies the updates.
        guard !inbox.mustReplaceState || inbox.hasUpdates else {
            throw CommitLogError(.notDone, .failed, "the daemon is reading the whole state from etcd again; try again")
        }
        // A claim reserves the next batch for this daemon, so a daemon with a claim need not wait for its turn.
        if writer.hasClaim ? inbox.hasUpdates : awaitTurnOrUpdates() { throw Self.overtaken }
        let start = ContinuousClock.now
        let outcome = writer.write(batch, after: inbox.applied, by: deadline)
        let time = UInt64(clamping: Int64((ContinuousClock.now - start) / .nanoseconds(1)))
        logMetrics.update { $0.attemptTimes.add(time) }
        switch outcome {
        case .done(let head):
            inbox.recordApplied(head)
            inbox.recordContact(at: start)
            writeOrder.withLock { order in
                if batch.lastRevision != nil { order.recordBatch(head, at: .now) }
                order.recordRoundTrip(.now - start)
            }
        case .overtaken(let entries):
            logMetrics.update { $0.lostAttempts += 1 }
            addToInbox(entries)
            throw Self.overtaken
        case .failed(let error): throw error
        }
    }

    /// Determines the outcome of an earlier batch, if it is unknown. If etcd has stored the batch, adds the batch to
    /// the inbox, so that the commit stage applies it like a batch of another daemon.
    private func determineEarlierOutcome(
        _ writer: inout LogWriter, by deadline: ContinuousClock.Instant
    ) throws(CommitLogError) {
        guard let (entry, outcome) = writer.determineOutcomeOfUnresolvedBatch(by: deadline) else { return }
        switch outcome {
        case .done: _ = inbox.add(entry)
        case .overtaken(let entries): addToInbox(entries)
        case .failed(let error):
            // If the writer has no unresolved batch after the error, it knows that etcd has not stored the batch, so
            // this flush may proceed.
            guard !writer.hasUnresolvedBatch else {
                throw CommitLogError(.notDone, error.cause, error.description, reason: error.reason)
            }
        }
    }

    /// Adds batches of other daemons to the inbox.
    private func addToInbox(_ entries: [LogEntry]) {
        // `diverged`: the batch does not follow the last batch that this daemon has, because etcd was restored from a
        // backup. The later batches are then not needed, because the follower reads the whole state.
        for entry in entries where inbox.add(entry) == .diverged { break }
    }

    private static var overtaken: CommitLogError {
        CommitLogError(.overtaken, .contended, "other daemons wrote first; try again")
    }

    private func returnWriter(_ writer: LogWriter) {
        isBatchUnresolved.store(writer.hasUnresolvedBatch, ordering: .releasing)
        self.writer.withLock { $0 = writer }
    }

    package func follow(from state: State) -> FollowedState? {
        let (replacement, entries) = inbox.updates
        guard replacement != nil || !entries.isEmpty else { return nil }
        var followed = FollowedState(state)
        if let replacement {
            followed.replace(with: replacement.state)
            inbox.recordReplaced(by: replacement)
        }
        for entry in entries {
            let before = followed
            do throws(LogDamage) {
                try entry.apply(to: &followed)
                inbox.recordApplied(entry.head)
                writeOrder.withLock { $0.recordBatch(entry.head, at: .now) }
            } catch {
                log.error("cannot apply batch \(entry.head.batch) from etcd: \(error); reading the whole state again")
                followed = before
                inbox.requestLoad()
                break
            }
        }
        return followed
    }

    package func recordPublication(of state: State) {
        saver.recordPublication(of: state, at: inbox.applied)
    }

    package func performMaintenance() {
        guard writer.withLock({ $0 != nil }) else { return }
        recoverWithoutFlush()
        saver.saveIfDue()
    }

    /// Determines the outcome of an earlier batch if it is unknown, and, after a failed flush, whether etcd accepts
    /// writes again. The maintenance calls this method, so the daemon recovers even if no write is queued.
    private func recoverWithoutFlush() {
        guard inbox.readFailure == nil, var writer = writer.withLock({ $0.take() }) else { return }
        defer { returnWriter(writer) }
        do throws(CommitLogError) {
            let deadline = ContinuousClock.now + Self.shortTimeout
            try determineEarlierOutcome(&writer, by: deadline)
            if writer.hasUnresolvedBatch { return }
            writer.releaseClaim(by: deadline)
            // Writing an empty batch only reads the end of the log.
            guard writeFailure.current != nil, !lacksSpace || writer.hasSpace(by: deadline),
                case .done = writer.write(JournalBatch(), after: inbox.applied, by: deadline)
            else { return }
            writeFailure.record(nil)
        } catch { writeFailure.record(error) }
    }

    // MARK: Closing

    /// Stops following the log, waits at most `bound` nanoseconds for the end of a running snapshot, and copies the
    /// state to the data directory. Later flushes fail.
    package func close(within bound: UInt64) throws(FileError) {
        defer { cache.release() }
        exchange.withLock { $0 }?.stop()
        follower.withLock { $0 }?.stop()
        writer.withLock { $0 = nil }
        try saver.close(within: bound)
    }
}
