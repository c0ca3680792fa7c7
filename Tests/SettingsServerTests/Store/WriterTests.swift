import Dispatch
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

@Suite(.ownThread)
struct WriterTests {
    private let log: ScriptedLog
    private let store: Store
    private let replies = CollectedReplies()
    private let time = ManualClock()

    init() throws {
        log = ScriptedLog(isGated: true)
        let epoch = try #require(Epoch("e0"))
        store = Store(State(epoch: epoch), log: log) { Timestamp(milliseconds: 1000) }
    }

    private func put(
        _ id: Int, _ key: String, _ value: JSONValue, requestKey: String? = nil,
        guards: [WriteRequest.Guard] = []
    ) throws -> PendingWrite {
        try PendingWrite(id, key, value, requestKey: requestKey, guards: guards)
    }

    @Test("what gathers while a batch is synced is made durable by one sync, and nothing is visible before")
    func groupCommit() throws {
        #expect(store.submit([try put(1, "a", 1)], replies: replies).isEmpty)
        for id in 2...9 { _ = store.submit([try put(id, "k\(id)", 1)], replies: replies) }
        #expect(store.state.revision == .zero)
        log.letGo()
        #expect(replies.wait(for: 1)[1]?.setting?.changed == true)
        log.letGo()
        // How many of the eight the first batch took along depends on who was faster; all are in two flushes at most.
        log.letGo()
        #expect(replies.wait(for: 8).count == 9)
        #expect(log.flushes.joined().count == 9)
        #expect(log.flushes.count <= 3)
        #expect(store.state.revision == Revision(9))
    }

    @Test("a sync that fails leaves what was published, burns its revisions, and says that the outcome is unknown")
    func unknownOutcome() throws {
        log.failNext(.unknown, .failed)
        let writes = [
            try put(1, "a", 1), try put(2, "a", 1), try put(3, "b", 2, guards: [.exists]), try put(4, "c", 3),
        ]
        #expect(store.submit(writes, replies: replies).isEmpty)
        log.letGo()
        let ends = replies.wait(for: 4)
        #expect(ends[1]?.problem?.code == .storageFailed)
        #expect(ends[1]?.problem?.outcome == .unknown)
        #expect(ends[2]?.problem?.outcome == .notDone, "'nothing changed' rested on what is gone")
        #expect(ends[3]?.problem?.outcome == .notDone, "so did the refusal")
        #expect(ends[4]?.problem?.outcome == .unknown)
        #expect(store.state.revision == .zero)
        #expect(log.published.isEmpty)

        _ = store.submit([try put(5, "a", 7)], replies: replies)
        log.letGo()
        let next = try #require(replies.wait(for: 1)[5]?.setting)
        #expect(next.revision > Revision(2) ?? .zero, "1 and 2 are burned")
        #expect(next.previous?.source == .unset)
        #expect(log.predecessors == [.zero], "the next commit follows what was published last")
    }

    @Test("a full disk is 507 and never unknown")
    func full() throws {
        log.failNext(.notDone, .full)
        _ = store.submit([try put(1, "a", 1)], replies: replies)
        log.letGo()
        let problem = try #require(replies.wait(for: 1)[1]?.problem)
        #expect(problem.status == 507)
        #expect(problem.code == .insufficientStorage)
        #expect(problem.outcome == .notDone)
        #expect(problem.retryAfterMs != nil)
    }

    @Test("a repeated request gets its first answer, and one that failed is not remembered")
    func repeats() throws {
        log.failNext(.notDone, .failed)
        _ = store.submit([try put(1, "a", 1, requestKey: "k")], replies: replies)
        log.letGo()
        #expect(replies.wait(for: 1)[1]?.problem != nil)

        _ = store.submit([try put(2, "a", 1, requestKey: "k"), try put(3, "a", 1, requestKey: "k")], replies: replies)
        log.letGo()
        let ends = replies.wait(for: 2)
        #expect(ends[2]?.setting?.isReplayed == false)
        #expect(ends[3]?.setting?.isReplayed == true)
        #expect(ends[3]?.setting?.revision == ends[2]?.setting?.revision)
        #expect(ends[3]?.setting?.previous == ends[2]?.setting?.previous)

        _ = store.submit([try put(4, "a", 2, requestKey: "k")], replies: replies)
        #expect(replies.wait(for: 1)[4]?.problem?.code == .idempotencyMismatch)
    }

    @Test("a request whose commit is larger than the history kept is not remembered")
    func forgottenAtOnce() throws {
        let log = ScriptedLog()
        var limits = History.Limits()
        limits.bytes = 50
        let state = State(epoch: try #require(Epoch("e0")), limits: limits)
        let store = Store(state, log: log) { Timestamp(milliseconds: 1000) }
        _ = store.submit([try put(1, "a", 1, requestKey: "k")], replies: replies)
        #expect(replies.wait(for: 1)[1]?.setting?.changed == true)
        _ = store.submit([try put(2, "a", 1, requestKey: "k")], replies: replies)
        let end = replies.wait(for: 1)[2]
        #expect(end?.setting?.changed == false)
        #expect(end?.setting?.isReplayed == false)
    }

    @Test("quick writes are answered by the call that hands them over, and refused there if the flush fails")
    func atOnce() throws {
        let log = ScriptedLog(flushesAtOnce: true)
        let epoch = try #require(Epoch("e0"))
        // By a clock that stands still, so that the turn does not end before the second.
        let store = Store(State(epoch: epoch), log: log, monotonic: time.clock) { Timestamp(milliseconds: 1000) }
        func quick(_ id: Int, _ value: JSONValue) throws -> PendingWrite {
            try PendingWrite(id, "a", value, isQuick: true)
        }
        #expect(store.submit([try quick(1, 1), try quick(2, 2)], replies: replies).map(\.id) == [1, 2])
        #expect(log.flushes.map(\.count) == [2] && log.published == [store.state.revision])

        log.failNext(.notDone, .full)
        let failed = store.submit([try quick(3, 3)], replies: replies)
        #expect(failed.map(\.problem?.code) == [.insufficientStorage])
        let state = store.state
        #expect(state.setting(try SuiteName("app"), try KeyName("a")).value == 2)

        // In doubt about the last, the queue flushes.
        log.failNext(.unknown, .failed)
        #expect(store.submit([try quick(4, 4)], replies: replies).map(\.problem?.outcome) == [.unknown])
        let next = store.submit([try quick(5, 5)], replies: replies).first ?? replies.wait(for: 1)[5]
        #expect(next?.setting?.previous?.value == 2)
        #expect(log.predecessors.last == state.revision)
    }

    @Test("writes that are handed over by many threads at once are each decided once, in some order")
    func contended() throws {
        let log = ScriptedLog(flushesAtOnce: true)
        let store = Store(State(epoch: try #require(Epoch("e0"))), log: log) { Timestamp(milliseconds: 1000) }
        let known = Mutex(0)
        let writes = try (0..<400).map { number in
            var request = try put(number, "a", .integer(Int64(number))).request
            request.isQuick = number % 3 != 0
            return PendingWrite(id: number, request: request)
        }
        DispatchQueue.concurrentPerform(iterations: 8) { [replies] thread in
            for number in stride(from: thread, to: writes.count, by: 8) {
                let count = store.submit([writes[number]], replies: replies).count
                known.withLock { $0 += count }
            }
        }
        let later = writes.count - known.withLock { $0 }
        #expect(replies.wait(for: later).count == later)
        #expect(log.flushes.flatMap(\.self).map(\.revision.number) == Array(1...400))
        #expect(log.predecessors.map(\.number) == Array(0..<400))
        #expect(store.state.revision.number == 400)
    }

    private func store(_ adapt: (inout WriteLimits) -> Void) throws -> Store {
        var limits = WriteLimits()
        adapt(&limits)
        let state = State(epoch: try #require(Epoch("e0")))
        return Store(state, log: log, limits: limits, monotonic: time.clock) { Timestamp(milliseconds: 1000) }
    }

    /// Has the writer busy with the sync of write 1.
    private func occupy(_ store: Store) throws {
        #expect(store.submit([try put(1, "first", 1)], replies: replies).isEmpty)
        log.awaitFlush()
    }

    @Test("a write that waited too long is refused as overloaded, and not done")
    func patience() throws {
        let store = try store { $0.patience = 1_000_000_000 }
        try occupy(store)
        #expect(store.submit([try put(2, "a", 1)], replies: replies).isEmpty)
        time.advance(seconds: 1.2)
        log.letGo()
        let problem = try #require(replies.wait(for: 2)[2]?.problem)
        #expect(problem.code == .overloaded && problem.outcome == .notDone && problem.retryAfterMs != nil)
    }

    @Test("a write to a shared log is given up in the time since it came, however often other daemons are first")
    func sharedPatience() throws {
        let log = ScriptedLog(isGated: true, isShared: true)
        var limits = WriteLimits()
        limits.patience = 1_000_000_000
        let store = Store(
            State(epoch: try #require(Epoch("e0"))), log: log, limits: limits, monotonic: time.clock
        ) { Timestamp(milliseconds: 1000) }
        let start = time.clock.now()
        #expect(store.submit([try put(1, "first", 1)], replies: replies).isEmpty)
        log.awaitFlush()
        #expect(store.submit([try put(2, "a", 1)], replies: replies).isEmpty)
        time.advance(seconds: 0.8)
        log.letGo()
        log.awaitFlush()
        time.advance(seconds: 0.15)
        log.failNext(.overtaken, .contended)
        log.letGo()
        let problem = try #require(replies.wait(for: 2)[2]?.problem)
        #expect(problem.code == .overloaded && problem.outcome == .notDone)
        #expect(log.deadlines == [start + limits.patience, start + limits.patience])
    }

    @Test("a turn that another daemon was faster than is decided again whole, also if bounds are narrower by then")
    func narrowerBounds() throws {
        let log = ScriptedLog(isGated: true, isShared: true)
        let store = Store(State(epoch: try #require(Epoch("e0"))), log: log) { Timestamp(milliseconds: 1000) }
        #expect(store.submit([try put(1, "first", 1)], replies: replies).isEmpty)
        log.awaitFlush()
        #expect(store.submit(try (2...4).map { try put($0, "k\($0)", 1) }, replies: replies).isEmpty)
        log.letGo()
        log.awaitFlush()
        store.limitsInForce.batchCount = 1
        log.failNext(.overtaken, .contended)
        log.letGo()
        log.letGo()
        #expect(replies.wait(for: 4).values.allSatisfy { $0.problem == nil })
    }

    @Test("a long write waits for a bounded time of others")
    func longPause() throws {
        let store = try store {
            $0.batchCount = 1
            $0.longPause = 0
        }
        try occupy(store)
        var long = try put(9, "long", 1).request
        long.becomeLong()
        let writes = try (2...8).map { try put($0, "k\($0)", 1) } + [PendingWrite(id: 9, request: long)]
        #expect(store.submit(writes, replies: replies).isEmpty)
        for _ in 1...9 { log.letGo() }
        #expect(replies.wait(for: 9).count == 9)
        #expect(replies.order == [1, 2, 9, 3, 4, 5, 6, 7, 8])
    }

    @Test("long writes of several clients are decided round-robin, and those of one client in their order")
    func longWritesOfSeveralClients() throws {
        let store = try store { _ in }
        try occupy(store)
        let clients = ["a", "a", "a", "b", "c", "b"]
        for (number, client) in clients.enumerated() {
            var long = try put(0, "k\(number)", 1).request
            long.becomeLong()
            let write = PendingWrite(id: number + 2, request: long, client: .caller(client))
            #expect(store.submit([write], replies: replies).isEmpty)
        }
        for _ in 0...clients.count { log.letGo() }
        #expect(replies.wait(for: 7).count == 7)
        #expect(replies.order == [1, 2, 5, 6, 3, 7, 4])
    }

    @Test("writes that wait make the writer busy by their time, not by their number")
    func busy() throws {
        let store = try store { $0.turn = 1_000_000 }
        try occupy(store)
        #expect(!store.isBusy)
        #expect(store.submit(try (2...400).map { try put($0, "k\($0)", 1) }, replies: replies).isEmpty)
        #expect(store.isBusy)
        for _ in 1...400 { log.letGo() }
    }
}

/// Writes whose values take long to check.
@Suite(.ownThread)
struct CostlyWriteTests {
    private let log = ScriptedLog(isGated: true)
    private let replies = CollectedReplies()
    private let store: Store
    private let suite: SuiteName

    init() throws {
        suite = try SuiteName("app")
        var state = State(epoch: try #require(Epoch("e0")))
        // Every state of the pattern stays possible at each letter.
        let document: JSONValue = ["additionalProperties": ["pattern": "^(?:a{0,30}){50}b?$"], "type": "object"]
        let request = WriteRequest(.setSchema(suite, try Schema(document), onConflict: .refuse))
        let decision = try state.decide(
            request, revision: try #require(Revision(1)), time: Timestamp(milliseconds: 1))
        _ = try state.apply(try #require(decision.commit), schema: decision.schema)
        store = Store(state, log: log) { Timestamp(milliseconds: 1000) }
    }

    private func write(_ id: Int, _ command: WriteRequest.Command, isAlone: Bool) -> PendingWrite {
        var request = WriteRequest(command)
        request.steps = WriteRequest.stepsOfShort
        request.isAlone = isAlone
        return PendingWrite(id: id, request: request)
    }

    private func commands() throws -> [WriteRequest.Command] {
        func map(_ length: Int) -> JSONObject {
            var map = JSONObject()
            for number in 0..<10 { map["k\(number)"] = .string(String(repeating: "a", count: length)) }
            return map
        }
        let operations = try map(62).members.map {
            Transaction.Operation(suite: suite, key: try KeyName($0.name), .set($0.value))
        }
        let text = JSONValue.string(String(repeating: "a", count: 120))
        return [
            .setting(Transaction.Operation(suite: suite, key: try KeyName("k"), .set(text))),
            .mergeSuite(suite, map(60)), .replaceSuite(suite, map(61)), .transaction(Transaction(do: operations)),
        ]
    }

    @Test("a write that takes long to check is decided after others, if its connection sends none behind it")
    func postponed() throws {
        for command in try commands() {
            let others = try SuiteName("open")
            let plain = Transaction.Operation(suite: others, key: try KeyName("a"), .delete)
            let other = Transaction.Operation(suite: others, key: try KeyName("a"), .set(1))
            #expect(
                store.submit(
                    [write(1, command, isAlone: true), write(2, .setting(other), isAlone: false)], replies: replies
                ).isEmpty)
            log.letGo()
            log.letGo()
            let ends = replies.wait(for: 2)
            #expect(ends[1]?.problem == nil && ends[2]?.problem == nil)
            #expect(replies.order.suffix(2) == [2, 1])
            _ = store.submit([write(3, .setting(plain), isAlone: false)], replies: replies)
            log.letGo()
            _ = replies.wait(for: 1)
        }
    }

    @Test("a write that takes long to check is refused as overloaded, if its connection sends others behind it")
    func refused() throws {
        for command in try commands() {
            #expect(store.submit([write(1, command, isAlone: false)], replies: replies).isEmpty)
            let problem = try #require(replies.wait(for: 1)[1]?.problem)
            #expect(problem.code == .overloaded && problem.outcome == .notDone && problem.retryAfterMs != nil)
        }
    }
}
