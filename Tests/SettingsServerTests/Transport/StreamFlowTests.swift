import Dispatch
import HTTPServer
import HTTPWire
import Synchronization
import TestSupport
import Testing

/// Streams to clients that read slowly. `ScriptedHandler` leaves requests for `/later…` to the test, which begins a
/// stream as the answer. The log of the script has the calls of the handler, such as `drained` and `closed`. The server
/// resets a connection if more than `streamBytes` of its stream are unsent for `streamTime` nanoseconds.
@Suite(.ownThread)
struct StreamFlowTests {
    /// The bytes of one push.
    private static let piece = [UInt8](repeating: 0x2E, count: 64 * 1024)

    /// Connects, and begins a stream as the answer to the last request.
    ///
    /// - Parameter earlier: requests that the client sends before the request for the stream.
    private func beginStream(
        _ server: TestServer, after earlier: String = "", receiveBuffer: Int32? = 4096
    ) throws -> (RawClient, Exchange) {
        let client = try server.connect(receiveBuffer: receiveBuffer)
        try client.send(earlier + get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.removePending("/later"))
        #expect(try server.onLoop(exchange) { $0.beginStream($1, Response(status: 200, contentType: .eventStream)) })
        if earlier.isEmpty { _ = try client.readHead() }
        return (client, exchange)
    }

    /// The number of unsent bytes of a stream. Pushing no bytes returns this number.
    private func unsentBytes(_ server: TestServer, _ exchange: Exchange) throws -> Int {
        server.awaitLoops()
        return try server.onLoop(exchange) { $0.push($1, []) }
    }

    /// Pushes pieces until the kernel accepts no more. Returns the number of pieces.
    private func fillSocketBuffer(_ server: TestServer, _ exchange: Exchange) throws -> Int {
        for count in 1...1000 {
            try server.onLoop(exchange) { _ = $0.push($1, Self.piece) }
            // On a busy machine, the kernel may refuse the rest of a piece, and accept the rest shortly afterwards.
            if try (0..<10).allSatisfy({ _ in try unsentBytes(server, exchange) > 0 }) { return count }
        }
        Issue.record("the kernel accepted 1000 pieces, so the socket buffer never becomes full")
        return 1000
    }

    @Test
    func `A piece that is pushed when the socket becomes writable is sent`() throws {
        var limits = TransportLimits()
        // Each piece exceeds this limit. The server disconnects only after the excess has lasted for `streamTime`
        // (2 seconds).
        limits.streamBytes = 1000
        let server = try TestServer(limits: limits)
        let (client, exchange) = try beginStream(server)
        let pieces = try fillSocketBuffer(server, exchange)
        let (isBlocked, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        exchange.loop.run {
            isBlocked.signal()
            gate.patientWait()
            exchange.loop.push(exchange.ticket, Self.piece)
            exchange.loop.push(exchange.ticket, Array("last".utf8))
        }
        isBlocked.patientWait()
        // The loop is blocked, so it does not know yet that the kernel accepts data again.
        for _ in 0..<(pieces - 1) { _ = try client.readChunk() }
        gate.signal()
        // The last piece of `fillSocketBuffer`, and the piece that was pushed after it.
        for _ in 0..<2 { #expect(try client.readChunk()?.utf8.count == Self.piece.count) }
        #expect(try client.readChunk() == "last")
    }

    @Test
    func `A drain callback that is registered twice runs once, when all bytes are sent`() throws {
        let server = try TestServer()
        let (client, exchange) = try beginStream(server)
        try server.onLoop(exchange) { [log = server.script.log] loop, ticket in
            loop.notifyWhenDrained(ticket)
            loop.notifyWhenDrained(ticket)
            log.add("registered")
        }
        #expect(server.script.log.wait(for: "drained"))
        // On a busy machine, the kernel can accept more bytes later. It never accepts all of the eight further pieces.
        let pieces = try fillSocketBuffer(server, exchange) + 8
        try server.onLoop(exchange) { loop, ticket in
            for _ in 0..<8 { _ = loop.push(ticket, Self.piece) }
            loop.notifyWhenDrained(ticket)
        }
        server.awaitLoops()
        #expect(server.script.log.all == ["handled /later", "registered", "drained"])
        for _ in 0..<pieces { _ = try client.readChunk() }
        #expect(server.script.log.wait(for: "drained", times: 2))
        try server.onLoop(exchange) { _ = $0.push($1, Self.piece) }
        server.awaitLoops()
        #expect(server.script.log.count("drained") == 2)
    }

    @Test
    func `A push after the registration of a drain callback delays the callback until the push is sent`()
        throws
    {
        let server = try TestServer()
        let (client, exchange) = try beginStream(server)
        let largePiece = [UInt8](repeating: 0x2E, count: 8 << 20)
        let isPushed = Atomic(false)
        server.script.whenIterationEnds.withLock { hook in
            // At this point the loop has found that all bytes are sent. The loop calls `drained` in the next iteration.
            hook = { loop in
                guard !isPushed.exchange(true, ordering: .relaxed) else { return }
                loop.push(exchange.ticket, largePiece)
            }
        }
        try server.onLoop(exchange) { $0.notifyWhenDrained($1) }
        #expect(try unsentBytes(server, exchange) > 0)
        #expect(server.script.log.count("drained") == 0)
        #expect(try client.readChunk()?.utf8.count == largePiece.count)
        #expect(server.script.log.wait(for: "drained"))
        #expect(try unsentBytes(server, exchange) == 0)
    }

    @Test
    func `Pieces pushed while no bytes are unsent do not count against the limit, and later pieces count`() throws {
        var limits = TransportLimits()
        limits.streamBytes = 10_000
        limits.streamTime = 0
        let server = try TestServer(limits: limits)
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.removePending("/later"))
        let largePiece = [UInt8](repeating: 0x2E, count: 8 << 20)
        try server.onLoop(exchange) { loop, ticket in
            loop.beginStream(ticket, Script.response("begin"))
            for _ in 0..<2 { loop.push(ticket, largePiece) }
        }
        // An event has 1000 bytes: 993 bytes and 7 bytes of a chunk frame. So ten events reach the limit.
        let event = [UInt8](repeating: 0x2E, count: 993)
        for _ in 0..<10 {
            server.awaitLoops()
            try server.onLoop(exchange) { _ = $0.push($1, event) }
        }
        server.awaitLoops()
        #expect(server.script.log.count("closed") == 0)
        _ = try client.readHead()
        #expect(try client.readChunk() == "begin")
        for _ in 0..<2 { #expect(try client.readChunk()?.utf8.count == largePiece.count) }
        for _ in 0..<10 { #expect(try client.readChunk()?.utf8.count == event.count) }
        // The client has read everything, so no bytes are unsent.
        #expect(try unsentBytes(server, exchange) == 0)
        try server.onLoop(exchange) { _ = $0.push($1, largePiece) }
        for _ in 0..<10 {
            server.awaitLoops()
            try server.onLoop(exchange) { _ = $0.push($1, event) }
        }
        server.awaitLoops()
        #expect(server.script.log.count("closed") == 0)
        try server.onLoop(exchange) { _ = $0.push($1, event) }
        #expect(server.script.log.wait(for: "closed"))
        #expect(throws: RawClient.Failure.reset) { while try client.readChunk() != nil {} }
    }

    @Test
    func `A reader that catches up stays connected, and a reader that stays behind is disconnected`()
        throws
    {
        var limits = TransportLimits()
        // The limit is larger than the buffers of the kernel, so some bytes wait while the client catches up.
        limits.streamBytes = 64 * Self.piece.count
        limits.streamTime = 1
        let server = try TestServer(limits: limits)
        let (client, exchange) = try beginStream(server)
        _ = try fillSocketBuffer(server, exchange)
        try server.onLoop(exchange) { loop, ticket in
            // One piece more than the limit.
            for _ in 0..<65 { loop.push(ticket, Self.piece) }
        }
        while try unsentBytes(server, exchange) > limits.streamBytes { _ = try client.readChunk() }
        #expect(try unsentBytes(server, exchange) > 0)
        // This event exceeds the limit. At the next push, the excess has lasted for longer than `streamTime`, which is
        // a nanosecond.
        let event = [UInt8](repeating: 0x2E, count: limits.streamBytes + 1)
        try server.onLoop(exchange) { _ = $0.push($1, event) }
        server.awaitLoops()
        #expect(server.script.log.count("closed") == 0)
        try server.onLoop(exchange) { _ = $0.push($1, Self.piece) }
        #expect(server.script.log.wait(for: "closed"))
    }

    @Test
    func `The unsent bytes of a stream that waits for an earlier answer have a limit`() throws {
        var limits = TransportLimits()
        limits.streamBytes = 10_000
        limits.streamTime = 0
        let server = try TestServer(limits: limits)
        let client = try server.connect()
        try client.send(get("/later0") + get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.removePending("/later"))
        try server.onLoop(exchange) { loop, ticket in
            loop.beginStream(ticket, Script.response("begin"))
            loop.push(ticket, Self.piece)
        }
        #expect(try unsentBytes(server, exchange) > Self.piece.count)
        // The piece above does not count, because no bytes were unsent before it. The next two pieces exceed the limit.
        for _ in 0..<2 { try server.onLoop(exchange) { _ = $0.push($1, Array(Self.piece[..<6000])) } }
        // Both requests of the connection are closed.
        #expect(server.script.log.wait(for: "closed", times: 2))
        client.close()
    }

    @Test(arguments: [false, true])
    func `A client that disconnects before its stream ends affects no other connection`(isAfterPendingRequest: Bool)
        throws
    {
        let server = try TestServer()
        let (client, exchange) = try beginStream(
            server, after: isAfterPendingRequest ? get("/later0") : "", receiveBuffer: nil)
        let first = server.script.removePending("/later0")
        let isReset = DispatchSemaphore(value: 0)
        exchange.loop.run {
            // The client resets the connection while the loop is blocked, so the loop sends before it is notified.
            isReset.patientWait()
            if let first { exchange.loop.respond(first.ticket, Script.response("first")) }
            exchange.loop.push(exchange.ticket, Array("end".utf8), isLast: true)
        }
        client.reset()
        isReset.signal()
        // On a busy machine, the kernel may report the reset only after the loop has sent the end.
        try eventually {
            server.awaitLoops()
            return server.server.connectionCount == 0
        }
        #expect(try server.connect().exchange(get("/a")).text == "GET /a ")
    }
}
