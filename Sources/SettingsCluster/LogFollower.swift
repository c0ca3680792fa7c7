internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage
internal import Synchronization

/// The follower reads the batches (commits that are appended together) of other daemons from the commit log in etcd,
/// on its own queue. The follower adds these batches to the ``LogInbox``. The commit stage, the thread that appends the
/// batches of this daemon to the log, applies the batches in the inbox to its state.
///
/// A watch of etcd delivers new batches. Every 2 seconds the follower also reads the end of the log, with the batches
/// that the watch has not delivered. If the watch still has not delivered these batches at the next read, the follower
/// opens a new watch. The follower retains itself until ``stop()``.
final class LogFollower: Sendable {
    private typealias Instant = ContinuousClock.Instant

    /// The interval at which the follower reads the end of the log.
    private static let readInterval = Duration.seconds(2)
    private static let callTimeout = Duration.seconds(5)
    /// The interval at which the follower renews the record of this daemon in etcd.
    private static let announcementInterval = Duration.seconds(5)
    /// The intervals between searches for the member that leads etcd: while the leader is unknown, and afterwards. The
    /// search is repeated even if the leader is known: after a failed call the client uses another member, and returns
    /// to the leader only after a new search (``EtcdClient/prefer(_:)``).
    private static let (searchInterval, repeatedSearchInterval) = (Duration.seconds(5), Duration.seconds(60))
    /// The approximate maximum size of the commits, in bytes, and the maximum number of batches that one read returns.
    private static let (maxReadBytes, maxReadBatches): (Int64, Int64) = (16 << 20, 4096)
    private static let maxRetryPauseMilliseconds = 1000

    private let inbox: LogInbox
    private let keys: LogKeys
    /// The identifier of this daemon.
    private let daemon: String
    private let directory: DataDirectory
    private let limits: History.Limits
    /// The log with messages for operators. In this file, all other uses of "log" mean the commit log.
    private let log: Log
    private let metrics: LogMetrics
    private let wakeCommitStage: @Sendable () -> Void
    /// The record of this daemon in etcd; nil if the daemon writes no record.
    private let record: DaemonRecord?
    /// Wakes the follower from a wait, so that it stops.
    private let waker: Waker
    private let isStopped = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "settingsd.follower", qos: .userInitiated)
    private let searchQueue = DispatchQueue(label: "settingsd.leader", qos: .utility)
    private let isSearching = Atomic(false)

    init(
        _ inbox: LogInbox, _ keys: LogKeys, daemon: String, in directory: DataDirectory, limits: History.Limits,
        log: Log, _ metrics: LogMetrics, as record: DaemonRecord?, wakeCommitStage: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        (self.inbox, self.keys, self.daemon, self.directory) = (inbox, keys, daemon, directory)
        (self.limits, self.log, self.record, self.wakeCommitStage) = (limits, log, record, wakeCommitStage)
        self.metrics = metrics
        waker = try Waker()
    }

    func start(_ client: EtcdClient) {
        queue.async {
            var client = client
            self.run(&client)
            if let record = self.record {
                // If the call fails, etcd deletes the record when its lease expires.
                try? client.withdraw(record, self.keys, by: .now + .seconds(1))
            }
            self.ended.signal()
        }
    }

    /// Stops following. Waits up to a second for the deletion of the record of this daemon in etcd.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        waker.wake()
        _ = ended.wait(timeout: .now() + .seconds(1))
    }

    private var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    private func run(_ client: inout EtcdClient) {
        var watch: EtcdWatch?
        var lastAnnouncement: Instant?
        var lastSearch: Instant?
        var batchLimit = LogWriter.pageSize
        // The last batch that the watch delivered, and the last batch that this daemon had after the previous read.
        var (watchedBatch, readBatch): (Int64, Int64) = (0, 0)
        while !isStopping {
            let start = Instant.now
            do throws(EtcdError) {
                let header = try readMissingBatches(&client, limit: &batchLimit)
                // After the previous read, this daemon had a batch that the watch still has not delivered.
                if watch != nil, watchedBatch < readBatch {
                    watch = nil
                    metrics.update { $0.watchRepairs += 1 }
                }
                readBatch = inbox.end.batch
                let hadFailed = inbox.readFailure != nil
                inbox.recordContact(at: start)
                if hadFailed { log.info("etcd answers again") }
                let isLeaderKnown = inbox.leader?.term ?? -1 >= header.term
                let pause = isLeaderKnown ? Self.repeatedSearchInterval : Self.searchInterval
                if lastSearch.map({ start >= $0 + pause }) ?? true {
                    findLeader(client, in: header.term)
                    lastSearch = start
                }
                // A batch reaches the leader before the other members. The new watch is opened at the leader.
                if let leader = inbox.leader, client.prefer(leader) { watch = nil }
                if lastAnnouncement.map({ start >= $0 + Self.announcementInterval }) ?? true {
                    announce(&client, by: start + Self.callTimeout)
                    lastAnnouncement = start
                }
                if watch == nil { watchedBatch = readBatch }
                let end = Instant.now + Self.readInterval
                try receiveFromWatch(&watch, &watchedBatch, &client, from: header.revision + 1, until: end)
            } catch {
                watch = nil
                guard !isStopping else { return }
                // The follower does not log short failures, because they are normal when a member fails and the other
                // members elect a leader. It logs each reason once: `recordFailure` returns true if the reason has
                // changed.
                if inbox.staleness >= EtcdLog.stalenessLimit, inbox.recordFailure(error.description) {
                    log.warning("cannot follow the log in etcd: \(error); retrying until etcd answers")
                }
                pause(milliseconds: .random(in: Self.maxRetryPauseMilliseconds / 4...Self.maxRetryPauseMilliseconds))
            }
        }
    }

    /// Searches for the leader on another queue, because resolving a host name may take seconds. Logs a new leader.
    private func findLeader(_ client: EtcdClient, in term: Int64) {
        guard !isSearching.exchange(true, ordering: .acquiring) else { return }
        searchQueue.async { [self] in
            if let leader = client.findLeader(in: term), inbox.recordLeader(leader) {
                log.info("the member \(leader.endpoint) leads etcd")
            }
            isSearching.store(false, ordering: .releasing)
        }
    }

    /// Writes the record of this daemon. A failure, for example for lack of space in etcd, does not stop the follower.
    private func announce(_ client: inout EtcdClient, by deadline: Instant) {
        guard let record else { return }
        do throws(EtcdError) {
            try client.announce(record, at: inbox.applied, keys, by: deadline)
        } catch { log.debug("cannot write the record of this daemon to etcd: \(error)") }
    }

    /// Adds the missing batches up to the end of the log to the inbox. Returns the header of the answer with the end.
    ///
    /// - Parameter limit: the maximum number of batches of the next read. This method changes the limit.
    private func readMissingBatches(_ client: inout EtcdClient, limit: inout Int) throws(EtcdError) -> EtcdHeader {
        while true {
            if inbox.requiresLoad { try reloadState(&client) }
            // `base` is the last batch in a state that was read from etcd and that this daemon does not use yet. If no
            // such state exists, `base` is `inbox.applied`, the last batch in the state that this daemon uses.
            let (base, end) = (inbox.base, inbox.end)
            let found = try client.readLog(after: end.batch, limit: limit, keys, by: .now + Self.callTimeout)
            if let before = inbox.recordCluster(found.header.cluster) {
                let content = found.head.map { "a log in epoch \($0.epoch)" } ?? "no log"
                log.warning(
                    "etcd is now cluster \(found.header.cluster) instead of cluster \(before), and contains "
                        + "\(content); the state of this daemon is in epoch \(base.epoch); check that etcd.endpoints "
                        + "names the right cluster, and that etcd was not replaced")
            }
            guard let head = found.head else {
                throw EtcdError(
                    outcome: .noEffect,
                    description: "there is no log in etcd any more: the key \(keys.head) is missing; restore etcd")
            }
            // The log ends before `base`, or has another batch with the number of `base`.
            if head.batch < base.batch || head.batch == base.batch && head.id != base.id {
                try recoverFromDivergence(of: head, &client)
                continue
            }
            // During a slow read, other daemons may add more batches than a read returns by default. Therefore the
            // limit of the next read is twice the number of batches that are missing now, unless the commits are too
            // large.
            let fitsInOneRead = head.logBytes - end.logBytes <= Self.maxReadBytes
            limit =
                fitsInOneRead
                ? Int(min(max(2 * (head.batch - end.batch), Int64(LogWriter.pageSize)), Self.maxReadBatches))
                : LogWriter.pageSize
            if head.batch <= end.batch { return found.header }
            let (isNew, isDiverged) = add(found.entries)
            if isDiverged {
                try recoverFromDivergence(of: head, &client)
            } else if !inbox.requiresLoad, inbox.end.batch >= head.batch {
                // The watch delivers the batches after this end.
                return found.header
            } else if !isNew, !inbox.requiresLoad {
                if found.entries.first.map({ $0.head.batch > end.batch + 1 }) ?? true {
                    // Another daemon has put a snapshot, and deleted old batches.
                    log.info("batch \(end.batch + 1) was deleted after a snapshot; reading the whole state from etcd")
                    inbox.requestLoad()
                } else {
                    // The inbox is full until the commit stage has applied some batches.
                    pause(milliseconds: 20)
                }
            }
            if isStopping { return found.header }
        }
    }

    /// Adds batches to the inbox. Returns whether a batch was new, and whether the inbox found that a batch diverged.
    private func add(_ entries: [LogEntry]) -> (isNew: Bool, isDiverged: Bool) {
        var (isNew, isDiverged) = (false, false)
        for entry in entries {
            switch inbox.add(entry) {
            case .added: isNew = true
            case .diverged: isDiverged = true
            case .duplicate, .postponed: break
            }
        }
        if isNew { wakeCommitStage() }
        return (isNew, isDiverged)
    }

    /// Makes this daemon read the whole state again, because the log does not continue the commits of this daemon: etcd
    /// was restored from a backup. Also begins a new epoch (another history, whose revisions cannot be compared with
    /// the revisions so far) in the log, unless the log is already in another epoch than this daemon.
    private func recoverFromDivergence(of head: LogHead, _ client: inout EtcdClient) throws(EtcdError) {
        let applied = inbox.applied
        if head.epoch == applied.epoch {
            log.warning(
                "the log in etcd ends at \(head.epoch).\(head.revision) and does not continue the state of "
                    + "this daemon, \(applied.epoch).\(applied.revision): etcd was restored; beginning a new epoch")
            try client.beginEpoch(
                Epoch.random(), beyond: applied.revision, after: head, writer: daemon, keys,
                by: .now + Self.callTimeout)
        }
        inbox.requestLoad()
    }

    /// Reads the whole state from etcd and puts it into the inbox, so that the commit stage replaces its state. Does
    /// nothing if etcd contains no log: the next read of the log then throws.
    private func reloadState(_ client: inout EtcdClient) throws(EtcdError) {
        let deadline = Instant.now + EtcdClient.stateReadTimeout
        guard let replacement = try client.readState(keys, limits: limits, in: directory, by: deadline) else { return }
        log.info("read the whole state from etcd: \(replacement.head.epoch).\(replacement.head.revision)")
        inbox.replace(with: replacement)
        wakeCommitStage()
    }

    /// Adds batches from the watch to the inbox until the time `end`, or until the inbox does not accept a batch, for
    /// example because an earlier batch is missing. Opens the watch if it is nil.
    ///
    /// - Parameter etcdRevision: the revision of the etcd database from which a new watch begins.
    private func receiveFromWatch(
        _ watch: inout EtcdWatch?, _ watchedBatch: inout Int64, _ client: inout EtcdClient, from etcdRevision: Int64,
        until end: Instant
    ) throws(EtcdError) {
        if watch == nil {
            watch = try client.watch(
                EtcdWatchRequest(key: keys.batches, end: keys.batchesEnd, revision: etcdRevision), by: end)
        }
        while !isStopping, .now < end, var open = watch.take() {
            let messages = try open.next(by: end, waker: waker.descriptor)
            watch = open
            for message in messages {
                switch message {
                case .created: break
                case .cancelled(let reason):
                    log.debug("etcd ended the watch: \(reason)")
                    watch = nil
                    pause(milliseconds: Self.maxRetryPauseMilliseconds / 4)
                case .puts(let pairs):
                    guard try addWatched(pairs, &watchedBatch, &client) else { return }
                }
            }
        }
        if let open = watch, !open.isCreated {
            watch = nil
            throw EtcdError(outcome: .unknown, description: "etcd did not create the watch in time")
        }
    }

    /// Adds batches from the watch to the inbox. Returns true if this daemon now has all of these batches.
    private func addWatched(
        _ pairs: [EtcdPair], _ watchedBatch: inout Int64, _ client: inout EtcdClient
    ) throws(EtcdError) -> Bool {
        var entries: [LogEntry] = []
        do {
            entries = try pairs.map { try LogEntry($0.value) }
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot read the log \(keys.batches): \(error)")
        }
        watchedBatch = max(watchedBatch, entries.last?.head.batch ?? watchedBatch)
        var (isNew, isComplete) = (false, true)
        for entry in try client.readParts(of: entries, keys, by: .now + Self.callTimeout) {
            switch inbox.add(entry) {
            case .added: isNew = true
            case .duplicate: break
            case .postponed, .diverged: isComplete = false
            }
        }
        if isNew { wakeCommitStage() }
        return isComplete
    }

    /// Waits for a number of milliseconds, or until the follower must stop.
    private func pause(milliseconds: Int) {
        _ = PollSet.wait(for: .readable, on: waker.descriptor, until: .now + .milliseconds(milliseconds))
    }
}
