import Synchronization
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct StoppingTests {
    @Test("The handler of each loop is notified once of a stop, before idle connections are closed")
    func handlerEachLoopTold() throws {
        let server = try TestServer(loops: 2)
        let counts = Mutex<[Int]>([])
        server.script.hooks.withLock { hooks in
            hooks.stopping = { loop in
                let count = loop.connectionCount
                counts.withLock { $0.append(count) }
            }
        }
        let clients = try (0..<4).map { _ in
            let client = try server.connect()
            #expect(try client.exchange(get("/a")).status == 200)
            return client
        }
        server.stop(within: 60)
        for client in clients { #expect(try client.readUntilClose().isEmpty) }
        #expect(server.script.log.wait(for: "stopped"))
        #expect(counts.withLock { $0 } == [2, 2])
    }

    @Test("All that wait get an answer that closes, and streams an end") func allWaitGetAnswer() throws {
        let server = try TestServer()
        let waiting = try server.connect()
        try waiting.send(get("/later1") + get("/later2"))
        #expect(server.script.log.wait(for: "handled /later2"))
        let streaming = try server.connect()
        try streaming.send(get("/laterBegun"))
        #expect(try streaming.readHead().status == 200)
        for text in ["begin", "more"] { #expect(try streaming.readChunk() == text) }
        server.script.hooks.withLock { hooks in
            hooks.stopping = { [script = server.script] loop in
                for path in ["/later1", "/later2"] {
                    if let found = script.take(path) { loop.respond(found.ticket, Script.response(path)) }
                }
                if let found = script.take("/laterBegun") {
                    loop.push(found.ticket, Array("bye".utf8).span, isLast: true)
                }
            }
        }
        server.stop(within: 60)
        #expect(try waiting.readResponse().field("Connection") == nil)
        let last = try waiting.readResponse()
        #expect(last.text == "/later2")
        #expect(last.field("Connection") == "close")
        #expect(try streaming.readChunk() == "bye")
        #expect(try streaming.readChunk() == nil)
        for client in [waiting, streaming] {
            #expect(try client.readUntilClose().isEmpty)
            client.close()
        }
        #expect(server.script.log.wait(for: "stopped"))
        #expect(server.script.log.count("closed") == 0)
    }

    @Test("Requests that are on their way are handled and answered") func requestsTheirWayHandled() throws {
        let server = try TestServer()
        let waiting = try server.connect()
        try waiting.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let slow = try server.connect()
        let request = get("/slow")
        try slow.send(get("/a") + request.prefix(10))
        #expect(try slow.readResponse().text == "GET /a ")
        server.stop(within: 60)
        #expect(server.script.log.wait(for: "stopping"))
        try waiting.send(get("/behind"))
        #expect(server.script.log.wait(for: "handled /behind"))
        try slow.send(String(request.dropFirst(10)))
        let answer = try slow.readResponse()
        #expect(answer.text == "GET /slow ")
        #expect(answer.field("Connection") == "close")
        server.script.answer("/later")
        #expect(try waiting.readResponse().text == "/later")
        #expect(try waiting.readResponse().field("Connection") == "close")
        for client in [waiting, slow] {
            #expect(try client.readUntilClose().isEmpty)
            client.close()
        }
        #expect(server.script.log.wait(for: "stopped"))
    }

    @Test("A stream that begins during the stop says that it closes") func streamBeginsDuringStop() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.take("/later"))
        server.stop(within: 60)
        #expect(server.script.log.wait(for: "stopping"))
        try server.onLoop(exchange) { loop, ticket in
            loop.begin(ticket, Script.response("begin"))
            loop.push(ticket, Span(), isLast: true)
        }
        #expect(try client.readHead().field("Connection") == "close")
        #expect(try client.readChunk() == "begin")
        #expect(try client.readChunk() == nil)
        #expect(try client.readUntilClose().isEmpty)
        client.close()
        #expect(server.script.log.wait(for: "stopped"))
    }
}
