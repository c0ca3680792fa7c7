import Dispatch
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// `ScriptedHandler` answers `/later…` when the test calls `answer`, `/slow` after two milliseconds of work, and `/big`
/// with eight megabytes. Any other answer has the first three letters of the method, and then the whole path and body:
/// `GET /a `. The log of the script has the calls of the handler and the events of the server.
@Suite(.ownThread)
struct HTTPServerTests {
    @Test
    func `Connections are distributed evenly over all loops`() throws {
        let server = try TestServer(loops: 3)
        let clients = try (0..<9).map { _ in
            let client = try server.connect()
            #expect(try client.exchange(get("/a")).status == 200)
            return client
        }
        #expect(server.server.loops.map(\.connectionCount) == [3, 3, 3])
        for client in clients { #expect(try client.exchange(get("/b")).text == "GET /b ") }
    }

    @Test
    func `Without free descriptors, accepting pauses until descriptors are available`() throws {
        let failing = Atomic(false)
        let server = try TestServer(accept: { listener in
            guard !failing.load(ordering: .sequentiallyConsistent) else {
                return .exhausted(SystemError(call: "accept4", code: EMFILE))
            }
            return listener.accept()
        })
        let first = try server.connect()
        #expect(try first.exchange(get("/a")).status == 200)
        failing.store(true, ordering: .sequentiallyConsistent)
        let second = try server.connect()
        try second.send(get("/b"))
        #expect(server.script.log.wait(for: "paused"))
        #expect(try first.exchange(get("/a")).status == 200)
        failing.store(false, ordering: .sequentiallyConsistent)
        #expect(try second.readResponse().text == "GET /b ")
        #expect(server.script.log.wait(for: "resumed"))
        #expect(server.script.log.all.filter { !$0.hasPrefix("handled") } == ["paused", "resumed"])
        let third = try server.connect()
        #expect(try third.exchange(get("/c")).status == 200)
    }

    @Test
    func `A shortage of descriptors is logged once, even if a few connections are accepted`() throws {
        let freeDescriptors = Atomic(0)
        let server = try TestServer(accept: { listener in
            guard freeDescriptors.load(ordering: .sequentiallyConsistent) > 0 else {
                return .exhausted(SystemError(call: "accept4", code: EMFILE))
            }
            guard case .connection(let socket, let peer) = listener.accept() else { return .nothing }
            freeDescriptors.subtract(1, ordering: .sequentiallyConsistent)
            return .connection(socket, peer: peer)
        })
        let clients = try (0..<3).map { _ in try server.connect() }
        for client in clients { try client.send(get("/a")) }
        #expect(server.script.log.wait(for: "paused"))
        // The connections are accepted in the order of their arrival.
        for client in clients {
            freeDescriptors.add(1, ordering: .sequentiallyConsistent)
            #expect(try client.readResponse().status == 200)
        }
        #expect(server.script.log.all.filter { !$0.hasPrefix("handled") } == ["paused"])
        freeDescriptors.add(10, ordering: .sequentiallyConsistent)
        #expect(server.script.log.wait(for: "resumed"))
        #expect(server.script.log.all.filter { !$0.hasPrefix("handled") } == ["paused", "resumed"])
    }

    @Test("The acceptor passes at most 128 connections to a blocked loop, and later skips connections that were reset")
    func blockedLoop() throws {
        let accepted = Atomic(0)
        let aborted = Atomic(0)
        let server = try TestServer(accept: { listener in
            switch listener.accept() {
            case .connection(let socket, let peer):
                accepted.add(1, ordering: .sequentiallyConsistent)
                return .connection(socket, peer: peer)
            case .aborted:
                aborted.add(1, ordering: .sequentiallyConsistent)
                return .aborted
            case let other: return other
            }
        })
        let gate = server.blockLoop()
        // 128 connections are accepted at once, 32 later, and 40 are reset before they are accepted.
        let clients = try (0..<200).map { _ in
            let client = try server.connect()
            try client.send(get("/a"))
            return client
        }
        try eventually { accepted.load(ordering: .sequentiallyConsistent) >= 128 }
        // When this closure runs, the acceptor has stopped accepting.
        let hasRun = DispatchSemaphore(value: 0)
        server.server.runOnAcceptorQueue { hasRun.signal() }
        hasRun.patientWait()
        #expect(accepted.load(ordering: .sequentiallyConsistent) == 128)
        for client in clients[160...] { client.reset() }
        gate.signal()
        for client in clients[..<160] { #expect(try client.readResponse().status == 200) }
        try eventually { aborted.load(ordering: .sequentiallyConsistent) == 40 }
        #expect(accepted.load(ordering: .sequentiallyConsistent) == 160)
    }

    @Test
    func `Half-closed connections are served after live connections`() throws {
        let server = try TestServer()
        let gate = server.blockLoop()
        let halfClosed = try (0..<20).map { _ in
            let client = try server.connect()
            try client.send(get("/half-closed"))
            client.endSending()
            return client
        }
        let open = try server.connect()
        try open.send(get("/open"))
        // Waits until the acceptor has accepted all 21 connections, and the kernel of the server has all of their
        // bytes.
        try eventually {
            server.server.loops[0].arrivalCount == 21 && (halfClosed + [open]).allSatisfy(\.isAllAcknowledged)
        }
        // `arrivalCount` counts a connection just before the acceptor passes it to the loop.
        let hasRun = DispatchSemaphore(value: 0)
        server.server.runOnAcceptorQueue { hasRun.signal() }
        hasRun.patientWait()
        gate.signal()
        #expect(try open.readResponse().text == "GET /open ")
        for client in halfClosed {
            #expect(try client.readResponse().text == "GET /half-closed ")
            #expect(try client.readUntilClose().isEmpty)
        }
        #expect(server.script.log.all.first == "handled /open")
    }

    @Test
    func `The number of waiting half-closed connections has a limit`() throws {
        let server = try TestServer()
        let halfClosed = try (0..<600).map { _ in
            let client = try server.connect()
            #expect(try client.exchange(get("/a")).status == 200)
            return client
        }
        let gate = server.blockLoop()
        for client in halfClosed {
            try client.send(get("/slow"))
            client.endSending()
        }
        gate.signal()
        let answered = halfClosed.count { (try? $0.readResponse().text) == "GET /slow " }
        // The limit is 512. The loop serves some further connections before all half-closes have arrived.
        #expect((512..<580).contains(answered))
        #expect(try server.connect().exchange(get("/b")).status == 200)
    }

    @Test
    func `A stop ends while the acceptor waits for a loop`() throws {
        let server = try TestServer()
        let gate = server.blockLoop()
        // A loop has at most 128 connections that it has not begun to serve.
        let clients = try (0..<140).map { _ in try server.connect() }
        // Waits until the loop has the connections, because stopping earlier would reset them.
        try eventually { server.server.loops[0].arrivalCount == 128 }
        server.stop(withinSeconds: 10)
        gate.signal()
        #expect(server.script.log.wait(for: "stopped"))
        for client in clients[..<128] { #expect(try client.readUntilClose().isEmpty) }
    }

    @Test
    func `A stop ends while accepting is paused`() throws {
        let server = try TestServer(accept: { _ in .exhausted(SystemError(call: "accept4", code: EMFILE)) })
        let client = try server.connect()
        #expect(server.script.log.wait(for: "paused"))
        server.stop(withinSeconds: 10)
        #expect(server.script.log.wait(for: "stopped"))
        #expect(throws: RawClient.Failure.self) { try client.readResponse() }
    }

    @Test
    func `A stop closes idle connections at once and completes pending requests`()
        throws
    {
        let server = try TestServer(loops: 2)
        let idle = try server.connect()
        #expect(try idle.exchange(get("/a")).status == 200)
        let waiting = try server.connect()
        try waiting.send(get("/later1") + get("/later2"))
        #expect(server.script.log.wait(for: "handled /later2"))
        server.stop(withinSeconds: 60)
        #expect(try idle.readUntilClose().isEmpty)
        #expect(throws: RawClient.Failure.self) { try server.connect() }
        #expect(!server.script.log.all.contains("stopped"))
        server.script.answer("/later1")
        #expect(try waiting.readResponse().field("Connection") == nil)
        server.script.answer("/later2")
        #expect(try waiting.readResponse().field("Connection") == "close")
        #expect(try waiting.readUntilClose().isEmpty)
        waiting.close()
        #expect(server.script.log.wait(for: "stopped"))
        #expect(server.server.connectionCount == 0)
    }

    @Test
    func `A stop waits for a client that is reading its answer`() throws {
        let server = try TestServer()
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/big"))
        #expect(server.script.log.wait(for: "handled /big"))
        server.awaitLoops()
        server.stop(withinSeconds: 60)
        server.awaitLoops()
        #expect(!server.script.log.all.contains("stopped"))
        #expect(try client.readResponse().body.count == ScriptedHandler.bigLength)
        #expect(try client.readUntilClose().isEmpty)
        client.close()
        #expect(server.script.log.wait(for: "stopped"))
    }

    @Test
    func `A stop closes all connections at its time limit`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        server.stop(withinSeconds: 0.01)
        #expect(server.script.log.wait(for: "stopped"))
        #expect(server.script.log.all.contains("closed"))
        #expect(try client.readUntilClose().isEmpty)
        // An answer after the end of the server is discarded.
        server.script.answer("/later")
        server.awaitLoops()
    }

    @Test
    func `Work from other threads runs in order, also under load`() throws {
        let server = try TestServer()
        let client = try server.connect()
        let loop = server.server.loops[0]
        for number in 0..<1000 { loop.run { [log = server.script.log] in log.add("\(number)") } }
        #expect(try client.exchange(get("/a")).status == 200)
        #expect(server.script.log.wait(for: "999"))
        #expect(server.script.log.all.filter { !$0.hasPrefix("handled") } == (0..<1000).map(String.init))
    }

    @Test
    func `A connection beyond the limit gets an error and is closed`() throws {
        var limits = TransportLimits()
        limits.connections = 2
        let server = try TestServer(loops: 2, limits: limits)
        let clients = try (0..<2).map { _ in
            let client = try server.connect()
            #expect(try client.exchange(get("/a")).status == 200)
            return client
        }
        let third = try server.connect()
        let refusal = try third.readResponse()
        #expect(refusal.status == 429)
        #expect(refusal.field("Connection") == "close")
        #expect(try third.readUntilClose().isEmpty)
        third.close()
        #expect(try clients[1].exchange(get("/a")).status == 200)
        clients[0].close()
        // The loop handles the end of the connection in one of the next iterations; each attempt is one iteration.
        var statuses: [Int] = []
        while statuses.last != 200, statuses.count < 10_000 {
            let client = try server.connect()
            statuses.append(try client.exchange(get("/a")).status)
        }
        #expect(statuses.last == 200)
    }

    @Test
    func `A stop answers pending requests, partly received requests and requests behind a pending request`() throws {
        let server = try TestServer()
        let waiting = try server.connect()
        try waiting.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let slow = try server.connect()
        let request = get("/slow")
        try slow.send(get("/a") + request.prefix(10))
        #expect(try slow.readResponse().text == "GET /a ")
        server.stop(withinSeconds: 60)
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

    @Test
    func `A stream that begins during a stop has Connection: close`() throws {
        let server = try TestServer()
        let client = try server.connect()
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.removePending("/later"))
        server.stop(withinSeconds: 60)
        #expect(server.script.log.wait(for: "stopping"))
        try server.onLoop(exchange) { loop, ticket in
            loop.beginStream(ticket, Script.response("begin"))
            loop.push(ticket, [], isLast: true)
        }
        #expect(try client.readHead().field("Connection") == "close")
        #expect(try client.readChunk() == "begin")
        #expect(try client.readChunk() == nil)
        #expect(try client.readUntilClose().isEmpty)
        client.close()
        #expect(server.script.log.wait(for: "stopped"))
    }
}
