internal import Glibc

/// A socket that never blocks and is closed when its last owner lets go of it.
///
/// One thread at a time uses it. Calls repeat themselves when a signal interrupts them.
final class OpenSocket: Sendable {
    let descriptor: Int32

    enum Connecting {
        case done
        case underWay
        /// Somebody listens and has no room at present; the socket is to be let go of.
        case crowded
        case failed(Int32)
    }

    enum Received {
        case bytes(Int)
        /// The peer will send nothing more.
        case end
        /// Nothing there now.
        case nothing
        case failed(Int32)
    }

    /// Throws nothing: nil with `errno` set if the system has none left.
    init?(family: Int32) {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        descriptor = socket(family, Int32(type), 0)
        guard descriptor >= 0 else { return nil }
        if family != AF_UNIX {
            // Requests go out when they are written, not when the answers before have been acknowledged.
            var on: Int32 = 1
            _ = setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    deinit {
        if descriptor >= 0 { _ = close(descriptor) }
    }

    func connect(to address: SocketAddress) -> Connecting {
        let result = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) }
        guard result != 0 else { return isItsOwnPeer ? .failed(ECONNREFUSED) : .done }
        switch errno {
        // An interrupted call goes on by itself.
        case EINPROGRESS, EINTR: return .underWay
        // Over TCP the kernel would try again by itself.
        case EAGAIN where address.family == AF_UNIX: return .crowded
        case let code: return .failed(code)
        }
    }

    /// What has become of connecting.
    func connected() -> Connecting {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&wanted, 1, 0) != 0 else { return .underWay }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return .failed(errno) }
        guard code == 0 else { return .failed(code) }
        return isItsOwnPeer ? .failed(ECONNREFUSED) : .done
    }

    /// How many bytes were taken, 0 if there is no room now; nil if the peer takes nothing more.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        while true {
            // Without a SIGPIPE, whatever the process does with signals.
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return 0
            default: return nil
            }
        }
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            case let code: return .failed(code)
            }
        }
    }

    /// Whether nothing has come on a connection on which nothing is expected: neither bytes nor the end.
    var isQuiet: Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) == 0
    }

    /// Whether the socket is connected to itself: TCP does that to whoever tries a port of this machine where nobody
    /// listens, and happens to get the same port as its own.
    private var isItsOwnPeer: Bool {
        var own = sockaddr_storage()
        var peer = sockaddr_storage()
        guard Self.name(descriptor, &own, getsockname), own.ss_family != sa_family_t(AF_UNIX),
            Self.name(descriptor, &peer, getpeername)
        else { return false }
        return withUnsafeBytes(of: own) { own in withUnsafeBytes(of: peer) { own.elementsEqual($0) } }
    }

    private static func name(
        _ descriptor: Int32, _ storage: inout sockaddr_storage,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Bool {
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &size) }
        } == 0
    }
}
