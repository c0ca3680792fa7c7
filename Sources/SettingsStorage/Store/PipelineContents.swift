internal import SettingsAPI
internal import SettingsEngine

/// The data that the two stages of the write path share. The decide stage takes queued writes, checks each write, and
/// computes its commit or its refusal. The commit stage flushes batches of commits to the commit log, and publishes the
/// new state to readers. ``WritePipeline`` protects the data with a lock.
struct PipelineContents: Sendable {
    /// A pause of the decide stage after a flush, so that more writes arrive and share the next flush.
    struct Gathering: Sendable {
        /// The number of queued writes at which the pause ends.
        let count: Int
        /// The monotonic time, in nanoseconds, at which the pause ends in any case.
        let end: UInt64
    }

    var limits: WriteLimits
    var queue = WriteQueue()
    var isStopping = false
    /// The batches (results of writes that share one flush) that wait for the commit stage. The decide stage appends to
    /// the last batch.
    private var batches: [WriteBatch] = []
    /// A number that grows whenever staged commits are discarded: a flush failed, or other daemons committed first.
    private(set) var generation = 0
    /// The state from which the decide stage must begin this generation; nil if the stage has already begun it.
    private var restart: DecideStage.Restart?
    var durableRevision: Revision
    /// The request keys (`Idempotency-Key`) of commits that may be stored or not, after a failed flush.
    var unresolvedKeys: Set<StagedState.CallerRequestKey> = []
    /// Writes with a key of ``unresolvedKeys``. The writes return to the queue after the next maintenance of the log.
    private var postponed: [PendingWrite] = []
    var gathering: Gathering?
    /// True if the commit stage must perform the periodic maintenance of the log: syncs, snapshots, new attempts after
    /// a failed write. The maintenance also tries to find out whether the commits of ``unresolvedKeys`` are stored.
    var isMaintenanceDue = false
    /// Called once, with the published state, when no write is left.
    var idleHandlers: [@Sendable (State) -> Void] = []
    /// True if the decide stage runs or is scheduled.
    var isDeciding = false
    /// True if the commit stage runs or is scheduled, even if it only maintains the log.
    private var isCommitting = false
    /// True from the moment when the commit stage takes batches until the stage stops running. If the log permits only
    /// one batch in flight, the decide stage takes no writes during this time.
    private var isFlushing = false
    private let maximumBatchesInFlight: Int

    init(limits: WriteLimits, maximumBatchesInFlight: Int, durableRevision: Revision) {
        self.limits = limits
        self.maximumBatchesInFlight = maximumBatchesInFlight
        self.durableRevision = durableRevision
    }
}

/// Methods for the decide stage.
extension PipelineContents {
    /// Returns true, and marks the decide stage as running, if the calling code must start the stage.
    mutating func startDeciding(_ now: UInt64) -> Bool {
        guard !isDeciding, restart != nil || !queue.isEmpty && canTakeWrites && !isGathering(now) else { return false }
        isDeciding = true
        return true
    }

    /// True if the decide stage may take writes: no batch waits, or the last waiting batch is below its limits. If the
    /// log permits only one batch in flight, no batch may wait or be flushed.
    private var canTakeWrites: Bool {
        guard let last = batches.last else { return !isFlushing || maximumBatchesInFlight > 1 }
        return maximumBatchesInFlight > 1 && last.results.count < limits.batchCount && last.bytes < limits.batchBytes
    }

    /// True during the pause in which the decide stage waits for more writes.
    private func isGathering(_ now: UInt64) -> Bool {
        gathering.map { queue.count < $0.count && now < $0.end } ?? false
    }

    /// Removes the next writes from the queue, and returns them with the data that the decide stage needs.
    mutating func takeSlice(_ now: UInt64) -> DecideStage.Slice {
        var writes: [PendingWrite] = []
        if canTakeWrites {
            gathering = nil
            let (count, bytes) = batches.last.map { ($0.results.count, $0.bytes) } ?? (0, 0)
            writes = queue.dequeue(
                atMost: limits.batchCount - count, bytes: limits.batchBytes - bytes, now: now, limits)
        }
        defer { restart = nil }
        return DecideStage.Slice(
            writes: writes, limits: limits, isStopping: isStopping, generation: generation, restart: restart,
            durableRevision: durableRevision, unresolvedKeys: unresolvedKeys)
    }

    /// Adds the results of a slice to the batches. Puts undecided writes back to the front of their clients' queues.
    mutating func add(_ decisions: DecideStage.Decisions) {
        queue.requeue(decisions.undecided)
        if let costly = decisions.costlyWrites {
            // After a costly write, the queue serves cheap writes for some time before it serves the next costly write.
            queue.recordCostlyWrites(endedAt: costly.end, duration: costly.duration, limits)
        }
        postponed += decisions.postponed
        guard !decisions.batch.isEmpty else { return }
        if let last = batches.indices.last, batches[last].generation == decisions.batch.generation {
            batches[last].append(decisions.batch)
        } else {
            batches.append(decisions.batch)
        }
    }
}

/// Methods for the commit stage.
extension PipelineContents {
    /// Returns true, and marks the commit stage as running, if the calling code must start the stage.
    mutating func startCommitting() -> Bool {
        guard !isCommitting, !batches.isEmpty || isMaintenanceDue || isIdle && !idleHandlers.isEmpty else {
            return false
        }
        isCommitting = true
        return true
    }

    struct CommitWork: Sendable {
        var batches: [WriteBatch] = []
        /// The flush of a batch stops waiting for etcd this many nanoseconds after the arrival of the oldest write.
        var timeout: UInt64 = 0
        var isMaintenanceDue = false
    }

    /// Removes the waiting batches, and returns the work for the commit stage.
    mutating func takeCommitWork() -> CommitWork {
        defer { (batches, isMaintenanceDue) = ([], false) }
        isFlushing = !batches.isEmpty
        return CommitWork(batches: batches, timeout: limits.queueTimeout, isMaintenanceDue: isMaintenanceDue)
    }

    /// Begins a new generation, in which the decide stage starts again from the published state.
    ///
    /// - Parameters:
    ///   - base: the published state when the old generation ended.
    ///   - followedState: the state after further commits of other daemons, with a list of these commits; nil if there
    ///     are none.
    mutating func beginGeneration(
        after base: State, followedState: FollowedState? = nil, unresolvedKeys: Set<StagedState.CallerRequestKey>
    ) {
        generation += 1
        self.unresolvedKeys = unresolvedKeys
        // If the decide stage has not taken the previous restart, the stage still needs the base and the followed
        // states of that restart, which together lead to `base`.
        var next = restart ?? DecideStage.Restart(base: base)
        if let followedState { next.followedStates.append(followedState) }
        restart = next
    }

    /// Puts the postponed writes back to the front of the whole queue.
    mutating func requeuePostponed() {
        queue.returnToFront(postponed)
        postponed = []
    }

    private var isIdle: Bool { queue.isEmpty && batches.isEmpty && !isDeciding && !isFlushing && !isMaintenanceDue }

    /// Marks the commit stage as not running. Removes and returns the idle handlers if no work is left.
    mutating func finishCommitting() -> [@Sendable (State) -> Void] {
        (isCommitting, isFlushing) = (false, false)
        guard isIdle else { return [] }
        defer { idleHandlers = [] }
        return idleHandlers
    }
}
