import HTTPServer
import TestSupport
import Testing

@Suite(.ownThread)
struct DeadlineTests {
    /// Sends a complete request and the beginning of another request at once. When the answer arrives, the server has
    /// also read the beginning.
    private func begin(_ beginning: String, _ server: TestServer) throws -> RawClient {
        let client = try server.connect()
        #expect(try client.exchange(get("/a") + beginning).text == "GET /a ")
        return client
    }

    @Test(
        "A peer that is too slow with a request gets 408",
        arguments: ["GET /slow HTT", "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nabc"])
    func peerTooSlowRequest(beginning: String) throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try begin(beginning, server)
        time.advance(seconds: 9)
        server.checkDeadlines()
        server.settle()
        #expect(server.server.connectionCount == 1)
        time.advance(seconds: 2)
        server.checkDeadlines()
        let response = try client.readResponse()
        #expect(response.status == 408)
        #expect(response.field("Connection") == "close")
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test("A head that comes bit by bit gets no more time") func headComesBitBit() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try begin("GET /slow HT", server)
        for byte in "TP/1.1\r\nA".utf8 {
            time.advance(seconds: 1)
            try client.send([byte])
            server.settle()
        }
        time.advance(seconds: 2)
        server.checkDeadlines()
        #expect(try client.readResponse().status == 408)
    }

    @Test("A body that makes progress has time") func bodyMakesProgressHas() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let part = String(repeating: "x", count: 2000)
        let client = try server.connect()
        try client.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.readResponse().status == 100)
        for _ in 0..<4 {
            time.advance(seconds: 9)
            try client.send(part)
            // The exchange on another connection is an iteration after the part has arrived.
            let other = try server.connect()
            #expect(try other.exchange(get("/a")).status == 200)
            other.close()
        }
        try client.send(part)
        #expect(try client.readResponse().text.utf8.count == "POS /b ".utf8.count + 10000)
    }

    @Test("An idle connection is closed without a word", arguments: ["", "\r\n"])
    func idleConnectionClosedWithout(empty: String) throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try begin(empty, server)
        time.advance(seconds: 74)
        server.checkDeadlines()
        #expect(try client.exchange(get("/a")).status == 200)
        time.advance(seconds: 74)
        server.checkDeadlines()
        server.settle()
        #expect(server.server.connectionCount == 1)
        time.advance(seconds: 2)
        server.checkDeadlines()
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test("A connection that is owed an answer may wait") func connectionOwedAnswerMay() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try begin(get("/later"), server)
        #expect(server.script.log.wait(for: "handled /later"))
        for _ in 0..<10 {
            time.advance(seconds: 60)
            server.checkDeadlines()
        }
        server.settle()
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        time.advance(seconds: 76)
        server.checkDeadlines()
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test("A peer that takes none of its answers is reset") func peerTakesNoneAnswers() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        #expect(server.script.log.wait(for: "handled /big"))
        let other = try server.connect()
        #expect(try other.exchange(get("/a")).status == 200)
        time.advance(seconds: 31)
        server.checkDeadlines()
        server.settle()
        #expect(server.server.connectionCount == 1)
        #expect(throws: RawClient.Failure.reset) { try client.readUntilClose() }
        #expect(try other.exchange(get("/a")).status == 200)
    }

    @Test(
        "While other work waits for memory, a peer that reads at the minimum rate goes on, and a stalled peer is reset")
    func minimumRateWhileOtherWorkWaitsForMemory() throws {
        let time = ManualClock()
        let budget = MemoryBudget(limit: 256 << 20)
        let server = try TestServer(budget: budget, clock: time.clock, sendBuffer: 4096)
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        let head = try client.readHead()
        budget.beginWaiting()
        for _ in 0..<10 {
            // The answer is much larger than the buffers of the kernel, so the server sends most of it after the client
            // begins to read.
            var count = 0
            while count < 500_000, let part = try client.readBodyPart(of: head) { count += part.count }
            time.advance(seconds: 0.9)
            server.checkDeadlines()
            server.settle()
            #expect(server.server.connectionCount == 1)
        }
        // The pause is shorter than the timeout for sending.
        for _ in 0..<10 where server.server.connectionCount > 0 {
            time.advance(seconds: 2)
            server.checkDeadlines()
            server.settle()
        }
        #expect(throws: RawClient.Failure.reset) { try client.readUntilClose() }
    }

    @Test("A peer that never closes after its last answer does not stay") func peerNeverClosesAfter() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect()
        #expect(try client.exchange(get("/last")).text == "last")
        #expect(try client.readUntilClose().isEmpty)
        time.advance(seconds: 3)
        server.checkDeadlines()
        server.settle()
        #expect(server.server.connectionCount == 0)
    }
}
