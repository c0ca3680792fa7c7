import Glibc
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct ListenerTests {
    private func loopback(port: UInt16 = 0) throws -> SocketAddress {
        try #require(try SocketAddress.resolve("127.0.0.1", port: port, isNumeric: true).first)
    }

    @Test("A listener has the port that the kernel chose until it goes") func listenerHasPortKernel() throws {
        let port = try ChildProcess.whileNoneStarts {
            let listener = try Listener(try loopback())
            #expect(listener.address.port != 0)
            _ = try RawClient(port: listener.address.port)
            return listener.address.port
        }
        #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }

    @Test("An address in use is refused with the kernel's code") func addressUseRefusedKernel() throws {
        let listener = try Listener(try loopback())
        #expect(throws: Listener.Failure.system(SystemError(call: "bind", code: EADDRINUSE))) {
            try Listener(listener.address)
        }
    }

    @Test("The TCP options of a listener hold for each accepted connection") func tcpOptionsListenerHold() throws {
        let listener = try Listener(try loopback())
        let client = try RawClient(port: listener.address.port)
        #expect(PollSet.wait(for: .readable, on: listener.descriptor, until: .now + .seconds(10)))
        guard case .connection(let socket, let peer) = listener.accept() else {
            Issue.record("no connection was accepted")
            return
        }
        #expect(peer.host == "127.0.0.1" && peer.port != 0)
        // The kernel probes a silent peer after 60 seconds, then every 15, and gives up after four without an answer.
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
