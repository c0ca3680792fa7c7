internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A place where writes are decided in turns, each covered by one sync (group commit), by one thread at a time.
///
/// A loop that hands over quick writes while the writer is free decides them itself. If nothing has to be synced, it answers
/// them at once, else the queue syncs. What comes meanwhile gathers, and the queue decides it in turns of a bounded length.
/// Writes that take long wait in a line of their own: one of them is decided after all that gathered of the others, or after
/// a second of those. A write that turns out to be long on the way joins that line.
final class Writer: Sendable {
    private let inbox = Mutex(Inbox())
    private let queue = DispatchQueue(label: "settingsd.writer", qos: .userInitiated)
    private let published: Published
    private let limits: LimitsInForce
    private let monotonic: MonotonicClock
    /// Used by the thread that has taken the writer.
    private let session: WriterSession
    /// The short writes that wait for the queue, or that it is deciding.
    private let count = Atomic(0)
    /// The nanoseconds that deciding a write took lately.
    private let pace = Atomic(Writer.leastPace)
    /// About what a plain write takes.
    private static let leastPace = 10_000

    private struct Inbox {
        var waiting: [Parcel] = []
        var waitingBytes = 0
        var long = Deque<Parcel>()
        var longBytes = 0
        var isTendingDue = false
        /// Called in the next turn.
        var probes: [@Sendable () -> Void] = []
        /// Called when nothing else is left to do.
        var idle: [@Sendable (State) -> Void] = []
        /// True while a thread uses the session, or the queue is about to.
        var isTaken = false
        var isStopping = false

        /// Takes the writer if it is free.
        mutating func take() -> Bool {
            defer { isTaken = true }
            return !isTaken
        }

        mutating func takeWaiting() -> WriterSession.Line {
            defer { (waiting, waitingBytes) = ([], 0) }
            return WriterSession.Line(waiting)
        }

        mutating func add(long parcel: Parcel) {
            longBytes += parcel.bytes
            long.append(parcel)
        }
    }

    /// Writes of one caller that came together.
    struct Parcel: Sendable {
        var writes: [PendingWrite]
        let replies: any WriteReplies
        /// When they came.
        let since: UInt64

        var bytes: Int { writes.reduce(0) { $0 + $1.request.size } }

        /// Returns a part of the parcel, less the writes at some places.
        func part(_ range: Range<Int>, without places: [Int]) -> Parcel {
            if range == writes.indices, places.isEmpty { return self }
            var part = self
            part.writes = range.filter { !places.contains($0) }.map { writes[$0] }
            return part
        }
    }

    init(
        _ state: State, published: Published, log: any CommitLog, limits: LimitsInForce,
        figures: WriteFigures, monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.limits = limits
        self.monotonic = monotonic
        session = WriterSession(
            state, published: published, log: log, limits: limits, figures: figures,
            monotonic: monotonic, clock: clock)
    }

    /// True if the writes that wait take longer than some turns, so that callers should send one at a time.
    var isBusy: Bool { count.load(ordering: .relaxed) * pace.load(ordering: .relaxed) > 3 * Int(limits.current.turn) }

    /// Takes writes, to be decided in this order. Returns the outcomes that are known at once, with those of the writes that
    /// found no room. The others come later, to `replies`.
    func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> [WriteOutcome] {
        let (now, limits) = (monotonic.now(), limits.current)
        if !session.isShared, writes.allSatisfy(\.request.isQuick) {
            let parcel = Parcel(writes: writes, replies: replies, since: now)
            if parcel.bytes <= limits.waitingBytes, inbox.withLock({ $0.take() }) { return decideHere(parcel) }
        }
        var refused: [PendingWrite] = []
        let mustSchedule = inbox.withLock { inbox in
            var taken: [PendingWrite] = []
            taken.reserveCapacity(writes.count)
            for write in writes {
                let size = write.request.size
                if write.request.isLong, inbox.longBytes + size <= limits.waitingBytes {
                    inbox.add(long: Parcel(writes: [write], replies: replies, since: now))
                } else if !write.request.isLong, inbox.waitingBytes + size <= limits.waitingBytes {
                    inbox.waitingBytes += size
                    taken.append(write)
                } else {
                    refused.append(write)
                }
            }
            if !taken.isEmpty {
                count.add(taken.count, ordering: .relaxed)
                inbox.waiting.append(Parcel(writes: taken, replies: replies, since: now))
            }
            return refused.count < writes.count && inbox.take()
        }
        if mustSchedule { queue.async { self.work() } }
        return refused.isEmpty ? [] : refusals(of: refused, because: .tooManyWrites)
    }

    func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        schedule { $0.idle.append(body) }
    }

    /// Refuses long writes from now on, those that wait included.
    func stopping() {
        inbox.withLock { $0.isStopping = true }
    }

    func tend() {
        schedule { $0.isTendingDue = true }
    }

    /// Calls the body in the next turn, however many writes wait.
    func inNextTurn(_ body: @escaping @Sendable () -> Void) {
        schedule { $0.probes.append(body) }
    }

    private func schedule(_ add: (inout Inbox) -> Void) {
        let mustSchedule = inbox.withLock { inbox in
            add(&inbox)
            return inbox.take()
        }
        if mustSchedule { queue.async { self.work() } }
    }

    private func refusals(of writes: [PendingWrite], because problem: Problem) -> [WriteOutcome] {
        let cursor = published.read { $0.cursor }
        return writes.map { WriteOutcome(id: $0.id, result: .failure(problem), cursor: cursor) }
    }
}

/// Deciding.
extension Writer {
    /// Decides writes on the thread that hands them over, which has taken the writer. What they stage is made durable here
    /// if that takes no sync.
    private func decideHere(_ parcel: Parcel) -> [WriteOutcome] {
        var line = WriterSession.Line([parcel])
        let turn = session.begin(&line, within: WriterSession.shortTurn)
        if let rest = line.rest {
            // First in line, behind those that were decided.
            count.add(rest.writes.count, ordering: .relaxed)
            inbox.withLock { inbox in
                inbox.waitingBytes += rest.bytes
                inbox.waiting.insert(rest, at: 0)
            }
        }
        guard session.finishesAtOnce(turn) else {
            queue.async {
                var turn = turn
                self.session.finish(&turn)
                self.add(long: turn.long)
                self.work()
            }
            return []
        }
        let outcomes = session.finishHere(turn)
        add(long: turn.long)
        let isDone = inbox.withLock { inbox in
            inbox.isTaken =
                !inbox.waiting.isEmpty || !inbox.long.isEmpty || inbox.isTendingDue || !inbox.probes.isEmpty
                || !inbox.idle.isEmpty
            return !inbox.isTaken
        }
        if !isDone { queue.async { self.work() } }
        return outcomes
    }

    /// Decides what waits until nothing does. The queue has taken the writer, and leaves it in the end.
    private func work() {
        dispatchPrecondition(condition: .onQueue(queue))
        var line = WriterSession.Line()
        while true {
            if session.isShared, line.isEmpty, count.load(ordering: .relaxed) > 0 { session.awaitTurn() }
            guard let next = next(&line) else { return }
            for probe in next.probes { probe() }
            takeTurns(&line)
            if next.isTendingDue { add(long: session.tend()) }
            if let long = next.long {
                if next.isStopping {
                    long.replies.deliver(refusals(of: long.writes, because: .shuttingDown))
                } else {
                    var line = WriterSession.Line([long])
                    var turn = session.begin(&line, within: limits.current.turn)
                    session.finish(&turn)
                }
            }
            for body in next.idle { body(session.publishedState) }
        }
    }

    private typealias Next = (
        long: Parcel?, isTendingDue: Bool, probes: [@Sendable () -> Void], idle: [@Sendable (State) -> Void],
        isStopping: Bool
    )

    /// Takes what is to be done next; nil, and the writer is free, if there is nothing.
    private func next(_ line: inout WriterSession.Line) -> Next? {
        inbox.withLock { inbox in
            if line.isEmpty { line = inbox.takeWaiting() }
            var next: Next = (inbox.long.popFirst(), inbox.isTendingDue, inbox.probes, [], inbox.isStopping)
            inbox.longBytes -= next.long?.bytes ?? 0
            inbox.isTendingDue = false
            inbox.probes = []
            guard line.isEmpty, next.long == nil, !next.isTendingDue, next.probes.isEmpty else { return next }
            swap(&next.idle, &inbox.idle)
            inbox.isTaken = !next.idle.isEmpty
            return inbox.isTaken ? next : nil
        }
    }

    /// Decides writes until none is left, or until one that takes long should have its turn.
    private func takeTurns(_ line: inout WriterSession.Line) {
        let limits = limits.current
        let end = monotonic.now() + limits.longPause
        while !line.isEmpty {
            var turn = session.begin(&line, within: limits.turn)
            gather(&line, into: &turn)
            session.finish(&turn)
            if session.isShared { session.gather(count.load(ordering: .relaxed)) }
            count.subtract(turn.count, ordering: .relaxed)
            let last = pace.load(ordering: .relaxed)
            pace.store(max(Self.leastPace, (3 * last + Int(turn.time) / turn.count) / 4), ordering: .relaxed)
            add(long: turn.long)
            if monotonic.now() >= end { return }
        }
    }

    /// Decides the writes that come while more are expected. Those of a lone daemon wait for nothing.
    private func gather(_ line: inout WriterSession.Line, into turn: inout WriterSession.Turn) {
        while line.isEmpty, session.isGathering(turn) {
            line = inbox.withLock { $0.takeWaiting() }
            // For milliseconds at most, on a queue of its own.
            if line.isEmpty { usleep(100) } else { session.decide(&line, within: limits.current.turn, into: &turn) }
        }
    }

    private func add(long parcels: [Parcel]) {
        guard !parcels.isEmpty else { return }
        inbox.withLock { inbox in
            for parcel in parcels { inbox.add(long: parcel) }
        }
    }
}
