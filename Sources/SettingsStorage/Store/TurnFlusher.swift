internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A flusher that makes turns durable, publishes them, and delivers their outcomes.
///
/// Used by one thread at a time, which is what makes it safe to be sent to another: by the writer's queue while it has taken the
/// writer or the flush, or by a loop that has taken both. `Writer` owns the only reference.
final class TurnFlusher: @unchecked Sendable {
    private let published: Published
    private let log: any CommitLog
    private let decider: WriteDecider
    /// The state that was published last. Kept here so that going back to it takes no lock.
    private(set) var publishedState: State
    /// True if a commit may be on disk that was answered as unknown. A restart could bring it back until the log has begun
    /// anew.
    private var isInDoubt = false
    /// The writes to gather before the next turn, and for how long: a flush takes a while where other daemons take part.
    private var gathering: (count: Int, end: ContinuousClock.Instant) = (0, .now)
    /// The nanoseconds that the last flush took.
    private var flushTime: UInt64 = 0
    private let limits: LimitsInForce
    private let figures: WriteFigures
    private let monotonic: MonotonicClock

    init(
        _ state: State, published: Published, log: any CommitLog, decider: WriteDecider, limits: LimitsInForce,
        figures: WriteFigures, monotonic: MonotonicClock
    ) {
        self.published = published
        self.log = log
        self.decider = decider
        self.limits = limits
        self.figures = figures
        self.monotonic = monotonic
        publishedState = state
    }

    /// The end of a flush.
    enum End {
        case done
        /// What was decided since the last publication cannot become durable: the decider has to be recalled.
        case failed(Failure)
    }

    /// A flush that failed, and the last revision that it was to make durable.
    struct Failure {
        let error: CommitLogError
        let last: Revision
    }

    /// True if finishing the turn takes some microseconds: it has nothing to sync.
    func finishesAtOnce(_ turn: WriteTurn) -> Bool {
        !mustFlush(turn) || log.flushesAtOnce
    }

    /// Makes durable what a turn staged, publishes it, and delivers the outcomes.
    func finish(_ turn: inout WriteTurn) -> End {
        let replaced = turn.isQuick && !dropsMuch(turn) ? publishedState : nil
        let (end, listeners) = flush(&turn, mayWait: true)
        deliver(turn, replaced: replaced)
        for listener in listeners { listener.published() }
        return end
    }

    /// As ``finish(_:)``, for a turn with one parcel, whose outcomes are returned.
    func finishHere(_ turn: consuming WriteTurn) -> (outcomes: [WriteOutcome], end: End) {
        let (end, listeners) = flush(&turn, mayWait: false)
        for listener in listeners { listener.published() }
        return (turn.answers.first?.outcomes ?? [], end)
    }

    /// Answers a turn that was decided on what could not become durable. None of it was done, but it may repeat a write whose
    /// outcome is unknown. It is in no figures.
    func refuse(_ turn: consuming WriteTurn, because failure: Failure) {
        refuse(&turn, from: (0, 0), because: failure)
        deliver(turn, replaced: nil)
    }

    /// True if large commits leave the history for the commits of a turn. To free them is not for loops.
    private func dropsMuch(_ turn: WriteTurn) -> Bool {
        let size = turn.state?.history.size ?? publishedState.history.size
        return publishedState.history.size - size > 1 << 20
    }

    /// - Parameter replaced: consumed, so that the loops have the last references to it.
    private func deliver(_ turn: WriteTurn, replaced: consuming State?) {
        for answer in turn.answers where !answer.outcomes.isEmpty {
            answer.replies.deliver(answer.outcomes, replaced: replaced)
        }
    }

    /// Performs the periodic maintenance of the log, and follows other daemons. Returns writes that turned out to be long.
    func tend() -> [WriteParcel] {
        log.tend()
        guard log.isShared else { return [] }
        follow()
        var line = decider.takeRepeats()
        var long: [WriteParcel] = []
        while !line.isEmpty {
            var turn = decider.begin(&line, within: limits.current.turn)
            if case .done = finish(&turn) { decider.confirm(upTo: publishedState.revision) }
            long += turn.long
        }
        return long
    }
}

/// Flushing.
extension TurnFlusher {
    /// True if answers of the turn have to wait for a flush. In doubt all do: what is published could lack what is there
    /// after a restart, or what another daemon added.
    private func mustFlush(_ turn: WriteTurn) -> Bool {
        log.isShared ? turn.oldest != nil : isInDoubt || turn.firstStaged != nil
    }

    /// Makes durable what a turn staged and publishes it, or changes the answers to what went wrong. Decides the turn again
    /// as often as another daemon comes first. Returns the listeners to call once the answers are on their way.
    private func flush(
        _ turn: inout WriteTurn, mayWait: Bool
    ) -> (end: End, listeners: [any PublicationListener]) {
        guard mustFlush(turn) else { return (.done, []) }
        let start = monotonic.now()
        defer { note(&turn, flushed: start) }
        while mustFlush(turn) {
            let deadline = (turn.oldest ?? start) + limits.current.patience
            do throws(CommitLogError) {
                try write(turn, by: deadline)
                isInDoubt = false
                if log.isShared { decider.endDoubts() }
                return (.done, turn.state.map { publish($0, mayWait: mayWait) } ?? [])
            } catch {
                if error.outcome == .overtaken, monotonic.now() < deadline {
                    decideAgain(&turn)
                    continue
                }
                let first = isInDoubt || log.isShared ? (answer: 0, outcome: 0) : turn.firstStaged
                if error.outcome == .unknown { isInDoubt = true }
                if log.isShared { decider.recall(to: publishedState) }
                let failure = Failure(error: error, last: turn.state?.revision ?? publishedState.revision)
                if let first { refuse(&turn, from: first, because: failure) }
                return (.failed(failure), [])
            }
        }
        return (.done, [])
    }

    /// Makes the commits of a turn durable, unless one of them does not fit the state.
    private func write(_ turn: WriteTurn, by deadline: UInt64) throws(CommitLogError) {
        if let mismatch = turn.mismatch {
            throw CommitLogError(.notDone, .failed, "a commit did not follow from the state: \(mismatch)")
        }
        var predecessor = publishedState.revision
        for answer in turn.answers {
            let outcomes = answer.outcomes.span
            for index in outcomes.indices {
                guard let commit = outcomes[index].commit else { continue }
                log.stage(commit, after: predecessor)
                predecessor = commit.revision
            }
        }
        try log.flush(by: deadline)
    }

    /// Publishes a state. Returns the listeners to call.
    private func publish(_ state: State, mayWait: Bool) -> [any PublicationListener] {
        publishedState = state
        let listeners = published.publish(state)
        log.published(state, mayWait: mayWait)
        return listeners
    }

    /// Notes the times of a turn that was flushed.
    private func note(_ turn: inout WriteTurn, flushed start: UInt64) {
        let now = monotonic.now()
        flushTime = now - start
        figures.add(turn.count, times: turn.answers.lazy.map { now &- $0.since })
        for position in turn.answers.indices where now &- turn.answers[position].since > WriteTimes.much {
            // For its turn, and for the flush before.
            let waiting = start &- min(start, turn.answers[position].since &+ turn.time)
            let times = WriteTimes(waiting: waiting, deciding: turn.time, syncing: now &- start)
            for outcome in turn.answers[position].outcomes.indices {
                turn.answers[position].outcomes[outcome].times = times
            }
        }
    }

    /// Answers the writes of a batch that failed: those that committed with what the log says, those behind them that they
    /// were not done, since they were decided on commits that are gone.
    private func refuse(
        _ turn: inout WriteTurn, from first: (answer: Int, outcome: Int), because failure: Failure
    ) {
        let error = failure.error
        for answer in first.answer..<turn.answers.count {
            let start = answer == first.answer ? first.outcome : 0
            for position in start..<turn.answers[answer].outcomes.count {
                let outcome = turn.answers[answer].outcomes[position]
                let wasCommitted = outcome.tellsOfCommit(after: publishedState.revision, upTo: failure.last)
                let request = log.isShared ? turn.decided[answer].writes[position].request : nil
                turn.answers[answer].outcomes[position].result =
                    request.flatMap { decider.lasting($0) } ?? .failure(Problem(error, wasCommitted: wasCommitted))
                if wasCommitted, error.outcome == .unknown, let request { decider.doubt(request) }
                turn.answers[answer].outcomes[position].commit = nil
                turn.answers[answer].outcomes[position].cursor = publishedState.cursor
            }
        }
    }
}

/// A log that other daemons share. Its thread has taken the writer, too.
extension TurnFlusher {
    /// The most nanoseconds that a turn gathers writes.
    private static let longestGathering: UInt64 = 5_000_000
    /// How long a turn lets other daemons go first.
    private static let longestWait = Duration.seconds(1)

    /// Has the next turn gather so many writes, for half of the time that a flush takes: callers who got their answers
    /// come back together.
    func gather(_ count: Int) {
        gathering = (count, .now + .nanoseconds(Int64(min(flushTime / 2, Self.longestGathering))))
    }

    /// True if the turn waits for more writes.
    func isGathering(_ turn: WriteTurn) -> Bool {
        turn.count < gathering.count && .now < gathering.end
    }

    /// Waits until the log is to be flushed next.
    func awaitTurn() {
        let end = ContinuousClock.now + Self.longestWait
        while log.awaitTurn(), .now < end { follow() }
    }

    /// Publishes what other daemons committed. Nothing may be staged.
    private func follow() {
        guard let state = decider.follow() else { return }
        decider.confirm(upTo: state.revision)
        for listener in publish(state, mayWait: true) { listener.published() }
    }

    /// Decides the writes of a turn once more, on the commits that came before them.
    private func decideAgain(_ turn: inout WriteTurn) {
        decider.recall(to: publishedState)
        follow()
        var again = WriteTurn()
        var line = WriteDecider.Line(turn.decided)
        while !line.isEmpty {
            // The bounds may be narrower by now.
            (again.count, again.bytes) = (0, 0)
            decider.decide(&line, within: limits.current.patience, into: &again)
        }
        (again.count, again.start, again.time) = (turn.count, turn.start, turn.time)
        again.long = turn.long + again.long
        turn = again
    }
}

extension WriteOutcome {
    /// True if the answer is about a commit that a flush was to publish: of this write, or of one that it repeats.
    fileprivate func tellsOfCommit(after published: Revision, upTo last: Revision) -> Bool {
        guard case .success(let answer) = result, let commit = answer.commit else { return false }
        return commit > published && commit <= last
    }
}

extension Problem {
    /// The problem of a write that could not be made durable.
    init(_ error: CommitLogError, wasCommitted: Bool) {
        let isUnknown = wasCommitted && error.outcome == .unknown
        let code: ErrorCode =
            switch error.cause {
            case .full where !isUnknown: .insufficientStorage
            case .contended where !isUnknown: .overloaded
            default: .storageFailed
            }
        self.init(code, error.reason)
        self.outcome = isUnknown ? .unknown : .notDone
        if !isUnknown { self.retryAfterMs = 1000 }
    }
}
