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

    init(
        _ state: State, published: Published, log: any CommitLog, opensSuites: Bool,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.log = log
        self.clock = clock
        publishedState = state
        staged = StagedState(state, opensSuites: opensSuites)
    }

    /// Decides the writes of a batch, makes their commits durable with one sync, and answers all of them.
    func decide(_ batch: [Writer.Parcel]) {
        var answers = batch.map { parcel in
            var outcomes: [WriteOutcome] = []
            outcomes.reserveCapacity(parcel.writes.count)
            return outcomes
        }
        var listeners: [any PublicationListener] = []
        // From here on answers rest on what is not durable yet.
        var firstStaged: (parcel: Int, write: Int)?
        for (index, parcel) in batch.enumerated() {
            for (position, write) in parcel.writes.enumerated() {
                let (result, isStaged) = decide(write.request)
                if isStaged && firstStaged == nil { firstStaged = (index, position) }
                answers[index].append(WriteOutcome(id: write.id, result: result, cursor: staged.state.cursor))
            }
        }
        // In doubt, no answer may rest on what is published: what it lacks could be there after a restart.
        if let first = isInDoubt ? (parcel: 0, write: 0) : firstStaged {
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
        for (index, parcel) in batch.enumerated() { parcel.replies.deliver(answers[index]) }
        for listener in listeners { listener.published() }
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
        _ answers: inout [[WriteOutcome]], from first: (parcel: Int, write: Int), because error: CommitLogError
    ) {
        for parcel in first.parcel..<answers.count {
            let start = parcel == first.parcel ? first.write : 0
            for position in start..<answers[parcel].count {
                let wasCommitted = answers[parcel][position].tellsOfCommit(after: publishedState.revision)
                answers[parcel][position].result = .failure(Problem(error, wasCommitted: wasCommitted))
                answers[parcel][position].cursor = publishedState.cursor
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
