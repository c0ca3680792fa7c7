internal import CLinux
internal import Glibc
internal import Synchronization

/// A listening socket. When the object is deallocated, it closes the socket and removes the file of a Unix domain
/// socket.
package final class Listener: Sendable {
    /// The reason why a socket cannot listen.
    package enum Failure: Error, Equatable {
        case system(SystemError)
        /// There is a file at the path of the Unix domain socket, and the listener must not replace the file. The text
        /// gives the reason.
        case occupied(String)
    }

    package enum AcceptResult: ~Copyable {
        case connection(Socket, peer: SocketAddress)
        /// No connection waits to be accepted.
        case nothing
        /// The call accepted no usable connection: the connection was closed or has a network error, or a signal
        /// interrupted the call. Other connections may wait to be accepted.
        case aborted
        /// The system has no file descriptor or no memory for another connection.
        case exhausted(SystemError)
    }

    /// The maximum number of connections that wait in the kernel to be accepted. The kernel reduces the number to its
    /// limit `net.core.somaxconn`, which is 4096 by default.
    private static let backlog: Int32 = 4096

    /// The address of the socket. If the requested port was 0, the address has the port that the kernel chose.
    package let address: SocketAddress
    private let owned: Descriptor
    private let file: SocketFile?
    /// True if another process, such as systemd, also has the socket and listens after this listener is deallocated.
    private let isShared: Bool

    /// Binds a socket to an address and listens.
    ///
    /// - Parameter mode: the file mode of a Unix domain socket. Users with write permission may connect.
    package init(_ address: SocketAddress, mode: UInt32 = 0o600) throws(Failure) {
        isShared = false
        let descriptor: Int32
        do throws(SystemError) {
            owned = try Socket.make(address.family)
            descriptor = owned.number
            if !address.isUnix { try Self.setOptions(on: descriptor) }
        } catch {
            throw .system(error)
        }
        if case .unix(let path) = address {
            file = try SocketFile(of: descriptor, at: path, mode: mode)
        } else {
            file = nil
            guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw .system(SystemError(call: "bind"))
            }
        }
        guard listen(descriptor, Self.backlog) == 0 else { throw .system(SystemError(call: "listen")) }
        guard let bound = SocketAddress.returned(by: { getsockname(descriptor, $0, $1) }) else {
            throw .system(SystemError(call: "getsockname"))
        }
        self.address = bound
    }

    /// Takes ownership of an inherited descriptor, for example from systemd. Throws if the descriptor is not a
    /// listening socket.
    package init(inheriting number: Int32) throws(SystemError) {
        owned = Descriptor(number)
        (file, isShared) = (nil, true)
        // `returned` also returns nil if `getsockname` succeeds with an unknown address family, which does not set
        // `errno`.
        errno = 0
        guard let bound = SocketAddress.returned(by: { getsockname(number, $0, $1) }) else {
            throw SystemError(call: "getsockname", code: errno == 0 ? EAFNOSUPPORT : errno)
        }
        address = bound
        guard Socket.option(SO_TYPE, on: number) == Int32(SOCK_STREAM.rawValue) else {
            throw SystemError(call: "listen", code: EPROTOTYPE)
        }
        guard Socket.option(SO_ACCEPTCONN, on: number) == 1 else { throw SystemError(call: "accept4", code: EINVAL) }
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0, fcntl(number, F_SETFD, FD_CLOEXEC) == 0
        else { throw SystemError(call: "fcntl") }
        if !bound.isUnix { try Self.setOptions(on: number) }
    }

    deinit {
        file?.remove()
    }

    /// The descriptor. It is readable while a connection waits to be accepted. Owned by the listener.
    package var descriptor: Int32 { owned.number }

    /// Accepts the next connection. The connection inherits the TCP options of the listener.
    package func accept() -> AcceptResult {
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        var accepted: Int32 = -1
        let peer = SocketAddress.returned { address, length in
            accepted = accept4(descriptor, address, length, flags)
            return accepted
        }
        guard accepted < 0 else {
            let socket = Socket(adopting: accepted)
            // Under overload, clients reset many connections while the connections wait to be accepted.
            guard !socket.hasFailed else { return .aborted }
            // An IPv6 socket reports an IPv4 peer as an IPv4-mapped IPv6 address, but limits apply to the IPv4 address.
            if case .tcp(let ip, let port) = peer { return .connection(socket, peer: .tcp(ip.unmapped, port: port)) }
            return .connection(socket, peer: .unix(path: ""))
        }
        switch errno {
        case EAGAIN: return .nothing
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(SystemError(call: "accept4"))
        // A signal interrupted the call, the peer closed the connection, or the new connection has a network error.
        default: return .aborted
        }
    }

    /// Refuses new connections, resets the connections that wait to be accepted, and removes the file. The descriptor
    /// stays open. Does nothing for a shared socket, because another process can accept the waiting connections.
    package func endListening() {
        guard !isShared else { return }
        file?.remove()
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Sets the TCP options of the listener. On Linux, accepted connections inherit the options.
    private static func setOptions(on descriptor: Int32) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        let options = [
            // Without this option, a restarted daemon cannot bind while connections of the previous process are in
            // TIME_WAIT.
            (SO_REUSEADDR, SOL_SOCKET, 1),
            // Keepalive detects a peer whose machine or network has failed. A client that waits for a change has no
            // other deadline. Probes after 60 idle seconds also keep the connection in the tables of NAT gateways,
            // which drop idle connections. Four probes, 15 s apart, detect a dead peer within two minutes.
            (SO_KEEPALIVE, SOL_SOCKET, 1), (TCP_KEEPIDLE, tcp, 60), (TCP_KEEPINTVL, tcp, 15), (TCP_KEEPCNT, tcp, 4),
            // The kernel sends each write at once, without waiting for the acknowledgement of earlier data.
            (TCP_NODELAY, tcp, 1),
        ]
        for (option, level, value) in options {
            try Socket.set(option, level, to: Int32(value), on: descriptor)
        }
    }
}

/// The file of a Unix domain socket. Binding the socket creates the file; `remove` removes it.
private final class SocketFile: Sendable {
    private let path: String
    private let identity: Identity
    /// True after the first call of `remove`. A second call could remove a newer file with a reused inode number.
    private let isRemoved = Atomic(false)

    /// Binds a socket to a path. Replaces the socket file of a process that was killed.
    init(of descriptor: Int32, at path: String, mode: mode_t) throws(Listener.Failure) {
        guard path.utf8.count <= SocketAddress.maximumPathLength else {
            throw .system(SystemError(call: "bind", code: ENAMETOOLONG))
        }
        // `bind` gives the file the mode of the socket. Set the mode of the socket first, so that a user whom the mode
        // excludes cannot connect between `bind` and the `chmod` below.
        guard fchmod(descriptor, mode) == 0 else { throw .system(SystemError(call: "fchmod")) }
        let address = SocketAddress.unix(path: path)
        if address.withSocketAddress({ bind(descriptor, $0, $1) }) != 0 {
            guard errno == EADDRINUSE else { throw .system(SystemError(call: "bind")) }
            try Self.removeStale(path)
            guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw .system(SystemError(call: "bind"))
            }
        }
        // The umask may have removed bits of the mode.
        guard chmod(path, mode) == 0, let identity = Identity(path) else {
            throw .system(SystemError(call: "chmod"))
        }
        self.path = path
        self.identity = identity
    }

    /// Removes the file on the first call, unless another file has replaced it.
    func remove() {
        guard !isRemoved.exchange(true, ordering: .acquiringAndReleasing), Identity(path) == identity else { return }
        unlink(path)
    }

    /// Removes a socket file on which no process listens. Throws if a process listens, or if the file is not a socket.
    private static func removeStale(_ path: String) throws(Listener.Failure) {
        guard let found = Identity(path) else { return }
        guard found.isSocket else { throw .occupied("the path belongs to a file that is not a socket") }
        let address = SocketAddress.unix(path: path)
        let state: Socket.ConnectState
        do throws(SystemError) {
            state = try Socket(for: address).connect(to: address)
        } catch {
            throw .system(error)
        }
        switch state {
        case .failed(code: ECONNREFUSED):
            // Do not remove a file that has replaced the stale file since `found` was read.
            if Identity(path) == found { unlink(path) }
        case .failed(code: ENOENT): return
        // EPROTOTYPE: a process listens with another socket type.
        case .connected, .inProgress, .busy, .failed(code: EPROTOTYPE):
            throw .occupied("another program listens on this socket")
        case .failed(let code): throw .system(SystemError(call: "connect", code: code))
        }
    }

    /// The identity of the file at a path.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
        let isSocket: Bool

        /// Returns nil if the file does not exist or is not accessible.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            inode = status.st_ino
            isSocket = status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}
