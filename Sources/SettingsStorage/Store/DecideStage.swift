internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The first stage of the write path: decides writes on a staged state that is ahead of the published state.
///
/// Runs on the decide thread, which is why it may be shared unchecked. ``WritePipeline`` owns the only reference.
final class DecideStage: @unchecked Sendable {
    /// What the decide stage is to do next.
    struct Slice: Sendable {
        let writes: [PendingWrite]
        let limits: WriteLimits
        /// True if costly writes are refused.
        let isStopping: Bool
        let generation: Int
        /// What the staged state must return to first; nil if the generation did not change.
        let restart: Restart?
        /// The last durable revision.
        let confirmed: Revision
        /// The request keys of commits whose outcome is unknown.
        let doubted: Set<StagedState.CallerRequestKey>
    }

    /// The state with which a new generation begins.
    struct Restart: Sendable {
        /// The published state when the old generation ended.
        let base: State
        /// What other daemons have added since, oldest first.
        var followed: [FollowedState] = []
    }

    /// What a slice led to.
    struct Decisions: Sendable {
        var batch: WriteBatch
        /// Writes that were not decided, because the time of the slice was over or the batch is large.
        var undecided: ArraySlice<PendingWrite> = []
        /// The end and the duration of the costly writes; nil if there was none.
        var costly: (end: UInt64, time: UInt64)?
        /// Repeats of writes whose outcome is unknown. They wait until the log knows the outcome.
        var postponed: [PendingWrite] = []
    }

    /// The clock is read once for so many cheap writes, which take some microseconds each.
    private static let writesPerClockReading = 16

    private var staged: StagedState
    private let log: any CommitLog
    private let monotonic: MonotonicClock
    private let clock: @Sendable () -> Timestamp

    init(
        _ state: State, log: any CommitLog, monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp
    ) {
        self.log = log
        self.monotonic = monotonic
        self.clock = clock
        staged = StagedState(state)
    }

    /// Decides the writes of a slice until its time is over or the batch is large, and at least one of them.
    func decide(_ slice: Slice) -> Decisions {
        let limits = slice.limits
        prepareState(for: slice, limits)
        var decisions = Decisions(batch: WriteBatch(generation: slice.generation))
        guard !slice.writes.isEmpty else { return decisions }
        decisions.batch.reserveCapacity(slice.writes.count)
        let start = monotonic.now()
        var now = start
        for (index, write) in slice.writes.enumerated() {
            if index % Self.writesPerClockReading == 0 || write.isCostly { now = monotonic.now() }
            if index > 0, now - start >= limits.sliceTime || decisions.batch.bytes >= limits.batchBytes {
                decisions.undecided = slice.writes[index...]
                break
            }
            decide(write, of: slice, at: start, into: &decisions)
            guard write.isCostly else { continue }
            let end = monotonic.now()
            decisions.costly = (end, (decisions.costly?.time ?? 0) + end - now)
            now = end
        }
        decisions.batch.finish(staged, decideTime: monotonic.now() - start)
        return decisions
    }

    private func decide(_ write: PendingWrite, of slice: Slice, at now: UInt64, into decisions: inout Decisions) {
        let isDoubted = isDoubted(write.request, in: slice.doubted)
        if now > write.arrival + slice.limits.decideTimeout {
            let problem = isDoubted ? Problem.doubtedRequest : .tooManyWrites
            decisions.batch.append(write, .refusal(of: write.id, because: problem, at: staged.cursor))
        } else if slice.isStopping, write.estimatedTime > PendingWrite.costlyTime {
            decisions.batch.append(write, .refusal(of: write.id, because: .shuttingDown, at: staged.cursor))
        } else if isDoubted, log.isUnsettled {
            decisions.postponed.append(write)
        } else {
            decisions.batch.append(write, decide(write))
        }
    }

    private func prepareState(for slice: Slice, _ limits: WriteLimits) {
        (staged.createsSuites, staged.commitKeys, staged.quotas) = (limits.createsSuites, limits.commitKeys, limits.quotas)
        if let restart = slice.restart {
            staged.rollBack(to: restart.base)
            for followed in restart.followed { staged.follow(followed) }
        } else {
            staged.confirm(upTo: slice.confirmed)
        }
    }

    private func decide(_ write: PendingWrite) -> WriteResult {
        do throws(Problem) {
            let (answer, commit) = try staged.write(write.request, at: clock())
            return WriteResult(id: write.id, answer: .success(answer), commit: commit, cursor: answer.cursor)
        } catch {
            return WriteResult(id: write.id, answer: .failure(error), commit: nil, cursor: staged.cursor)
        }
    }

    /// True if the write repeats a write whose outcome is unknown.
    private func isDoubted(_ request: WriteRequest, in doubted: Set<StagedState.CallerRequestKey>) -> Bool {
        !doubted.isEmpty && StagedState.CallerRequestKey(request).map { doubted.contains($0) } ?? false
    }
}

extension Problem {
    /// The problem of a repeated request while the outcome of the first request is unknown.
    static var doubtedRequest: Problem {
        Problem(
            .storageFailed, outcome: .unknown,
            "a request with this Idempotency-Key may have been carried out, or may still be; repeat it")
    }
}
