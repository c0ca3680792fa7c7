internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The first stage of the write path. To decide a write is to check it against the staged state, and to compute its
/// commit or its refusal. The staged state has all decided commits, including commits that are not yet durable.
///
/// Runs on the decide thread. `@unchecked Sendable` is safe, because ``WritePipeline`` owns the only reference.
final class DecideStage: @unchecked Sendable {
    /// The queued writes that the decide stage takes at once, and the data with which it decides them.
    struct Slice: Sendable {
        let writes: [PendingWrite]
        let limits: WriteLimits
        /// True if the daemon is stopping. Writes with a longer estimated time than `costlyThreshold` are then refused.
        let isStopping: Bool
        /// A number that grows whenever staged commits are discarded, for example after a failed flush.
        let generation: Int
        /// The state to which the staged state must return first; nil if the last slice had the same generation.
        let restart: Restart?
        /// The last durable revision.
        let durableRevision: Revision
        /// The request keys (`Idempotency-Key`) of commits that may be stored or not, after a failed flush.
        let unresolvedKeys: Set<StagedState.CallerRequestKey>
    }

    /// The state with which a new generation begins: ``base``, or the last of ``followedStates`` if there is one.
    struct Restart: Sendable {
        /// The published state when the old generation ended.
        let base: State
        /// The states with commits that other daemons added later, oldest first.
        var followedStates: [FollowedState] = []
    }

    struct Decisions: Sendable {
        var batch: WriteBatch
        /// The writes that were not decided, because the time of the slice ended or the batch reached its size limit.
        var undecided: ArraySlice<PendingWrite> = []
        /// When the last costly write was decided, and the nanoseconds that deciding the costly writes took; nil if the
        /// slice has none.
        var costlyWrites: (end: UInt64, duration: UInt64)?
        /// Repeats of requests whose commits may be stored or not. The repeats wait until the log has found out whether
        /// the commits are stored.
        var postponed: [PendingWrite] = []
    }

    /// The stage reads the clock once for this number of cheap writes, because deciding a cheap write takes only some
    /// microseconds.
    private static let writesPerClockReading = 16

    private var staged: StagedState
    private let log: any CommitLog
    private let monotonic: MonotonicClock
    private let clock: @Sendable () -> Timestamp

    init(_ state: State, log: any CommitLog, monotonic: MonotonicClock, clock: @escaping @Sendable () -> Timestamp) {
        self.log = log
        self.monotonic = monotonic
        self.clock = clock
        staged = StagedState(state)
    }

    /// Decides the writes of a slice until its time ends or the batch reaches its size limit, but at least one write.
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
            decisions.costlyWrites = (end, (decisions.costlyWrites?.duration ?? 0) + end - now)
            now = end
        }
        decisions.batch.setState(after: staged, decideTime: monotonic.now() - start)
        return decisions
    }

    private func decide(_ write: PendingWrite, of slice: Slice, at start: UInt64, into decisions: inout Decisions) {
        let repeatsUnresolvedWrite = repeatsUnresolvedWrite(write.request, slice.unresolvedKeys)
        if start > write.arrival + slice.limits.decideTimeout {
            let problem = repeatsUnresolvedWrite ? Problem.firstRequestUnresolved : .tooManyWrites
            decisions.batch.append(write, .refusal(of: write.id, because: problem, at: staged.cursor))
        } else if slice.isStopping, write.estimatedTime > PendingWrite.costlyThreshold {
            // If the validation time of a write is unknown, its estimate equals the threshold, and it is not refused.
            decisions.batch.append(write, .refusal(of: write.id, because: .shuttingDown, at: staged.cursor))
        } else if repeatsUnresolvedWrite, log.hasUnresolvedBatch {
            decisions.postponed.append(write)
        } else {
            decisions.batch.append(write, decide(write))
        }
    }

    private func prepareState(for slice: Slice, _ limits: WriteLimits) {
        // If `createsSuites` is false, only setting a schema creates a suite. `commitKeys` is the maximum number of
        // keys that a write may change or check.
        (staged.createsSuites, staged.commitKeys) = (limits.createsSuites, limits.commitKeys)
        staged.quotas = limits.quotas
        if let restart = slice.restart {
            staged.rollBack(to: restart.base)
            for followedState in restart.followedStates { staged.follow(followedState) }
        } else {
            staged.confirm(upTo: slice.durableRevision)
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

    /// True if the request repeats a request whose commit may be stored or not.
    private func repeatsUnresolvedWrite(
        _ request: WriteRequest, _ unresolvedKeys: Set<StagedState.CallerRequestKey>
    ) -> Bool {
        !unresolvedKeys.isEmpty && StagedState.CallerRequestKey(request).map { unresolvedKeys.contains($0) } ?? false
    }
}

extension Problem {
    /// The problem of a repeated request while it is unknown whether the first request was applied.
    static var firstRequestUnresolved: Problem {
        Problem(
            .storageFailed, outcome: .unknown,
            "the first request with this Idempotency-Key may have been applied or not; repeat the request")
    }
}
