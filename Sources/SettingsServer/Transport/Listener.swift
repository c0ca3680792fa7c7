import CLinux
import Glibc
import Platform

/// A socket that listens. It is closed by `close()`, or when nobody holds it any more.
package final class Listener: Sendable {
    /// What the kernel keeps of peers that nobody has accepted yet.
    private static let backlog: Int32 = 4096

    let descriptor: Int32
    /// Where it listens, in figures, with the port that the kernel chose if none was asked for.
    package let address: ListenAddress
    private let owned: OwnedDescriptor
    /// Of a Unix domain socket.
    private let file: SocketFile?

    /// Binds to an address of TCP and listens.
    init(_ address: SocketAddress) throws(SystemError) {
        let descriptor = try Self.socket(address.family)
        // Closes it wherever the rest fails.
        owned = OwnedDescriptor(descriptor)
        file = nil
        // A daemon that restarts must not wait for connections of the one before to fade away.
        var on: Int32 = 1
        guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw SystemError(call: "setsockopt", code: errno)
        }
        try TCPOptions.set(on: descriptor)
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
            throw SystemError(call: "bind", code: errno)
        }
        try Self.listen(descriptor)
        self.descriptor = descriptor
        self.address = try SocketAddress(of: descriptor).listenAddress
    }

    /// Makes a Unix domain socket at a path and listens.
    ///
    /// - Parameter mode: who may connect: those who may write to the file.
    init(unix path: String, mode: mode_t) throws(ListenError) {
        do throws(ListenError.Reason) {
            do throws(SystemError) {
                descriptor = try Self.socket(AF_UNIX)
            } catch {
                throw .system(error)
            }
            owned = OwnedDescriptor(descriptor)
            file = try SocketFile(of: descriptor, at: path, mode: mode)
            do throws(SystemError) {
                try Self.listen(descriptor)
            } catch {
                throw .system(error)
            }
        } catch {
            throw ListenError(address: ListenAddress.unix(path: path).description, reason: error)
        }
        address = .unix(path: path)
    }

    /// Peers that connect from now on are refused, those that wait are reset. The descriptor stays until `close`.
    func endListening() {
        file?.remove()
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    package func close() {
        file?.remove()
        owned.close()
    }

    private static func socket(_ family: Int32) throws(SystemError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(family, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
        return descriptor
    }

    private static func listen(_ descriptor: Int32) throws(SystemError) {
        guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemError(call: "listen", code: errno) }
    }
}
