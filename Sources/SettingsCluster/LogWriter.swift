internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// Appends batches (groups of commits) to the commit log in etcd, and determines the outcome of each batch.
///
/// One transaction appends a batch, on the condition that the log still ends where this daemon expects. If other
/// daemons appended batches first, the daemon applies those batches, and decides its writes again: it checks each write
/// against the new state, and computes its commit or its refusal. A daemon that loses repeatedly claims the next batch:
/// it writes its identifier to the etcd key `claim`, and the other daemons wait a short time for its batch. The commits
/// of a large batch are stored under several keys, its *parts*, before the transaction. A small batch has 0 parts.
///
/// A batch is *unresolved* while it is unknown whether etcd has stored the batch. Calls block the calling thread. Not
/// thread-safe.
struct LogWriter: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Outcome: Sendable {
        /// The batch is in the log, and this is its head (the line that identifies a batch). For an empty batch: the
        /// log still ends with the batch that has this head.
        case done(LogHead)
        /// Other daemons appended batches first. The array has these batches; it may be empty if the inbox already has
        /// these batches.
        case overtaken([LogEntry])
        case failed(CommitLogError)
    }

    /// The end of the log, compared with `end`: the batch after which this daemon wants to append a batch.
    private enum LogEnd {
        /// The batch of this daemon follows `end`.
        case containsBatch
        /// Batches of other daemons follow `end`.
        case overtaken([LogEntry])
        /// The log ends with `end`. `claimant` is the daemon that has claimed the next batch; nil if there is no claim.
        case unchanged(claimant: [UInt8]?)
        /// The log does not end with `end`, and the batch after `end` is missing, unreadable or follows another batch.
        case diverged
    }

    /// A batch whose outcome is unknown, and the head of the batch after which it was sent.
    private struct UnresolvedBatch: Sendable {
        let entry: LogEntry
        let end: LogHead
    }

    /// The maximum number of batches that one read returns, unless the calling code sets another limit. A batch has at
    /// most about a megabyte without its parts, so the answer to a read has at most about 16 megabytes.
    static let pageSize = 16
    /// A daemon claims the next batch after other daemons have appended their batches first this number of times in a
    /// row.
    private static let maxLosses = 5
    /// The seconds after which etcd deletes a claim. This is the shortest lease that etcd grants.
    private static let claimLeaseSeconds = 2
    /// The time for which other daemons wait for the batch of a claim. Then they delete the claim and write.
    private static let claimTimeout = Duration.milliseconds(500)
    /// The limits of the time from a claim until this daemon may claim again: see `earliestClaim`.
    private static let (shortestClaimPause, longestClaimPause) = (Duration.seconds(1), Duration.seconds(16))

    private var client: EtcdClient
    private let keys: LogKeys
    /// The identifier of this daemon.
    private let daemon: String
    /// The batches that the follower, which watches the log for batches of other daemons, has received.
    private let inbox: LogInbox
    private var unresolvedBatch: UnresolvedBatch?
    /// The number of times that other daemons appended their batches first since this daemon last appended a batch.
    private var consecutiveLosses = 0
    /// True if etcd has a claim of this daemon for the next batch, as far as this daemon knows.
    private(set) var hasClaim = false
    /// When this daemon may claim again. The pause doubles with each claim until a claim leads to a batch, because a
    /// claim without a batch delays the other daemons without a benefit.
    private var earliestClaim = Instant.now
    private var claimPause = Self.shortestClaimPause

    init(_ client: EtcdClient, _ keys: LogKeys, daemon: String, _ inbox: LogInbox) {
        (self.client, self.keys, self.daemon, self.inbox) = (client, keys, daemon, inbox)
    }

    /// True if the outcome of a batch is unknown. The outcome must be determined before the next write.
    var hasUnresolvedBatch: Bool { unresolvedBatch != nil }

    /// Appends a batch after the batch with the head `end`. If the batch is empty, only confirms that `end` is the end.
    mutating func write(_ batch: JournalBatch, after end: LogHead, by deadline: Instant) -> Outcome {
        guard let last = batch.lastRevision else { return confirmEnd(end, by: deadline) }
        let parts = batch.bytes.count > LogKeys.partSize ? (batch.bytes.count - 1) / LogKeys.partSize + 1 : 0
        let head = end.next(to: last, bytes: batch.bytes.count, parts: parts, writer: daemon)
        return write(LogEntry(head, lines: batch.bytes), after: end, by: deadline)
    }

    mutating func write(_ entry: LogEntry, after end: LogHead, by deadline: Instant) -> Outcome {
        // Any other member would forward the write to the leader.
        if let leader = inbox.leader { client.prefer(leader) }
        // Put the parts before the claim, because other daemons wait only a short time for the batch of a claim.
        if let error = putParts(of: entry, by: deadline) { return .failed(error) }
        let isOvertaken =
            consecutiveLosses >= Self.maxLosses && !hasClaim && claimFindsNewBatches(after: end, by: deadline)
        // A batch with parts is sent although etcd will refuse it, because `determineOutcome` then deletes the parts.
        if isOvertaken, entry.head.parts == 0 { return .overtaken([]) }
        return determineOutcome(of: entry, after: end, mayBeStored: false, by: deadline)
    }

    /// Determines the outcome of the unresolved batch. Returns nil if there is no unresolved batch.
    mutating func determineOutcomeOfUnresolvedBatch(by deadline: Instant) -> (entry: LogEntry, outcome: Outcome)? {
        guard let pending = unresolvedBatch else { return nil }
        unresolvedBatch = nil
        return (pending.entry, determineOutcome(of: pending.entry, after: pending.end, mayBeStored: true, by: deadline))
    }

    /// True if etcd answers and has free space: etcd refuses to grant a lease without free space. An unused lease
    /// leaves no data.
    mutating func hasSpace(by deadline: Instant) -> Bool {
        (try? client.call(EtcdLeaseGrant(seconds: Self.claimLeaseSeconds), isRepeatable: true, by: deadline)) != nil
    }

    /// Deletes the claim if this daemon has a claim. The transaction of a batch deletes the claim by itself.
    mutating func releaseClaim(by deadline: Instant) {
        guard hasClaim else { return }
        hasClaim = false
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.claim, value: Array(daemon.utf8))],
            success: [.delete(keys.claim)])
        _ = try? client.call(transaction, isRepeatable: true, by: deadline)
    }

    /// Sends the transaction of a batch until its outcome is known or the deadline passes. Deletes the parts of a batch
    /// that was not stored. The transaction may be sent repeatedly: etcd executes it at most once, because it changes
    /// the end of the log, which is its condition.
    ///
    /// - Parameter mayBeStored: true if etcd may have executed the transaction in an earlier call.
    private mutating func determineOutcome(
        of entry: LogEntry, after end: LogHead, mayBeStored: Bool, by deadline: Instant
    ) -> Outcome {
        let outcome = sendUntilOutcomeIsKnown(entry, after: end, mayBeStored: mayBeStored, by: deadline)
        let isNotStored =
            switch outcome {
            case .done: false
            case .overtaken: true
            case .failed(let error): error.outcome == .notDone
            }
        if isNotStored, entry.head.parts > 0 {
            // If the call fails, a later snapshot deletes the parts: see `SnapshotLock.putSnapshot`.
            let deletion = EtcdTransaction(success: [keys.deleteParts(of: entry.head)])
            _ = try? client.call(deletion, isRepeatable: true, by: deadline)
        }
        return outcome
    }

    private mutating func sendUntilOutcomeIsKnown(
        _ entry: LogEntry, after end: LogHead, mayBeStored: Bool, by deadline: Instant
    ) -> Outcome {
        var mayBeStored = mayBeStored
        // The error if etcd reported that it has no space; otherwise nil. After this error, the next attempt only reads
        // the end of the log.
        var spaceError: EtcdError?
        // The claim of another daemon that delays the batch, and when this daemon first saw the claim.
        var otherClaim: (claimant: [UInt8], since: Instant)?
        while true {
            do throws(EtcdError) {
                let overdueClaimant = otherClaim.flatMap { .now >= $0.since + Self.claimTimeout ? $0.claimant : nil }
                let logEnd =
                    spaceError == nil
                    ? try send(entry, after: end, revoking: overdueClaimant, by: deadline)
                    : try readEnd(for: entry, after: end, by: deadline)
                switch logEnd {
                case .containsBatch: return recordSuccess(of: entry)
                case .overtaken(let entries):
                    return recordLoss(to: try client.readParts(of: entries, keys, by: deadline))
                case .diverged: return .failed(Self.divergenceError(mayBeStored: mayBeStored))
                case .unchanged(let claimant):
                    if let spaceError, !mayBeStored { return .failed(CommitLogError(.notDone, spaceError)) }
                    spaceError = nil
                    // If etcd refused the transaction although the end is unchanged, the reason is the claim: another
                    // daemon has a claim, or the overdue claim of another daemon no longer exists, or `hasClaim` was
                    // wrong. `hasClaim` is wrong if the claim of this daemon has expired, or if etcd stored the claim
                    // but the answer was lost.
                    if let claimant, !hasClaim, otherClaim?.claimant != claimant { otherClaim = (claimant, .now) }
                    if claimant == nil { otherClaim = nil }
                    Self.pause(milliseconds: 20, until: deadline)
                }
                if .now >= deadline, !mayBeStored { return .failed(Self.claimError) }
            } catch {
                // etcd may report a lack of space although it has executed the transaction.
                if error.cause == .full, .now < deadline {
                    spaceError = error
                    continue
                }
                if error.outcome == .unknown || error.cause == .full || spaceError != nil { mayBeStored = true }
                if !mayBeStored { return .failed(CommitLogError(.notDone, error)) }
                // Although the call failed, the follower may have received this batch, or another daemon's batch with
                // the same number.
                let received = inbox.entries(after: end)
                if let first = received.first {
                    return first.head.id == entry.head.id ? recordSuccess(of: entry) : recordLoss(to: received)
                }
                guard .now < deadline else {
                    unresolvedBatch = UnresolvedBatch(entry: entry, end: end)
                    return .failed(CommitLogError(.unknown, error))
                }
                Self.pause(milliseconds: 50, until: deadline)
            }
        }
    }

    /// Sends the transaction once. If a condition does not hold, the answer contains the end of the log.
    ///
    /// - Parameter claimant: the daemon whose claim the transaction deletes because the claim is overdue; nil for none.
    private mutating func send(
        _ entry: LogEntry, after end: LogHead, revoking claimant: [UInt8]?, by deadline: Instant
    ) throws(EtcdError) -> LogEnd {
        let answer = try client.call(transaction(entry, after: end, revoking: claimant), by: deadline)
        return answer.conditionsHeld ? .containsBatch : logEnd(in: answer, for: entry, after: end)
    }

    private mutating func recordSuccess(of entry: LogEntry) -> Outcome {
        if hasClaim { (earliestClaim, claimPause) = (.now, Self.shortestClaimPause) }
        (consecutiveLosses, hasClaim) = (0, false)
        return .done(entry.head)
    }

    private mutating func recordLoss(to entries: [LogEntry]) -> Outcome {
        consecutiveLosses += 1
        return .overtaken(entries)
    }

    /// Determines whether the log still ends at `end`. Releases the claim first, because no batch will use it.
    private mutating func confirmEnd(_ end: LogHead, by deadline: Instant) -> Outcome {
        releaseClaim(by: deadline)
        do throws(EtcdError) {
            // `containsBatch` does not occur without a batch.
            switch try readEnd(for: nil, after: end, by: deadline) {
            case .unchanged, .containsBatch: return .done(end)
            case .overtaken(let entries): return .overtaken(try client.readParts(of: entries, keys, by: deadline))
            case .diverged: return .failed(Self.divergenceError(mayBeStored: false))
            }
        } catch { return .failed(CommitLogError(.notDone, error)) }
    }

    private func transaction(_ entry: LogEntry, after end: LogHead, revoking claimant: [UInt8]?) -> EtcdTransaction {
        let claim = hasClaim ? Array(daemon.utf8) : claimant
        var transaction = EtcdTransaction()
        transaction.conditions = [
            EtcdTransaction.Condition(key: keys.head, value: end.line),
            EtcdTransaction.Condition(key: keys.claim, value: claim),
        ]
        transaction.success = [.put(keys.batch(entry.head.batch), entry.value), .put(keys.head, entry.head.line)]
        if claim != nil { transaction.success.append(.delete(keys.claim)) }
        transaction.failure = endReads(after: end)
        return transaction
    }

    /// The operations that read the end of the log, the batches after `end`, and the claim.
    private func endReads(after end: LogHead) -> [EtcdTransaction.Operation] {
        [
            .range(EtcdRange(key: keys.head)),
            .range(EtcdRange(key: keys.batch(end.batch + 1), end: keys.batchesEnd, limit: Self.pageSize)),
            .range(EtcdRange(key: keys.claim)),
        ]
    }

    /// - Parameter entry: the batch that this daemon wants to append; nil for none.
    private mutating func readEnd(
        for entry: LogEntry?, after end: LogHead, by deadline: Instant
    ) throws(EtcdError) -> LogEnd {
        let answer = try client.call(EtcdTransaction(success: endReads(after: end)), isRepeatable: true, by: deadline)
        return logEnd(in: answer, for: entry, after: end)
    }

    /// Evaluates the results of ``endReads(after:)``, and updates ``hasClaim``.
    private mutating func logEnd(
        in answer: EtcdTransaction.Answer, for entry: LogEntry?, after end: LogHead
    ) -> LogEnd {
        let claim = answer.ranges[2].first?.value
        hasClaim = claim == Array(daemon.utf8)
        if answer.ranges[0].first?.value == end.line { return .unchanged(claimant: claim) }
        var entries: [LogEntry] = []
        for pair in answer.ranges[1] {
            // The follower, which also reads this batch, logs the error.
            guard let entry = try? LogEntry(pair.value) else { break }
            entries.append(entry)
        }
        guard let first = entries.first, first.head.previous == end.id else { return .diverged }
        return first.head.id == entry?.head.id ? .containsBatch : .overtaken(entries)
    }

    /// Puts the parts of a large batch into etcd. A daemon reads the parts only after the head of the batch is in the
    /// log. Returns the error if a call fails; nil after success.
    private mutating func putParts(of entry: LogEntry, by deadline: Instant) -> CommitLogError? {
        for (number, part) in entry.parts.enumerated() {
            let put = EtcdTransaction(success: [.put(keys.part(number, of: entry.head), part)])
            do throws(EtcdError) {
                // Writing the same part twice has the same effect as writing it once.
                _ = try client.call(put, isRepeatable: true, by: deadline)
            } catch { return CommitLogError(.notDone, error) }
        }
        return nil
    }

    /// Claims the next batch, because this daemon has lost repeatedly. If the claim shows that the log no longer ends
    /// at `end`, waits for the new batches. Returns true if the inbox then has the new batches. After a failed claim,
    /// the calling code writes without a claim.
    private mutating func claimFindsNewBatches(after end: LogHead, by deadline: Instant) -> Bool {
        let start = Instant.now
        guard start >= earliestClaim else { return false }
        let lease = try? client.call(EtcdLeaseGrant(seconds: Self.claimLeaseSeconds), by: deadline)
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.claim)],
            success: [.put(keys.claim, Array(daemon.utf8), lease: lease ?? 0), .range(EtcdRange(key: keys.head))])
        // If the lease took this long, the batch would take as long, and the other daemons would delete the claim.
        let isLate = lease == nil || .now >= start + Self.claimTimeout
        let answer = isLate ? nil : try? client.call(transaction, by: deadline)
        // The transaction fails if the key `claim` exists, which means that another daemon has a claim.
        if let answer, !answer.conditionsHeld { return false }
        earliestClaim = .now + claimPause
        claimPause = min(claimPause * 2, Self.longestClaimPause)
        hasClaim = answer != nil
        guard let line = answer?.ranges[0].first?.value, let head = try? LogHead(line), head.batch > end.batch
        else { return false }
        return inbox.awaitBatch(head.batch, until: min(deadline, .now + Self.claimTimeout))
    }

    /// Waits for a random time of up to `milliseconds`, so that daemons do not repeat their calls all at once.
    private static func pause(milliseconds: Int, until deadline: Instant) {
        let time = Duration.milliseconds(milliseconds) * Double.random(in: 0...1)
        _ = PollSet.wait(for: .readable, on: -1, until: min(deadline, .now + time))
    }

    /// The error if claims prevented the transaction until the deadline, although no daemon appended a batch.
    private static var claimError: CommitLogError {
        CommitLogError(
            .notDone, .contended,
            "other daemons claimed the next batch in the log until the deadline of the write; try again")
    }

    private static func divergenceError(mayBeStored: Bool) -> CommitLogError {
        CommitLogError(
            mayBeStored ? .unknown : .notDone, .failed,
            "the log in etcd does not continue the state of this daemon, for example because etcd was restored; the "
                + "daemon accepts writes again when it has read the whole state")
    }
}

extension CommitLogError {
    /// The error of a batch that etcd did not store, or, with the outcome `unknown`, may not have stored.
    init(_ outcome: Outcome, _ error: EtcdError) {
        // The description is for the operator. The reason is for callers, and does not contain the error of etcd.
        let remedy =
            error.cause == .full
            ? "; docs/guides/cluster-operation.md describes how to free space in etcd"
            : "; the daemon accepts writes again when etcd answers"
        self.init(
            outcome, error.cause == .full ? .full : .failed, "etcd does not accept writes: \(error)\(remedy)",
            reason: "etcd does not accept writes\(remedy)")
    }
}
