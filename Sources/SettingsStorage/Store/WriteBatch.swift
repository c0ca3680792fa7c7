package import SettingsAPI
package import SettingsEngine

/// Writes that are decided (checked against a state, with a commit or a refusal as the result), and their results. One
/// flush of the commit log makes all commits of a batch durable.
struct WriteBatch: Sendable {
    /// The generation of the staged state, on which the writes were decided. A new generation begins when commits that
    /// are not yet durable are discarded, for example after a failed flush. All old batches are then invalid.
    let generation: Int
    private(set) var writes: [PendingWrite] = []
    /// The results of ``writes``, at the same positions.
    private(set) var results: [WriteResult] = []
    /// The total size of the writes: for each, the memory size of its request or its commit, whichever is larger.
    private(set) var bytes = 0
    /// The position of the first result with a commit. This result and all later results depend on commits of the
    /// batch.
    private(set) var firstCommit: Int?
    /// The state after the last commit of the batch; nil if there is no commit.
    private(set) var state: State?
    /// The reason why a commit could not be applied to the staged state, which is a defect of the program.
    private(set) var mismatch: CommitMismatch?
    /// The earliest arrival of the decided writes; nil if no result depends on the state.
    private(set) var oldestArrival: UInt64?
    /// The nanoseconds that deciding the writes took.
    private(set) var decideTime: UInt64 = 0

    init(generation: Int) {
        self.generation = generation
    }

    var isEmpty: Bool { results.isEmpty }
    var hasCommits: Bool { firstCommit != nil }

    mutating func reserveCapacity(_ count: Int) {
        writes.reserveCapacity(count)
        results.reserveCapacity(count)
    }

    mutating func append(_ write: PendingWrite, _ result: WriteResult) {
        if result.commit != nil, firstCommit == nil { firstCommit = results.count }
        if result.wasDecided { oldestArrival = min(oldestArrival ?? .max, write.arrival) }
        // A small request may make a large commit, for example a merge into a large value.
        bytes += max(write.request.size, result.commit?.size ?? 0)
        writes.append(write)
        results.append(result)
    }

    /// Sets the state after the last write of the batch, and the nanoseconds that deciding the writes took.
    mutating func setState(after staged: StagedState, decideTime: UInt64) {
        self.decideTime = decideTime
        if hasCommits { (state, mismatch) = (staged.state, staged.mismatch) }
    }

    /// Appends a batch of the same generation that was decided after this batch.
    mutating func append(_ next: WriteBatch) {
        if firstCommit == nil { firstCommit = next.firstCommit.map { $0 + results.count } }
        writes += next.writes
        results += next.results
        bytes += next.bytes
        state = next.state ?? state
        mismatch = mismatch ?? next.mismatch
        oldestArrival = [oldestArrival, next.oldestArrival].compactMap(\.self).min()
        decideTime += next.decideTime
    }

    /// Adds the durations of the stages to the results of slow writes.
    mutating func recordTimes(flushStart: UInt64, now: UInt64) {
        for index in results.indices {
            let arrival = writes[index].arrival
            guard now &- arrival > WriteTimes.slowThreshold else { continue }
            let waiting = flushStart &- min(flushStart, arrival &+ decideTime)
            results[index].times = WriteTimes(waiting: waiting, deciding: decideTime, syncing: now &- flushStart)
        }
    }

    /// Calls the body with each result from a position on, so that the body can replace the result.
    mutating func replaceResults(from position: Int, _ replace: (PendingWrite, inout WriteResult) -> Void) {
        for index in position..<results.count { replace(writes[index], &results[index]) }
    }

    /// Sends the results, with one call for each receiver. Releases the writes first, because a receiver that gets a
    /// result ends the memory reservation of the request.
    mutating func sendResults() {
        guard let first = writes.first?.receiver else { return }
        guard writes.contains(where: { $0.receiver !== first }) else {
            writes = []
            return first.deliver(results)
        }
        var deliveries: [(receiver: any WriteReceiver, results: [WriteResult])] = []
        for (write, result) in zip(writes, results) {
            let receiver = write.receiver
            if let index = deliveries.firstIndex(where: { $0.receiver === receiver }) {
                deliveries[index].results.append(result)
            } else {
                deliveries.append((receiver, [result]))
            }
        }
        writes = []
        for delivery in deliveries { delivery.receiver.deliver(delivery.results) }
    }
}

/// The result of a write: an answer or a problem. The result does not contain the request, which may have a million
/// values: an event loop receives the result, and releasing these values would block the loop for 0.1 s.
package struct WriteResult: Sendable {
    package let id: WriteID
    package var answer: Result<WriteAnswer, Problem>
    /// The commit that the write made; nil if the write made no commit.
    package var commit: RetainedCommit?
    /// The cursor (epoch and revision) of the state after the write; after a failed flush, of the published state.
    package var cursor: Cursor
    /// False if the write was refused before it was decided, for a reason that does not depend on the state.
    package var wasDecided = true
    /// The durations of the stages; nil unless the write was slow.
    package var times: WriteTimes?

    /// Makes the result of a write that is refused for a reason that does not depend on the state, such as a timeout.
    package static func refusal(of id: WriteID, because problem: Problem, at cursor: Cursor) -> WriteResult {
        WriteResult(id: id, answer: .failure(problem), commit: nil, cursor: cursor, wasDecided: false)
    }

    package var isSuccess: Bool {
        if case .success = answer { true } else { false }
    }
}

/// The nanoseconds that a slow write took in each step.
package struct WriteTimes: Sendable {
    /// The time before the flush, without ``deciding``: in the queue, and in a batch that waits for the commit stage.
    package var waiting: UInt64 = 0
    /// The time that deciding all writes of the batch took.
    package var deciding: UInt64 = 0
    /// The time of the flush and the publication.
    package var syncing: UInt64 = 0

    /// A write that takes longer than this many nanoseconds is slow, and reports its times.
    static let slowThreshold: UInt64 = 5_000_000
}
