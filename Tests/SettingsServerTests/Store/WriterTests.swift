import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread)
struct WriterTests {
    private let log: ScriptedLog
    private let store: Store
    private let replies = CollectedReplies()

    init() throws {
        log = ScriptedLog(isGated: true)
        let epoch = try #require(Epoch("e0"))
        store = Store(State(epoch: epoch), log: log) { Timestamp(milliseconds: 1000) }
    }

    private func put(
        _ id: UInt64, _ key: String, _ value: JSONValue, requestKey: String? = nil,
        guards: [WriteRequest.Guard] = []
    ) throws -> PendingWrite {
        let operation = Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), .set(value))
        var request = WriteRequest(.setting(operation))
        request.requestKey = requestKey.flatMap { RequestKey($0) }
        request.digest = requestKey.map { _ in "\(key)=\(value)" }
        request.guards = guards
        request.size = 100
        return PendingWrite(id: id, request: request)
    }

    @Test("what gathers while a batch is synced is made durable by one sync, and nothing is visible before")
    func groupCommit() throws {
        #expect(store.submit([try put(1, "a", 1)], replies: replies).isEmpty)
        for id in 2...9 { _ = store.submit([try put(UInt64(id), "k\(id)", 1)], replies: replies) }
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
}
