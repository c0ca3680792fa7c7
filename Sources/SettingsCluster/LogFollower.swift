internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage
internal import Synchronization

/// A follower of the log in etcd, on a queue of its own: it watches for batches, and asks for the end every 2 seconds.
///
/// Each look at the end also reads the batches that the watch has not brought. If the watch still has not brought these batches
/// at the next look, it is opened again. Retains itself while running. Call `stop()` to end it.
final class LogFollower: Sendable {
    private typealias Instant = ContinuousClock.Instant

    private static let interval = Duration.seconds(2)
    private static let callTime = Duration.seconds(5)
    private static let announcementInterval = Duration.seconds(5)
    /// How often the leader is looked for while it is not known, and otherwise, as it may have been left for another member.
    private static let (searchInterval, secondLookInterval) = (Duration.seconds(5), Duration.seconds(60))
    /// The most bytes of commits, and the most batches, that are read at once.
    private static let (maxReadBytes, maxReadBatches): (Int64, Int64) = (16 << 20, 4096)
    /// The longest pause after a failure.
    private static let longestPause = 1000

    private let inbox: LogInbox
    private let keys: LogKeys
    private let daemon: String
    private let directory: DataDirectory
    private let limits: History.Limits
    private let log: Log
    private let figures: LogFigures
    /// Has the writer apply what came.
    private let wakeWriter: @Sendable () -> Void
    /// What the daemon says of itself; nil if it says nothing.
    private let member: ClusterMember?
    private let waker: Waker
    private let isStopped = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "settingsd.follower", qos: .userInitiated)
    private let searches = DispatchQueue(label: "settingsd.leader", qos: .utility)
    private let isSearching = Atomic(false)

    init(
        _ inbox: LogInbox, _ keys: LogKeys, daemon: String, in directory: DataDirectory, limits: History.Limits,
        log: Log, _ figures: LogFigures, as member: ClusterMember?, wakeWriter: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        (self.inbox, self.keys, self.daemon, self.directory) = (inbox, keys, daemon, directory)
        (self.limits, self.log, self.member, self.wakeWriter) = (limits, log, member, wakeWriter)
        self.figures = figures
        waker = try Waker()
    }

    func start(_ client: EtcdClient) {
        queue.async {
            var client = client
            self.run(&client)
            if let member = self.member {
                // If that fails, the key ends with its lease.
                try? client.withdraw(member, self.keys, by: .now + .seconds(1))
            }
            self.ended.signal()
        }
    }

    /// Ends the following. Waits a second for the other daemons to hear of it.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        waker.wake()
        _ = ended.wait(timeout: .now() + .seconds(1))
    }

    private var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    private func run(_ client: inout EtcdClient) {
        var watch: EtcdWatch?
        var announced: Instant?
        var searched: Instant?
        var limit = LogWriter.page
        // The last batch that the watch delivered, and the last batch at the end of the previous read.
        var (watchedBatch, readBatch): (Int64, Int64) = (0, 0)
        while !isStopping {
            let start = Instant.now
            do throws(EtcdError) {
                let etcd = try catchUp(&client, reading: &limit)
                if watch != nil, watchedBatch < readBatch {
                    watch = nil
                    figures.update { $0.watchRepairs += 1 }
                }
                readBatch = inbox.end.batch
                let hadTrouble = inbox.trouble != nil
                inbox.noteHeard(at: start)
                if hadTrouble { log.info("etcd answers again") }
                let isLeaderKnown = inbox.leader?.term ?? -1 >= etcd.term
                let pause = isLeaderKnown ? Self.secondLookInterval : Self.searchInterval
                if searched.map({ start >= $0 + pause }) ?? true {
                    findLeader(client, in: etcd.term)
                    searched = start
                }
                // The leader has each batch before the others have it.
                if let leader = inbox.leader, client.prefer(leader) { watch = nil }
                if announced.map({ start >= $0 + Self.announcementInterval }) ?? true {
                    announce(&client, by: start + Self.callTime)
                    announced = start
                }
                if watch == nil { watchedBatch = readBatch }
                try listen(&watch, &watchedBatch, &client, from: etcd.revision + 1, until: .now + Self.interval)
            } catch {
                watch = nil
                guard !isStopping else { return }
                // A member that fails, or an election, is no trouble yet.
                if inbox.silence >= EtcdLog.staleTime, inbox.noteTrouble(error.description) {
                    log.warning("cannot follow the log in etcd: \(error); it is tried again and again")
                }
                pause(milliseconds: .random(in: Self.longestPause / 4...Self.longestPause))
            }
        }
    }

    /// Looks for the member that leads, on another queue: to resolve the name of a member may take many seconds.
    private func findLeader(_ client: EtcdClient, in term: Int64) {
        guard !isSearching.exchange(true, ordering: .acquiring) else { return }
        searches.async { [self] in
            if let leader = client.findLeader(in: term), inbox.noteLeader(leader) {
                log.info("\(leader.endpoint) leads etcd")
            }
            isSearching.store(false, ordering: .releasing)
        }
    }

    /// Writes down that this daemon is there. That it fails, as where etcd has no space, ends no following.
    private func announce(_ client: inout EtcdClient, by deadline: Instant) {
        guard let member else { return }
        do throws(EtcdError) {
            try client.announce(member, at: inbox.applied, keys, by: deadline)
        } catch {
            log.debug("cannot announce this daemon to the others: \(error)")
        }
    }

    /// Reads the missing batches up to the end of the log. Returns the header of the answer that had the end.
    ///
    /// - Parameter limit: the most batches that the next read gets.
    private func catchUp(_ client: inout EtcdClient, reading limit: inout Int) throws(EtcdError) -> EtcdHeader {
        while true {
            if inbox.mustLoad { try load(&client) }
            let (base, end) = (inbox.base, inbox.end)
            let found = try client.readLog(behind: end.batch, limit: limit, keys, by: .now + Self.callTime)
            if let before = inbox.noteCluster(found.header.cluster) {
                let epoch = found.head.map { "its log is in epoch \($0.epoch)" } ?? "it has no log"
                log.warning(
                    "etcd is another cluster than before, \(found.header.cluster) instead of \(before): it was set up anew, or "
                        + "etcd.endpoints lead elsewhere; \(epoch), this daemon in \(base.epoch)")
            }
            guard let head = found.head else {
                throw EtcdError(
                    outcome: .refused,
                    description: "there is no log in etcd any more: the key \(keys.head) is missing; restore etcd")
            }
            if head.batch < base.batch || head.batch == base.batch && head.id != base.id {
                try leave(head, &client)
                continue
            }
            // Where the connection to etcd is slow, more than a page of batches may come during one read.
            let isSmall = head.bytes - end.bytes <= Self.maxReadBytes
            limit =
                isSmall
                ? Int(min(max(2 * (head.batch - end.batch), Int64(LogWriter.page)), Self.maxReadBatches))
                : LogWriter.page
            if head.batch <= end.batch { return found.header }
            let (isNew, isDiverged) = add(found.entries)
            if isDiverged {
                try leave(head, &client)
            } else if !inbox.mustLoad, inbox.end.batch >= head.batch {
                // The watch brings the batches behind this end.
                return found.header
            } else if !isNew, !inbox.mustLoad {
                if found.entries.first.map({ $0.head.batch > end.batch + 1 }) ?? true {
                    // Another daemon has deleted what a snapshot has.
                    log.info("batch \(end.batch + 1) is only in the snapshot of etcd; beginning from that")
                    inbox.demandLoad()
                } else {
                    // The writer is behind.
                    pause(milliseconds: 20)
                }
            }
            if isStopping { return found.header }
        }
    }

    /// Adds batches for the writer. Tells if one was new, and if one does not follow from what this daemon has.
    private func add(_ entries: [LogEntry]) -> (isNew: Bool, isDiverged: Bool) {
        var (isNew, isDiverged) = (false, false)
        for entry in entries {
            switch inbox.add(entry) {
            case .added: isNew = true
            case .diverged: isDiverged = true
            case .known, .gap: break
            }
        }
        if isNew { wakeWriter() }
        return (isNew, isDiverged)
    }

    /// Leaves the history of this daemon, since the log does not go on from it: etcd was restored. This daemon begins a new
    /// epoch, unless the log has another than its own: then another daemon has, or the log was never its own.
    private func leave(_ head: LogHead, _ client: inout EtcdClient) throws(EtcdError) {
        let applied = inbox.applied
        if head.epoch == applied.epoch {
            log.warning(
                "the log in etcd ends at \(head.epoch).\(head.revision) and does not go on from "
                    + "\(applied.epoch).\(applied.revision), which this daemon has: etcd was restored; a new epoch begins"
            )
            try client.beginEpoch(
                Epoch.random(), beyond: applied.revision, behind: head, by: daemon, keys, by: .now + Self.callTime)
        }
        inbox.demandLoad()
    }

    /// Reads the whole state anew, and has the writer go on from it.
    private func load(_ client: inout EtcdClient) throws(EtcdError) {
        guard
            let replacement = try client.readState(
                keys, limits: limits, in: directory, by: .now + .seconds(300))
        else { return }
        log.info("read the state anew from etcd: \(replacement.head.epoch).\(replacement.head.revision)")
        inbox.replace(with: replacement)
        wakeWriter()
    }

    /// Takes what the watch brings until a moment, or until something is missing. Opens the watch if it is not.
    ///
    /// - Parameter watchedBatch: the last batch that the watch delivered.
    private func listen(
        _ watch: inout EtcdWatch?, _ watchedBatch: inout Int64, _ client: inout EtcdClient, from revision: Int64,
        until end: Instant
    ) throws(EtcdError) {
        if watch == nil {
            watch = try client.watch(
                EtcdWatchRequest(key: keys.log, end: keys.logEnd, revision: revision), by: end)
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
                    pause(milliseconds: Self.longestPause / 4)
                case .puts(let pairs):
                    guard try take(pairs, &watchedBatch, &client) else { return }
                }
            }
        }
        if let open = watch, !open.isCreated {
            watch = nil
            throw EtcdError(outcome: .unknown, description: "etcd does not begin the watch")
        }
    }

    /// Takes batches from the watch. Returns false if some are missing.
    private func take(
        _ pairs: [EtcdPair], _ watchedBatch: inout Int64, _ client: inout EtcdClient
    ) throws(EtcdError) -> Bool {
        var entries: [LogEntry] = []
        do {
            entries = try pairs.map { try LogEntry($0.value) }
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot read the log \(keys.log): \(error)")
        }
        watchedBatch = max(watchedBatch, entries.last?.head.batch ?? watchedBatch)
        var (isNew, isWhole) = (false, true)
        for entry in try client.complete(entries, keys, by: .now + Self.callTime) {
            switch inbox.add(entry) {
            case .added: isNew = true
            case .known: break
            case .gap, .diverged: isWhole = false
            }
        }
        if isNew { wakeWriter() }
        return isWhole
    }

    private func pause(milliseconds: Int) {
        _ = PollSet.wait(for: .readable, on: waker.descriptor, until: .now + .milliseconds(milliseconds))
    }
}
