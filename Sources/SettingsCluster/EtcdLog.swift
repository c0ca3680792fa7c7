// The target SettingsCluster keeps the log of commits in etcd, so that several daemons serve the same settings. It
// contains a client for the JSON gateway of etcd, the format of the log, and the thread that follows the log.
//
// The target does not know how a daemon serves requests. The targets below SettingsServer do not import it, so a daemon
// with a log in a data directory uses none of its code.
//
// Read this file first, then LogEntry.swift, LogWriter.swift, LogFollower.swift and EtcdClient.swift.

internal import Dispatch
package import Platform
package import SettingsAPI
package import SettingsEngine
package import SettingsStorage
internal import Synchronization

/// A log that several daemons share: each batch is one transaction of etcd.
///
/// Used on the commit thread, except ``health``, ``silence`` and ``isUnsettled``. A call takes the writer out of its mutex and puts it
/// back, so that no mutex is held while the call waits for etcd.
package final class EtcdLog: StorageLog {
    package struct Options: Sendable {
        package var etcd: EtcdOptions
        /// The time between copies of the state in the data directory, in nanoseconds.
        package var copyInterval: UInt64 = 300_000_000_000
        /// The growth of the log after which a snapshot is put into etcd; more if the snapshot is larger.
        package var snapshotLogBytes = 64 << 20
        /// The most time that a batch may take before its outcome counts as unknown.
        package var writeTime = Duration.seconds(8)

        package init(_ etcd: EtcdOptions) {
            self.etcd = etcd
        }
    }

    /// What was published last, with what is written of it beside the writer.
    private struct Published: Sendable {
        var state: State
        var head: LogHead
        /// The place of the copy in the data directory; nil if there is none.
        var copied: LogHead?
        var copyTime: UInt64
        /// The log's bytes from which on a snapshot is due; 0 as long as it is not known.
        var snapshotBytes: Int64 = 0
    }

    /// The time for a write while etcd is known not to answer.
    private static let shortTime = Duration.seconds(1)
    /// The most time that ``close(within:)`` waits for a snapshot under way to end, in nanoseconds.
    private static let abandonTime: UInt64 = 3_000_000_000
    /// The silence of etcd after which what is read may be old.
    package static let staleTime = Duration.seconds(5)

    private let options: Options
    private let keys: LogKeys
    private let daemon: String
    private let directory: DataDirectory
    private let cache: LogCache
    private let inbox: LogInbox
    private let log: Log
    private let clock: @Sendable () -> UInt64
    private let limits: History.Limits
    package let figures = StorageFigures()

    /// The most nanoseconds for which writes gather after a flush.
    private static let longestGathering: UInt64 = 5_000_000

    /// Nil while a call uses it.
    private let writer: Mutex<LogWriter?>
    /// True if the writer has a batch whose outcome is unknown.
    private let hasUnsettledBatch = Atomic(false)
    /// The nanoseconds that the last flush took.
    private let flushTime = Mutex<UInt64>(0)
    private let staged = Mutex(JournalBatch())
    private let order: Mutex<TurnOrder>
    private let latest: Mutex<Published>
    private let follower = Mutex<LogFollower?>(nil)
    private let copying = BackgroundTask<LogHead?>(label: "settingsd.copies", qos: .utility, runsInline: false)
    private let snapshotting = BackgroundTask<Int64?>(label: "settingsd.snapshots", qos: .utility, runsInline: false)
    /// The seconds of silence that were reported last.
    private let reported = Mutex<Int?>(nil)
    /// The error of the last flush that failed, until writes are taken again.
    private let obstacle = Mutex<CommitLogError?>(nil)
    private let logFigures = LogFigures()

    /// Recovers the state: from etcd, or from the copy in the data directory if that is there and etcd does not answer.
    /// Waits for etcd as long as there is no copy.
    package static func open(
        _ directory: DataDirectory, options: Options, limits: History.Limits, log: Log,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (State, EtcdLog) {
        let keys = LogKeys(options.etcd.prefix)
        let daemon = LogHead.randomID()
        let (cache, copy) = try LogCache.open(directory, prefix: options.etcd.prefix, limits: limits, log: log)
        var client = EtcdClient(options.etcd)
        var start: LogInbox.Replacement
        var heard: ContinuousClock.Instant?
        // A state that could not be compared with the log is stale from the first answer on.
        var age = staleTime
        if let (copy, time) = copy {
            start = copy
            do throws(EtcdError) {
                let moment = ContinuousClock.now
                start = try client.goOn(
                    from: copy, keys, limits: limits, in: directory, by: .now + staleTime)
                heard = moment
            } catch {
                log.warning(
                    "cannot read the log in etcd: \(error); serving what the data directory has until it can be read")
                age = max(age, .milliseconds(Timestamp.now().milliseconds - time.milliseconds))
            }
        } else {
            (start, heard) = client.firstState(keys, daemon: daemon, limits: limits, in: directory, log)
        }
        let etcdLog = EtcdLog(
            start, copied: copy?.0.head, heard: heard ?? .now - age, client, keys, daemon, directory, cache, options,
            limits, log, clock
        )
        return (start.state, etcdLog)
    }

    private init(
        _ start: LogInbox.Replacement, copied: LogHead?, heard: ContinuousClock.Instant, _ client: EtcdClient,
        _ keys: LogKeys, _ daemon: String, _ directory: DataDirectory, _ cache: LogCache, _ options: Options,
        _ limits: History.Limits, _ log: Log, _ clock: @escaping @Sendable () -> UInt64
    ) {
        (self.keys, self.daemon, self.directory, self.cache) = (keys, daemon, directory, cache)
        (self.options, self.limits, self.log, self.clock) = (options, limits, log, clock)
        inbox = LogInbox(applied: start.head, heard: heard)
        writer = Mutex(LogWriter(client, keys, daemon: daemon, inbox))
        order = Mutex(TurnOrder(of: daemon))
        latest = Mutex(Published(state: start.state, head: start.head, copied: copied, copyTime: clock()))
    }

    /// Begins to follow the log.
    ///
    /// - Parameters:
    ///   - address: where the daemon listens, for the others; nil to be no member.
    ///   - wakeWriter: has the commit stage call ``follow(from:)`` soon. Called on the follower's queue.
    package func start(at address: String? = nil, wakeWriter: @escaping @Sendable () -> Void) throws(SystemError) {
        let member = address.map { ClusterMember(id: daemon, address: $0) }
        let follower = try LogFollower(
            inbox, keys, daemon: daemon, in: directory, limits: limits, log: log, logFigures, as: member,
            wakeWriter: wakeWriter)
        self.follower.withLock { $0 = follower }
        follower.start(EtcdClient(options.etcd))
    }

    /// The time since the end of the log was last heard of, once that is long; nil as long as it is not.
    package var silence: Duration? {
        let silence = inbox.silence
        return silence >= Self.staleTime ? silence : nil
    }

    /// Calls with the seconds of silence while that is long, and once with nil after it.
    package func reportSilence(_ report: (Int?) -> Void) {
        let seconds = silence.map { Int($0.components.seconds) }
        let before = reported.withLock { reported in
            defer { reported = seconds }
            return reported
        }
        if seconds != before { report(seconds) }
    }

    package var health: String? {
        // By the same bound, answers say that they are stale.
        inbox.silence >= Self.staleTime ? "etcd does not answer" : obstacle.withLock { $0?.reason }
    }

    /// The figures of the log.
    package var contents: LogFigures.Contents {
        var contents = logFigures.contents
        contents.silence = inbox.silence / .seconds(1)
        return contents
    }

    /// What the interface asks about the other daemons.
    package var questions: ClusterQuestions { ClusterQuestions(EtcdClient(options.etcd), keys, daemon: daemon) }

    // MARK: CommitLog

    package var requiresFlush: Bool { true }
    package var maximumBatchesInFlight: Int { 1 }
    package var gatheringTime: UInt64 { flushTime.withLock { min($0 / 2, Self.longestGathering) } }
    package var isUnsettled: Bool { hasUnsettledBatch.load(ordering: .acquiring) }

    package func stage(_ commit: KeptCommit, after predecessor: Revision) {
        staged.withLock { $0.add(commit.commit, after: predecessor, followsSync: false) }
    }

    /// Waits for a short time if other daemons are to write first. Returns true if they added commits, which must be followed first.
    private func awaitTurn() -> Bool {
        inbox.awaitNews(until: order.withLock { $0.turn(at: .now) })
    }

    package func flush(by deadline: UInt64) throws(CommitLogError) {
        let batch = staged.withLock { staged in
            defer { staged.removeAll() }
            return staged
        }
        guard var writer = writer.withLock({ $0.take() }) else {
            throw CommitLogError(.notDone, .failed, "the log is closed")
        }
        defer { putBack(writer) }
        let start = clock()
        defer { flushTime.withLock { $0 = clock() - start } }
        do throws(CommitLogError) {
            let time = Duration.nanoseconds(Int64(clamping: deadline - min(deadline, clock())))
            let most = health == nil ? options.writeTime : Self.shortTime
            try flush(batch, &writer, by: .now + min(time, most))
            // Where etcd has no space it still answers reads.
            if batch.lastRevision != nil || !lacksSpace { report(nil) }
        } catch {
            if error.outcome == .unknown { logFigures.update { $0.unknownOutcomes += 1 } }
            if error.cause != .contended { report(error) }
            throw error
        }
    }

    private var lacksSpace: Bool { obstacle.withLock { $0?.cause == .full } }

    private func flush(
        _ batch: JournalBatch, _ writer: inout LogWriter, by deadline: ContinuousClock.Instant
    ) throws(CommitLogError) {
        try settle(&writer, by: deadline)
        guard !inbox.isDiverged || inbox.hasNews else {
            throw CommitLogError(.notDone, .failed, "the log in etcd is being read anew; try again")
        }
        if writer.hasClaim ? inbox.hasNews : awaitTurn() { throw Self.overtaken }
        let start = ContinuousClock.now
        let outcome = writer.write(batch, behind: inbox.applied, by: deadline)
        let time = UInt64(clamping: Int64((ContinuousClock.now - start) / .nanoseconds(1)))
        logFigures.update { $0.rounds.add(time) }
        switch outcome {
        case .done(let head):
            inbox.noteApplied(head)
            inbox.noteHeard(at: start)
            order.withLock { order in
                if batch.lastRevision != nil { order.note(head, at: .now) }
                order.note(round: .now - start)
            }
        case .overtaken(let entries):
            logFigures.update { $0.lostRounds += 1 }
            for entry in entries where inbox.add(entry) == .diverged { break }
            throw Self.overtaken
        case .failed(let error): throw error
        }
    }

    /// Finds out the outcome of the batch that is unsettled. If it was done, it is followed as another's is.
    private func settle(_ writer: inout LogWriter, by deadline: ContinuousClock.Instant) throws(CommitLogError) {
        guard let (entry, outcome) = writer.settle(by: deadline) else { return }
        switch outcome {
        case .done: _ = inbox.add(entry)
        case .overtaken(let entries): for entry in entries where inbox.add(entry) == .diverged { break }
        case .failed(let error):
            guard !writer.isUnsettled else {
                throw CommitLogError(.notDone, error.cause, error.description, reason: error.reason)
            }
        }
    }

    private static var overtaken: CommitLogError {
        CommitLogError(.overtaken, .contended, "other daemons were first; try again")
    }

    private func putBack(_ writer: LogWriter) {
        hasUnsettledBatch.store(writer.isUnsettled, ordering: .releasing)
        self.writer.withLock { $0 = writer }
    }

    package func follow(from state: State) -> FollowedState? {
        let (replacement, entries) = inbox.news
        guard replacement != nil || !entries.isEmpty else { return nil }
        var followed = FollowedState(state)
        if let replacement {
            followed.replace(with: replacement.state)
            inbox.noteReplaced(by: replacement)
        }
        for entry in entries {
            let before = followed
            do throws(LogDamage) {
                try entry.apply(to: &followed)
                inbox.noteApplied(entry.head)
                order.withLock { $0.note(entry.head, at: .now) }
            } catch {
                log.error("cannot apply batch \(entry.head.batch) of the log in etcd: \(error); reading all of it anew")
                followed = before
                inbox.demandLoad()
                break
            }
        }
        return followed
    }

    package func published(_ state: State) {
        let head = inbox.applied
        latest.withLock { latest in (latest.state, latest.head) = (state, head) }
    }

    package func tend() {
        guard writer.withLock({ $0 != nil }) else { return }
        settleBeside()
        takeReports()
        let (latest, now) = (latest.withLock { $0 }, clock())
        let isDue = latest.copied == nil || now &- latest.copyTime >= options.copyInterval
        if latest.copied != latest.head, isDue, !copying.isBusy {
            self.latest.withLock { $0.copyTime = now }
            beginCopy(latest)
        }
        if latest.head.bytes >= latest.snapshotBytes, inbox.trouble == nil, !snapshotting.isBusy {
            beginSnapshot(latest)
        }
    }

    /// Looks for the outcome of a write, though no caller waits.
    private func settleBeside() {
        guard inbox.trouble == nil, var writer = writer.withLock({ $0.take() }) else { return }
        defer { putBack(writer) }
        do throws(CommitLogError) {
            let deadline = ContinuousClock.now + Self.shortTime
            try settle(&writer, by: deadline)
            if writer.isUnsettled { return }
            writer.giveBackClaim(by: deadline)
            guard obstacle.withLock({ $0 }) != nil, !lacksSpace || writer.hasSpace(by: deadline),
                case .done = writer.write(JournalBatch(), behind: inbox.applied, by: deadline)
            else { return }
            report(nil)
        } catch {
            report(error)
        }
    }

    private func report(_ error: CommitLogError?) {
        let before = obstacle.withLock { obstacle in
            defer { obstacle = error }
            return obstacle
        }
        guard before?.reason != error?.reason else { return }
        if let error { log.error("writes fail: \(error)") } else { log.info("writes are taken again") }
    }

    // MARK: Copies and snapshots

    private func takeReports() {
        if let copied = copying.takeReport(), let copied { latest.withLock { $0.copied = copied } }
        if let bytes = snapshotting.takeReport() {
            // After one that was put, the next second finds out when the next is due.
            if let bytes { latest.withLock { $0.snapshotBytes = bytes } }
        }
    }

    private func beginCopy(_ latest: Published) {
        copying.begin { [cache, inbox, log] _ in
            do throws(FileError) {
                try cache.save(latest.state, at: latest.head, silence: inbox.silence)
                return latest.head
            } catch {
                log.warning("cannot copy the state into the data directory: \(error); it is tried again later")
                return nil
            }
        }
    }

    /// Puts a snapshot into etcd if the log has grown enough since the last one. Reports when the next is due.
    private func beginSnapshot(_ latest: Published) {
        let (options, keys, directory, log, figures) = (options, keys, directory, log, logFigures)
        snapshotting.begin { task in
            var client = EtcdClient(options.etcd)
            let later = latest.head.bytes + Int64(options.snapshotLogBytes / 8)
            do throws(EtcdError) {
                let pointer = try client.readSnapshotPointer(keys, by: .now + options.writeTime)
                let due = (pointer?.head.bytes ?? 0) + Int64(max(options.snapshotLogBytes, pointer?.bytes ?? 0))
                guard latest.head.bytes >= due else { return due }
                // Another daemon that has the turn puts the one that is due.
                guard var turn = try SnapshotTurn(&client, keys) else { return later }
                defer { turn.end(replacing: pointer, &client, by: .now + .seconds(1)) }
                try turn.put(
                    latest.state, at: latest.head, replacing: pointer, in: directory,
                    isAbandoned: { task.isAbandoned }, &client)
                log.info("put a snapshot of revision \(latest.head.revision) into etcd")
                return nil
            } catch {
                guard !task.isAbandoned else { return nil }
                figures.update { $0.failedSnapshots += 1 }
                log.warning("cannot put a snapshot into etcd: \(error); it is tried again")
                return later
            }
        }
    }

    // MARK: The end

    /// Ends the following, and writes the copy in the data directory. No write is taken afterwards.
    package func close(within bound: UInt64) throws(FileError) {
        defer { cache.release() }
        follower.withLock { $0 }?.stop()
        writer.withLock { $0 = nil }
        snapshotting.abandon(waiting: min(bound, Self.abandonTime))
        copying.wait()
        takeReports()
        let latest = latest.withLock { $0 }
        guard latest.copied != latest.head else { return }
        try cache.checkPlace()
        try cache.save(latest.state, at: latest.head, silence: inbox.silence)
    }
}
