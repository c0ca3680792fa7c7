internal import SettingsAPI
internal import SettingsEngine

/// What the two stages of the write path share. ``WritePipeline`` holds it behind a lock.
struct PipelineContents: Sendable {
    /// The gathering of writes after a flush.
    struct Gathering: Sendable {
        /// The gathering ends when so many writes are queued.
        let count: Int
        /// The monotonic time at which the gathering ends.
        let end: UInt64
    }

    var limits: WriteLimits
    var queue = WriteQueue()
    var isStopping = false
    /// The batches that wait for the commit stage. The decide stage appends to the last batch.
    private var batches: [WriteBatch] = []
    /// The number of failed or overtaken flushes.
    private(set) var generation = 0
    /// What the decide stage must return to before it decides a write of the present generation.
    private var restart: DecideStage.Restart?
    /// The last durable revision.
    var confirmed: Revision
    /// The request keys of commits whose outcome is unknown.
    var doubted: Set<StagedState.CallerRequestKey> = []
    /// Repeats of writes whose outcome is unknown. They return to the queue after the next maintenance of the log.
    private var postponed: [PendingWrite] = []
    var gathering: Gathering?
    var isMaintenanceDue = false
    var idleHandlers: [@Sendable (State) -> Void] = []
    /// True while the decide stage runs, or is about to.
    var isDeciding = false
    /// True while the commit stage runs, or is about to.
    var isCommitting = false
    /// True while the commit stage has a batch.
    var isFlushing = false
    private let maximumBatchesInFlight: Int

    init(limits: WriteLimits, maximumBatchesInFlight: Int, confirmed: Revision) {
        self.limits = limits
        self.maximumBatchesInFlight = maximumBatchesInFlight
        self.confirmed = confirmed
    }
}

/// The decide stage.
extension PipelineContents {
    /// Returns true if the decide stage must be started.
    mutating func startDeciding(_ now: UInt64) -> Bool {
        guard !isDeciding, restart != nil || !queue.isEmpty && hasRoom && !isGathering(now) else { return false }
        isDeciding = true
        return true
    }

    /// True if a slice may be decided: the waiting batch may grow, or another batch may be begun.
    private var hasRoom: Bool {
        guard let last = batches.last else { return !isFlushing || maximumBatchesInFlight > 1 }
        return maximumBatchesInFlight > 1 && last.results.count < limits.batchCount && last.bytes < limits.batchBytes
    }

    private func isGathering(_ now: UInt64) -> Bool {
        gathering.map { queue.count < $0.count && now < $0.end } ?? false
    }

    /// Takes what the decide stage does next, with the present generation.
    mutating func takeSlice(_ now: UInt64) -> DecideStage.Slice {
        var writes: [PendingWrite] = []
        if hasRoom {
            gathering = nil
            let (count, bytes) = batches.last.map { ($0.results.count, $0.bytes) } ?? (0, 0)
            writes = queue.take(
                atMost: limits.batchCount - count, bytes: limits.batchBytes - bytes, now: now, limits)
        }
        defer { restart = nil }
        return DecideStage.Slice(
            writes: writes, limits: limits, isStopping: isStopping, generation: generation, restart: restart,
            confirmed: confirmed, doubted: doubted)
    }

    /// Hands a batch over to the commit stage.
    mutating func add(_ decisions: DecideStage.Decisions) {
        queue.putBack(decisions.undecided)
        if let costly = decisions.costly {
            queue.noteCostlyWrites(endedAt: costly.end, after: costly.time, limits)
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

/// The commit stage.
extension PipelineContents {
    /// Returns true if the commit stage must be started.
    mutating func startCommitting() -> Bool {
        guard !isCommitting, !batches.isEmpty || isMaintenanceDue || isIdle && !idleHandlers.isEmpty else {
            return false
        }
        isCommitting = true
        return true
    }

    /// What the commit stage does next.
    struct CommitWork: Sendable {
        var batches: [WriteBatch] = []
        /// The nanoseconds after the arrival of a write at which a log that waits for other machines gives up.
        var timeout: UInt64 = 0
        var isMaintenanceDue = false
    }

    /// Takes what the commit stage does next.
    mutating func takeCommitWork() -> CommitWork {
        defer { (batches, isMaintenanceDue) = ([], false) }
        isFlushing = !batches.isEmpty
        return CommitWork(batches: batches, timeout: limits.queueTimeout, isMaintenanceDue: isMaintenanceDue)
    }

    /// Begins a new generation, in which writes are decided on the published state.
    ///
    /// - Parameters:
    ///   - base: the published state when the old generation ended.
    ///   - followed: what other daemons have added to it.
    mutating func beginGeneration(
        after base: State, followed: FollowedState? = nil, doubted: Set<StagedState.CallerRequestKey>
    ) {
        generation += 1
        self.doubted = doubted
        var next = restart ?? DecideStage.Restart(base: base)
        if let followed { next.followed.append(followed) }
        restart = next
    }

    /// Returns the postponed writes to the queue.
    mutating func returnPostponed() {
        queue.returnToFront(postponed)
        postponed = []
    }

    private var isIdle: Bool { queue.isEmpty && batches.isEmpty && !isDeciding && !isFlushing && !isMaintenanceDue }

    /// Returns the idle handlers if nothing is left to do.
    mutating func takeIdleHandlers() -> [@Sendable (State) -> Void] {
        guard isIdle else { return [] }
        defer { idleHandlers = [] }
        return idleHandlers
    }
}
