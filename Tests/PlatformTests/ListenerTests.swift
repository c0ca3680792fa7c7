import Glibc
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct ListenerTests {
    private func loopback(port: UInt16 = 0) throws -> SocketAddress {
        try #require(try SocketAddress.resolve("127.0.0.1", port: port, isNumeric: true).first)
    }

    @Test
    func `The TCP options of a listener hold for each accepted connection`() throws {
        let listener = try Listener(try loopback())
        let client = try RawClient(port: listener.address.port)
        #expect(PollSet.wait(for: .readable, on: listener.descriptor, until: .now + .seconds(10)))
        guard case .connection(let socket, let peer) = listener.accept() else {
            Issue.record("no connection was accepted")
            return
        }
        #expect(peer.host == "127.0.0.1" && peer.port != 0)
        // The kernel probes a silent peer after 60 seconds and then every 15 seconds. It closes the connection after
        // four probes without a response.
        let tcp = Int32(IPPROTO_TCP)
        let wanted = [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (tcp, TCP_KEEPIDLE, 60), (tcp, TCP_KEEPINTVL, 15), (tcp, TCP_KEEPCNT, 4),
            (tcp, TCP_NODELAY, 1),
        ]
        let descriptor = socket.descriptor
        for (level, name, value) in wanted {
            var found: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            #expect(getsockopt(descriptor, level, name, &found, &length) == 0)
            #expect(found == Int32(value), "option \(name) of level \(level)")
        }
        client.close()
    }
}
