internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The second stage of the write path: makes the commits of a batch (the results of writes that share one flush)
/// durable in the commit log, then publishes the state (makes it visible to readers). The first stage has *decided* the
/// writes: checked each write against a state, and computed its commit or its refusal.
///
/// Runs on the commit thread. `@unchecked Sendable` is safe, because ``WritePipeline`` owns the only reference. No
/// other code publishes states, or makes the log flush, perform maintenance, or follow other daemons.
final class CommitStage: @unchecked Sendable {
    enum FlushOutcome {
        case durable
        /// It is certain or possible that the commits are not stored. The results of the batch contain the error.
        case failed
        /// Other daemons committed first, so the writes must be decided again.
        case overtaken
    }

    private struct Failure {
        let error: CommitLogError
        /// The generation of the batch (see ``WriteBatch/generation``). Later batches of the same generation were
        /// decided on a state with the lost commits.
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
    /// The state that was published before ``state``. Released after the results are sent, because releasing a state
    /// takes time.
    private var replacedState: State?
    /// The last failed flush; nil if no flush has failed.
    private var lastFailure: Failure?
    /// The request keys (`Idempotency-Key`) of commits that may be stored or not, after a failed flush.
    private(set) var unresolvedKeys: Set<StagedState.CallerRequestKey> = []
    /// The listeners to notify of the published state after the results are sent.
    private var pendingListeners: [any PublicationListener] = []

    init(_ state: State, published: Published, log: any CommitLog, metrics: WriteMetrics, monotonic: MonotonicClock) {
        self.state = state
        self.published = published
        self.log = log
        self.metrics = metrics
        self.monotonic = monotonic
    }

    /// Makes the commits of a batch durable and publishes the state. If the flush fails, the results that depend on the
    /// flush become errors. A flush to a log in etcd stops waiting for etcd `timeout` nanoseconds after the arrival of
    /// the oldest decided write of the batch.
    func commit(_ batch: inout WriteBatch, within timeout: UInt64) -> FlushOutcome {
        // `oldestArrival` is nil if no result depends on the state. Such results are correct without a flush.
        let requiresFlush = log.requiresFlush && batch.oldestArrival != nil
        guard batch.hasCommits || requiresFlush else { return .durable }
        let start = monotonic.now()
        do throws(CommitLogError) {
            try flush(batch, by: (batch.oldestArrival ?? start) + timeout)
            // After a successful flush, no earlier commit has an unknown outcome.
            unresolvedKeys = []
            if let state = batch.state { publish(state) }
            recordTimes(of: &batch, flushStart: start)
            return .durable
        } catch {
            // Other daemons committed first. The metrics count only the flush after the last decision of the writes.
            if error.outcome == .overtaken { return .overtaken }
            lastFailure = Failure(
                error: error, generation: batch.generation, lastRevision: batch.state?.revision ?? state.revision)
            // Unless the log requires a flush, the results before the first commit depend on durable commits only.
            refuse(&batch, from: requiresFlush ? 0 : batch.firstCommit ?? 0)
            recordTimes(of: &batch, flushStart: start)
            return .failed
        }
    }

    /// Called for a batch whose generation has ended. If a failed flush ended the generation, refuses the writes, and
    /// returns true. If other daemons committed first, returns false, so that the writes are decided again.
    func refuseAfterFailedFlush(_ batch: inout WriteBatch) -> Bool {
        guard lastFailure?.generation == batch.generation else { return false }
        refuse(&batch, from: 0)
        return true
    }

    /// Applies new commits of other daemons to the published state, and publishes the resulting state. Returns the
    /// resulting state with a list of the new commits; nil if there are no new commits.
    func publishCommitsOfOtherDaemons() -> FollowedState? {
        guard let followedState = log.follow(from: state) else { return nil }
        publish(followedState.state)
        return followedState
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
        log.recordPublication(of: next)
    }

    private func recordTimes(of batch: inout WriteBatch, flushStart start: UInt64) {
        let now = monotonic.now()
        metrics.add(batch.results.count, times: batch.writes.lazy.map { now &- $0.arrival })
        batch.recordTimes(flushStart: start, now: now)
    }
}

/// Methods that replace results after a failed flush.
extension CommitStage {
    /// Replaces the results from a position on with errors, because they depend on commits that did not become durable.
    ///
    /// Keeps refusals that do not depend on the state, such as a timeout. A write with a request key
    /// (`Idempotency-Key`) may repeat an earlier request: keeps its answer if the commit of that request is durable.
    private func refuse(_ batch: inout WriteBatch, from position: Int) {
        guard let lastFailure else { return }
        batch.replaceResults(from: position) { write, result in
            defer {
                result.commit = nil
                result.cursor = state.cursor
            }
            guard result.wasDecided else { return }
            let dependsOnLostCommit = self.dependsOnLostCommit(result, lastFailure)
            if let key = StagedState.CallerRequestKey(write.request) {
                if dependsOnLostCommit {
                    if lastFailure.error.outcome == .unknown { unresolvedKeys.insert(key) }
                } else if keepRepeatedAnswer(&result) {
                    return
                } else if unresolvedKeys.contains(key) {
                    return result.answer = .failure(.firstRequestUnresolved)
                }
            }
            result.answer = .failure(Problem(lastFailure.error, dependsOnLostCommit: dependsOnLostCommit))
        }
    }

    /// True if the failed flush contained the commit of the write, or the commit of the request that the write repeats.
    private func dependsOnLostCommit(_ result: WriteResult, _ failure: Failure) -> Bool {
        guard case .success(let answer) = result.answer, let commit = answer.commit else { return false }
        return commit > state.revision && commit <= failure.lastRevision
    }

    /// If the result is the answer to a repeated request whose commit is durable, updates only the cursor of the
    /// answer. Otherwise returns false.
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
    /// Makes the problem of a write whose result depends on a failed flush. `dependsOnLostCommit` is true if the flush
    /// contained the commit of the write, or of the request that the write repeats. Otherwise the write is not done.
    init(_ error: CommitLogError, dependsOnLostCommit: Bool) {
        let isUnknown = dependsOnLostCommit && error.outcome == .unknown
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
