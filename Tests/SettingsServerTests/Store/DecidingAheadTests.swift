import Dispatch
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// Writes that a thread decides as it hands them over, while the log syncs those before.
@Suite(.ownThread)
struct DecidingAheadTests {
    private let log = ScriptedLog(isGated: true)
    private let store: Store
    private let replies = CollectedReplies()
    private let time = ManualClock()

    init() throws {
        let state = State(epoch: try #require(Epoch("e0")))
        store = Store(state, log: log, monotonic: time.clock) { Timestamp(milliseconds: 1000) }
    }

    private func quick(
        _ id: Int, _ key: String, _ value: JSONValue, requestKey: String? = nil, guards: [WriteRequest.Guard] = []
    ) throws -> PendingWrite {
        try PendingWrite(id, key, value, requestKey: requestKey, guards: guards, isQuick: true)
    }

    /// Has a sync of write 1 begin, and four quick writes be decided meanwhile: one after the other, each on the one before.
    private func decideAhead() throws {
        #expect(store.submit([try quick(1, "a", 1, requestKey: "one")], replies: replies).isEmpty)
        log.awaitFlush()
        let ahead = [
            try quick(2, "a", 2, requestKey: "two"), try quick(3, "a", 2), try quick(4, "a", 3, guards: [.isAbsent]),
            try quick(5, "b", 5),
        ]
        for write in ahead { #expect(store.submit([write], replies: replies).isEmpty) }
        #expect(store.state.revision == .zero)
    }

    @Test("quick writes that are decided during a sync are synced together after it, and answered after that")
    func ahead() throws {
        try decideAhead()
        log.letGo()
        #expect(replies.wait(for: 1).keys.sorted() == [1])
        #expect(store.state.revision.number == 1)
        log.letGo()
        let ends = replies.wait(for: 4)
        #expect(replies.order == [1, 2, 3, 4, 5])
        #expect(ends[2]?.setting?.previous?.value == 1)
        #expect(ends[3]?.setting?.changed == false)
        #expect(ends[4]?.problem?.code == .preconditionFailed)
        #expect(ends[5]?.setting?.changed == true)
        #expect(log.flushes.map(\.count) == [1, 2] && log.predecessors.map(\.number) == [0, 1, 2])
        #expect(store.state.revision.number == 3)
    }

    @Test(
        "quick writes that were decided during a sync that fails are not done, whatever they came to",
        arguments: [CommitLogError.Outcome.unknown, .notDone])
    func aheadOfFailure(outcome: CommitLogError.Outcome) throws {
        log.failNext(outcome, .full)
        try decideAhead()
        log.letGo()
        let ends = replies.wait(for: 5)
        #expect(ends[1]?.problem?.outcome == (outcome == .unknown ? .unknown : .notDone))
        for id in 2...5 { #expect(ends[id]?.problem?.outcome == .notDone && ends[id]?.problem?.status == 507, "\(id)") }
        #expect(store.state.revision == .zero && log.published.isEmpty)

        // Decided on what was published, under revisions that were not used, and the request is no repeat.
        log.letGo()
        #expect(store.submit([try quick(6, "a", 2, requestKey: "two")], replies: replies).isEmpty)
        let next = try #require(replies.wait(for: 1)[6]?.setting)
        #expect(next.previous?.source == .unset && !next.isReplayed && next.revision.number > 3)
        #expect(log.predecessors == [.zero] && store.state.revision == next.revision)
    }

    @Test(
        "a repeat that was decided during the sync of the first has its outcome, also if that fails",
        arguments: [CommitLogError.Outcome.unknown, .notDone])
    func repeatAhead(outcome: CommitLogError.Outcome) throws {
        log.failNext(outcome, .failed)
        try decideAhead()
        #expect(store.submit([try quick(6, "a", 1, requestKey: "one")], replies: replies).isEmpty)
        log.letGo()
        let ends = replies.wait(for: 6)
        #expect(ends[1]?.problem?.outcome == (outcome == .unknown ? .unknown : .notDone))
        #expect(ends[6]?.problem?.outcome == ends[1]?.problem?.outcome)
        #expect(ends[5]?.problem?.outcome == .notDone)
    }

    @Test("of writes by many threads, while syncs fail, those are there that were answered so, each once and in order")
    func contendedFailures() throws {
        let log = ScriptedLog(failsEach: 3)
        let store = Store(State(epoch: try #require(Epoch("e0"))), log: log) { Timestamp(milliseconds: 1000) }
        var ends: [WriteOutcome] = []
        // How many writes a sync covers depends on who is faster.
        while ends.count < 1000 || log.flushes.count < 6 && ends.count < 100_000 {
            let writes = try (ends.count..<ends.count + 200).map { number in
                let (key, value) = ("k\(number % 7)", JSONValue.integer(Int64(number)))
                return try PendingWrite(number, key, value, isQuick: number % 5 != 0)
            }
            let replies = CollectedReplies()
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                for index in stride(from: thread, to: writes.count, by: 8) {
                    replies.deliver(store.submit([writes[index]], replies: replies), replaced: nil)
                }
            }
            ends += replies.wait(for: writes.count).values
            try #require(ends.count == writes.last.map { $0.id + 1 })
        }
        let flushed = log.flushes.flatMap(\.self)
        #expect(ends.compactMap { $0.setting?.revision }.sorted() == flushed.map(\.revision))
        let problems = ends.compactMap(\.problem)
        #expect(!problems.isEmpty && problems.allSatisfy { $0.outcome == .notDone || $0.outcome == .unknown })
        #expect(log.predecessors == [.zero] + flushed.dropLast().map(\.revision))
        var state = State(epoch: try #require(Epoch("e0")))
        for commit in flushed { try state.apply(commit) }
        #expect(state.revision == store.state.revision)
        let suite = try SuiteName("app")
        #expect(state.suite(suite)?.records.elements == store.state.suite(suite)?.records.elements)
    }

    @Test("of writes that come while a sync is stalled, those are refused that were not decided before")
    func stalled() throws {
        try decideAhead()
        time.advance(nanoseconds: store.limitsInForce.patience / 10 + 1)
        #expect(store.submit([try quick(6, "c", 1)], replies: replies).isEmpty)
        time.advance(nanoseconds: store.limitsInForce.patience + 1)
        for _ in 1...3 { log.letGo() }
        let ends = replies.wait(for: 6)
        #expect(ends[2]?.setting?.changed == true && ends[5]?.setting?.changed == true)
        #expect(ends[6]?.problem?.code == .overloaded && ends[6]?.problem?.outcome == .notDone)
    }

    @Test("what is decided ahead is no more than one sync may cover")
    func bounds() throws {
        store.limitsInForce.batchCount = 2
        try decideAhead()
        for _ in 1...5 { log.letGo() }
        #expect(replies.wait(for: 5)[5]?.setting?.changed == true)
        #expect(replies.order == [1, 2, 3, 4, 5] && log.flushes.allSatisfy { $0.count <= 2 })
    }

    @Test("the state before writes goes to the thread that decided them, unless large commits leave the history")
    func replacedStates() throws {
        var limits = History.Limits()
        limits.bytes = 3 << 20
        let state = State(epoch: try #require(Epoch("e0")), limits: limits)
        let store = Store(state, log: ScriptedLog(), monotonic: time.clock) { Timestamp(milliseconds: 1000) }
        func text(_ length: Int) -> JSONValue { .string(String(repeating: "x", count: length)) }
        let writes = [
            try quick(1, "a", 1), try PendingWrite(2, "b", text(2_900_000)), try quick(3, "c", text(300_000)),
            try quick(4, "d", 1),
        ]
        for write in writes {
            #expect(store.submit([write], replies: replies).isEmpty)
            #expect(replies.wait(for: 1)[write.id]?.setting?.changed == true)
        }
        #expect(replies.replaced.map { $0?.number } == [0, nil, nil, 3])
    }
}
