import CLinux
import Glibc

/// A socket that listens. It is closed by `close()`, or when nobody holds it any more.
package final class Listener: Sendable {
    /// What the kernel keeps of peers that nobody has accepted yet.
    private static let backlog: Int32 = 4096

    let descriptor: Int32
    /// Where it listens, in figures, with the port that the kernel chose if none was asked for.
    package let address: ListenAddress
    private let owned: OwnedDescriptor

    /// Binds to an address of TCP and listens.
    init(_ address: SocketAddress) throws(SystemError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
        // Closes it wherever the rest fails.
        owned = OwnedDescriptor(descriptor)
        // A daemon that restarts must not wait for connections of the one before to fade away.
        var on: Int32 = 1
        guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw SystemError(call: "setsockopt", code: errno)
        }
        try TCPOptions.set(on: descriptor)
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
            throw SystemError(call: "bind", code: errno)
        }
        guard listen(descriptor, Self.backlog) == 0 else { throw SystemError(call: "listen", code: errno) }
        self.descriptor = descriptor
        self.address = try SocketAddress(of: descriptor).listenAddress
    }

    /// Peers that connect from now on are refused, those that wait are reset. The descriptor stays until `close`.
    func endListening() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    package func close() {
        owned.close()
    }
}
