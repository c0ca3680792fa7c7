package import SettingsAPI
package import SettingsEngine

/// The results of writes that one flush makes durable together.
struct WriteBatch: Sendable {
    /// The generation of the staged state on which the writes were decided.
    ///
    /// If a flush fails, every batch of its generation is invalid, because its writes were decided on commits that do not exist.
    let generation: Int
    private(set) var writes: [PendingWrite] = []
    /// The result of each write.
    private(set) var results: [WriteResult] = []
    /// The bytes of the requests, or of their commits if those are larger.
    private(set) var bytes = 0
    /// The position of the first result with a commit. The results from there on depend on commits that are not durable.
    private(set) var firstCommit: Int?
    /// The state after the last commit; nil if there is no commit.
    private(set) var state: State?
    /// The reason why a commit cannot be applied to the state that it was decided on: a defect.
    private(set) var mismatch: CommitMismatch?
    /// The arrival of the first write that depends on the state; nil if there is none.
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

    /// Ends the slice of the decide stage that made the batch.
    mutating func finish(_ staged: StagedState, decideTime: UInt64) {
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

    /// Notes where the time of slow writes went.
    mutating func noteTimes(flushStart: UInt64, now: UInt64) {
        for index in results.indices {
            let arrival = writes[index].arrival
            guard now &- arrival > WriteTimes.slow else { continue }
            let waiting = flushStart &- min(flushStart, arrival &+ decideTime)
            results[index].times = WriteTimes(waiting: waiting, deciding: decideTime, syncing: now &- flushStart)
        }
    }

    /// Replaces the results from a position on.
    mutating func replaceResults(from position: Int, _ replace: (PendingWrite, inout WriteResult) -> Void) {
        for index in position..<results.count { replace(writes[index], &results[index]) }
    }

    /// Sends the results, with one call for each receiver, and releases the writes.
    ///
    /// A result ends the memory reservation of its request, so the request is released first.
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

/// The result of a write: an answer or a problem.
///
/// It does not refer to the write: an event loop would need a tenth of a second to release a request with a million values.
package struct WriteResult: Sendable {
    package let id: WriteID
    package var answer: Result<WriteAnswer, Problem>
    /// The commit that the write made; nil if it made none.
    package var commit: KeptCommit?
    /// The place in history at which a refusal was decided.
    package var cursor: Cursor
    /// False if the write was refused without looking at the state.
    package var wasDecided = true
    /// Where the time went, if it was much.
    package var times: WriteTimes?

    /// The result of a write that was refused without looking at the state.
    package static func refusal(of id: WriteID, because problem: Problem, at cursor: Cursor) -> WriteResult {
        WriteResult(id: id, answer: .failure(problem), commit: nil, cursor: cursor, wasDecided: false)
    }

    /// True if the write succeeded.
    package var isSuccess: Bool {
        if case .success = answer { true } else { false }
    }
}

/// The nanoseconds that the parts of a write took.
package struct WriteTimes: Sendable {
    package var waiting: UInt64 = 0
    /// For all writes of the batch.
    package var deciding: UInt64 = 0
    package var syncing: UInt64 = 0

    /// A write that takes longer than this many nanoseconds is slow.
    static let slow: UInt64 = 5_000_000
}
