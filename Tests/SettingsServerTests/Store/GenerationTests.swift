import Dispatch
import SettingsAPI
import SettingsEngine
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

/// Writes that are decided while the log flushes earlier writes. If this flush fails, the writes are refused, too.
@Suite(.ownThread)
struct GenerationTests {
    private let scripted: ScriptedStore

    init() throws {
        scripted = try ScriptedStore()
    }

    /// Begins the flush of write 1, and waits until writes 2 to 5 are decided, each on the state after the previous
    /// write. The flush is still blocked.
    private func decideWritesDuringFlush() throws {
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1, requestKey: "one"))
        scripted.log.awaitFlushStart()
        scripted.enqueue(
            try scripted.makeWrite(2, key: "a", value: 2, requestKey: "two"),
            try scripted.makeWrite(3, key: "a", value: 2),
            try scripted.makeWrite(4, key: "a", value: 3, guards: [.isAbsent]),
            try scripted.makeWrite(5, key: "b", value: 5))
        scripted.awaitDecisions()
        #expect(scripted.store.state.revision == .zero)
    }

    @Test("Writes that are decided during a flush share the next flush, and are answered after it")
    func decidedDuringFlush() throws {
        try decideWritesDuringFlush()
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(1).keys.sorted() == [1])
        #expect(scripted.store.state.revision.number == 1)
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(4)
        #expect(scripted.results.order == [1, 2, 3, 4, 5])
        #expect(results[2]?.setting?.previous?.value == 1)
        #expect(results[3]?.setting?.changed == false)
        #expect(results[4]?.problem?.code == .preconditionFailed)
        #expect(results[5]?.setting?.changed == true)
        // The second flush has the commits of writes 2 and 5. Write 3 changed nothing, and write 4 was refused.
        #expect(
            scripted.log.flushedBatches.map(\.count) == [1, 2]
                && scripted.log.commitPredecessors.map(\.number) == [0, 1, 2])
        #expect(scripted.store.state.revision.number == 3)
    }

    @Test(arguments: [CommitLogError.Outcome.unknown, .notDone])
    func `If a flush fails, the writes that were decided on its commits are refused as not done`(
        outcome: CommitLogError.Outcome
    ) throws {
        // The cause `full` gives the refusals the status 507.
        scripted.log.failNextFlush(outcome, .full)
        try decideWritesDuringFlush()
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(5)
        #expect(results[1]?.problem?.outcome == (outcome == .unknown ? .unknown : .notDone))
        for id in 2...5 {
            #expect(results[id]?.problem?.outcome == .notDone && results[id]?.problem?.status == 507, "\(id)")
        }
        #expect(scripted.store.state.revision == .zero && scripted.log.publishedRevisions.isEmpty)

        // The next write is decided on the published state, gets an unused revision, and is not recognised as a repeat.
        scripted.log.releaseFlush()
        scripted.enqueue(try scripted.makeWrite(6, key: "a", value: 2, requestKey: "two"))
        let next = try #require(scripted.awaitFurtherResults(1)[6]?.setting)
        #expect(next.previous?.source == .unset && !next.isReplayed && next.revision.number > 3)
        #expect(scripted.log.commitPredecessors == [.zero] && scripted.store.state.revision == next.revision)
    }

    @Test(
        "A repeat that is decided during the flush of the first request has the outcome of the first request",
        arguments: [CommitLogError.Outcome.unknown, .notDone])
    func repeatDuringFlush(outcome: CommitLogError.Outcome) throws {
        scripted.log.failNextFlush(outcome, .failed)
        try decideWritesDuringFlush()
        scripted.enqueue(try scripted.makeWrite(6, key: "a", value: 1, requestKey: "one"))
        scripted.awaitDecisions()
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(6)
        #expect(results[1]?.problem?.outcome == (outcome == .unknown ? .unknown : .notDone))
        #expect(results[6]?.problem?.outcome == results[1]?.problem?.outcome)
        #expect(results[5]?.problem?.outcome == .notDone)
    }

    /// Queues another write while the store delivers a refusal. A client sends its next write later, because the
    /// client must first receive the refusal.
    private final class EagerReceiver: WriteReceiver {
        private let results: CollectedResults
        private let refused: Int
        private let send: @Sendable () -> Void

        init(_ results: CollectedResults, onRefusalOf refused: Int, _ send: @escaping @Sendable () -> Void) {
            (self.results, self.refused, self.send) = (results, refused, send)
        }

        func deliver(_ results: [WriteResult]) {
            if results.contains(where: { $0.id.number == refused && $0.problem != nil }) { send() }
            self.results.deliver(results)
        }
    }

    @Test("A write that follows a refusal is decided on the published state")
    func afterRefusal() throws {
        let (store, results) = (try ScriptedStore(ScriptedLog(failsEveryNthFlush: 2)).store, CollectedResults())
        // The flush of this write succeeds. Afterwards, every second flush fails: the flush of the first write of a
        // round.
        #expect(store.enqueue(WriteID(0), try .put("before", 1), for: results) == nil)
        _ = results.awaitFurther(1)
        for round in 1...200 {
            let first = try WriteRequest.put("a", .integer(Int64(round)))
            let next = try WriteRequest.put("b", .integer(Int64(round)))
            let receiver = EagerReceiver(results, onRefusalOf: 2 * round) { [results] in
                _ = store.enqueue(WriteID(2 * round + 1), next, for: results)
            }
            #expect(store.enqueue(WriteID(2 * round), first, for: receiver) == nil)
            let allResults = results.awaitFurther(2)
            #expect(allResults[2 * round]?.problem != nil, "the log makes every second flush fail")
            try #require(allResults[2 * round + 1]?.setting?.changed == true, "round \(round)")
        }
    }

    @Test("With failing flushes, exactly the acknowledged writes of many threads are stored, once and in order")
    func contendedFailures() throws {
        let log = ScriptedLog(failsEveryNthFlush: 3)
        let store = Store(State(epoch: try #require(Epoch("e0"))), log: log) { Timestamp(milliseconds: 1000) }
        var all: [WriteResult] = []
        // The speed of the threads determines how many writes share a flush. The loop ends after at least 1000 writes
        // and six successful flushes. The limit of 100,000 writes ends the loop if flushes never succeed.
        while all.count < 1000 || log.flushedBatches.count < 6 && all.count < 100_000 {
            let first = all.count
            let results = CollectedResults()
            let requests = try (first..<first + 200).map { number in
                try WriteRequest.put("k\(number % 7)", .integer(Int64(number)))
            }
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                for index in stride(from: thread, to: requests.count, by: 8) {
                    if let refused = store.enqueue(WriteID(first + index), requests[index], for: results) {
                        results.deliver([refused])
                    }
                }
            }
            all += results.awaitFurther(requests.count).values
            try #require(all.count == first + requests.count)
        }
        let commits = log.flushedBatches.flatMap(\.self)
        #expect(all.compactMap { $0.setting?.revision }.sorted() == commits.map(\.revision))
        let problems = all.compactMap(\.problem)
        #expect(!problems.isEmpty && problems.allSatisfy { $0.outcome == .notDone || $0.outcome == .unknown })
        #expect(log.commitPredecessors == [.zero] + commits.dropLast().map(\.revision))
        var state = State(epoch: try #require(Epoch("e0")))
        for commit in commits { try state.apply(commit) }
        #expect(state.revision == store.state.revision)
        let suite = try SuiteName("app")
        #expect(state.suite(suite)?.records.elements == store.state.suite(suite)?.records.elements)
    }
}
