import Dispatch
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// Connections over Unix domain sockets, where they differ from those over TCP.
@Suite(.ownThread)
struct UnixConnectionTests {
    private let directory: TemporaryDirectory
    private let server: TestServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try TestServer(at: .unix(path: directory.path + "/socket"))
    }

    /// Has the loop do nothing while the body runs: it sees all that happened meanwhile at once.
    private func whileLoopWaits(_ body: () throws -> Void) rethrows {
        let release = server.holdLoop()
        defer { release.signal() }
        try body()
    }

    @Test("What a peer sent before it closed is taken, also if it takes several reads", arguments: [4, 100_000])
    func whatPeerSentBefore(length: Int) throws {
        let client = try server.connect()
        #expect(try client.exchange(get("/a")).status == 200)
        try whileLoopWaits {
            try client.send(post("/last-words", String(repeating: "x", count: length)))
            client.close()
        }
        #expect(server.script.log.wait(for: "handled /last-words"))
    }

    @Test("A user's name that the system is slow to tell holds up that user's connections, and no other")
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
        let isFree = DispatchSemaphore(value: 0)
        server.server.inNextAcceptance { isFree.signal() }
        isFree.patientWait()
        #expect(!first.hasNews(within: 50))
        // The second one finds the name known.
        release.signal()
        for client in [first, second] { #expect(try client.readResponse().status == 200) }
        #expect(try server.connect().exchange(get("/third")).status == 200)
        first.close()
        try eventually { server.server.connectionCount == 1 }
    }

    @Test("A user without a name has its number, and what is known is not asked for again")
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

    @Test("A peer that closed is noticed at once, and what it was owed is called off") func peerClosedNoticedOnce()
        throws
    {
        let client = try server.connect()
        try client.send(get("/later1") + get("/later2"))
        #expect(server.script.log.wait(for: "handled /later2"))
        client.close()
        #expect(server.script.log.wait(for: "closed", times: 2))
        server.settle()
        #expect(server.server.connectionCount == 0)
    }

    @Test("A request that is owed when its peer has closed does not keep the loop busy") func requestOwedWhenPeer()
        throws
    {
        let client = try server.connect()
        #expect(try client.exchange(get("/a")).status == 200)
        try whileLoopWaits {
            try client.send(get("/later"))
            client.close()
        }
        #expect(server.script.log.wait(for: "handled /later"))
        #expect(server.script.log.wait(for: "closed"))
        server.settle()
        #expect(server.server.connectionCount == 0)
    }
}
