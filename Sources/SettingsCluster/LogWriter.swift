internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// A writer that puts batches behind the end of the log in etcd, and finds out the outcome of each.
///
/// The calling thread waits. One thread at a time uses it.
struct LogWriter: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Outcome: Sendable {
        /// The batch is the one behind the end that was named.
        case done(LogHead)
        /// These batches came first.
        case overtaken([LogEntry])
        case failed(CommitLogError)
    }

    /// What is at the end of the log.
    private enum Look {
        case done
        case overtaken([LogEntry])
        /// The log still ends at the given head. `claim` is the daemon that has claimed the next turn, if any.
        case unmoved(claim: [UInt8]?)
        /// The log does not go on from the end that was named.
        case diverged
    }

    /// A batch whose outcome is unknown, with the end behind which it was sent.
    private struct Unsettled: Sendable {
        let entry: LogEntry
        let end: LogHead
    }

    /// The batches that are read at once.
    static let page = 16
    /// After so many losses in a row a daemon claims the next turn.
    private static let mostLosses = 5
    /// The seconds after which etcd deletes a claim. etcd grants no shorter lease.
    private static let claimSeconds = 2
    /// How long other daemons wait for the batch of a claim. Then they delete the claim and write.
    private static let claimTime = Duration.milliseconds(500)
    private static let (shortestClaimPause, longestClaimPause) = (Duration.seconds(1), Duration.seconds(16))

    private var client: EtcdClient
    private let keys: LogKeys
    private let daemon: String
    /// What the watch brings.
    private let inbox: LogInbox
    private var unsettled: Unsettled?
    private var losses = 0
    /// True if this daemon has claimed the next turn.
    private(set) var hasClaim = false
    /// When this daemon may claim again. The pause doubles with each claim until a claim leads to a batch, because a claim
    /// without a batch holds up the other daemons for nothing.
    private var nextClaim = Instant.now
    private var claimPause = Self.shortestClaimPause

    init(_ client: EtcdClient, _ keys: LogKeys, daemon: String, _ inbox: LogInbox) {
        (self.client, self.keys, self.daemon, self.inbox) = (client, keys, daemon, inbox)
    }

    /// True if the outcome of a batch is unknown: nothing else may be written before it is found out.
    var isUnsettled: Bool { unsettled != nil }

    /// Writes a batch behind the end of the log.
    mutating func write(_ batch: JournalBatch, behind end: LogHead, by deadline: Instant) -> Outcome {
        guard let last = batch.lastRevision else { return confirm(end, by: deadline) }
        let parts = batch.bytes.count > LogKeys.partSize ? (batch.bytes.count - 1) / LogKeys.partSize + 1 : 0
        let head = end.next(to: last, bytes: batch.bytes.count, parts: parts, by: daemon)
        return write(LogEntry(head, lines: batch.bytes), behind: end, by: deadline)
    }

    /// Writes an entry behind the end of the log.
    mutating func write(_ entry: LogEntry, behind end: LogHead, by deadline: Instant) -> Outcome {
        // Any other member forwards a write to the leader.
        if let leader = inbox.leader { client.prefer(leader) }
        // Before the claim, because other daemons delete the claim after a short time.
        if let error = putParts(of: entry, by: deadline) { return .failed(error) }
        // A batch with parts is sent anyway: when etcd refuses it, `settle` deletes its parts.
        let hasFallenBehind = losses >= Self.mostLosses && !hasClaim && claim(behind: end, by: deadline)
        if hasFallenBehind, entry.head.parts == 0 { return .overtaken([]) }
        return settle(entry, behind: end, isUncertain: false, by: deadline)
    }

    /// Finds out the outcome of the batch that is unsettled. Returns nil if there is none.
    mutating func settle(by deadline: Instant) -> (entry: LogEntry, outcome: Outcome)? {
        guard let pending = unsettled else { return nil }
        unsettled = nil
        return (pending.entry, settle(pending.entry, behind: pending.end, isUncertain: true, by: deadline))
    }

    /// True if etcd takes what needs space. It refuses a lease where it has none, and one leaves nothing behind.
    mutating func hasSpace(by deadline: Instant) -> Bool {
        (try? client.call(EtcdLeaseGrant(seconds: Self.claimSeconds), isRepeatable: true, by: deadline)) != nil
    }

    /// Gives the claimed turn back, if there is one that no write has used.
    mutating func giveBackClaim(by deadline: Instant) {
        guard hasClaim else { return }
        hasClaim = false
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.claim, value: Array(daemon.utf8))],
            success: [.delete(keys.claim)])
        _ = try? client.call(transaction, isRepeatable: true, by: deadline)
    }

    /// Sends the transaction until its outcome is known. At most one of several copies is carried out, as each
    /// moves the end that it compares.
    private mutating func settle(
        _ entry: LogEntry, behind end: LogHead, isUncertain: Bool, by deadline: Instant
    ) -> Outcome {
        let outcome = search(entry, behind: end, isUncertain: isUncertain, by: deadline)
        let isOver =
            switch outcome {
            case .done: false
            case .overtaken: true
            case .failed(let error): error.outcome == .notDone
            }
        if isOver, entry.head.parts > 0 {
            // If that fails, they go with the next snapshot but one.
            let drop = EtcdTransaction(success: [keys.dropParts(of: entry.head)])
            _ = try? client.call(drop, isRepeatable: true, by: deadline)
        }
        return outcome
    }

    private mutating func search(
        _ entry: LogEntry, behind end: LogHead, isUncertain: Bool, by deadline: Instant
    ) -> Outcome {
        var isUncertain = isUncertain
        // The refusal for want of space after which only the end of the log is looked at.
        var refusal: EtcdError?
        // The claim of another daemon that holds up the batch, and since when.
        var obstacle: (owner: [UInt8], since: Instant)?
        while true {
            do throws(EtcdError) {
                let overdue = obstacle.flatMap { .now >= $0.since + Self.claimTime ? $0.owner : nil }
                let look =
                    refusal == nil
                    ? try send(entry, behind: end, revoking: overdue, by: deadline)
                    : try lookAtEnd(for: entry, behind: end, by: deadline)
                switch look {
                case .done: return done(entry)
                case .overtaken(let entries): return lost(to: try client.complete(entries, keys, by: deadline))
                case .diverged: return .failed(Self.divergence(isUncertain))
                case .unmoved(let owner):
                    if let refusal, !isUncertain { return .failed(CommitLogError(.notDone, refusal)) }
                    refusal = nil
                    // Another daemon has claimed the turn, or the own claim is over, or its answer was lost.
                    if let owner, !hasClaim, obstacle?.owner != owner { obstacle = (owner, .now) }
                    if owner == nil { obstacle = nil }
                    Self.pause(milliseconds: 20, until: deadline)
                }
                if .now >= deadline, !isUncertain { return .failed(Self.contention) }
            } catch {
                // etcd also refuses the transaction that takes the last of the space, after it was carried out.
                if error.cause == .full, .now < deadline {
                    refusal = error
                    continue
                }
                if error.outcome == .unknown || error.cause == .full || refusal != nil { isUncertain = true }
                if !isUncertain { return .failed(CommitLogError(.notDone, error)) }
                let heard = inbox.entries(behind: end)
                if let first = heard.first {
                    return first.head.id == entry.head.id ? done(entry) : lost(to: heard)
                }
                guard .now < deadline else {
                    unsettled = Unsettled(entry: entry, end: end)
                    return .failed(CommitLogError(.unknown, error))
                }
                Self.pause(milliseconds: 50, until: deadline)
            }
        }
    }

    /// Sends the transaction. If etcd refuses it, the answer has the end of the log.
    ///
    /// - Parameter owner: the daemon whose claim the transaction deletes, because its batch is overdue.
    private mutating func send(
        _ entry: LogEntry, behind end: LogHead, revoking owner: [UInt8]?, by deadline: Instant
    ) throws(EtcdError) -> Look {
        let answer = try client.call(transaction(entry, behind: end, revoking: owner), by: deadline)
        return answer.hasSucceeded ? .done : look(at: answer, for: entry, behind: end)
    }

    private mutating func done(_ entry: LogEntry) -> Outcome {
        if hasClaim { (nextClaim, claimPause) = (.now, Self.shortestClaimPause) }
        (losses, hasClaim) = (0, false)
        return .done(entry.head)
    }

    private mutating func lost(to entries: [LogEntry]) -> Outcome {
        losses += 1
        return .overtaken(entries)
    }

    /// Finds out if the log still ends there.
    private mutating func confirm(_ end: LogHead, by deadline: Instant) -> Outcome {
        giveBackClaim(by: deadline)
        do throws(EtcdError) {
            switch try lookAtEnd(for: nil, behind: end, by: deadline) {
            case .unmoved, .done: return .done(end)
            case .overtaken(let entries): return .overtaken(try client.complete(entries, keys, by: deadline))
            case .diverged: return .failed(Self.divergence(false))
            }
        } catch {
            return .failed(CommitLogError(.notDone, error))
        }
    }

    private func transaction(
        _ entry: LogEntry, behind end: LogHead, revoking owner: [UInt8]?
    ) -> EtcdTransaction {
        let claim = hasClaim ? Array(daemon.utf8) : owner
        var transaction = EtcdTransaction()
        transaction.conditions = [
            EtcdTransaction.Condition(key: keys.head, value: end.line),
            EtcdTransaction.Condition(key: keys.claim, value: claim),
        ]
        transaction.success = [.put(keys.batch(entry.head.batch), entry.value), .put(keys.head, entry.head.line)]
        if claim != nil { transaction.success.append(.delete(keys.claim)) }
        transaction.failure = reads(behind: end)
        return transaction
    }

    /// Reads the end of the log, the batches behind the one that was the last, and the claim.
    private func reads(behind end: LogHead) -> [EtcdTransaction.Operation] {
        [
            .range(EtcdRange(key: keys.head)),
            .range(EtcdRange(key: keys.batch(end.batch + 1), end: keys.logEnd, limit: Self.page)),
            .range(EtcdRange(key: keys.claim)),
        ]
    }

    /// Asks for the end of the log, for the batches behind the one that was the last, and for the claim.
    private mutating func lookAtEnd(
        for entry: LogEntry?, behind end: LogHead, by deadline: Instant
    ) throws(EtcdError) -> Look {
        let answer = try client.call(
            EtcdTransaction(success: reads(behind: end)), isRepeatable: true, by: deadline)
        return look(at: answer, for: entry, behind: end)
    }

    /// Looks at what ``reads(behind:)`` found.
    private mutating func look(
        at answer: EtcdTransaction.Answer, for entry: LogEntry?, behind end: LogHead
    ) -> Look {
        let claim = answer.ranges[2].first?.value
        hasClaim = claim == Array(daemon.utf8)
        if answer.ranges[0].first?.value == end.line { return .unmoved(claim: claim) }
        var entries: [LogEntry] = []
        for pair in answer.ranges[1] {
            // What cannot be read is the follower's to complain of.
            guard let entry = try? LogEntry(pair.value) else { break }
            entries.append(entry)
        }
        guard let first = entries.first, first.head.previous == end.id else { return .diverged }
        return first.head.id == entry?.head.id ? .done : .overtaken(entries)
    }

    /// Puts the parts of a large batch, which count once a head names them.
    private mutating func putParts(of entry: LogEntry, by deadline: Instant) -> CommitLogError? {
        for (number, part) in entry.parts.enumerated() {
            let put = EtcdTransaction(success: [.put(keys.part(number, of: entry.head), part)])
            do throws(EtcdError) {
                // The same put twice does no harm.
                _ = try client.call(put, isRepeatable: true, by: deadline)
            } catch {
                return CommitLogError(.notDone, error)
            }
        }
        return nil
    }

    /// Claims the next turn for a daemon that keeps losing to other daemons. Returns true if the inbox has batches
    /// after `end`, so etcd would refuse this batch. A claim that fails does no harm.
    private mutating func claim(behind end: LogHead, by deadline: Instant) -> Bool {
        let start = Instant.now
        guard start >= nextClaim else { return false }
        let lease = try? client.call(EtcdLeaseGrant(seconds: Self.claimSeconds), by: deadline)
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.claim)],
            success: [.put(keys.claim, Array(daemon.utf8), lease: lease ?? 0), .range(EtcdRange(key: keys.head))])
        // The others would delete the claim before a batch that takes this long arrives.
        let answer = lease == nil || .now >= start + Self.claimTime ? nil : try? client.call(transaction, by: deadline)
        // Another daemon has claimed the turn.
        if let answer, !answer.hasSucceeded { return false }
        nextClaim = .now + claimPause
        claimPause = min(claimPause * 2, Self.longestClaimPause)
        hasClaim = answer != nil
        guard let line = answer?.ranges[0].first?.value, let head = try? LogHead(line), head.batch > end.batch
        else { return false }
        return inbox.awaitBatch(head.batch, until: min(deadline, .now + Self.claimTime))
    }

    /// Waits for a random time up to this.
    private static func pause(milliseconds: Int, until deadline: Instant) {
        let time = Duration.milliseconds(milliseconds) * Double.random(in: 0...1)
        _ = PollSet.wait(for: .readable, on: -1, until: min(deadline, .now + time))
    }

    private static var contention: CommitLogError {
        CommitLogError(.notDone, .contended, "other daemons were always first; try again")
    }

    private static func divergence(_ isUncertain: Bool) -> CommitLogError {
        CommitLogError(
            isUncertain ? .unknown : .notDone, .failed,
            "the log in etcd does not go on from what this daemon has; it is read anew by itself")
    }
}

extension CommitLogError {
    /// The error of writes that etcd did not take.
    init(_ outcome: Outcome, _ error: EtcdError) {
        let remedy =
            error.cause == .full
            ? "; see docs/cluster.md for how to give it space"
            : "; once it answers, writes are taken again by themselves"
        self.init(
            outcome, error.cause == .full ? .full : .failed, "etcd does not take writes: \(error)\(remedy)",
            reason: "etcd does not take writes\(remedy)")
    }
}
