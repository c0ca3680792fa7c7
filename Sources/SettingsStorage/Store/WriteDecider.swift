internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A decider of writes, in turns, on a staged state that is ahead of what is durable.
///
/// Used by one thread at a time, the one that has taken the writer, which is what makes it safe to be sent to another:
/// `Writer` owns the only references.
final class WriteDecider: @unchecked Sendable {
    private let log: any CommitLog
    private let clock: @Sendable () -> Timestamp
    private let monotonic: MonotonicClock
    private let limits: LimitsInForce
    private var staged: StagedState
    /// The requests whose commits may be there or not, until a flush succeeds.
    private var doubted: Set<StagedState.Repeat> = []
    /// Repeats of these, which wait until the log knows.
    private var repeats: [WriteParcel] = []

    init(
        _ state: State, log: any CommitLog, limits: LimitsInForce, monotonic: MonotonicClock,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.log = log
        self.limits = limits
        self.monotonic = monotonic
        self.clock = clock
        staged = StagedState(
            state, opensSuites: limits.current.opensSuites, commitKeys: limits.current.commitKeys,
            quotas: limits.current.quotas)
    }

    /// Parcels, and how far they are decided.
    struct Line {
        fileprivate let parcels: [WriteParcel]
        fileprivate var parcel = 0
        fileprivate var write = 0

        init(_ parcels: [WriteParcel] = []) {
            self.parcels = parcels
        }

        var isEmpty: Bool { parcel == parcels.count }

        /// What is left of the parcel whose turn it is; nil if there is none.
        var rest: WriteParcel? {
            guard !isEmpty else { return nil }
            var rest = parcels[parcel]
            rest.writes = Array(rest.writes[write...])
            return rest
        }
    }

    /// The nanoseconds of a turn on the thread of a caller.
    static let shortTurn: UInt64 = 1_000_000

    /// Decides writes of a line until the time is over. At least one is decided.
    func begin(_ line: inout Line, within time: UInt64) -> WriteTurn {
        var turn = WriteTurn()
        decide(&line, within: time, into: &turn)
        return turn
    }

    /// Decides writes of a line until the time is over, in addition to those of a turn.
    func decide(_ line: inout Line, within time: UInt64, into turn: inout WriteTurn) {
        let limits = limits.current
        (staged.opensSuites, staged.commitKeys, staged.quotas) = (limits.opensSuites, limits.commitKeys, limits.quotas)
        var bounds = Bounds(limits, time, monotonic, turn)
        deciding: while !line.isEmpty {
            let parcel = line.parcels[line.parcel]
            var answer = WriteTurn.Answer(replies: parcel.replies, since: parcel.since)
            answer.outcomes.reserveCapacity(parcel.writes.count - line.write)
            var decided = (first: line.write, end: line.write, left: [Int]())
            defer {
                turn.answers.append(answer)
                if log.isShared {
                    turn.decided.append(parcel.part(decided.first..<decided.end, without: decided.left))
                }
            }
            while line.write < parcel.writes.count {
                let write = parcel.writes[line.write]
                guard bounds.admit(write.request.size) else { break deciding }
                line.write += 1
                decided.end = line.write
                let isLate = bounds.now > parcel.since + (log.isShared ? limits.sharedPatience : limits.patience)
                if !isLate, isDoubted(write.request), log.isUnsettled {
                    decided.left.append(line.write - 1)
                    repeats.append(WriteParcel(writes: [write], replies: parcel.replies, since: parcel.since))
                    continue
                }
                let outcome = isLate ? late(write) : decide(write)
                if outcome.isOverloaded, write.request.isAlone, !isLate {
                    var long = write.request
                    long.becomeLong()
                    decided.left.append(line.write - 1)
                    turn.long.append(
                        WriteParcel(
                            writes: [PendingWrite(id: write.id, request: long, client: write.client)],
                            replies: parcel.replies,
                            since: parcel.since))
                    continue
                }
                if !isLate { turn.oldest = min(turn.oldest ?? parcel.since, parcel.since) }
                if outcome.commit != nil, turn.firstStaged == nil {
                    turn.firstStaged = (turn.answers.count, answer.outcomes.count)
                }
                answer.outcomes.append(outcome)
            }
            (line.parcel, line.write) = (line.parcel + 1, 0)
        }
        if turn.count == 0 { turn.start = bounds.start }
        (turn.count, turn.bytes) = (bounds.count, bounds.bytes)
        turn.time += monotonic.now() - bounds.start
        if turn.firstStaged != nil { (turn.state, turn.mismatch) = (staged.state, staged.mismatch) }
    }

    /// What a turn may still take: a number of writes, bytes, and time.
    private struct Bounds {
        private let limits: WriteLimits
        private let time: UInt64
        private let clock: MonotonicClock
        let start: UInt64
        /// The time when the last write was looked at.
        private(set) var now: UInt64
        private(set) var count: Int
        private(set) var bytes: Int

        init(_ limits: WriteLimits, _ time: UInt64, _ clock: MonotonicClock, _ turn: WriteTurn) {
            self.limits = limits
            self.time = time
            self.clock = clock
            (count, bytes) = (turn.count, turn.bytes)
            start = clock.now()
            now = start
        }

        /// Returns false if the turn ends before a write of so many bytes. The first is always admitted.
        mutating func admit(_ size: Int) -> Bool {
            // Reading the clock takes a hundredth of the time of a write.
            if count > 0 { now = clock.now() }
            let fits = count < limits.batchCount && bytes + size <= limits.batchBytes && now < start + time
            guard count == 0 || fits else { return false }
            count += 1
            bytes += size
            return true
        }
    }

    /// True if the write repeats one whose outcome is unknown.
    private func isDoubted(_ request: WriteRequest) -> Bool {
        !doubted.isEmpty && StagedState.Repeat(request).map { doubted.contains($0) } ?? false
    }

    private func decide(_ write: PendingWrite) -> WriteOutcome {
        do throws(Problem) {
            let (answer, commit) = try staged.write(write.request, at: clock())
            return WriteOutcome(id: write.id, result: .success(answer), commit: commit, cursor: answer.cursor)
        } catch {
            return WriteOutcome(id: write.id, result: .failure(error), cursor: staged.cursor)
        }
    }

    private func late(_ write: PendingWrite) -> WriteOutcome {
        let problem = isDoubted(write.request) ? Problem.doubted : .tooManyWrites
        return WriteOutcome(id: write.id, result: .failure(problem), cursor: staged.cursor)
    }
}

/// The ends of a flush.
extension WriteDecider {
    /// Takes note that all up to a revision is durable.
    func confirm(upTo revision: Revision) {
        staged.confirm(upTo: revision)
    }

    /// Goes back to the state that was published last, as what was decided since cannot become durable.
    func recall(to state: State) {
        staged.recall(to: state)
    }

    /// Applies what other daemons committed, and returns the state after it; nil if there is nothing. Nothing may be staged.
    func follow() -> State? {
        log.follow(&staged) ? staged.state : nil
    }

    /// Takes note of a request whose commit may be there or not.
    func doubt(_ request: WriteRequest) {
        if let name = StagedState.Repeat(request) { doubted.insert(name) }
    }

    /// Takes note that the outcomes of all requests are known.
    func endDoubts() {
        if !doubted.isEmpty { doubted = [] }
    }

    /// Returns the repeats that wait, which wait no longer.
    func takeRepeats() -> Line {
        defer { repeats = [] }
        return Line(repeats)
    }

    /// Returns the answer to a repeated request that holds although nothing could be written; nil if there is none. Nothing
    /// is staged.
    func lasting(_ request: WriteRequest) -> Result<WriteAnswer, Problem>? {
        if isDoubted(request) { return .failure(.doubted) }
        do throws(Problem) {
            return try staged.replay(request).map { .success($0) }
        } catch {
            return .failure(error)
        }
    }
}

extension WriteOutcome {
    /// True if the write would take too long for its place in the line.
    fileprivate var isOverloaded: Bool {
        if case .failure(let problem) = result { problem.code == .overloaded } else { false }
    }
}

extension Problem {
    /// The problem of a repeated request while the outcome of the first is unknown.
    fileprivate static var doubted: Problem {
        Problem(
            .storageFailed, outcome: .unknown,
            "a request with this Idempotency-Key may have been carried out, or may still be; repeat it")
    }
}
