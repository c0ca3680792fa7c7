import SettingsAPI
import SettingsStorage
import TestSupport
import Testing

/// Answers to writes over a commit log in which each flush waits for `releaseFlush`.
@Suite(.ownThread)
struct WriteAnswerTests {
    private let log = ScriptedLog(isGated: true)
    private let server: APIServer
    private let client: RawClient

    init() throws {
        server = try APIServer(log: log)
        client = try server.connect()
        try client.send(LargeBodyTests.put("app/keys/a", "1"))
        log.releaseFlush()
        #expect(try client.readResponse().status == 201)
        // Each call of `awaitFlushStart` waits for one flush: this call for the flush above, the next call for the next
        // flush.
        log.awaitFlushStart()
    }

    @Test("A write is answered when it is durable, also if it was decided during the flush of another write")
    func answers() throws {
        let other = try server.connect()
        try client.send(LargeBodyTests.put("app/keys/a", "2"))
        log.awaitFlushStart()
        try other.send(LargeBodyTests.put("app/keys/a", "3"))
        // A read sees only durable commits.
        #expect(try server.connect().exchange(LargeBodyTests.get("app/keys/a?raw")).text == "1")
        #expect(!client.isReadable && !other.isReadable)
        log.releaseFlush()
        #expect(try client.readResponse().text.contains(#""value":2,"#))
        log.releaseFlush()
        let answer = try other.readResponse()
        #expect(answer.status == 200 && answer.text.contains(#""value":3,"#) && answer.text.contains(#""revision":3,"#))
    }

    @Test(
        "A write that does not become durable is refused and is not visible, and the next write succeeds",
        arguments: [CommitLogError.Outcome.notDone, .unknown])
    func failure(outcome: CommitLogError.Outcome) throws {
        // The next flush fails because the disk is full.
        log.failNextFlush(outcome, .full)
        try client.send(LargeBodyTests.put("app/keys/a", "2"))
        log.releaseFlush()
        let refusal = try client.readResponse()
        // 507 says that the disk is full and that the write is certainly not done.
        #expect(refusal.status == (outcome == .unknown ? 503 : 507))
        #expect(!refusal.text.contains("value"))
        #expect(try client.exchange(LargeBodyTests.get("app/keys/a?raw")).text == "1")
        try client.send(LargeBodyTests.put("app/keys/a", "4"))
        log.releaseFlush()
        #expect(try client.readResponse().text.contains(#""value":4,"#))
    }
}
