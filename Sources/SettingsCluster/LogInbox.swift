internal import Dispatch
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// The batches (commits that are appended together) of other daemons that this daemon has received from the commit log
/// in etcd and has not applied yet. The inbox also records the leader of etcd, when this daemon last read the end of
/// the log, and why the log cannot be read.
///
/// The follower, which watches the log, adds batches. The commit stage, the thread that appends the batches of this
/// daemon to the log, applies the received batches to its state. Thread-safe.
final class LogInbox: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A state that was read from etcd or from the data directory, with the head of its last batch. A head is the line
    /// that identifies a batch: its number, its random identifier, and the identifier of the previous batch.
    struct LoadedState: Sendable {
        let state: State
        let head: LogHead
    }

    enum AddResult: Sendable {
        case added
        /// The inbox or the state of the daemon already contains the batch.
        case duplicate
        /// The inbox cannot take the batch now: an earlier batch is missing, the inbox is full, or the whole state must
        /// be read first. The follower reads the batch again later.
        case postponed
        /// The batch does not follow the last batch that this daemon has, because etcd was restored from a backup.
        case diverged
    }

    /// For a property without a comment, see the property of the inbox with the same name.
    private struct Contents {
        var applied: LogHead
        /// The batches after ``base``, without gaps.
        var pending: [LogEntry] = []
        var pendingBytes: Int { pending.reduce(0) { $0 + $1.byteCount } }
        /// A state that the commit stage must use instead of its own state; nil if its own state is valid.
        var replacement: LoadedState?
        /// True from the time when the whole state must be read from etcd until the commit stage uses that state.
        var isLoadUnfinished = false
        /// When the last successful read of the end of the log began.
        var lastContact: Instant
        var readFailure: String?
        /// The identity of the etcd cluster that answered last; nil before the first answer.
        var cluster: String?
        var leader: EtcdLeader?

        var base: LogHead { replacement?.head ?? applied }
        var end: LogHead { pending.last?.head ?? base }
    }

    /// The limits of the number and the size of pending batches. The size may exceed its limit by one batch.
    private static let (maxPending, maxPendingBytes) = (4096, 64 << 20)

    private let contents: Mutex<Contents>
    /// Signalled for each update, and wakes the commit stage. The commit stage does not wait for each update, so
    /// signals accumulate, and a wait may end without a new update.
    private let arrivals = DispatchSemaphore(value: 0)

    /// - Parameter applied: the head of the last batch in the state of the daemon.
    init(applied: LogHead, lastContact: Instant) {
        contents = Mutex(Contents(applied: applied, lastContact: lastContact))
    }

    /// The head of the last batch that the commit stage applied, or appended to the log itself.
    var applied: LogHead { contents.withLock { $0.applied } }
    /// The head of the last batch in the replacement of the state; without a replacement, the same as ``applied``.
    var base: LogHead { contents.withLock { $0.base } }
    /// The head of the last batch that this daemon has, applied or not.
    var end: LogHead { contents.withLock { $0.end } }
    /// True if the commit stage has a batch to apply, or a state that replaces its own state.
    var hasUpdates: Bool { contents.withLock { !$0.pending.isEmpty || $0.replacement != nil } }
    /// True if the whole state must be read from etcd and has not been read yet.
    var requiresLoad: Bool { contents.withLock { $0.isLoadUnfinished && $0.replacement == nil } }
    /// True if the commit stage must replace its state before the daemon may write.
    var mustReplaceState: Bool { contents.withLock { $0.isLoadUnfinished || $0.replacement != nil } }
    /// The reason why the log cannot be read; nil after a successful read.
    var readFailure: String? { contents.withLock { $0.readFailure } }
    /// The leader of etcd that was found last; nil if none was found.
    var leader: EtcdLeader? { contents.withLock { $0.leader } }
    /// The time since the last successful read of the end of the log began.
    var staleness: Duration { contents.withLock { .now - $0.lastContact } }

    /// Adds a batch if it is the batch after ``end`` and the inbox is not full.
    func add(_ entry: LogEntry) -> AddResult {
        let result = insert(entry)
        if case .added = result { arrivals.signal() }
        return result
    }

    private func insert(_ entry: LogEntry) -> AddResult {
        contents.withLock { contents in
            let head = entry.head
            let base = contents.base
            if head.batch <= base.batch {
                let differs = head.batch == base.batch && head.id != base.id
                if differs { contents.isLoadUnfinished = true }
                return differs ? .diverged : .duplicate
            }
            let end = contents.end
            if head.batch <= end.batch { return .duplicate }
            // While the follower reads the whole state, the inbox does not know which batch will follow this state.
            let acceptsBatches = !contents.isLoadUnfinished || contents.replacement != nil
            guard head.batch == end.batch + 1, contents.pending.count < Self.maxPending, acceptsBatches,
                contents.pendingBytes < Self.maxPendingBytes
            else { return .postponed }
            guard head.previous == end.id else {
                contents.isLoadUnfinished = true
                return .diverged
            }
            contents.pending.append(entry)
            return .added
        }
    }

    /// Waits until ``hasUpdates`` is true. Returns false if the deadline passes first.
    func awaitUpdates(until deadline: Instant) -> Bool { wait(until: deadline) { hasUpdates } }

    /// Waits until this daemon has the batch with this number. Returns false if the deadline passes first.
    func awaitBatch(_ number: Int64, until deadline: Instant) -> Bool { wait(until: deadline) { end.batch >= number } }

    private func wait(until deadline: Instant, _ condition: () -> Bool) -> Bool {
        while !condition(), case let remaining = deadline - .now, remaining > .zero {
            _ = arrivals.wait(timeout: .now() + .nanoseconds(Int(remaining / .nanoseconds(1))))
        }
        return condition()
    }

    /// The updates for the commit stage: a state that replaces its own state (nil for none), then the pending batches.
    var updates: (replacement: LoadedState?, entries: [LogEntry]) {
        contents.withLock { ($0.replacement, $0.pending) }
    }

    /// The pending batches if they follow the batch with the given head; otherwise an empty array.
    func entries(after head: LogHead) -> [LogEntry] {
        contents.withLock { $0.applied.id == head.id && $0.replacement == nil ? $0.pending : [] }
    }

    /// Records that a batch was applied, or appended by this daemon. Removes the pending batches up to that batch.
    func recordApplied(_ head: LogHead) {
        contents.withLock { contents in
            contents.applied = head
            contents.pending.removeAll { $0.head.batch <= head.batch }
        }
    }

    /// Makes the commit stage replace its state.
    func replace(with replacement: LoadedState) {
        contents.withLock { contents in
            contents.replacement = replacement
            contents.pending = []
        }
        arrivals.signal()
    }

    /// Records that the commit stage has replaced its state.
    func recordReplaced(by replacement: LoadedState) {
        contents.withLock { contents in
            contents.applied = replacement.head
            // If the heads differ, the follower has read another state in the meantime, which must be used next.
            guard contents.replacement?.head == replacement.head else { return }
            (contents.replacement, contents.isLoadUnfinished) = (nil, false)
        }
    }

    /// Makes the follower read the whole state, because the next batch is missing, cannot be applied, or does not
    /// follow the last batch that this daemon has.
    func requestLoad() {
        contents.withLock { contents in
            contents.isLoadUnfinished = true
            contents.pending = []
        }
    }

    /// Records a successful read of the end of the log, which began at `moment`.
    func recordContact(at moment: Instant) {
        contents.withLock { contents in
            contents.lastContact = max(contents.lastContact, moment)
            contents.readFailure = nil
        }
    }

    /// Records the identity of the etcd cluster. Returns the previous identity if it was different.
    func recordCluster(_ cluster: String) -> String? {
        contents.withLock { contents in
            defer { contents.cluster = cluster }
            return contents.cluster == cluster ? nil : contents.cluster
        }
    }

    /// Records the leader of etcd. Returns true if another member than before leads.
    func recordLeader(_ leader: EtcdLeader) -> Bool {
        contents.withLock { contents in
            defer { contents.leader = leader }
            return contents.leader?.endpoint != leader.endpoint
        }
    }

    /// Records that the log cannot be read. Returns true if the reason has changed.
    func recordFailure(_ reason: String) -> Bool {
        contents.withLock { contents in
            defer { contents.readFailure = reason }
            return contents.readFailure != reason
        }
    }
}
