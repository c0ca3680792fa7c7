internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The staged state of the writer, and the log that makes its commits durable.
///
/// Every member is used on the writer's queue alone, which is what makes it safe to be sent there: `Writer` owns the only
/// reference and touches it in blocks of that queue.
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

    private let limits: WriteLimits

    init(
        _ state: State, published: Published, log: any CommitLog, limits: WriteLimits,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.log = log
        self.limits = limits
        self.clock = clock
        publishedState = state
        staged = StagedState(state, opensSuites: limits.opensSuites, commitKeys: limits.commitKeys)
    }

    /// Answers writes without deciding them.
    func refuse(_ parcel: Writer.Parcel, because problem: Problem) {
        let cursor = publishedState.cursor
        parcel.replies.deliver(
            parcel.writes.map { WriteOutcome(id: $0.id, result: .failure(problem), cursor: cursor) })
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
    }

    /// What a turn did.
    struct Turn {
        /// The writes that were decided, and the nanoseconds that took.
        var count = 0
        var time: UInt64 = 0
        /// Writes that turned out to be long, to be decided after others.
        var long: [Writer.Parcel] = []
    }

    /// The outcomes of those writes of a parcel that are of one turn.
    private struct Answer {
        let replies: any WriteReplies
        var outcomes: [WriteOutcome] = []
    }

    /// Decides writes of a line for one turn, which makes their commits durable with one sync, and answers after it.
    func takeTurn(_ line: inout Line) -> Turn {
        var turn = Turn()
        var answers: [Answer] = []
        // From here on answers rest on what is not durable yet.
        var firstStaged: (answer: Int, outcome: Int)?
        var bounds = Bounds(limits)
        deciding: while !line.isEmpty {
            let parcel = line.parcels[line.parcel]
            answers.append(Answer(replies: parcel.replies))
            let last = answers.count - 1
            answers[last].outcomes.reserveCapacity(parcel.writes.count - line.write)
            while line.write < parcel.writes.count {
                var write = parcel.writes[line.write]
                guard bounds.admit(write.request) else { break deciding }
                line.write += 1
                let isLate = bounds.now > parcel.since + limits.patience
                let (result, isStaged) = isLate ? (.failure(.tooManyWrites), false) : decide(write.request)
                if case .failure(let problem) = result, problem.code == .overloaded, write.request.isAlone, !isLate {
                    write.request.becomeLong()
                    turn.long.append(Writer.Parcel(writes: [write], replies: parcel.replies, since: parcel.since))
                    continue
                }
                if isStaged && firstStaged == nil { firstStaged = (last, answers[last].outcomes.count) }
                answers[last].outcomes.append(
                    WriteOutcome(id: write.id, result: result, cursor: staged.state.cursor))
            }
            (line.parcel, line.write) = (line.parcel + 1, 0)
        }
        (turn.count, turn.time) = (bounds.count, MonotonicClock.system.now() - bounds.start)
        var listeners: [any PublicationListener] = []
        // In doubt, no answer may rest on what is published: what it lacks could be there after a restart.
        if let first = isInDoubt ? (answer: 0, outcome: 0) : firstStaged {
            do {
                try flush()
                isInDoubt = false
                if firstStaged != nil {
                    publishedState = staged.state
                    listeners = published.publish(staged.state)
                    log.published(staged.state)
                }
            } catch {
                if error.outcome == .unknown { isInDoubt = true }
                staged.recall(to: publishedState)
                refuse(&answers, from: first, because: error)
            }
        }
        for answer in answers where !answer.outcomes.isEmpty { answer.replies.deliver(answer.outcomes) }
        for listener in listeners { listener.published() }
        return turn
    }

    /// What a turn may still take: a number of writes, bytes, and time.
    private struct Bounds {
        private let limits: WriteLimits
        let start: UInt64
        /// The time when the last write was looked at.
        private(set) var now: UInt64
        private(set) var count = 0
        private var bytes = 0

        init(_ limits: WriteLimits) {
            self.limits = limits
            start = MonotonicClock.system.now()
            now = start
        }

        /// Returns false if the turn ends before this write. The first is always admitted.
        mutating func admit(_ request: WriteRequest) -> Bool {
            // Reading the clock takes a hundredth of the time of a write.
            if count > 0 { now = MonotonicClock.system.now() }
            let fits =
                count < limits.batchCount && bytes + request.size <= limits.batchBytes && now < start + limits.turn
            guard count == 0 || fits else { return false }
            count += 1
            bytes += request.size
            return true
        }
    }

    /// Has the log do its periodic maintenance.
    func tend() {
        log.tend()
    }

    private func decide(_ request: WriteRequest) -> (result: Result<WriteAnswer, Problem>, isStaged: Bool) {
        let predecessor = staged.state.revision
        do throws(Problem) {
            let (answer, commit) = try staged.write(request, at: clock())
            if let commit { log.stage(commit, after: predecessor) }
            return (.success(answer), commit != nil)
        } catch {
            return (.failure(error), false)
        }
    }

    /// Makes the staged commits durable, unless one of them does not fit the state.
    private func flush() throws(CommitLogError) {
        if let mismatch = staged.mismatch {
            log.discard()
            throw CommitLogError(.notDone, .failed, "a commit did not follow from the state: \(mismatch)")
        }
        try log.flush()
    }

    /// Answers the writes of a batch that failed: those that committed with what the log says, those behind them that they
    /// were not done, since they were decided on commits that are gone.
    private func refuse(
        _ answers: inout [Answer], from first: (answer: Int, outcome: Int), because error: CommitLogError
    ) {
        for answer in first.answer..<answers.count {
            let start = answer == first.answer ? first.outcome : 0
            for position in start..<answers[answer].outcomes.count {
                let wasCommitted = answers[answer].outcomes[position].tellsOfCommit(after: publishedState.revision)
                answers[answer].outcomes[position].result = .failure(Problem(error, wasCommitted: wasCommitted))
                answers[answer].outcomes[position].cursor = publishedState.cursor
            }
        }
    }
}

extension WriteOutcome {
    /// True if the answer is about a commit that was staged and not published: of this write, or of one that it repeats.
    fileprivate func tellsOfCommit(after published: Revision) -> Bool {
        guard case .success(let answer) = result, let commit = answer.commit else { return false }
        return commit > published
    }
}

extension Problem {
    /// The problem of a write that could not be made durable.
    init(_ error: CommitLogError, wasCommitted: Bool) {
        let isUnknown = wasCommitted && error.outcome == .unknown
        let isFull = error.cause == .full && !isUnknown
        self.init(isFull ? .insufficientStorage : .storageFailed, error.reason)
        self.outcome = isUnknown ? .unknown : .notDone
        if !isUnknown { self.retryAfterMs = 1000 }
    }
}
