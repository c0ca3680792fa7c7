internal import CLinux
internal import Glibc
internal import Synchronization

/// A socket that listens, closes itself, and removes its file if it has one.
package final class Listener: Sendable {
    /// The reason why a socket cannot listen.
    package enum Failure: Error, Equatable {
        case system(SystemError)
        /// The path of the socket has something that is not to be removed; with what it is.
        case occupied(String)
    }

    /// The result of taking a connection.
    package enum Accepted: ~Copyable {
        case connection(Socket, SocketAddress)
        case nothing
        /// This peer is gone already; others may be there.
        case lost
        /// The system has no descriptor, or no memory, for another.
        case exhausted(SystemError)
    }

    /// The connections that the kernel keeps until they are accepted.
    private static let backlog: Int32 = 4096

    /// Where it listens, with the port that the kernel chose if none was asked for.
    package let address: SocketAddress
    private let owned: Descriptor
    private let file: SocketFile?
    /// True if another process has the socket, too, which goes on listening when this listener ends.
    private let isShared: Bool

    /// Binds and listens.
    ///
    /// - Parameter mode: the mode of the file of a Unix domain socket: who may write to it may connect.
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
        guard let bound = SocketAddress.written(by: { getsockname(descriptor, $0, $1) }) else {
            throw .system(SystemError(call: "getsockname"))
        }
        self.address = bound
    }

    /// Takes over a socket that listens already, and that another process keeps. Throws for any other socket.
    package init(inheriting number: Int32) throws(SystemError) {
        owned = Descriptor(number)
        (file, isShared) = (nil, true)
        errno = 0
        guard let bound = SocketAddress.written(by: { getsockname(number, $0, $1) }) else {
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

    /// The number to wait on. The listener keeps it open.
    package var descriptor: Int32 { owned.number }

    /// Takes the next connection. It has the TCP options of the listener.
    package func accept() -> Accepted {
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        var accepted: Int32 = -1
        let peer = SocketAddress.written { address, length in
            accepted = accept4(descriptor, address, length, flags)
            return accepted
        }
        guard accepted < 0 else {
            let socket = Socket(adopting: accepted)
            // Where connections come faster than they are served, many are reset while they wait in the kernel.
            guard !socket.hasFailed else { return .lost }
            // A peer that comes by IPv4 to a socket for both families is the same as at one for IPv4 alone.
            if case .tcp(let host, let port) = peer { return .connection(socket, .tcp(host.unmapped, port: port)) }
            return .connection(socket, .unix(path: ""))
        }
        switch errno {
        case EAGAIN: return .nothing
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(SystemError(call: "accept4"))
        // Interrupted, aborted by the peer, or a network error that was pending on the new connection.
        default: return .lost
        }
    }

    /// Refuses connections from now on, resets those that wait, and removes the file. The descriptor stays open. Does nothing
    /// to a socket that another process keeps: those that wait there are for the next program that takes it over.
    package func endListening() {
        guard !isShared else { return }
        file?.remove()
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Sets the options of the listener and, as Linux passes them on, of each connection without a call for it.
    private static func setOptions(on descriptor: Int32) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        let options = [
            // A daemon that restarts does not wait for the connections of its predecessor to time out.
            (SO_REUSEADDR, SOL_SOCKET, 1),
            // A peer whose machine or network went away says nothing, and one that waits for a change has no other
            // deadline. Probes after a minute of silence also keep gateways, which take minutes, from forgetting it.
            // Four without an answer, a minute in all, are no passing loss: a lost peer is noticed in two minutes.
            (SO_KEEPALIVE, SOL_SOCKET, 1), (TCP_KEEPIDLE, tcp, 60), (TCP_KEEPINTVL, tcp, 15), (TCP_KEEPCNT, tcp, 4),
            // Answers go out when they are written, not when the peer has acknowledged those before.
            (TCP_NODELAY, tcp, 1),
        ]
        for (option, level, value) in options {
            try Socket.set(option, level, to: Int32(value), on: descriptor)
        }
    }
}

/// A file of a Unix domain socket that is made for a socket and removed with it.
private final class SocketFile: Sendable {
    private let path: String
    private let identity: Identity
    /// A newer socket at the path may have the same number as the removed one, so it is removed once.
    private let isRemoved = Atomic(false)

    /// Binds a socket to a path, in place of a socket that a process left there which was killed.
    init(of descriptor: Int32, at path: String, mode: mode_t) throws(Listener.Failure) {
        guard path.utf8.count <= SocketAddress.maximumPathLength else {
            throw .system(SystemError(call: "bind", code: ENAMETOOLONG))
        }
        // The file takes its mode from the socket, so there is no moment in which more users may connect.
        guard fchmod(descriptor, mode) == 0 else { throw .system(SystemError(call: "fchmod")) }
        let address = SocketAddress.unix(path: path)
        if address.withSocketAddress({ bind(descriptor, $0, $1) }) != 0 {
            guard errno == EADDRINUSE else { throw .system(SystemError(call: "bind")) }
            try Self.removeStale(path)
            guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw .system(SystemError(call: "bind"))
            }
        }
        // The umask may have taken something from the mode.
        guard chmod(path, mode) == 0, let identity = Identity(path) else {
            throw .system(SystemError(call: "chmod"))
        }
        self.path = path
        self.identity = identity
    }

    /// Removes the file, once, unless another has taken its place.
    func remove() {
        guard !isRemoved.exchange(true, ordering: .acquiringAndReleasing), Identity(path) == identity else { return }
        unlink(path)
    }

    /// Removes a socket on which no program answers. Throws for anything else.
    private static func removeStale(_ path: String) throws(Listener.Failure) {
        guard let found = Identity(path) else { return }
        guard found.isSocket else { throw .occupied("something that is not a socket stands there") }
        let address = SocketAddress.unix(path: path)
        let state: Socket.Connecting
        do throws(SystemError) {
            state = try Socket(for: address).connect(to: address)
        } catch {
            throw .system(error)
        }
        switch state {
        case .failed(code: ECONNREFUSED):
            // Not one that was put there since.
            if Identity(path) == found { unlink(path) }
        case .failed(code: ENOENT): return
        // EPROTOTYPE: a socket of another type.
        case .connected, .inProgress, .busy, .failed(code: EPROTOTYPE):
            throw .occupied("another program answers there")
        case .failed(let code): throw .system(SystemError(call: "connect", code: code))
        }
    }

    /// The file that stands at a path.
    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t
        let isSocket: Bool

        /// Nil if there is none that this user can see.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
            isSocket = status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}
