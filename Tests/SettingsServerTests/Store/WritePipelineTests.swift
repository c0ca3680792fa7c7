import Dispatch
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsStorage

/// A store over a log that the test controls. The tests identify writes by numbers.
struct ScriptedStore {
    let log: ScriptedLog
    let store: Store
    let results = CollectedResults()
    /// The monotonic clock of the store.
    let time = ManualClock()

    /// By default, each flush is blocked until `log.releaseFlush()`.
    init(_ log: ScriptedLog = ScriptedLog(isGated: true), _ setLimits: (inout WriteLimits) -> Void = { _ in }) throws {
        self.log = log
        var limits = WriteLimits()
        setLimits(&limits)
        let state = State(epoch: try #require(Epoch("e0")))
        store = Store(state, log: log, limits: limits, monotonic: time.clock) { Timestamp(milliseconds: 1000) }
    }

    /// Makes a write of 100 bytes, without queueing it. The estimated time is in nanoseconds.
    func makeWrite(
        _ number: Int, key: String, value: JSONValue, requestKey: String? = nil, guards: [WriteGuard] = [],
        estimatedTime: UInt64 = PendingWrite.minimumTime
    ) throws -> PendingWrite {
        store.makeWrite(
            WriteID(number), try .put(key, value, requestKey: requestKey, guards: guards), for: results, client: nil,
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

    /// Queues write 1, and waits until its flush has begun. The flush is blocked until `log.releaseFlush()`.
    func beginFlushOfWrite1() throws {
        enqueue(try makeWrite(1, key: "first", value: 1))
        log.awaitFlushStart()
    }

    /// Waits for this number of further results. Returns all results so far by the number of the write.
    func awaitFurtherResults(_ count: Int) -> [Int: WriteResult] { results.awaitFurther(count) }
}

@Suite(.ownThread)
struct WritePipelineTests {
    @Test("The writes that arrive during a flush share the next flush, and are not visible before its end")
    func groupCommit() throws {
        let scripted = try ScriptedStore()
        try scripted.beginFlushOfWrite1()
        for id in 2...9 { scripted.enqueue(try scripted.makeWrite(id, key: "k\(id)", value: 1)) }
        // The first slice may have begun before all eight writes were queued. The second slice has the remaining
        // writes.
        for _ in 1...2 { scripted.awaitDecisions() }
        #expect(scripted.store.state.revision == .zero)
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(1)[1]?.setting?.changed == true)
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(8).count == 9)
        #expect(scripted.log.flushedBatches.map(\.count) == [1, 8])
        #expect(scripted.store.state.revision == Revision(9))
    }

    @Test(
        "After a failed sync, the state is unchanged, the outcome of each commit is unknown, and no revision is reused")
    func unknownOutcome() throws {
        let scripted = try ScriptedStore()
        scripted.log.failNextFlush(.unknown, .failed)
        scripted.enqueue(
            try scripted.makeWrite(1, key: "a", value: 1), try scripted.makeWrite(2, key: "a", value: 1),
            try scripted.makeWrite(3, key: "b", value: 2, guards: [.exists]),
            try scripted.makeWrite(4, key: "c", value: 3))
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(4)
        #expect(results[1]?.problem?.code == .storageFailed)
        #expect(results[1]?.problem?.outcome == .unknown)
        #expect(results[2]?.problem?.outcome == .notDone, "the answer 'nothing changed' depends on a lost commit")
        #expect(results[3]?.problem?.outcome == .notDone, "the refusal depends on a lost commit")
        #expect(results[4]?.problem?.outcome == .unknown)
        #expect(scripted.store.state.revision == .zero)
        #expect(scripted.log.publishedRevisions.isEmpty)

        scripted.enqueue(try scripted.makeWrite(5, key: "a", value: 7))
        scripted.log.releaseFlush()
        let next = try #require(scripted.awaitFurtherResults(1)[5]?.setting)
        #expect(next.revision.number > 2, "the revisions 1 and 2 must not be used again")
        #expect(next.previous?.source == .unset)
        #expect(scripted.log.commitPredecessors == [.zero], "the next commit must follow the last published commit")
    }

    @Test
    func `A refusal before the first commit of a failed batch keeps its answer`() throws {
        let scripted = try ScriptedStore()
        scripted.log.failNextFlush(.notDone, .full)
        scripted.enqueue(
            try scripted.makeWrite(1, key: "a", value: 1, guards: [.exists]),
            try scripted.makeWrite(2, key: "a", value: 1))
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(2)
        #expect(results[1]?.problem?.code == .preconditionFailed)
        #expect(results[2]?.problem?.code == .insufficientStorage)
    }

    @Test("A full disk returns 507 with a known outcome")
    func full() throws {
        let scripted = try ScriptedStore()
        scripted.log.failNextFlush(.notDone, .full)
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1))
        scripted.log.releaseFlush()
        let problem = try #require(scripted.awaitFurtherResults(1)[1]?.problem)
        #expect(problem.status == 507)
        #expect(problem.code == .insufficientStorage)
        #expect(problem.outcome == .notDone)
        #expect(problem.retryAfterMs != nil)
    }

    /// `isReplayed` of a result is true if the answer repeats the answer to an earlier request with the same request
    /// key.
    @Test("A repeated request gets the first answer, and a failed request is not remembered")
    func repeats() throws {
        let scripted = try ScriptedStore()
        scripted.log.failNextFlush(.notDone, .failed)
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1, requestKey: "k"))
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(1)[1]?.problem != nil)

        scripted.enqueue(
            try scripted.makeWrite(2, key: "a", value: 1, requestKey: "k"),
            try scripted.makeWrite(3, key: "a", value: 1, requestKey: "k"))
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(2)
        #expect(results[2]?.setting?.isReplayed == false)
        #expect(results[3]?.setting?.isReplayed == true)
        #expect(results[3]?.setting?.revision == results[2]?.setting?.revision)
        #expect(results[3]?.setting?.previous == results[2]?.setting?.previous)

        scripted.enqueue(try scripted.makeWrite(4, key: "a", value: 2, requestKey: "k"))
        #expect(scripted.awaitFurtherResults(1)[4]?.problem?.code == .idempotencyMismatch)

        scripted.log.failNextFlush(.notDone, .failed)
        scripted.enqueue(
            try scripted.makeWrite(5, key: "b", value: 1),
            try scripted.makeWrite(6, key: "a", value: 1, requestKey: "k"))
        scripted.log.releaseFlush()
        #expect(
            scripted.awaitFurtherResults(2)[6]?.setting?.isReplayed == true,
            "the commit of write 2 is durable, so the answer to write 6 does not depend on the failed flush")
    }

    @Test
    func `A request whose commit is larger than the history is not remembered`() throws {
        var limits = History.Limits()
        limits.bytes = 50
        let state = State(epoch: try #require(Epoch("e0")), limits: limits)
        let store = Store(state, log: ScriptedLog()) { Timestamp(milliseconds: 1000) }
        let results = CollectedResults()
        #expect(store.enqueue(WriteID(1), try .put("a", 1, requestKey: "k"), for: results) == nil)
        #expect(results.awaitFurther(1)[1]?.setting?.changed == true)
        #expect(store.enqueue(WriteID(2), try .put("a", 1, requestKey: "k"), for: results) == nil)
        let result = results.awaitFurther(1)[2]
        #expect(result?.setting?.changed == false)
        #expect(result?.setting?.isReplayed == false)
    }

    @Test("Writes of many threads are each decided once")
    func contended() throws {
        let scripted = try ScriptedStore(ScriptedLog())
        let writes = try (0..<400).map { try scripted.makeWrite($0, key: "a", value: .integer(Int64($0))) }
        DispatchQueue.concurrentPerform(iterations: 8) { [store = scripted.store] thread in
            for number in stride(from: thread, to: writes.count, by: 8) {
                if !store.enqueue([writes[number]]).isEmpty {
                    Issue.record("the queue has no room for write \(number)")
                }
            }
        }
        #expect(scripted.awaitFurtherResults(400).count == 400)
        #expect(scripted.log.flushedBatches.flatMap(\.self).map(\.revision.number) == Array(1...400))
        #expect(scripted.log.commitPredecessors.map(\.number) == Array(0..<400))
        #expect(scripted.store.state.revision.number == 400)
    }

    @Test("A write that waited too long is refused as overloaded and not done")
    func queueTimeout() throws {
        let scripted = try ScriptedStore {
            $0.queueTimeout = 1_000_000_000  // one second
            $0.batchCount = 1
        }
        try scripted.beginFlushOfWrite1()
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1), try scripted.makeWrite(3, key: "b", value: 1))
        scripted.awaitDecisions()
        // Write 2 is decided while the flush of write 1 runs. Write 3 is queued.
        scripted.time.advance(seconds: 2)
        scripted.log.releaseFlush()
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(3)
        #expect(results[2]?.problem == nil)
        let problem = try #require(results[3]?.problem)
        #expect(problem.code == .overloaded && problem.outcome == .notDone && problem.retryAfterMs != nil)
    }

    @Test("A batch has at most the configured number of writes")
    func batchSize() throws {
        let scripted = try ScriptedStore { $0.batchCount = 2 }
        try scripted.beginFlushOfWrite1()
        for id in 2...7 { scripted.enqueue(try scripted.makeWrite(id, key: "a", value: .integer(Int64(id)))) }
        for _ in 1...7 { scripted.log.releaseFlush() }
        #expect(scripted.awaitFurtherResults(7)[7]?.setting?.changed == true)
        #expect(scripted.results.order == Array(1...7) && scripted.log.flushedBatches.allSatisfy { $0.count <= 2 })
    }

    @Test("A full queue refuses a write at once")
    func fullQueue() throws {
        let scripted = try ScriptedStore {
            $0.waitingBytes = 250
            $0.batchCount = 1
        }
        try scripted.beginFlushOfWrite1()
        // One further write is decided while the flush runs. Two writes of 100 bytes fill the queue.
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1))
        scripted.awaitDecisions()
        scripted.enqueue(try scripted.makeWrite(3, key: "b", value: 1), try scripted.makeWrite(4, key: "c", value: 1))
        let refused = try #require(scripted.store.enqueue([try scripted.makeWrite(5, key: "d", value: 1)]).first)
        #expect(refused.id.number == 5 && refused.problem?.code == .overloaded && refused.problem?.outcome == .notDone)
        for _ in 1...4 { scripted.log.releaseFlush() }
        #expect(scripted.awaitFurtherResults(4).count == 4)
    }

    @Test("Cheap writes go before a costly write, and a stopping store refuses costly writes")
    func costlyWrites() throws {
        let scripted = try ScriptedStore { $0.batchCount = 1 }
        try scripted.beginFlushOfWrite1()
        // Write 3 is costly, because deciding it is estimated to take 50 ms.
        scripted.enqueue(
            try scripted.makeWrite(2, key: "ahead", value: 1),
            try scripted.makeWrite(3, key: "long", value: 1, estimatedTime: 50_000_000),
            try scripted.makeWrite(4, key: "a", value: 1), try scripted.makeWrite(5, key: "b", value: 1))
        for _ in 1...5 { scripted.log.releaseFlush() }
        #expect(scripted.awaitFurtherResults(5).count == 5)
        #expect(scripted.results.order == [1, 2, 4, 5, 3])
        // Each flush has signalled its start. Consumes the signals of writes 2 to 5.
        for _ in 2...5 { scripted.log.awaitFlushStart() }

        scripted.enqueue(try scripted.makeWrite(6, key: "first", value: 2))
        scripted.log.awaitFlushStart()
        scripted.enqueue(try scripted.makeWrite(7, key: "ahead", value: 2))
        scripted.awaitDecisions()
        scripted.store.refuseCostlyWrites()
        scripted.enqueue(
            try scripted.makeWrite(8, key: "long", value: 2, estimatedTime: 50_000_000),
            try scripted.makeWrite(9, key: "a", value: 2))
        for _ in 1...3 { scripted.log.releaseFlush() }
        let results = scripted.awaitFurtherResults(4)
        #expect(results[8]?.problem?.code == .shuttingDown && results[8]?.problem?.outcome == .notDone)
        #expect(results[9]?.problem == nil)
    }

    @Test("The store is busy if its queued writes take long, not if there are many")
    func busy() throws {
        // The store is busy if deciding the queued writes takes more than 60 ms.
        let scripted = try ScriptedStore { $0.batchCount = 1 }
        try scripted.beginFlushOfWrite1()
        #expect(!scripted.store.isBusy)
        for id in 2...100 { scripted.enqueue(try scripted.makeWrite(id, key: "k\(id)", value: 1)) }
        #expect(!scripted.store.isBusy)
        scripted.enqueue(try scripted.makeWrite(101, key: "long", value: 1, estimatedTime: 70_000_000))
        #expect(scripted.store.isBusy)
        for _ in 1...101 { scripted.log.releaseFlush() }
        #expect(scripted.awaitFurtherResults(101).count == 101)
        try eventually { !scripted.store.isBusy }
    }

    @Test("The idle handler is called when every queued write has its result")
    func idle() throws {
        let scripted = try ScriptedStore()
        try scripted.beginFlushOfWrite1()
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1))
        let (revisions, isCalled) = (EventLog(), DispatchSemaphore(value: 0))
        scripted.store.whenIdle { state in
            revisions.add("\(state.revision)")
            isCalled.signal()
        }
        scripted.log.releaseFlush()
        scripted.log.releaseFlush()
        isCalled.patientWait()
        #expect(revisions.all == ["2"])
        #expect(scripted.results.order == [1, 2])
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
        func settings(valueLength: Int) -> JSONObject {
            var settings = JSONObject()
            for number in 0..<10 { settings["k\(number)"] = .string(String(repeating: "a", count: valueLength)) }
            return settings
        }
        // The values of the commands have different lengths, so that each command changes the suite.
        let operations = try settings(valueLength: 62).members.map {
            Transaction.Operation(suite: suite, key: try KeyName($0.name), .set($0.value))
        }
        let text = JSONValue.string(String(repeating: "a", count: 120))
        let commands: [WriteCommand] = [
            .setting(Transaction.Operation(suite: suite, key: try KeyName("k"), .set(text))),
            .mergeSuite(suite, settings(valueLength: 60)), .replaceSuite(suite, settings(valueLength: 61)),
            .transaction(Transaction(do: operations)),
        ]
        let results = CollectedResults()
        for (id, command) in commands.enumerated() {
            #expect(store.enqueue(WriteID(id), WriteRequest(command), for: results) == nil)
            #expect(results.awaitFurther(1)[id]?.problem == nil)
        }
    }
}
