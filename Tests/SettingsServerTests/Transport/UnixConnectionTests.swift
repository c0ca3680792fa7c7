import Dispatch
import Platform
import SettingsServer
import TestSupport
import Testing

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
        let release = DispatchSemaphore(value: 0)
        server.server.loops[0].run { release.patientWait() }
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
