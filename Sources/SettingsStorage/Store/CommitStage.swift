internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The second stage of the write path: makes the commits of a batch durable with one flush, then publishes the state.
///
/// Runs on the commit thread. `@unchecked Sendable` is safe, because ``WritePipeline`` owns the only reference. No
/// other code publishes states, or calls the methods of the log that flush, maintain or follow it.
final class CommitStage: @unchecked Sendable {
    /// The outcome of a flush.
    enum FlushOutcome {
        case durable
        /// The commits are not stored, or it is unknown whether they are. The results of the batch contain the error.
        case failed
        /// Other daemons committed first, so the writes must be decided again.
        case overtaken
    }

    /// A failed flush.
    private struct Failure {
        let error: CommitLogError
        /// The generation (see ``WriteBatch/generation``), all of whose batches depend on the lost commits.
        let generation: Int
        /// The last revision that the flush would have made durable.
        let lastRevision: Revision
    }

    private let log: any CommitLog
    private let published: Published
    private let metrics: WriteMetrics
    private let monotonic: MonotonicClock
    /// The published state.
    private(set) var state: State
    /// The previously published state. Released after the results are sent, because releasing it takes time.
    private var replacedState: State?
    private var lastFailure: Failure?
    /// The request keys (`Idempotency-Key`) of commits for which it is unknown whether they are stored.
    private(set) var unresolvedKeys: Set<StagedState.CallerRequestKey> = []
    /// The listeners to notify about the published state.
    private var pendingListeners: [any PublicationListener] = []

    init(
        _ state: State, published: Published, log: any CommitLog, metrics: WriteMetrics, monotonic: MonotonicClock
    ) {
        self.state = state
        self.published = published
        self.log = log
        self.metrics = metrics
        self.monotonic = monotonic
    }

    /// Makes the commits of a batch durable and publishes the state. On failure, the dependent results become errors.
    ///
    /// - Parameter timeout: the nanoseconds after the first arrival at which a log on other machines stops waiting.
    func commit(_ batch: inout WriteBatch, within timeout: UInt64) -> FlushOutcome {
        let isRequired = log.requiresFlush && batch.oldestArrival != nil
        guard batch.hasCommits || isRequired else { return .durable }
        let start = monotonic.now()
        defer { recordTimes(of: &batch, flushStart: start) }
        do throws(CommitLogError) {
            try flush(batch, by: (batch.oldestArrival ?? start) + timeout)
            unresolvedKeys = []
            if let state = batch.state { publish(state) }
            return .durable
        } catch {
            if error.outcome == .overtaken { return .overtaken }
            lastFailure = Failure(
                error: error, generation: batch.generation, lastRevision: batch.state?.revision ?? state.revision)
            // Without a required flush, the results before the first commit depend on durable commits only.
            refuse(&batch, from: isRequired ? 0 : batch.firstCommit ?? 0)
            return .failed
        }
    }

    /// Refuses the writes of a batch if its generation ended because of a failed flush. Returns false if other daemons
    /// committed first, so that the writes must be decided again.
    func refuseStale(_ batch: inout WriteBatch) -> Bool {
        guard lastFailure?.generation == batch.generation else { return false }
        refuse(&batch, from: 0)
        return true
    }

    /// Publishes the state after the commits of other daemons. Returns nil if there are none.
    func follow() -> FollowedState? {
        guard let followed = log.follow(from: state) else { return nil }
        publish(followed.state)
        return followed
    }

    func maintainLog() {
        log.performMaintenance()
    }

    /// Notifies the listeners, and releases the replaced state. Called after the results are sent.
    func finishPublication() {
        for listener in pendingListeners { listener.published() }
        pendingListeners = []
        replacedState = nil
    }

    private func flush(_ batch: WriteBatch, by deadline: UInt64) throws(CommitLogError) {
        if let mismatch = batch.mismatch {
            throw CommitLogError(.notDone, .failed, "cannot apply a commit to the state: \(mismatch)")
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
        replacedState = state
        state = next
        pendingListeners += published.publish(next)
        log.published(next)
    }

    private func recordTimes(of batch: inout WriteBatch, flushStart start: UInt64) {
        let now = monotonic.now()
        metrics.add(batch.results.count, times: batch.writes.lazy.map { now &- $0.arrival })
        batch.recordTimes(flushStart: start, now: now)
    }
}

/// The results after a failed flush.
extension CommitStage {
    /// Replaces the results from a position on with errors, because they depend on commits that did not become durable.
    ///
    /// Keeps refusals that do not depend on the state, and answers to repeats of requests whose commit is durable.
    private func refuse(_ batch: inout WriteBatch, from position: Int) {
        guard let lastFailure else { return }
        batch.replaceResults(from: position) { write, result in
            defer {
                result.commit = nil
                result.cursor = state.cursor
            }
            guard result.wasDecided else { return }
            let lostCommit = dependsOnLostCommit(result, lastFailure)
            if let key = StagedState.CallerRequestKey(write.request) {
                if lostCommit {
                    if lastFailure.error.outcome == .unknown { unresolvedKeys.insert(key) }
                } else if keepRepeatedAnswer(&result) {
                    return
                } else if unresolvedKeys.contains(key) {
                    return result.answer = .failure(.firstRequestUnresolved)
                }
            }
            result.answer = .failure(Problem(lastFailure.error, wasCommitted: lostCommit))
        }
    }

    /// True if the answer is about a commit of the failed flush, of the write itself or of the write that it repeats.
    private func dependsOnLostCommit(_ result: WriteResult, _ failure: Failure) -> Bool {
        guard case .success(let answer) = result.answer, let commit = answer.commit else { return false }
        return commit > state.revision && commit <= failure.lastRevision
    }

    /// Keeps the answer to a repeat of a request whose commit is durable. Returns false for any other result.
    private func keepRepeatedAnswer(_ result: inout WriteResult) -> Bool {
        guard case .success(var answer) = result.answer, result.commit == nil, let commit = answer.commit,
            commit <= state.revision
        else { return false }
        answer.cursor = state.cursor
        result.answer = .success(answer)
        return true
    }
}

extension Problem {
    /// Makes the problem of a write whose result depends on a failed flush.
    ///
    /// - Parameter wasCommitted: true if the flush contained the commit of the write.
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
