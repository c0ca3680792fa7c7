internal import CLinux
internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A place where writes are decided in turns, and made durable together (group commit).
///
/// One thread at a time decides: the one that has taken the writer. One thread at a time flushes: a loop that has taken the
/// writer and the flush, or the queue, which has taken either. A loop that hands over quick writes while the writer is free
/// decides them itself. If nothing has to be synced, and nothing else waits for a flush, it flushes and answers them at
/// once, else the queue does, and what loops decide meanwhile is flushed together after that. Writes that find the writer
/// taken gather, and the queue decides them in turns of a bounded length.
///
/// Long writes wait in a separate queue, which serves callers round-robin. The writer decides one long write after it
/// has decided all waiting short writes, or after one second of short writes. A write that proves to be long while it
/// is decided joins this queue.
final class Writer: Sendable {
    private let inbox = Mutex(WriterInbox())
    /// Its threads have a lower priority than the loops. With theirs a thread that wakes from a sync would take the processor from
    /// a loop or from a client: under load, writes with durability `always` would be up to a tenth slower. Short time slices make
    /// them faster by another twentieth. No other queue has this class, so none gets these threads; one without a class would.
    private let queue = DispatchQueue(label: "settingsd.writer", qos: .default)
    private let published: Published
    private let limits: LimitsInForce
    private let monotonic: MonotonicClock
    private let isShared: Bool
    /// Used by the thread that has taken the writer.
    private let decider: WriteDecider
    /// Used by the thread that flushes.
    private let flusher: TurnFlusher
    /// The short writes that wait for the queue, or that it is deciding.
    private let count = Atomic(0)
    /// The nanoseconds that deciding a write took lately.
    private let pace = Atomic(Writer.leastPace)
    /// About what a plain write takes.
    private static let leastPace = 10_000

    init(
        _ state: State, published: Published, log: any CommitLog, limits: LimitsInForce,
        figures: WriteFigures, monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.limits = limits
        self.monotonic = monotonic
        isShared = log.isShared
        decider = WriteDecider(state, log: log, limits: limits, monotonic: monotonic, clock: clock)
        flusher = TurnFlusher(
            state, published: published, log: log, decider: decider, limits: limits, figures: figures,
            monotonic: monotonic)
    }

    /// True if the writes that wait take longer than some turns, so that callers should send one at a time.
    var isBusy: Bool { count.load(ordering: .relaxed) * pace.load(ordering: .relaxed) > 3 * Int(limits.current.turn) }

    /// Takes writes, to be decided in this order. Returns the outcomes that are known at once, with those of the writes that
    /// found no room. The others come later, to `replies`. Calls `expecting` with those of them that are known now, and come
    /// unless a flush fails.
    func submit(
        _ writes: [PendingWrite], replies: any WriteReplies, expecting: ([WriteOutcome]) -> Void
    ) -> [WriteOutcome] {
        guard !writes.isEmpty else { return [] }
        let (now, limits) = (monotonic.now(), limits.current)
        if !isShared, writes.allSatisfy(\.request.isQuick) {
            let parcel = WriteParcel(writes: writes, replies: replies, since: now)
            if parcel.bytes <= limits.waitingBytes,
                let confirmed = inbox.withLock({ $0.takeToDecide(parcel, limits) })
            {
                decider.confirm(upTo: confirmed)
                return decideHere(parcel, expecting: expecting)
            }
        }
        var refused: [PendingWrite] = []
        let mustSchedule = inbox.withLock { inbox in
            var taken: [PendingWrite] = []
            taken.reserveCapacity(writes.count)
            for write in writes {
                let size = write.request.size
                if write.request.isLong, inbox.longBytes + size <= limits.waitingBytes {
                    inbox.add(long: WriteParcel(writes: [write], replies: replies, since: now))
                } else if !write.request.isLong, inbox.waitingBytes + size <= limits.waitingBytes {
                    inbox.waitingBytes += size
                    taken.append(write)
                } else {
                    refused.append(write)
                }
            }
            if !taken.isEmpty {
                count.add(taken.count, ordering: .relaxed)
                inbox.waiting.append(WriteParcel(writes: taken, replies: replies, since: now))
            }
            return refused.count < writes.count && inbox.take()
        }
        if mustSchedule { onQueue { $0.work() } }
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

    private func schedule(_ add: (inout WriterInbox) -> Void) {
        let mustSchedule = inbox.withLock { inbox in
            add(&inbox)
            return inbox.take()
        }
        if mustSchedule { onQueue { $0.work() } }
    }

    private func onQueue(_ work: @escaping @Sendable (Writer) -> Void) {
        queue.async {
            schedule_as_waiting()
            work(self)
        }
    }

    private func refusals(of writes: [PendingWrite], because problem: Problem) -> [WriteOutcome] {
        let cursor = published.read { $0.cursor }
        return writes.map { WriteOutcome(id: $0.id, result: .failure(problem), cursor: cursor) }
    }
}

/// On the thread that hands writes over.
extension Writer {
    /// Decides writes. The caller has taken the writer. What they stage is made durable here if that takes no sync and nothing
    /// waits for a flush.
    private func decideHere(_ parcel: WriteParcel, expecting: ([WriteOutcome]) -> Void) -> [WriteOutcome] {
        var line = WriteDecider.Line([parcel])
        var turn = decider.begin(&line, within: WriteDecider.shortTurn)
        turn.isQuick = true
        let rest = line.rest
        if let rest { count.add(rest.writes.count, ordering: .relaxed) }
        let hasFlush = inbox.withLock { inbox in
            inbox.add(long: turn.takeLong())
            if let rest {
                // First in line, behind those that were decided.
                inbox.waitingBytes += rest.bytes
                inbox.waiting.insert(rest, at: 0)
            }
            return inbox.takeFlush()
        }
        guard hasFlush, flusher.finishesAtOnce(turn) else {
            let expected = turn.answers.first?.outcomes ?? []
            let (mustFlush, isFree) = inbox.withLock { inbox in
                inbox.add(decided: turn)
                // The flush that was going on may have ended meanwhile.
                return (hasFlush || inbox.takeFlush(), inbox.leave())
            }
            if mustFlush { onQueue { $0.flush() } }
            if !isFree { onQueue { $0.work() } }
            expecting(expected)
            return []
        }
        let (outcomes, end) = flusher.finishHere(turn)
        if case .failed = end { decider.recall(to: flusher.publishedState) }
        let revision = flusher.publishedState.revision
        let isFree = inbox.withLock { inbox in
            (inbox.isFlushing, inbox.confirmed) = (false, revision)
            return inbox.leave()
        }
        if !isFree { onQueue { $0.work() } }
        return outcomes
    }
}

/// On the queue.
extension Writer {
    /// Flushes what loops have decided, until nothing is left. The queue has taken the flush, and leaves it in the end.
    private func flush() {
        dispatchPrecondition(condition: .onQueue(queue))
        while var turn = inbox.withLock({ $0.nextToFlush() }) {
            let end = flusher.finish(&turn)
            let revision = flusher.publishedState.revision
            let mustWork = inbox.withLock { inbox in
                inbox.confirmed = revision
                guard case .failed(let failure) = end else { return false }
                inbox.failure = failure
                return inbox.take()
            }
            if mustWork { return work() }
        }
    }

    /// Decides what waits until nothing does. The queue has taken the writer, and leaves it in the end.
    private func work() {
        dispatchPrecondition(condition: .onQueue(queue))
        var line = WriteDecider.Line()
        while true {
            settle()
            if isShared, line.isEmpty, count.load(ordering: .relaxed) > 0 { flusher.awaitTurn() }
            guard let next = next(&line) else { return }
            for probe in next.probes { probe() }
            let isLast = !isShared && next.long == nil && !next.isTendingDue && next.idle.isEmpty
            if takeTurns(&line, isLast: isLast) { return }
            if next.isTendingDue {
                let long = flusher.tend()
                inbox.withLock { $0.add(long: long) }
            }
            if let long = next.long {
                if next.isStopping {
                    long.replies.deliver(refusals(of: long.writes, because: .shuttingDown), replaced: nil)
                } else {
                    var line = WriteDecider.Line([long])
                    var turn = decider.begin(&line, within: limits.current.turn)
                    finish(&turn)
                }
            }
            for body in next.idle { body(flusher.publishedState) }
        }
    }

    /// Flushes what loops decided before the queue took the writer, or refuses it if an earlier flush has failed.
    private func settle() {
        let (failure, waiting) = inbox.withLock { inbox in
            defer { (inbox.failure, inbox.decided) = (nil, nil) }
            if inbox.failure != nil { inbox.isFlushing = false }
            return (inbox.failure, inbox.decided)
        }
        if let failure {
            if let waiting { flusher.refuse(waiting, because: failure) }
            decider.recall(to: flusher.publishedState)
        } else if var waiting {
            finish(&waiting)
        }
    }

    /// Flushes a turn. The queue has taken the writer, so that no other turn waits for a flush.
    private func finish(_ turn: inout WriteTurn) {
        switch flusher.finish(&turn) {
        case .done: decider.confirm(upTo: flusher.publishedState.revision)
        case .failed: decider.recall(to: flusher.publishedState)
        }
        let revision = flusher.publishedState.revision
        inbox.withLock { $0.confirmed = revision }
    }

    private typealias Next = (
        long: WriteParcel?, isTendingDue: Bool, probes: [@Sendable () -> Void], idle: [@Sendable (State) -> Void],
        isStopping: Bool
    )

    /// Takes what is to be done next; nil, and the writer is free, if there is nothing.
    private func next(_ line: inout WriteDecider.Line) -> Next? {
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
    ///
    /// - Parameter isLast: true if nothing else is to be done after it.
    /// - Returns: true if nothing else came meanwhile, and the writer was left before the flush, so that loops go on deciding.
    private func takeTurns(_ line: inout WriteDecider.Line, isLast: Bool) -> Bool {
        let limits = limits.current
        let end = monotonic.now() + limits.longPause
        while !line.isEmpty {
            var turn = decider.begin(&line, within: limits.turn)
            gather(&line, into: &turn)
            let last = pace.load(ordering: .relaxed)
            pace.store(max(Self.leastPace, (3 * last + Int(turn.time) / turn.count) / 4), ordering: .relaxed)
            if isLast, line.isEmpty, leave(with: turn) { return true }
            finish(&turn)
            if isShared { flusher.gather(count.load(ordering: .relaxed)) }
            count.subtract(turn.count, ordering: .relaxed)
            if !turn.long.isEmpty { inbox.withLock { $0.add(long: turn.long) } }
            if monotonic.now() >= end { return false }
        }
        return false
    }

    /// Leaves the writer to loops, with a turn to be flushed, if nothing waits for it. Returns false otherwise.
    private func leave(with turn: WriteTurn) -> Bool {
        let (isLeft, mustFlush) = inbox.withLock { inbox in
            guard turn.long.isEmpty, inbox.leave() else { return (false, false) }
            inbox.add(decided: turn)
            return (true, inbox.takeFlush())
        }
        if isLeft { count.subtract(turn.count, ordering: .relaxed) }
        if mustFlush { onQueue { $0.flush() } }
        return isLeft
    }

    /// Decides the writes that come while more are expected. Those of a lone daemon wait for nothing.
    private func gather(_ line: inout WriteDecider.Line, into turn: inout WriteTurn) {
        while line.isEmpty, isShared, flusher.isGathering(turn) {
            line = inbox.withLock { $0.takeWaiting() }
            // For milliseconds at most, on a queue of its own.
            if line.isEmpty { usleep(100) } else { decider.decide(&line, within: limits.current.turn, into: &turn) }
        }
    }
}
