import HTTPServer
import TestSupport
import Testing

/// `ScriptedHandler` answers `/later` when the test calls `answer`, `/after` when all earlier requests are answered,
/// and `/big` with eight megabytes. After the answer to `/last`, the connection closes. Any other answer has the first
/// three letters of the method, and then the whole path and body, such as `POS /a body`. The log of the script has the
/// calls of the handler.
@Suite(.ownThread)
struct ConnectionTests {
    @Test(arguments: [
        ("Connection: close", get("/a", "Connection: close")),
        ("HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n"),
        ("an answer of the handler that closes the connection", get("/last")),
    ])
    func `The server closes the connection after an answer with Connection: close`(
        reason: String, request: String
    ) throws {
        let server = try TestServer()
        let client = try server.connect()
        let response = try client.exchange(request)
        #expect(response.status == 200)
        #expect(response.field("Connection") == "close")
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test("An HTTP/1.0 connection with keep-alive stays open") func http10Stays() throws {
        let server = try TestServer()
        let client = try server.connect()
        let request = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        #expect(try client.exchange(request).field("Connection") == "keep-alive")
        #expect(try client.exchange(request).text == "GET /a ")
    }

    @Test
    func `A client that expects 100 Continue gets one response 100 Continue`() throws {
        let server = try TestServer()
        let client = try server.connect()
        // The last four bytes are the body.
        let request = Array(post("/a", "body", "Expect: 100-continue").utf8)
        try client.send(Array(request.dropLast(4)))
        #expect(try client.readResponse().status == 100)
        try client.send(Array(request.suffix(4).prefix(2)))
        try client.send(Array(request.suffix(2)))
        #expect(try client.readResponse().text == "POS /a body")
        #expect(try client.exchange(get("/b")).text == "GET /b ")
    }

    @Test
    func `100 Continue is sent after all earlier answers`() throws {
        let server = try TestServer()
        let client = try server.connect()
        let request = post("/a", "body", "Expect: 100-continue")
        try client.send(get("/later") + request.dropLast(4))
        #expect(server.script.log.wait(for: "handled /later"))
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        #expect(try client.readResponse().status == 100)
        try client.send("body")
        #expect(try client.readResponse().text == "POS /a body")
    }

    @Test
    func `A client that half-closes its connection after complete requests gets its answers`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/a") + get("/later") + get("/b"))
        client.endSending()
        #expect(try client.readResponse().text == "GET /a ")
        #expect(server.script.log.wait(for: "half-closed"))
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        #expect(try client.readResponse().text == "GET /b ")
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test
    func `A half-close is detected while the connection is not read`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later") + get("/after"))
        // While this request is postponed, the server does not read the connection.
        #expect(server.script.log.wait(for: "postponed /after"))
        client.endSending()
        #expect(server.script.log.wait(for: "half-closed"))
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        #expect(try client.readResponse().text == "GET /after ")
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test(arguments: [get("/later"), get("/later") + get("/after")])
    func `A reset is detected at once and cancels the pending requests`(requests: String) throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(requests)
        #expect(server.script.log.wait(for: "handled /later"))
        client.reset()
        #expect(server.script.log.wait(for: "closed"))
        // The ticket of the request on the closed connection stays invalid after another connection has taken the slot
        // of this connection. So the first call of `answer`, which answers the older request, has no effect.
        let other = try server.connect()
        try other.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later", times: 2))
        server.script.answer("/later")
        server.awaitLoops()
        server.script.answer("/later")
        #expect(try other.readResponse().text == "/later")
        #expect(try other.exchange(get("/b")).text == "GET /b ")
        #expect(server.server.connectionCount == 1)
    }

    @Test
    func `A reset in the middle of a large answer frees the connection`() throws {
        let server = try TestServer()
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        #expect(server.script.log.wait(for: "handled /big"))
        client.reset()
        let other = try server.connect()
        // When no other connection is left, the loop has handled the reset. Each exchange takes one iteration.
        _ = try other.exchange(get("/b"))
        for _ in 0..<100_000 where server.server.connectionCount > 1 { _ = try other.exchange(get("/b")) }
        #expect(server.server.connectionCount == 1)
    }

    @Test
    func `A malformed request is answered after the pending request before it`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later") + "nonsense\r\n\r\n")
        #expect(server.script.log.wait(for: "handled /later"))
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        #expect(try client.readResponse().status == 400)
        #expect(try client.readUntilClose().isEmpty)
    }

    @Test(arguments: [
        ("malformed request line", "GET /a b HTTP/1.1\r\n\r\n", 400),
        ("unknown version", "GET /a HTTP/3.0\r\n\r\n", 505),
        ("too large body", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
    ])
    func `A request that the server cannot accept gets an error, and the connection closes`(
        name: String, request: String, status: Int
    ) throws {
        let server = try TestServer()
        let client = try server.connect()
        // The server must read the further bytes, because unread bytes would cause a reset that destroys the answer.
        try client.send(get("/a") + request + String(repeating: "x", count: 100_000))
        #expect(try client.readResponse().text == "GET /a ")
        let response = try client.readResponse()
        #expect(response.status == status)
        #expect(response.field("Connection") == "close")
        #expect(try client.readUntilClose().isEmpty)
    }
}
