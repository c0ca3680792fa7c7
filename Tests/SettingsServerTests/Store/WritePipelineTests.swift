import Dispatch
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsStorage

/// A store over a log that the test controls.
struct ScriptedStore {
    let log: ScriptedLog
    let store: Store
    let results = CollectedResults()
    let time = ManualClock()

    init(_ log: ScriptedLog = ScriptedLog(isGated: true), _ adapt: (inout WriteLimits) -> Void = { _ in }) throws {
        self.log = log
        var limits = WriteLimits()
        adapt(&limits)
        let state = State(epoch: try #require(Epoch("e0")))
        store = Store(state, log: log, limits: limits, monotonic: time.clock) { Timestamp(milliseconds: 1000) }
    }

    func write(
        _ id: Int, _ key: String, _ value: JSONValue, requestKey: String? = nil, guards: [WriteGuard] = [],
        client: ClientKey? = nil, estimatedTime: UInt64 = PendingWrite.minimumTime
    ) throws -> PendingWrite {
        store.makeWrite(
            WriteID(id), try .put(key, value, requestKey: requestKey, guards: guards), for: results, client: client,
            estimatedTime: estimatedTime)
    }

    /// Queues writes. The queue must have room for them.
    func enqueue(_ writes: PendingWrite...) {
        #expect(store.enqueue(writes).isEmpty)
    }

    /// Waits until the decide stage has decided the queued writes, as far as the limits of a batch allow. The commit
    /// stage may be blocked.
    func awaitDecisions() {
        let isDone = DispatchSemaphore(value: 0)
        store.runAfterDecideSlice { isDone.signal() }
        isDone.patientWait()
    }

    /// Makes the commit stage flush write 1. The flush is blocked until `log.releaseFlush()`.
    func blockCommitStage() throws {
        enqueue(try write(1, "first", 1))
        log.awaitFlush()
    }
}

@Suite(.ownThread)
struct WritePipelineTests {
    @Test("The writes that arrive during a flush share the next flush, and are not visible before its end")
    func groupCommit() throws {
        let run = try ScriptedStore()
        try run.blockCommitStage()
        for id in 2...9 { run.enqueue(try run.write(id, "k\(id)", 1)) }
        // The first slice may have begun before all eight writes were queued. The second slice has the remaining
        // writes.
        for _ in 1...2 { run.awaitDecisions() }
        #expect(run.store.state.revision == .zero)
        run.log.releaseFlush()
        #expect(run.results.wait(for: 1)[1]?.setting?.changed == true)
        run.log.releaseFlush()
        #expect(run.results.wait(for: 8).count == 9)
        #expect(run.log.flushes.map(\.count) == [1, 8])
        #expect(run.store.state.revision == Revision(9))
    }

    @Test("After a failed sync, the published state is unchanged, the outcome is unknown, and no revision is reused")
    func unknownOutcome() throws {
        let run = try ScriptedStore()
        run.log.failNext(.unknown, .failed)
        run.enqueue(
            try run.write(1, "a", 1), try run.write(2, "a", 1), try run.write(3, "b", 2, guards: [.exists]),
            try run.write(4, "c", 3))
        run.log.releaseFlush()
        let results = run.results.wait(for: 4)
        #expect(results[1]?.problem?.code == .storageFailed)
        #expect(results[1]?.problem?.outcome == .unknown)
        #expect(results[2]?.problem?.outcome == .notDone, "the answer 'nothing changed' depends on a lost commit")
        #expect(results[3]?.problem?.outcome == .notDone, "the refusal depends on a lost commit")
        #expect(results[4]?.problem?.outcome == .unknown)
        #expect(run.store.state.revision == .zero)
        #expect(run.log.published.isEmpty)

        run.enqueue(try run.write(5, "a", 7))
        run.log.releaseFlush()
        let next = try #require(run.results.wait(for: 1)[5]?.setting)
        #expect(next.revision > Revision(2) ?? .zero, "the revisions 1 and 2 must not be used again")
        #expect(next.previous?.source == .unset)
        #expect(run.log.predecessors == [.zero], "the next commit must follow the last published commit")
    }

    @Test
    func `A refusal before the first commit of a failed batch keeps its answer`() throws {
        let run = try ScriptedStore()
        run.log.failNext(.notDone, .full)
        run.enqueue(try run.write(1, "a", 1, guards: [.exists]), try run.write(2, "a", 1))
        run.log.releaseFlush()
        let results = run.results.wait(for: 2)
        #expect(results[1]?.problem?.code == .preconditionFailed)
        #expect(results[2]?.problem?.code == .insufficientStorage)
    }

    @Test("A full disk returns 507 with a known outcome")
    func full() throws {
        let run = try ScriptedStore()
        run.log.failNext(.notDone, .full)
        run.enqueue(try run.write(1, "a", 1))
        run.log.releaseFlush()
        let problem = try #require(run.results.wait(for: 1)[1]?.problem)
        #expect(problem.status == 507)
        #expect(problem.code == .insufficientStorage)
        #expect(problem.outcome == .notDone)
        #expect(problem.retryAfterMs != nil)
    }

    @Test("A repeated request gets the first answer, and a failed request is not remembered")
    func repeats() throws {
        let run = try ScriptedStore()
        run.log.failNext(.notDone, .failed)
        run.enqueue(try run.write(1, "a", 1, requestKey: "k"))
        run.log.releaseFlush()
        #expect(run.results.wait(for: 1)[1]?.problem != nil)

        run.enqueue(try run.write(2, "a", 1, requestKey: "k"), try run.write(3, "a", 1, requestKey: "k"))
        run.log.releaseFlush()
        let results = run.results.wait(for: 2)
        #expect(results[2]?.setting?.isReplayed == false)
        #expect(results[3]?.setting?.isReplayed == true)
        #expect(results[3]?.setting?.revision == results[2]?.setting?.revision)
        #expect(results[3]?.setting?.previous == results[2]?.setting?.previous)

        run.enqueue(try run.write(4, "a", 2, requestKey: "k"))
        #expect(run.results.wait(for: 1)[4]?.problem?.code == .idempotencyMismatch)

        run.log.failNext(.notDone, .failed)
        run.enqueue(try run.write(5, "b", 1), try run.write(6, "a", 1, requestKey: "k"))
        run.log.releaseFlush()
        #expect(run.results.wait(for: 2)[6]?.setting?.isReplayed == true, "the first commit is durable")
    }

    @Test
    func `A request whose commit is larger than the history is not remembered`() throws {
        var limits = History.Limits()
        limits.bytes = 50
        let state = State(epoch: try #require(Epoch("e0")), limits: limits)
        let store = Store(state, log: ScriptedLog()) { Timestamp(milliseconds: 1000) }
        let results = CollectedResults()
        #expect(store.enqueue(WriteID(1), try .put("a", 1, requestKey: "k"), for: results) == nil)
        #expect(results.wait(for: 1)[1]?.setting?.changed == true)
        #expect(store.enqueue(WriteID(2), try .put("a", 1, requestKey: "k"), for: results) == nil)
        let result = results.wait(for: 1)[2]
        #expect(result?.setting?.changed == false)
        #expect(result?.setting?.isReplayed == false)
    }

    @Test("Writes of many threads are each decided once")
    func contended() throws {
        let run = try ScriptedStore(ScriptedLog())
        let writes = try (0..<400).map { try run.write($0, "a", .integer(Int64($0))) }
        DispatchQueue.concurrentPerform(iterations: 8) { [store = run.store] thread in
            for number in stride(from: thread, to: writes.count, by: 8) {
                if !store.enqueue([writes[number]]).isEmpty {
                    Issue.record("the queue has no room for write \(number)")
                }
            }
        }
        #expect(run.results.wait(for: 400).count == 400)
        #expect(run.log.flushes.flatMap(\.self).map(\.revision.number) == Array(1...400))
        #expect(run.log.predecessors.map(\.number) == Array(0..<400))
        #expect(run.store.state.revision.number == 400)
    }

    @Test("A write that waited too long is refused as overloaded and not done")
    func queueTimeout() throws {
        let run = try ScriptedStore {
            $0.queueTimeout = 1_000_000_000
            $0.batchCount = 1
        }
        try run.blockCommitStage()
        run.enqueue(try run.write(2, "a", 1), try run.write(3, "b", 1))
        run.awaitDecisions()
        // Write 2 is decided while the flush of write 1 runs. Write 3 is queued.
        run.time.advance(seconds: 2)
        run.log.releaseFlush()
        run.log.releaseFlush()
        let results = run.results.wait(for: 3)
        #expect(results[2]?.problem == nil)
        let problem = try #require(results[3]?.problem)
        #expect(problem.code == .overloaded && problem.outcome == .notDone && problem.retryAfterMs != nil)
    }

    @Test("A batch has at most the configured number of writes")
    func bounds() throws {
        let run = try ScriptedStore { $0.batchCount = 2 }
        try run.blockCommitStage()
        for id in 2...7 { run.enqueue(try run.write(id, "a", .integer(Int64(id)))) }
        for _ in 1...7 { run.log.releaseFlush() }
        #expect(run.results.wait(for: 7)[7]?.setting?.changed == true)
        #expect(run.results.order == Array(1...7) && run.log.flushes.allSatisfy { $0.count <= 2 })
    }

    @Test("A full queue refuses a write at once")
    func fullQueue() throws {
        let run = try ScriptedStore {
            $0.waitingBytes = 250
            $0.batchCount = 1
        }
        try run.blockCommitStage()
        // One further write is decided while the flush runs. Two writes fill the queue.
        run.enqueue(try run.write(2, "a", 1))
        run.awaitDecisions()
        run.enqueue(try run.write(3, "b", 1), try run.write(4, "c", 1))
        let refused = try #require(run.store.enqueue([try run.write(5, "d", 1)]).first)
        #expect(refused.id.number == 5 && refused.problem?.code == .overloaded && refused.problem?.outcome == .notDone)
        for _ in 1...4 { run.log.releaseFlush() }
        #expect(run.results.wait(for: 4).count == 4)
    }

    @Test("Cheap writes go before a costly write, and a stopping store refuses costly writes")
    func costlyWrites() throws {
        let run = try ScriptedStore { $0.batchCount = 1 }
        try run.blockCommitStage()
        run.enqueue(
            try run.write(2, "ahead", 1), try run.write(3, "long", 1, estimatedTime: 50_000_000),
            try run.write(4, "a", 1), try run.write(5, "b", 1))
        for _ in 1...5 { run.log.releaseFlush() }
        #expect(run.results.wait(for: 5).count == 5)
        #expect(run.results.order == [1, 2, 4, 5, 3])
        for _ in 2...5 { run.log.awaitFlush() }

        run.enqueue(try run.write(9, "first", 2))
        run.log.awaitFlush()
        run.enqueue(try run.write(6, "ahead", 2))
        run.awaitDecisions()
        run.store.refuseCostlyWrites()
        run.enqueue(try run.write(7, "long", 2, estimatedTime: 50_000_000), try run.write(8, "a", 2))
        for _ in 1...3 { run.log.releaseFlush() }
        let results = run.results.wait(for: 4)
        #expect(results[7]?.problem?.code == .shuttingDown && results[7]?.problem?.outcome == .notDone)
        #expect(results[8]?.problem == nil)
    }

    @Test("The store is busy if its queued writes take long, not if there are many")
    func busy() throws {
        let run = try ScriptedStore { $0.batchCount = 1 }
        try run.blockCommitStage()
        #expect(!run.store.isBusy)
        for id in 2...100 { run.enqueue(try run.write(id, "k\(id)", 1)) }
        #expect(!run.store.isBusy)
        run.enqueue(try run.write(101, "long", 1, estimatedTime: 70_000_000))
        #expect(run.store.isBusy)
        for _ in 1...101 { run.log.releaseFlush() }
        #expect(run.results.wait(for: 101).count == 101)
        try eventually { !run.store.isBusy }
    }

    @Test("The idle handler is called after each write has its result")
    func idle() throws {
        let run = try ScriptedStore()
        try run.blockCommitStage()
        run.enqueue(try run.write(2, "a", 1))
        let (revisions, isCalled) = (EventLog(), DispatchSemaphore(value: 0))
        run.store.whenIdle { state in
            revisions.add("\(state.revision)")
            isCalled.signal()
        }
        run.log.releaseFlush()
        run.log.releaseFlush()
        isCalled.patientWait()
        #expect(revisions.all == ["2"])
        #expect(run.results.order == [1, 2])
    }

    @Test("A write whose values take long to validate is accepted")
    func costlyChecks() throws {
        let suite = try SuiteName("app")
        var state = State(epoch: try #require(Epoch("e0")))
        // The regular expression is costly: at each letter, every state of its automaton remains possible.
        let document: JSONValue = ["additionalProperties": ["pattern": "^(?:a{0,30}){50}b?$"], "type": "object"]
        let request = WriteRequest(.setSchema(suite, try Schema(document), onConflict: .refuse))
        let decision = try state.decide(
            request, revision: try #require(Revision(1)), time: Timestamp(milliseconds: 1))
        _ = try state.apply(try #require(decision.commit), schema: decision.schema)
        let store = Store(state, log: ScriptedLog()) { Timestamp(milliseconds: 1000) }
        func map(_ length: Int) -> JSONObject {
            var map = JSONObject()
            for number in 0..<10 { map["k\(number)"] = .string(String(repeating: "a", count: length)) }
            return map
        }
        let operations = try map(62).members.map {
            Transaction.Operation(suite: suite, key: try KeyName($0.name), .set($0.value))
        }
        let text = JSONValue.string(String(repeating: "a", count: 120))
        let commands: [WriteCommand] = [
            .setting(Transaction.Operation(suite: suite, key: try KeyName("k"), .set(text))),
            .mergeSuite(suite, map(60)), .replaceSuite(suite, map(61)), .transaction(Transaction(do: operations)),
        ]
        let results = CollectedResults()
        for (id, command) in commands.enumerated() {
            #expect(store.enqueue(WriteID(id), WriteRequest(command), for: results) == nil)
            #expect(results.wait(for: 1)[id]?.problem == nil)
        }
    }
}
