internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// What the writer's queue works on: the staged state, the log, and the requests that may be repeated.
///
/// Every member is used on the writer's queue alone, which is what makes it safe to be sent there: `Writer` owns the only
/// reference and touches it in blocks of that queue.
final class WriterSession: @unchecked Sendable {
    private let published: Published
    private let log: any CommitLog
    private let clock: @Sendable () -> Timestamp
    private let opensSuites: Bool
    /// What was published last. Kept here so that failing costs no lock.
    private(set) var publishedState: State
    /// What will be published if the sync succeeds.
    private var staged: State
    /// The last revision that was given out, used or burned.
    private var issued: Revision
    /// That a commit of the batch does not fit the state that it was made for: a defect, after which nothing of the batch
    /// may stay.
    private var mismatch: CommitMismatch?
    /// Whether a commit may be on disk that was answered as unknown. A restart could bring it back until the log has begun
    /// anew.
    private var isInDoubt = false
    /// Commits that can be asked for again by their request keys.
    private var repeatable: [RequestKey: Commit] = [:]

    init(
        _ state: State, published: Published, log: any CommitLog, opensSuites: Bool,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.published = published
        self.log = log
        self.opensSuites = opensSuites
        self.clock = clock
        publishedState = state
        staged = state
        issued = state.revision
        rememberRequests()
    }

    /// Decides the writes of a batch, makes what they commit durable with one sync, and answers all of them.
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
                answers[index].append(WriteOutcome(id: write.id, result: result, cursor: staged.cursor))
            }
        }
        // In doubt, no answer may rest on what is published: what it lacks could be there after a restart.
        if let first = isInDoubt ? (parcel: 0, write: 0) : firstStaged {
            do {
                try flush()
                isInDoubt = false
                if firstStaged != nil {
                    publishedState = staged
                    listeners = published.publish(staged)
                    log.published(staged)
                }
            } catch {
                if error.outcome == .unknown { isInDoubt = true }
                recall()
                refuse(&answers, from: first, because: error)
            }
        }
        for (index, parcel) in batch.enumerated() { parcel.replies.deliver(answers[index]) }
        for listener in listeners { listener.published() }
    }

    /// Lets the log see to itself.
    func tend() {
        log.tend()
    }

    private func decide(_ request: WriteRequest) -> (result: Result<WriteAnswer, Problem>, isStaged: Bool) {
        do throws(Problem) {
            if let key = request.requestKey, !request.isDryRun, let commit = repeatable[key] {
                return (.success(try request.replay(commit, on: staged)), false)
            }
            guard let revision = issued.advanced(by: 1) else {
                throw Problem(.storageFailed, "there are no revisions left")
            }
            let evaluation = try Evaluation(
                request, on: staged, revision: revision, time: time(),
                opensSuites: opensSuites)
            guard case .commit(let commit, let answer, let schema) = evaluation else {
                if case .unchanged(let answer) = evaluation { return (.success(answer), false) }
                return (.failure(Problem(.storageFailed, "the write was neither made nor refused")), false)
            }
            issued = revision
            stage(commit, schema: schema)
            return (.success(answer), true)
        } catch {
            return (.failure(error), false)
        }
    }

    /// How far a clock may be set back without taking times back.
    private static let setBack: Int64 = 60_000

    /// The time of the next commit. Small corrections of the clock do not take it back. If the clock was far ahead, the
    /// last commit's time is wrong, and times follow the clock again.
    private func time() -> Timestamp {
        let now = clock()
        let isBehind = now < staged.time && staged.time.milliseconds - now.milliseconds <= Self.setBack
        return isBehind ? staged.time : now
    }

    private func stage(_ commit: Commit, schema: Schema?) {
        let predecessor = staged.revision
        // Before it is known what is forgotten: that may be this very commit, if it is larger than all of the history.
        if let key = commit.requestKey { repeatable[key] = commit }
        do {
            let forgotten = try staged.apply(commit, schema: schema)
            log.stage(commit, after: predecessor)
            for forgotten in forgotten {
                guard let key = forgotten.commit.requestKey,
                    repeatable[key]?.revision == forgotten.commit.revision
                else { continue }
                repeatable[key] = nil
            }
        } catch {
            mismatch = error
        }
    }

    /// Makes the staged commits durable, unless one of them should not have been made.
    private func flush() throws(CommitLogError) {
        if let mismatch {
            self.mismatch = nil
            log.discard()
            throw CommitLogError(.notDone, .failed, "a commit did not follow from the state: \(mismatch)")
        }
        try log.flush()
    }

    /// Drops what was staged. Its revisions are never used again.
    private func recall() {
        staged = publishedState
        repeatable = [:]
        rememberRequests()
    }

    private func rememberRequests() {
        for kept in staged.history.all {
            if let key = kept.commit.requestKey { repeatable[key] = kept.commit }
        }
    }

    /// Tells the writers of a batch that failed: those that committed what the log says, those behind them that theirs
    /// was not done, since it was decided on what is gone.
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
    /// Whether the answer tells of a commit that was staged and not published: for this write, or for one that it repeats.
    fileprivate func tellsOfCommit(after published: Revision) -> Bool {
        guard case .success(let answer) = result, let commit = answer.commit else { return false }
        return commit > published
    }
}

extension Problem {
    /// That a write could not be made durable.
    init(_ error: CommitLogError, wasCommitted: Bool) {
        let isUnknown = wasCommitted && error.outcome == .unknown
        let isFull = error.cause == .full && !isUnknown
        self.init(isFull ? .insufficientStorage : .storageFailed, error.reason)
        outcome = isUnknown ? .unknown : .notDone
        if !isUnknown { retryAfterMs = 1000 }
    }
}
