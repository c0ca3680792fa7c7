internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// Queues writes, decides them, makes their commits durable, and publishes the state after the commits. To decide a
/// write is to check it against the staged state, and to compute its commit or its refusal. The staged state has all
/// decided commits; readers see the published state, whose commits are durable.
///
/// Two stages form a pipeline. Each stage has a serial Dispatch queue, so it runs on one thread at a time:
///
/// - The **decide** stage takes a slice of the queued writes, decides each write, and puts the results into a batch.
///   While the commit stage waits for the disk, the decide stage works on the next batch.
/// - The **commit** stage takes the waiting batches one after another. For each batch, it makes the commits durable
///   with a single flush (group commit), publishes the new state, sends the results to the event loops, and then
///   notifies the listeners of the new state (`finishPublication`).
///
/// Under load, one flush therefore serves all writes that arrived during the previous flush.
///
/// Every result waits for the flush of its batch. A refusal waits, too, because it may depend on a staged commit.
///
/// If a flush fails, the commit stage increments the *generation* number and refuses every batch of the old generation.
/// The decide stage returns to the published state before it decides a write in the new generation. The commit stage
/// changes the generation before it sends the refusals, and the decide stage reads the generation together with the
/// writes of a slice. A write that follows a refusal is therefore always decided on the published state.
///
/// If other daemons added commits to a shared log first, the flush is *overtaken*. The generation also changes, but the
/// commit stage publishes these commits, and returns the writes to the queue.
///
/// If the outcome of a flush is unknown, its commits may be stored or not, and the request keys (`Idempotency-Key`) of
/// its writes are *unresolved*. While the log does not know the outcome, the decide stage postpones each write that has
/// an unresolved key. Postponed writes return to the queue after the next maintenance of the log.
///
/// Thread-safe.
final class WritePipeline: Sendable {
    private let contents: Mutex<PipelineContents>
    private let decideStage: DecideStage
    private let commitStage: CommitStage
    private let log: any CommitLog
    private let monotonic: MonotonicClock
    private let decideQueue = DispatchQueue(label: "settingsd.decide", qos: .userInitiated)
    private let commitQueue = DispatchQueue(label: "settingsd.commit", qos: .userInitiated)
    /// The nanoseconds that deciding the queued writes is estimated to take.
    private let queuedTime = Atomic<UInt64>(0)
    /// If ``queuedTime`` exceeds this value, the time of three slices, event loops should queue only one write per
    /// connection.
    private let busyThreshold: UInt64

    init(
        _ state: State, published: Published, log: any CommitLog, limits: WriteLimits, metrics: WriteMetrics,
        monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.log = log
        self.monotonic = monotonic
        busyThreshold = 3 * limits.sliceTime
        contents = Mutex(
            PipelineContents(
                limits: limits, maximumBatchesInFlight: log.maximumBatchesInFlight,
                durableRevision: state.revision))
        decideStage = DecideStage(state, log: log, monotonic: monotonic, clock: clock)
        commitStage = CommitStage(state, published: published, log: log, metrics: metrics, monotonic: monotonic)
    }

    var limits: WriteLimits {
        get { contents.withLock { $0.limits } }
        set { update { $0.limits = newValue } }
    }

    var isBusy: Bool { queuedTime.load(ordering: .relaxed) > busyThreshold }

    /// Queues writes. Returns the writes for which the queue has no room.
    func enqueue(_ writes: [PendingWrite]) -> [PendingWrite] {
        var refused: [PendingWrite] = []
        update { contents in
            let limit = contents.limits.waitingBytes
            for write in writes where !contents.queue.append(write, within: limit) { refused.append(write) }
        }
        return refused
    }

    /// From now on, refuses writes whose estimated time exceeds ``PendingWrite/costlyThreshold``, including queued
    /// writes, so that the daemon can stop soon.
    func refuseCostlyWrites() {
        update { $0.isStopping = true }
    }

    /// Calls the body once, on the commit thread, with the published state, when every queued write has its result.
    func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        update { $0.idleHandlers.append(body) }
    }

    /// Makes the commit stage perform the periodic maintenance of the log, and publish commits of other daemons.
    func performMaintenance() {
        update { $0.isMaintenanceDue = true }
    }

    func runAfterDecideSlice(_ body: @escaping @Sendable () -> Void) {
        decideQueue.async(execute: body)
    }

    func runAfterCommitBatches(_ body: @escaping @Sendable () -> Void) {
        commitQueue.async(execute: body)
    }

    /// Changes the contents under the lock, then starts each stage that has work and does not run.
    private func update(_ change: (inout PipelineContents) -> Void) {
        let now = monotonic.now()
        let (startsDecide, startsCommit) = contents.withLock { contents in
            change(&contents)
            queuedTime.store(contents.queue.estimatedTime, ordering: .relaxed)
            return (contents.startDeciding(now), contents.startCommitting())
        }
        if startsDecide { decideQueue.async { self.decideSlice() } }
        if startsCommit { commitQueue.async { self.commitBatches() } }
    }
}

/// Runs on the decide thread.
extension WritePipeline {
    private func decideSlice() {
        let start = monotonic.now()
        let slice = contents.withLock { $0.takeSlice(start) }
        let decisions = decideStage.decide(slice)
        update { contents in
            contents.isDeciding = false
            contents.add(decisions)
        }
    }
}

/// Runs on the commit thread.
extension WritePipeline {
    private func commitBatches() {
        var work = takeCommitWork()
        while !work.batches.isEmpty { commit(work.batches.removeFirst(), within: work.timeout) }
        if work.isMaintenanceDue { maintainLog() }
        let idleHandlers = finishCommitting()
        for handler in idleHandlers { handler(commitStage.state) }
    }

    /// Takes the waiting batches. If the decide stage has paused because the last batch is full, `update` starts the
    /// decide stage again.
    private func takeCommitWork() -> PipelineContents.CommitWork {
        var work = PipelineContents.CommitWork()
        update { work = $0.takeCommitWork() }
        return work
    }

    private func commit(_ batch: consuming WriteBatch, within timeout: UInt64) {
        guard contents.withLock({ $0.generation == batch.generation }) else {
            if commitStage.refuseAfterFailedFlush(&batch) { return batch.sendResults() }
            // The flush of the old generation did not fail, but was overtaken by commits of other daemons.
            return contents.withLock { $0.queue.returnToFront(batch.writes) }
        }
        switch commitStage.commit(&batch, within: timeout) {
        case .durable:
            contents.withLock { contents in
                contents.durableRevision = commitStage.state.revision
                contents.unresolvedKeys = commitStage.unresolvedKeys
            }
            if log.gatheringTime > 0 { gather(batch.results.count, timeout: log.gatheringTime) }
            batch.sendResults()
            commitStage.finishPublication()
        case .failed:
            contents.withLock { contents in
                contents.beginGeneration(after: commitStage.state, unresolvedKeys: commitStage.unresolvedKeys)
            }
            batch.sendResults()
        case .overtaken:
            // The decide stage rolls the staged state back to `base`, then adds the commits of the other daemons.
            let base = commitStage.state
            let followedState = commitStage.publishCommitsOfOtherDaemons()
            contents.withLock { contents in
                contents.beginGeneration(
                    after: base, followedState: followedState, unresolvedKeys: commitStage.unresolvedKeys)
                contents.queue.returnToFront(batch.writes)
            }
            commitStage.finishPublication()
        }
    }

    private func maintainLog() {
        commitStage.maintainLog()
        let base = commitStage.state
        let followedState = commitStage.publishCommitsOfOtherDaemons()
        contents.withLock { contents in
            if let followedState {
                contents.beginGeneration(
                    after: base, followedState: followedState, unresolvedKeys: commitStage.unresolvedKeys)
            }
            contents.requeuePostponed()
        }
        commitStage.finishPublication()
    }

    /// Makes the decide stage wait until `count` further writes are queued, or until the timeout in nanoseconds.
    ///
    /// The clients that get the results of a batch send their next writes at about the same time. The pause lets one
    /// flush serve all of these writes. Only a log in etcd, whose flush waits for the network, requests the pause.
    private func gather(_ count: Int, timeout: UInt64) {
        let end = monotonic.now() + timeout
        contents.withLock { $0.gathering = PipelineContents.Gathering(count: count + $0.queue.count, end: end) }
        decideQueue.asyncAfter(deadline: .now() + .nanoseconds(Int(timeout))) {
            self.update { contents in
                if contents.gathering?.end == end { contents.gathering = nil }
            }
        }
    }

    private func finishCommitting() -> [@Sendable (State) -> Void] {
        var handlers: [@Sendable (State) -> Void] = []
        update { handlers = $0.finishCommitting() }
        return handlers
    }
}
