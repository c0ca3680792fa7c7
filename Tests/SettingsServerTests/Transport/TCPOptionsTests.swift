import Glibc
import Platform
import TestSupport
import Testing

@testable import SettingsServer

struct TCPOptionsTests {
    private static let tcp = Int32(IPPROTO_TCP)

    @Test func `What is set on the socket that listens holds for each connection that is accepted`() throws {
        let listener = try #require(try Listener.open(.tcp(host: "127.0.0.1", port: 0)).first)
        guard case .tcp(_, let port) = listener.address else {
            Issue.record("another kind of address")
            return
        }
        let client = try RawClient(port: port)
        var polled = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&polled, 1, 10_000) == 1)
        guard case .accepted(let socket, _) = Acceptor.acceptSocket(listener.descriptor) else {
            Issue.record("nobody was accepted")
            return
        }
        // The kernel asks a silent peer after 60 seconds, then every 15, and gives it up after four without an answer.
        let wanted = [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (Self.tcp, TCP_KEEPIDLE, 60), (Self.tcp, TCP_KEEPINTVL, 15),
            (Self.tcp, TCP_KEEPCNT, 4), (Self.tcp, TCP_NODELAY, 1),
        ]
        for (level, name, value) in wanted {
            var found: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            #expect(getsockopt(socket.descriptor, level, name, &found, &length) == 0)
            #expect(found == Int32(value), "option \(name) of level \(level)")
        }
        socket.close()
        client.close()
    }
}
