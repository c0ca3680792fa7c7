internal import Dispatch
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// A queue of the batches of other daemons that the writer has not applied yet, with what is known of etcd and of the log's
/// end.
///
/// The follower and the writer share it. The lock is held to look at it only.
final class LogInbox: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A state that was read anew from etcd, with its place.
    struct Replacement: Sendable {
        let state: State
        let head: LogHead
    }

    enum Addition: Sendable {
        case added
        /// It is there already.
        case known
        /// Batches before it are missing, or there is no room.
        case gap
        /// It does not follow from what this daemon has: etcd was restored.
        case diverged
    }

    private struct Contents {
        /// The last batch that the writer applied or flushed.
        var applied: LogHead
        /// What follows it, without gaps.
        var waiting: [LogEntry] = []
        var waitingBytes: Int { waiting.reduce(0) { $0 + $1.size } }
        var replacement: Replacement?
        /// True if the state has to be read anew.
        var mustLoad = false
        /// When the end of the log was last heard of.
        var heard: Instant
        /// The reason why etcd does not answer; nil if it does.
        var trouble: String?
        /// The identity of the etcd cluster that answered last.
        var cluster: String?
        /// The member of etcd that leads, as it was found last; nil if none was.
        var leader: EtcdLeader?

        /// What the waiting batches follow.
        var base: LogHead { replacement?.head ?? applied }
        var end: LogHead { waiting.last?.head ?? base }
    }

    /// The most batches that wait, and about the most bytes: what is beyond is read again.
    private static let (most, mostBytes) = (4096, 64 << 20)

    private let contents: Mutex<Contents>
    /// Has a count for each time that there was more to apply, some of which the writer did not wait for.
    private let arrivals = DispatchSemaphore(value: 0)

    /// - Parameter applied: the batch that the daemon's state ends with.
    init(applied: LogHead, heard: Instant) {
        contents = Mutex(Contents(applied: applied, heard: heard))
    }

    /// The last batch that the writer applied or flushed.
    var applied: LogHead { contents.withLock { $0.applied } }
    /// The last batch that the writer applied or flushed, or will go on from.
    var base: LogHead { contents.withLock { $0.base } }
    /// The last batch that is known.
    var end: LogHead { contents.withLock { $0.end } }
    /// True if the writer has something to apply.
    var hasNews: Bool { contents.withLock { !$0.waiting.isEmpty || $0.replacement != nil } }
    /// True if the state has to be read anew from etcd.
    var mustLoad: Bool { contents.withLock { $0.mustLoad && $0.replacement == nil } }
    /// True if nothing may be written behind what the daemon has.
    var isDiverged: Bool { contents.withLock { $0.mustLoad || $0.replacement != nil } }
    /// The reason why etcd does not answer; nil if it does.
    var trouble: String? { contents.withLock { $0.trouble } }

    /// The member of etcd that leads, as it was found last; nil if none was.
    var leader: EtcdLeader? { contents.withLock { $0.leader } }

    /// The time since the end of the log was last heard of.
    var silence: Duration { contents.withLock { .now - $0.heard } }

    func add(_ entry: LogEntry) -> Addition {
        let addition = insert(entry)
        if case .added = addition { arrivals.signal() }
        return addition
    }

    private func insert(_ entry: LogEntry) -> Addition {
        contents.withLock { contents in
            let head = entry.head
            let base = contents.base
            if head.batch <= base.batch {
                let differs = head.batch == base.batch && head.id != base.id
                if differs { contents.mustLoad = true }
                return differs ? .diverged : .known
            }
            let end = contents.end
            if head.batch <= end.batch { return .known }
            let takesMore = !contents.mustLoad || contents.replacement != nil
            guard head.batch == end.batch + 1, contents.waiting.count < Self.most, takesMore,
                contents.waitingBytes < Self.mostBytes
            else { return .gap }
            guard head.previous == end.id else {
                contents.mustLoad = true
                return .diverged
            }
            contents.waiting.append(entry)
            return .added
        }
    }

    /// Waits until the writer has something to apply. Returns false if it has nothing by then.
    func awaitNews(until moment: Instant) -> Bool { wait(until: moment) { hasNews } }

    /// Waits until the daemon has a batch. Returns false if the batch does not arrive before the given moment.
    func awaitBatch(_ number: Int64, until moment: Instant) -> Bool { wait(until: moment) { end.batch >= number } }

    private func wait(until moment: Instant, _ isThere: () -> Bool) -> Bool {
        while !isThere(), case let rest = moment - .now, rest > .zero {
            _ = arrivals.wait(timeout: .now() + .nanoseconds(Int(rest / .nanoseconds(1))))
        }
        return isThere()
    }

    /// What the writer is to apply, a state to go on from at first.
    var news: (replacement: Replacement?, entries: [LogEntry]) {
        contents.withLock { ($0.replacement, $0.waiting) }
    }

    /// The batches that wait, if they follow this end; none if they follow another.
    func entries(behind end: LogHead) -> [LogEntry] {
        contents.withLock { $0.applied.id == end.id && $0.replacement == nil ? $0.waiting : [] }
    }

    /// Takes note of the last batch that the writer applied or flushed.
    func noteApplied(_ head: LogHead) {
        contents.withLock { contents in
            contents.applied = head
            contents.waiting.removeAll { $0.head.batch <= head.batch }
        }
    }

    /// Has the writer go on from another state.
    func replace(with replacement: Replacement) {
        contents.withLock { contents in
            contents.replacement = replacement
            contents.waiting = []
        }
        arrivals.signal()
    }

    /// Takes note that the writer went on from another state.
    func noteReplaced(by replacement: Replacement) {
        contents.withLock { contents in
            contents.applied = replacement.head
            guard contents.replacement?.head == replacement.head else { return }
            (contents.replacement, contents.mustLoad) = (nil, false)
        }
    }

    /// Has the state read anew, since a batch could not be applied or read.
    func demandLoad() {
        contents.withLock { contents in
            contents.mustLoad = true
            contents.waiting = []
        }
    }

    /// Takes note that the end of the log was seen, as it was at a moment.
    func noteHeard(at moment: Instant) {
        contents.withLock { contents in
            contents.heard = max(contents.heard, moment)
            contents.trouble = nil
        }
    }

    /// Takes note of the identity of the etcd cluster that answers. Returns the one before if it was another.
    func noteCluster(_ cluster: String) -> String? {
        contents.withLock { contents in
            defer { contents.cluster = cluster }
            return contents.cluster == cluster ? nil : contents.cluster
        }
    }

    /// Takes note of the member that leads etcd. Returns true if it is another than before.
    func noteLeader(_ leader: EtcdLeader) -> Bool {
        contents.withLock { contents in
            defer { contents.leader = leader }
            return contents.leader?.endpoint != leader.endpoint
        }
    }

    /// Takes note that etcd does not answer. Returns true if the reason is another than before.
    func noteTrouble(_ reason: String) -> Bool {
        contents.withLock { contents in
            defer { contents.trouble = reason }
            return contents.trouble != reason
        }
    }
}
