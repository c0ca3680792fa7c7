internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The second stage of the write path: makes the commits of a batch durable with one flush, and publishes the state after them.
///
/// Runs on the commit thread, which is why it may be shared unchecked. ``WritePipeline`` owns the only reference. No other code
/// uses the log's flush, maintenance and following, and no other code publishes.
final class CommitStage: @unchecked Sendable {
    /// The end of a flush.
    enum End {
        case durable
        /// The commits are not stored, or their outcome is unknown. The results of the batch say so.
        case failed
        /// Other daemons committed first. The writes must be decided again.
        case overtaken
    }

    /// A failed flush.
    private struct Failure {
        let error: CommitLogError
        let generation: Int
        /// The last revision that the flush was to make durable.
        let last: Revision
    }

    private let log: any CommitLog
    private let published: Published
    private let figures: WriteFigures
    private let monotonic: MonotonicClock
    /// The published state.
    private(set) var state: State
    /// The state before, which is released after the results are sent, because releasing it takes time.
    private var replaced: State?
    /// The last failed flush.
    private var failure: Failure?
    /// The request keys of commits whose outcome is unknown.
    private(set) var doubted: Set<StagedState.CallerRequestKey> = []
    /// The listeners that have not been told of the published state.
    private var listeners: [any PublicationListener] = []

    init(
        _ state: State, published: Published, log: any CommitLog, figures: WriteFigures, monotonic: MonotonicClock
    ) {
        self.state = state
        self.published = published
        self.log = log
        self.figures = figures
        self.monotonic = monotonic
    }

    /// Makes the commits of a batch durable and publishes the state after them. If the flush fails, changes the results to what the
    /// callers must know.
    ///
    /// - Parameter timeout: the nanoseconds after the arrival of a write at which a log that waits for other machines gives up.
    func commit(_ batch: inout WriteBatch, within timeout: UInt64) -> End {
        let isRequired = log.requiresFlush && batch.oldestArrival != nil
        guard batch.hasCommits || isRequired else { return .durable }
        let start = monotonic.now()
        defer { noteTimes(of: &batch, flushStart: start) }
        do throws(CommitLogError) {
            try flush(batch, by: (batch.oldestArrival ?? start) + timeout)
            doubted = []
            if let state = batch.state { publish(state) }
            return .durable
        } catch {
            if error.outcome == .overtaken { return .overtaken }
            failure = Failure(
                error: error, generation: batch.generation, last: batch.state?.revision ?? state.revision)
            // Without a required flush, the results before the first commit depend on durable commits only.
            refuse(&batch, from: isRequired ? 0 : batch.firstCommit ?? 0)
            return .failed
        }
    }

    /// Refuses a batch of an older generation if a flush failed. Returns false if its writes must be decided again, because other
    /// daemons committed.
    func refuseStale(_ batch: inout WriteBatch) -> Bool {
        guard failure?.generation == batch.generation else { return false }
        refuse(&batch, from: 0)
        return true
    }

    /// Publishes what other daemons committed. Returns nil if they committed nothing.
    func follow() -> FollowedState? {
        guard let followed = log.follow(from: state) else { return nil }
        publish(followed.state)
        return followed
    }

    func tend() {
        log.tend()
    }

    /// Calls the listeners, and releases what only the replaced state holds.
    func finishPublication() {
        for listener in listeners { listener.published() }
        listeners = []
        replaced = nil
    }

    private func flush(_ batch: WriteBatch, by deadline: UInt64) throws(CommitLogError) {
        if let mismatch = batch.mismatch {
            throw CommitLogError(.notDone, .failed, "a commit did not follow from the state: \(mismatch)")
        }
        if batch.hasCommits {
            var predecessor = state.revision
            let results = batch.results.span
            for index in results.indices {
                guard let commit = results[index].commit else { continue }
                log.stage(commit, after: predecessor)
                predecessor = commit.revision
            }
        }
        try log.flush(by: deadline)
    }

    private func publish(_ next: State) {
        replaced = state
        state = next
        listeners += published.publish(next)
        log.published(next)
    }

    private func noteTimes(of batch: inout WriteBatch, flushStart start: UInt64) {
        let now = monotonic.now()
        figures.add(batch.results.count, times: batch.writes.lazy.map { now &- $0.arrival })
        batch.noteTimes(flushStart: start, now: now)
    }
}

/// The results after a failed flush.
extension CommitStage {
    /// Changes results of a batch whose commits, or whose predecessors' commits, did not become durable.
    private func refuse(_ batch: inout WriteBatch, from position: Int) {
        guard let failure else { return }
        batch.replaceResults(from: position) { write, result in
            defer {
                result.commit = nil
                result.cursor = state.cursor
            }
            guard result.wasDecided else { return }
            let isOfCommit = isAbout(failure, result)
            if let key = StagedState.CallerRequestKey(write.request) {
                if isOfCommit {
                    if failure.error.outcome == .unknown { doubted.insert(key) }
                } else if keepReplay(&result) {
                    return
                } else if doubted.contains(key) {
                    return result.answer = .failure(.doubtedRequest)
                }
            }
            result.answer = .failure(Problem(failure.error, wasCommitted: isOfCommit))
        }
    }

    /// True if the answer is about a commit that the failed flush was to make durable: the commit of the write itself, or of a
    /// write that it repeats.
    private func isAbout(_ failure: Failure, _ result: WriteResult) -> Bool {
        guard case .success(let answer) = result.answer, let commit = answer.commit else { return false }
        return commit > state.revision && commit <= failure.last
    }

    /// Keeps the answer to a repeated request whose first commit is durable: the answer holds although nothing can be written. Returns
    /// false for any other result of a request with a request key.
    private func keepReplay(_ result: inout WriteResult) -> Bool {
        guard case .success(var answer) = result.answer, result.commit == nil, let commit = answer.commit,
            commit <= state.revision
        else { return false }
        answer.cursor = state.cursor
        result.answer = .success(answer)
        return true
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
