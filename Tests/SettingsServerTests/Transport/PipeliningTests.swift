import Dispatch
import HTTPServer
import TestSupport
import Testing

/// `ScriptedHandler` answers `/later…` with the path when the test calls `answer`, `/big` with eight megabytes, and
/// `/last` with `last`. After the answer to `/last`, the connection accepts no further request, and closes when it has
/// sent the pending answers. The answer to any other path has the first three letters of the method, and then the
/// whole path and body, such as `POS /b body`. The answer to `/slow` comes after two milliseconds of work. The log of
/// the script has the handled paths.
@Suite(.ownThread)
struct PipeliningTests {
    @Test
    func `Requests are parsed wherever their bytes are split into two sends`() throws {
        let server = try TestServer()
        let client = try server.connect()
        let chunked =
            "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        let bytes = Array((get("/a") + post("/b", "body") + chunked + get("/d")).utf8)
        // `after` runs after each send: the server must read the first part before the second part arrives.
        for split in 1..<bytes.count {
            try client.send(bytes, splitAt: [split], after: server.awaitLoops)
            let answers = try (0..<4).map { _ in try client.readResponse().text }
            #expect(answers == ["GET /a ", "POS /b body", "POS /c abcde", "GET /d "], "split at \(split)")
        }
    }

    @Test
    func `A body larger than the read buffer arrives completely`() throws {
        let server = try TestServer()
        let client = try server.connect()
        let body = String(repeating: "0123456789", count: 100_000)
        #expect(try client.exchange(post("/b", body)).text == "POS /b " + body)
        #expect(try client.exchange(get("/a")).text == "GET /a ")
    }

    @Test
    func `A connection with too many pending requests is not read until some are answered`()
        throws
    {
        var limits = TransportLimits()
        limits.maxPipelinedRequests = 4
        let server = try TestServer(limits: limits)
        let client = try server.connect()
        try client.send((0..<6).map { get("/later\($0)") }.joined())
        #expect(server.script.log.wait(for: "handled /later3"))
        server.awaitLoops()
        #expect(server.script.log.all.count == 4)
        for number in 0..<6 {
            #expect(server.script.log.wait(for: "handled /later\(number)"))
            server.script.answer("/later\(number)")
            #expect(try client.readResponse().text == "/later\(number)")
        }
        #expect(try client.exchange(get("/a")).text == "GET /a ")
    }

    @Test
    func `Requests that arrived before an answer that closes the connection are still answered`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later1") + get("/later2") + get("/last") + get("/later3"))
        #expect(server.script.log.wait(for: "handled /later3"))
        for number in 1...3 { server.script.answer("/later\(number)") }
        let answers = try (0..<4).map { _ in try client.readResponse() }
        #expect(answers.map(\.text) == ["/later1", "/later2", "last", "/later3"])
        // The connection closes after the last answer, so only the last answer has `Connection: close`.
        #expect(answers.map { $0.field("Connection") } == [nil, nil, nil, "close"])
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test
    func `The server does not read from a client that reads no answers, and serves other clients`() throws {
        let server = try TestServer()
        let greedy = try server.connect(receiveBuffer: 4096)
        try greedy.send(get("/big") + get("/big") + get("/a"))
        #expect(server.script.log.wait(for: "handled /big"))
        let other = try server.connect()
        for _ in 0..<100 { #expect(try other.exchange(get("/b")).text == "GET /b ") }
        #expect(server.script.log.count("handled /big") == 1)
        // The loop does not read the connection, so only the buffers of the kernel accept data: less than 64 MiB.
        let flood = [UInt8](get("/c").utf8)
        var sent = 0
        while sent < 64 << 20 {
            let count = greedy.sendWithoutWaiting(flood)
            guard count == flood.count else { break }
            sent += count
        }
        #expect(sent < 64 << 20)
        for _ in 0..<2 { #expect(try greedy.readResponse().body.count == ScriptedHandler.bigLength) }
        #expect(try greedy.readResponse().text == "GET /a ")
        #expect(server.script.log.count("handled /big") == 2)
    }

    @Test
    func `Long requests of many connections are postponed for a short request`() throws {
        let server = try TestServer()
        let slowClients = try (0..<100).map { _ in try server.connect() }
        let shortClient = try server.connect()
        let gate = server.blockLoop()
        // All requests have arrived when the loop reads the connections. The cookie makes each slow request longer
        // than 1,024 bytes, because the loop never postpones the first request in a buffer of at most 1,024 bytes.
        for client in slowClients { try client.send(get("/slow", "Cookie: \(String(repeating: "a", count: 2000))")) }
        try shortClient.send(get("/short"))
        gate.signal()
        #expect(try shortClient.readResponse().text == "GET /short ")
        for client in slowClients { #expect(try client.readResponse().text == "GET /slow ") }
        // In the order of arrival, the short request would be handled after all 100 long requests. The number 50 leaves
        // room for the requests that the loop handles before it postpones the other requests.
        #expect(try #require(server.script.log.all.firstIndex(of: "handled /short")) < 50)
    }

    @Test
    func `The later requests of a pipeline are postponed for other connections`() throws {
        let server = try TestServer()
        let slowClients = try (0..<20).map { _ in try server.connect() }
        let shortClient = try server.connect()
        let gate = server.blockLoop()
        for client in slowClients { try client.send(String(repeating: get("/slow"), count: 5)) }
        try shortClient.send(get("/short"))
        gate.signal()
        #expect(try shortClient.readResponse().text == "GET /short ")
        for client in slowClients {
            for _ in 0..<5 { #expect(try client.readResponse().text == "GET /slow ") }
        }
        // In the order of arrival, the short request would be handled after all 100 slow requests. The number 30
        // leaves room for the first request of each of the 20 connections, and some more.
        #expect(try #require(server.script.log.all.firstIndex(of: "handled /short")) < 30)
    }
}
