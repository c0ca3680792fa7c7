import Dispatch
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// The differences between connections over Unix domain sockets and connections over TCP. `ScriptedHandler` leaves
/// requests for `/later…` to the test, and answers other requests at once.
@Suite(.ownThread)
struct UnixConnectionTests {
    private let directory: TemporaryDirectory
    private let server: TestServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try TestServer(at: .unix(path: directory.path + "/socket"))
    }

    /// Blocks the loop while the body runs, so that the loop handles all events of this time in one iteration.
    private func whileLoopIsBlocked(_ body: () throws -> Void) rethrows {
        let release = server.blockLoop()
        defer { release.signal() }
        try body()
    }

    @Test(arguments: [4, 100_000])
    func `The bytes that a client sent before it closed are read completely`(length: Int) throws {
        let client = try server.connect()
        #expect(try client.exchange(get("/a")).status == 200)
        try whileLoopIsBlocked {
            try client.send(post("/before-close", String(repeating: "x", count: length)))
            client.close()
        }
        #expect(server.script.log.wait(for: "handled /before-close"))
    }

    @Test("While the lookup of a user name is slow, the connections of the user wait, and the acceptor does not")
    func slowName() throws {
        let release = DispatchSemaphore(value: 0)
        let path = directory.path + "/slow"
        let server = try TestServer(
            at: .unix(path: path),
            names: UserNames { _ in
                release.patientWait()
                return "alice"
            })
        let first = try server.connect()
        let second = try server.connect()
        try first.send(get("/first"))
        try second.send(get("/second"))
        try eventually { server.server.connectionCount == 2 }
        // The acceptor does not wait for the name.
        let isFree = DispatchSemaphore(value: 0)
        server.server.runOnAcceptorQueue { isFree.signal() }
        isFree.patientWait()
        #expect(!first.isReadable(withinMilliseconds: 50))
        // Both connections have the same user, so one lookup gives the name for both.
        release.signal()
        for client in [first, second] { #expect(try client.readResponse().status == 200) }
        #expect(try server.connect().exchange(get("/third")).status == 200)
        first.close()
        try eventually { server.server.connectionCount == 1 }
    }

    @Test("A user without a name gets its number as the name, and the names of all users are cached")
    func names() throws {
        let names = UserNames { $0 == 7 ? "alice" : nil }
        func find(_ id: UInt32) -> String? {
            let found = Mutex<String?>(nil)
            let done = DispatchSemaphore(value: 0)
            names.find(id) { name in
                found.withLock { $0 = name }
                done.signal()
            }
            done.patientWait()
            return found.withLock { $0 }
        }
        #expect(names.name(of: 7) == nil)
        #expect(find(7) == "alice" && names.name(of: 7) == "alice")
        #expect(find(8) == "8" && names.name(of: 8) == "8")
    }

    @Test
    func `A closed connection is detected at once, and its pending requests are cancelled`()
        throws
    {
        let client = try server.connect()
        try client.send(get("/later1") + get("/later2"))
        #expect(server.script.log.wait(for: "handled /later2"))
        client.close()
        #expect(server.script.log.wait(for: "closed", times: 2))
        server.awaitLoops()
        #expect(server.server.connectionCount == 0)
    }

    @Test
    func `A request that arrives together with the close of its connection is handled, and the connection is released`()
        throws
    {
        let client = try server.connect()
        #expect(try client.exchange(get("/a")).status == 200)
        try whileLoopIsBlocked {
            try client.send(get("/later"))
            client.close()
        }
        #expect(server.script.log.wait(for: "handled /later"))
        #expect(server.script.log.wait(for: "closed"))
        server.awaitLoops()
        #expect(server.server.connectionCount == 0)
    }

    @Test
    func `A connection that closes while its body waits for memory is released with its descriptor`() throws {
        // All bodies together may take an eighth of `MemoryBudget.capacity`, which is 7/8 of the limit. The eighth is
        // about 3.67 MB, enough for one body of 2 MB.
        // The clock stands still, so the server refuses no upload as too slow.
        let server = try TestServer(
            at: .unix(path: directory.path + "/full"), budget: MemoryBudget(limit: 32 << 20), clock: ManualClock().clock
        )
        let head = "POST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
        /// Begins an upload. When the server answers the first request, it has also received the head of the upload.
        func beginUpload(_ client: RawClient) throws {
            #expect(try client.exchange(get("/a") + head).status == 200)
        }
        let (admitted, waiting, closing) = (try server.connect(), try server.connect(), try server.connect())
        try beginUpload(admitted)
        try beginUpload(waiting)
        try closing.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.removePending("/later"))
        let connection = try server.onLoop(exchange) { loop, id in
            let connection = WeakReference(loop.find(id)?.0)
            loop.respond(id, Script.response("later"))
            return connection
        }
        #expect(try closing.readResponse().status == 200)
        try beginUpload(closing)
        #expect(try server.onLoop(exchange) { _, _ in connection.object?.backlog?.waitReason == .memory })
        closing.close()
        // The connection owns the socket, so its release closes the descriptor.
        try eventually {
            server.awaitLoops()
            return connection.object == nil
        }
        #expect(server.server.connectionCount == 2)
        withExtendedLifetime((admitted, waiting)) {}
    }
}

/// A weak reference that may be passed to another thread.
private final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private(set) weak var object: Object?

    init(_ object: Object?) {
        self.object = object
    }
}
