import HTTPServer
import TestSupport
import Testing

/// The default time limits: 10 seconds to receive a head, or 1024 further bytes of a body; 75 seconds without a
/// request; 30 seconds in which the client reads nothing; 2 seconds until the client closes after its last answer.
///
/// `ScriptedHandler` answers `/later` when the test calls `answer`, and `/big` with eight megabytes. After the answer
/// to `/last`, the connection closes. Any other answer has the first three letters of the method, and then the whole
/// path and body: `GET /a `.
@Suite(.ownThread)
struct DeadlineTests {
    /// Connects, and sends a complete request and the beginning of another request at once. When the answer to the
    /// first request arrives, the server has also read the beginning.
    private func connect(to server: TestServer, sending beginning: String) throws -> RawClient {
        let client = try server.connect()
        #expect(try client.exchange(get("/a") + beginning).text == "GET /a ")
        return client
    }

    @Test(arguments: ["GET /slow HTT", "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nabc"])
    func `A client that sends a request too slowly gets 408`(beginning: String) throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try connect(to: server, sending: beginning)
        time.advance(seconds: 9)
        server.checkDeadlines()
        server.awaitLoops()
        #expect(server.server.connectionCount == 1)
        time.advance(seconds: 2)
        server.checkDeadlines()
        let response = try client.readResponse()
        #expect(response.status == 408)
        #expect(response.field("Connection") == "close")
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test
    func `A head in small pieces gets no additional time`() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try connect(to: server, sending: "GET /slow HT")
        // Nine bytes in nine seconds.
        for byte in "TP/1.1\r\nA".utf8 {
            time.advance(seconds: 1)
            try client.send([byte])
            server.awaitLoops()
        }
        time.advance(seconds: 2)
        server.checkDeadlines()
        #expect(try client.readResponse().status == 408)
    }

    @Test
    func `A body that makes progress gets additional time`() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let part = String(repeating: "x", count: 2000)
        let client = try server.connect()
        try client.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.readResponse().status == 100)
        for _ in 0..<4 {
            time.advance(seconds: 9)
            try client.send(part)
            // This exchange takes an iteration of the loop, so the loop has read the part before the clock advances.
            let other = try server.connect()
            #expect(try other.exchange(get("/a")).status == 200)
            other.close()
        }
        try client.send(part)
        #expect(try client.readResponse().text.utf8.count == "POS /b ".utf8.count + 10000)
    }

    // A line break between requests does not begin a request.
    @Test(arguments: ["", "\r\n"])
    func `An idle connection is closed without an answer`(lineBreak: String) throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try connect(to: server, sending: lineBreak)
        time.advance(seconds: 74)
        server.checkDeadlines()
        #expect(try client.exchange(get("/a")).status == 200)
        time.advance(seconds: 74)
        server.checkDeadlines()
        server.awaitLoops()
        #expect(server.server.connectionCount == 1)
        time.advance(seconds: 2)
        server.checkDeadlines()
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test
    func `A connection with a pending request is not idle`() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try connect(to: server, sending: get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        for _ in 0..<10 {
            time.advance(seconds: 60)
            server.checkDeadlines()
        }
        server.awaitLoops()
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        time.advance(seconds: 76)
        server.checkDeadlines()
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test
    func `A client that reads no answers is reset`() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        #expect(server.script.log.wait(for: "handled /big"))
        let other = try server.connect()
        #expect(try other.exchange(get("/a")).status == 200)
        time.advance(seconds: 31)
        server.checkDeadlines()
        server.awaitLoops()
        #expect(server.server.connectionCount == 1)
        #expect(throws: RawClient.Failure.reset) { try client.readUntilClose() }
        #expect(try other.exchange(get("/a")).status == 200)
    }

    @Test(
        "While memory is short, a client that reads at the minimum rate continues, and a stalled client is reset")
    func minimumRateWhileOtherWorkWaitsForMemory() throws {
        let time = ManualClock()
        let budget = MemoryBudget(limit: 256 << 20)
        let server = try TestServer(budget: budget, clock: time.clock, sendBuffer: 4096)
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        let head = try client.readHead()
        // Memory is short while some work waits for memory. Only then does the minimum rate apply.
        budget.beginWaiting()
        for _ in 0..<10 {
            // The answer is much larger than the buffers of the kernel, so the server sends most of it after the client
            // begins to read.
            // 500 kB in 0.9 seconds are more than the minimum rate of 64 KiB per second.
            var count = 0
            while count < 500_000, let part = try client.readBodyPart(of: head) { count += part.count }
            time.advance(seconds: 0.9)
            server.checkDeadlines()
            server.awaitLoops()
            #expect(server.server.connectionCount == 1)
        }
        // The pause of at most 20 seconds is shorter than the 30 seconds in which a client may read nothing.
        for _ in 0..<10 where server.server.connectionCount > 0 {
            time.advance(seconds: 2)
            server.checkDeadlines()
            server.awaitLoops()
        }
        #expect(throws: RawClient.Failure.reset) { try client.readUntilClose() }
    }

    @Test
    func `A client that does not close after its last answer is disconnected`() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect()
        #expect(try client.exchange(get("/last")).text == "last")
        #expect(try client.readUntilClose().isEmpty)
        time.advance(seconds: 3)
        server.checkDeadlines()
        server.awaitLoops()
        #expect(server.server.connectionCount == 0)
    }
}
