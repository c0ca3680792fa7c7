import Dispatch
import HTTPWire
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread)
struct StreamTests {
    /// Connects, sends the requests, and begins to answer the one with the path `/later`.
    private func begin(
        _ server: TestServer, _ requests: String, receiveBuffer: Int32? = nil
    ) throws -> (RawClient, Exchange) {
        let client = try server.connect(receiveBuffer: receiveBuffer)
        try client.send(requests)
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.take("/later"))
        exchange.loop.run {
            exchange.loop.begin(
                exchange.ticket, Response(status: 200, contentType: .eventStream, body: Array("begin".utf8)))
        }
        return (client, exchange)
    }

    private func push(_ exchange: Exchange, _ text: String, isLast: Bool = false) {
        exchange.loop.run { exchange.loop.push(exchange.ticket, Array(text.utf8).span, isLast: isLast) }
    }

    @Test("A body that comes bit by bit arrives so, and answers behind it follow") func bodyComesBitBit() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, get("/later") + get("/a"))
        #expect(try client.readHead().field("Transfer-Encoding") == "chunked")
        #expect(try client.readChunk() == "begin")
        for number in 0..<100 {
            push(exchange, "event \(number)")
            #expect(try client.readChunk() == "event \(number)")
        }
        push(exchange, "")
        push(exchange, "end", isLast: true)
        push(exchange, "too late")
        #expect(try client.readChunk() == "end")
        #expect(try client.readChunk() == nil)
        #expect(try client.readResponse().text == "GET /a ")
        #expect(try client.exchange(get("/b")).text == "GET /b ")
    }

    @Test("A stream waits for the answers before it") func streamWaitsAnswersBefore() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, get("/later0") + get("/later"))
        push(exchange, "more", isLast: true)
        server.script.answer("/later0")
        #expect(try client.readResponse().text == "/later0")
        #expect(try client.readHead().status == 200)
        #expect(try client.readChunk() == "begin")
        #expect(try client.readChunk() == "more")
        #expect(try client.readChunk() == nil)
    }

    @Test("To HEAD a stream is a head, and ends with it") func headStreamHeadEnds() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, "HEAD /later HTTP/1.1\r\nHost: a\r\n\r\n" + get("/a"))
        #expect(try client.readHead().field("Transfer-Encoding") == "chunked")
        #expect(try client.readResponse().text == "GET /a ")
        push(exchange, "more", isLast: true)
        #expect(try client.exchange(get("/b")).text == "GET /b ")
        client.close()
        server.settle()
        #expect(server.script.log.count("closed") == 0)
    }

    @Test("A stream begins while the request is handled") func streamBeginsWhileRequest() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/laterBegun") + get("/a"))
        _ = try client.readHead()
        #expect(try client.readChunk() == "begin")
        #expect(try client.readChunk() == "more")
        push(try #require(server.script.take("/laterBegun")), "end", isLast: true)
        #expect(try client.readChunk() == "end")
        #expect(try client.readChunk() == nil)
        #expect(try client.readResponse().text == "GET /a ")
    }

    @Test("A request behind a stream waits for its end") func requestBehindStreamWaits() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, get("/later") + get("/after"))
        #expect(server.script.log.wait(for: "not yet"))
        #expect(try client.readHead().status == 200)
        #expect(try client.readChunk() == "begin")
        push(exchange, "more")
        #expect(try client.readChunk() == "more")
        #expect(server.script.log.count("handled /after") == 0)
        push(exchange, "", isLast: true)
        #expect(try client.readChunk() == nil)
        #expect(try client.readResponse().text == "GET /after ")
    }

    @Test(
        "A reset is noticed though nothing is to be sent",
        arguments: [get("/later"), get("/later") + get("/after"), get("/later") + "GET /unfinished HT"])
    func resetNoticedThoughNothing(requests: String) throws {
        let server = try TestServer()
        let (client, _) = try begin(server, requests)
        #expect(try client.readHead().status == 200)
        #expect(try client.readChunk() == "begin")
        server.settle()
        client.reset()
        #expect(server.script.log.wait(for: "closed"))
        server.settle()
        #expect(server.server.connectionCount == 0)
    }

    @Test("Before HTTP/1.1 a stream ends with its connection") func beforeHTTP11() throws {
        let server = try TestServer()
        let request = "GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        let (client, exchange) = try begin(server, request + get("/later2"))
        #expect(server.script.log.wait(for: "handled /later2"))
        #expect(try client.readHead().field("Transfer-Encoding") == nil)
        push(exchange, " and end", isLast: true)
        #expect(try client.readUntilClose() == Array("begin and end".utf8))
        #expect(server.script.log.count("closed") == 1)
    }

    @Test("A peer too far behind is closed, and the handler notified") func peerTooFarBehind() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, get("/later"), receiveBuffer: 4096)
        let piece = String(repeating: "x", count: 100_000)
        // The send buffer of the kernel takes some megabytes before any of it waits.
        for _ in 0..<1000 where server.script.log.count("closed") == 0 {
            push(exchange, piece)
            server.settle()
        }
        #expect(server.script.log.count("closed") == 1)
        #expect(server.server.connectionCount == 0)
        client.close()
    }

    @Test("A peer that leaves a stream is noticed") func peerLeavesStreamNoticed() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, get("/later"))
        #expect(try client.readHead().status == 200)
        client.endSending()
        #expect(server.script.log.wait(for: "half-closed"))
        client.reset()
        #expect(server.script.log.wait(for: "closed"))
        push(exchange, "to nobody")
        server.settle()
        #expect(server.server.connectionCount == 0)
    }

    @Test("A peer that is gone when its stream ends affects no other connection", arguments: [false, true])
    func peerGoneWhenStream(isBehind: Bool) throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server, (isBehind ? get("/later0") : "") + get("/later"))
        let first = server.script.take("/later0")
        if !isBehind { #expect(try client.readHead().status == 200) }
        let isReset = DispatchSemaphore(value: 0)
        exchange.loop.run {
            // Before the loop could hear of it.
            isReset.wait()
            if let first { exchange.loop.respond(first.ticket, Script.response("first")) }
            exchange.loop.push(exchange.ticket, Array("end".utf8).span, isLast: true)
        }
        client.reset()
        isReset.signal()
        server.settle()
        #expect(server.server.connectionCount == 0)
        #expect(try server.connect().exchange(get("/a")).text == "GET /a ")
    }
}
