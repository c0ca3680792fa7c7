internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A queue that decides writes in turns, each covered by one sync (group commit).
///
/// The writer takes what gathered while it was busy, and decides it in turns of a bounded length. Writes that take long wait
/// in a line of their own: one of them is decided after all that gathered of the others, or after a second of those. A write
/// that turns out to be long on the way joins that line.
final class Writer: Sendable {
    private let inbox = Mutex(Inbox())
    private let queue = DispatchQueue(label: "settingsd.writer", qos: .userInitiated)
    private let limits: WriteLimits
    private let session: WriterSession
    /// The writes that wait or are being decided.
    private let count = Atomic(0)
    /// The nanoseconds that deciding a write took lately.
    private let pace = Atomic(Writer.leastPace)
    /// About what a plain write takes.
    private static let leastPace = 10_000

    private struct Inbox {
        var waiting = Line()
        var long = Deque<Parcel>()
        var longBytes = 0
        var isScheduled = false
        var isStopping = false

        struct Line {
            var parcels: [Parcel] = []
            var bytes = 0
        }
    }

    /// Writes of one caller that came together.
    struct Parcel: Sendable {
        var writes: [PendingWrite]
        let replies: any WriteReplies
        /// When they came.
        let since: UInt64
    }

    init(
        _ state: State, published: Published, log: any CommitLog, limits: WriteLimits,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.limits = limits
        session = WriterSession(state, published: published, log: log, limits: limits, clock: clock)
    }

    /// True if the writes that wait take longer than some turns, so that callers should send one at a time.
    var isBusy: Bool { count.load(ordering: .relaxed) * pace.load(ordering: .relaxed) > 3 * Int(limits.turn) }

    func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> [PendingWrite] {
        let now = MonotonicClock.system.now()
        var refused: [PendingWrite] = []
        let mustSchedule = inbox.withLock { inbox in
            var taken: [PendingWrite] = []
            taken.reserveCapacity(writes.count)
            for write in writes {
                let size = write.request.size
                if write.request.isLong, inbox.longBytes + size <= limits.waitingBytes {
                    inbox.longBytes += size
                    inbox.long.append(Parcel(writes: [write], replies: replies, since: now))
                } else if !write.request.isLong, inbox.waiting.bytes + size <= limits.waitingBytes {
                    inbox.waiting.bytes += size
                    taken.append(write)
                } else {
                    refused.append(write)
                }
            }
            if !taken.isEmpty {
                count.add(taken.count, ordering: .relaxed)
                inbox.waiting.parcels.append(Parcel(writes: taken, replies: replies, since: now))
            }
            guard refused.count < writes.count else { return false }
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if mustSchedule { queue.async { self.work() } }
        return refused
    }

    func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        queue.async {
            self.work()
            body(self.session.publishedState)
        }
    }

    /// Refuses long writes from now on, those that wait included.
    func stopping() {
        inbox.withLock { $0.isStopping = true }
    }

    func tend() {
        queue.async { self.session.tend() }
    }

    /// Decides what waits until nothing does.
    private func work() {
        dispatchPrecondition(condition: .onQueue(queue))
        var line = WriterSession.Line()
        while true {
            let (long, isStopping) = inbox.withLock { inbox in
                if line.isEmpty {
                    line = WriterSession.Line(inbox.waiting.parcels)
                    inbox.waiting = Inbox.Line()
                }
                let long = inbox.long.popFirst()
                inbox.longBytes -= long?.writes.first?.request.size ?? 0
                if line.isEmpty, long == nil { inbox.isScheduled = false }
                return (long, inbox.isStopping)
            }
            guard !line.isEmpty || long != nil else { return }
            takeTurns(&line)
            guard let long else { continue }
            if isStopping {
                session.refuse(long, because: .shuttingDown)
            } else {
                var line = WriterSession.Line([long])
                _ = session.takeTurn(&line)
            }
        }
    }

    /// Decides writes until none is left, or until one that takes long should have its turn.
    private func takeTurns(_ line: inout WriterSession.Line) {
        let end = MonotonicClock.system.now() + limits.longPause
        repeat {
            let turn = session.takeTurn(&line)
            guard turn.count > 0 else { return }
            count.subtract(turn.count, ordering: .relaxed)
            let last = pace.load(ordering: .relaxed)
            pace.store(max(Self.leastPace, (3 * last + Int(turn.time) / turn.count) / 4), ordering: .relaxed)
            guard !turn.long.isEmpty else { continue }
            inbox.withLock { inbox in
                for parcel in turn.long {
                    inbox.longBytes += parcel.writes.first?.request.size ?? 0
                    inbox.long.append(parcel)
                }
            }
        } while !line.isEmpty && MonotonicClock.system.now() < end
    }
}
