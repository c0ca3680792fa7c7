internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The staged state of the writer, and the log that makes its commits durable.
///
/// Used by one thread at a time, the one that has taken the writer, which is what makes it safe to be sent to another:
/// `Writer` owns the only reference.
final class WriterSession: @unchecked Sendable {
    private let published: Published
    private let log: any CommitLog
    private let clock: @Sendable () -> Timestamp
    /// The state that was published last. Kept here so that going back to it takes no lock.
    private(set) var publishedState: State
    /// The state to publish once its commits are durable.
    private var staged: StagedState
    /// True if a commit may be on disk that was answered as unknown. A restart could bring it back until the log has begun
    /// anew.
    private var isInDoubt = false
    /// The requests whose commits may be there or not, until a flush succeeds.
    private var doubted: Set<StagedState.Repeat> = []
    /// Repeats of these, which wait until the log knows.
    private var repeats: [Writer.Parcel] = []

    /// True if other daemons commit to the same log.
    let isShared: Bool
    /// The writes to gather before the next turn, and for how long: a flush takes a while where other daemons take part.
    private var gathering: (count: Int, end: ContinuousClock.Instant) = (0, .now)
    /// The nanoseconds that the last flush took.
    private var flushTime: UInt64 = 0
    private let limits: LimitsInForce
    private let figures: WriteFigures
    private let monotonic: MonotonicClock

    init(
        _ state: State, published: Published, log: any CommitLog, limits: LimitsInForce,
        figures: WriteFigures, monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.log = log
        isShared = log.isShared
        self.limits = limits
        self.figures = figures
        self.monotonic = monotonic
        self.clock = clock
        publishedState = state
        staged = StagedState(
            state, opensSuites: limits.current.opensSuites, commitKeys: limits.current.commitKeys,
            quotas: limits.current.quotas)
    }

    /// Parcels, and how far they are decided.
    struct Line {
        fileprivate let parcels: [Writer.Parcel]
        fileprivate var parcel = 0
        fileprivate var write = 0

        init(_ parcels: [Writer.Parcel] = []) {
            self.parcels = parcels
        }

        var isEmpty: Bool { parcel == parcels.count }

        /// What is left of the parcel whose turn it is; nil if there is none.
        var rest: Writer.Parcel? {
            guard !isEmpty else { return nil }
            var rest = parcels[parcel]
            rest.writes = Array(rest.writes[write...])
            return rest
        }
    }

    /// Writes that were decided, and are answered once what they staged is durable.
    struct Turn: Sendable {
        fileprivate var answers: [Answer] = []
        /// From here on answers rest on what is not durable yet.
        fileprivate var firstStaged: (answer: Int, outcome: Int)?
        /// When the first write came that a flush is to make durable, or to confirm; nil if there is none.
        fileprivate var oldest: UInt64?
        /// The writes that were decided, their bytes, and the nanoseconds that took.
        fileprivate(set) var count = 0
        fileprivate var bytes = 0
        fileprivate var start: UInt64 = 0
        fileprivate(set) var time: UInt64 = 0
        /// Writes that turned out to be long, to be decided after others.
        fileprivate(set) var long: [Writer.Parcel] = []
        /// The writes themselves, if other daemons may be first, after which they are decided again.
        fileprivate var decided: [Writer.Parcel] = []
    }

    /// The outcomes of those writes of a parcel that are of one turn.
    fileprivate struct Answer: Sendable {
        let replies: any WriteReplies
        /// When the parcel came.
        let since: UInt64
        var outcomes: [WriteOutcome] = []
    }

    /// The nanoseconds of a turn on the thread of a caller.
    static let shortTurn: UInt64 = 1_000_000

    /// The most nanoseconds that a turn gathers writes.
    private static let longestGathering: UInt64 = 5_000_000
    /// How long a turn lets other daemons go first.
    private static let longestWait = Duration.seconds(1)

    /// Has the next turn gather so many writes, for half of the time that a flush takes: callers who got their answers
    /// come back together.
    func gather(_ count: Int) {
        gathering = (count, .now + .nanoseconds(Int64(min(flushTime / 2, Self.longestGathering))))
    }

    /// Waits until the log is to be flushed next.
    func awaitTurn() {
        let end = ContinuousClock.now + Self.longestWait
        while log.awaitTurn(), .now < end { follow() }
    }

    /// True if the turn waits for more writes.
    func isGathering(_ turn: Turn) -> Bool {
        turn.count < gathering.count && .now < gathering.end
    }

    /// Decides writes of a line until the time is over. At least one is decided.
    func begin(_ line: inout Line, within time: UInt64) -> Turn {
        var turn = Turn()
        decide(&line, within: time, into: &turn)
        return turn
    }

    /// Decides writes of a line until the time is over, in addition to those of a turn.
    func decide(_ line: inout Line, within time: UInt64, into turn: inout Turn) {
        let limits = limits.current
        (staged.opensSuites, staged.commitKeys, staged.quotas) = (limits.opensSuites, limits.commitKeys, limits.quotas)
        var bounds = Bounds(limits, time, monotonic, turn)
        deciding: while !line.isEmpty {
            let parcel = line.parcels[line.parcel]
            var answer = Answer(replies: parcel.replies, since: parcel.since)
            answer.outcomes.reserveCapacity(parcel.writes.count - line.write)
            var decided = (first: line.write, end: line.write, left: [Int]())
            defer {
                turn.answers.append(answer)
                if isShared {
                    turn.decided.append(parcel.part(decided.first..<decided.end, without: decided.left))
                }
            }
            while line.write < parcel.writes.count {
                let write = parcel.writes[line.write]
                guard bounds.admit(write.request.size) else { break deciding }
                line.write += 1
                decided.end = line.write
                let isLate = bounds.now > parcel.since + (isShared ? limits.sharedPatience : limits.patience)
                if !isLate, isDoubted(write.request), log.isUnsettled {
                    decided.left.append(line.write - 1)
                    repeats.append(Writer.Parcel(writes: [write], replies: parcel.replies, since: parcel.since))
                    continue
                }
                let (outcome, isStaged) = isLate ? late(write) : decide(write)
                if outcome.isOverloaded, write.request.isAlone, !isLate {
                    var long = write.request
                    long.becomeLong()
                    decided.left.append(line.write - 1)
                    turn.long.append(
                        Writer.Parcel(
                            writes: [PendingWrite(id: write.id, request: long)], replies: parcel.replies,
                            since: parcel.since))
                    continue
                }
                if !isLate { turn.oldest = min(turn.oldest ?? parcel.since, parcel.since) }
                if isStaged, turn.firstStaged == nil {
                    turn.firstStaged = (turn.answers.count, answer.outcomes.count)
                }
                answer.outcomes.append(outcome)
            }
            (line.parcel, line.write) = (line.parcel + 1, 0)
        }
        if turn.count == 0 { turn.start = bounds.start }
        (turn.count, turn.bytes) = (bounds.count, bounds.bytes)
        turn.time += monotonic.now() - bounds.start
    }

    /// True if finishing the turn takes some microseconds: it has nothing to sync.
    func finishesAtOnce(_ turn: Turn) -> Bool {
        !mustFlush(turn) || log.flushesAtOnce
    }

    /// Makes durable what a turn staged, publishes it, and delivers the outcomes.
    func finish(_ turn: inout Turn) {
        let listeners = flush(&turn, mayWait: true)
        for answer in turn.answers where !answer.outcomes.isEmpty { answer.replies.deliver(answer.outcomes) }
        for listener in listeners { listener.published() }
    }

    /// As ``finish(_:)``, for a turn with one parcel, whose outcomes are returned.
    func finishHere(_ turn: Turn) -> [WriteOutcome] {
        var turn = turn
        for listener in flush(&turn, mayWait: false) { listener.published() }
        return turn.answers.first?.outcomes ?? []
    }

    /// True if answers of the turn have to wait for a flush. In doubt all do: what is published could lack what is there
    /// after a restart, or what another daemon added.
    private func mustFlush(_ turn: Turn) -> Bool {
        isShared ? turn.oldest != nil : isInDoubt || turn.firstStaged != nil
    }

    /// Makes durable what a turn staged and publishes it, or changes the answers to what went wrong. Decides the turn again
    /// as often as another daemon comes first. Returns the listeners to call once the answers are on their way.
    private func flush(_ turn: inout Turn, mayWait: Bool) -> [any PublicationListener] {
        guard mustFlush(turn) else { return [] }
        let start = monotonic.now()
        defer { note(&turn, flushed: start) }
        while mustFlush(turn) {
            let deadline = (turn.oldest ?? start) + limits.current.patience
            do throws(CommitLogError) {
                try flush(by: deadline)
                isInDoubt = false
                doubted = []
                guard turn.firstStaged != nil else { return [] }
                return publish(mayWait: mayWait)
            } catch {
                if error.outcome == .overtaken, monotonic.now() < deadline {
                    decideAgain(&turn)
                    continue
                }
                let first = isInDoubt || isShared ? (answer: 0, outcome: 0) : turn.firstStaged
                if error.outcome == .unknown { isInDoubt = true }
                staged.recall(to: publishedState)
                if let first { refuse(&turn, from: first, because: error) }
                return []
            }
        }
        return []
    }

    /// Publishes what is staged. Returns the listeners to call.
    private func publish(mayWait: Bool) -> [any PublicationListener] {
        staged.confirm()
        publishedState = staged.state
        let listeners = published.publish(staged.state)
        log.published(staged.state, mayWait: mayWait)
        return listeners
    }

    /// Publishes what other daemons committed. Nothing may be staged.
    private func follow() {
        guard log.follow(&staged) else { return }
        for listener in publish(mayWait: true) { listener.published() }
    }

    /// Decides the writes of a turn once more, on the commits that came before them.
    private func decideAgain(_ turn: inout Turn) {
        staged.recall(to: publishedState)
        follow()
        var again = Turn()
        var line = Line(turn.decided)
        while !line.isEmpty {
            // The bounds may be narrower by now.
            (again.count, again.bytes) = (0, 0)
            decide(&line, within: limits.current.patience, into: &again)
        }
        (again.count, again.start, again.time) = (turn.count, turn.start, turn.time)
        again.long = turn.long + again.long
        turn = again
    }

    /// Notes the times of a turn that was flushed.
    private func note(_ turn: inout Turn, flushed start: UInt64) {
        let now = monotonic.now()
        flushTime = now - start
        figures.add(turn.count, times: turn.answers.lazy.map { now &- $0.since })
        for position in turn.answers.indices where now &- turn.answers[position].since > WriteTimes.much {
            let waiting = turn.start &- min(turn.start, turn.answers[position].since)
            let times = WriteTimes(waiting: waiting, deciding: turn.time, syncing: now &- start)
            for outcome in turn.answers[position].outcomes.indices {
                turn.answers[position].outcomes[outcome].times = times
            }
        }
    }

    /// What a turn may still take: a number of writes, bytes, and time.
    private struct Bounds {
        private let limits: WriteLimits
        private let time: UInt64
        private let clock: MonotonicClock
        let start: UInt64
        /// The time when the last write was looked at.
        private(set) var now: UInt64
        private(set) var count: Int
        private(set) var bytes: Int

        init(_ limits: WriteLimits, _ time: UInt64, _ clock: MonotonicClock, _ turn: Turn) {
            self.limits = limits
            self.time = time
            self.clock = clock
            (count, bytes) = (turn.count, turn.bytes)
            start = clock.now()
            now = start
        }

        /// Returns false if the turn ends before this write. The first is always admitted.
        ///
        /// - Parameter size: the bytes of its request.
        mutating func admit(_ size: Int) -> Bool {
            // Reading the clock takes a hundredth of the time of a write.
            if count > 0 { now = clock.now() }
            let fits =
                count < limits.batchCount && bytes + size <= limits.batchBytes && now < start + time
            guard count == 0 || fits else { return false }
            count += 1
            bytes += size
            return true
        }
    }

    /// Has the log do its periodic maintenance, and follows other daemons. Returns writes that turned out to be long.
    func tend() -> [Writer.Parcel] {
        log.tend()
        guard isShared else { return [] }
        follow()
        var line = Line(repeats)
        var long: [Writer.Parcel] = []
        repeats = []
        while !line.isEmpty {
            var turn = begin(&line, within: limits.current.turn)
            finish(&turn)
            long += turn.long
        }
        return long
    }

    /// True if the write repeats one whose outcome is unknown.
    private func isDoubted(_ request: WriteRequest) -> Bool {
        !doubted.isEmpty && StagedState.Repeat(request).map { doubted.contains($0) } ?? false
    }

    private func decide(_ write: PendingWrite) -> (outcome: WriteOutcome, isStaged: Bool) {
        do throws(Problem) {
            let (answer, kept, predecessor) = try staged.write(write.request, at: clock())
            if let kept { log.stage(kept, after: predecessor) }
            let outcome = WriteOutcome(id: write.id, result: .success(answer), commit: kept, cursor: answer.cursor)
            return (outcome, kept != nil)
        } catch {
            return (WriteOutcome(id: write.id, result: .failure(error), cursor: staged.cursor), false)
        }
    }

    private func late(_ write: PendingWrite) -> (outcome: WriteOutcome, isStaged: Bool) {
        let problem = isDoubted(write.request) ? Problem.doubted : .tooManyWrites
        return (WriteOutcome(id: write.id, result: .failure(problem), cursor: staged.cursor), false)
    }

    /// Makes the staged commits durable, unless one of them does not fit the state.
    private func flush(by deadline: UInt64) throws(CommitLogError) {
        if let mismatch = staged.mismatch {
            log.discard()
            throw CommitLogError(.notDone, .failed, "a commit did not follow from the state: \(mismatch)")
        }
        try log.flush(by: deadline)
    }

    /// Answers the writes of a batch that failed: those that committed with what the log says, those behind them that they
    /// were not done, since they were decided on commits that are gone.
    private func refuse(
        _ turn: inout Turn, from first: (answer: Int, outcome: Int), because error: CommitLogError
    ) {
        for answer in first.answer..<turn.answers.count {
            let start = answer == first.answer ? first.outcome : 0
            for position in start..<turn.answers[answer].outcomes.count {
                let outcome = turn.answers[answer].outcomes[position]
                let wasCommitted = outcome.tellsOfCommit(after: publishedState.revision)
                let request = isShared ? turn.decided[answer].writes[position].request : nil
                turn.answers[answer].outcomes[position].result =
                    request.flatMap { lasting($0) } ?? .failure(Problem(error, wasCommitted: wasCommitted))
                if wasCommitted, error.outcome == .unknown, let name = request.flatMap({ StagedState.Repeat($0) }) {
                    doubted.insert(name)
                }
                turn.answers[answer].outcomes[position].commit = nil
                turn.answers[answer].outcomes[position].cursor = publishedState.cursor
            }
        }
    }

    /// Returns the answer to a repeated request that holds although nothing could be written; nil if there is none. Nothing
    /// is staged.
    private func lasting(_ request: WriteRequest) -> Result<WriteAnswer, Problem>? {
        if isDoubted(request) { return .failure(.doubted) }
        do throws(Problem) {
            return try staged.replay(request).map { .success($0) }
        } catch {
            return .failure(error)
        }
    }
}

extension WriteOutcome {
    /// True if the write would take too long for its place in the line.
    fileprivate var isOverloaded: Bool {
        if case .failure(let problem) = result { problem.code == .overloaded } else { false }
    }

    /// True if the answer is about a commit that was staged and not published: of this write, or of one that it repeats.
    fileprivate func tellsOfCommit(after published: Revision) -> Bool {
        guard case .success(let answer) = result, let commit = answer.commit else { return false }
        return commit > published
    }
}

extension Problem {
    /// The problem of a repeated request while the outcome of the first is unknown.
    fileprivate static var doubted: Problem {
        Problem(
            .storageFailed, outcome: .unknown,
            "a request with this Idempotency-Key may have been carried out, or may still be; repeat it")
    }

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
