internal import Glibc
package import SettingsModel
internal import Synchronization
package import TestSupport

/// A listening socket. The backlog limits the number of connections that the test has not accepted yet.
package final class ListeningSocket: Sendable {
    private let descriptor: Int32
    private let rawAddress: RawAddress
    /// The directory of a Unix domain socket. It exists as long as the socket.
    private let directory: TemporaryDirectory?
    /// Connections that fill the backlog.
    private let fillers = Mutex<[Int32]>([])

    /// Opens a Unix domain socket in a new directory.
    package convenience init(backlog: Int32) throws {
        let directory = try TemporaryDirectory()
        try self.init(.unix("\(directory.path)/socket"), backlog: backlog, in: directory)
    }

    /// Opens a socket. For port 0, the kernel chooses a free port.
    package init(_ address: RawAddress, backlog: Int32, in directory: TemporaryDirectory? = nil) throws {
        descriptor = try Self.openListeningDescriptor(address, backlog: backlog)
        self.directory = directory
        rawAddress =
            switch address {
            case .ipv4(0): .ipv4(Self.port(of: descriptor))
            case .ipv6(0): .ipv6(Self.port(of: descriptor))
            default: address
            }
    }

    private static func openListeningDescriptor(_ address: RawAddress, backlog: Int32) throws -> Int32 {
        let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, backlog) == 0
        else {
            let code = errno
            if descriptor >= 0 { _ = close(descriptor) }
            throw RawClient.Failure.system("socket, bind or listen", code)
        }
        return descriptor
    }

    deinit {
        for filler in fillers.withLock({ $0 }) { _ = close(filler) }
        _ = close(descriptor)
    }

    /// Opens two sockets with the same port: an IPv4 socket on 127.0.0.1 with `backlog`, and an IPv6 socket on ::1 with
    /// space for 128 connections. `localhost` means both addresses. Tries again if another program has the port on
    /// 127.0.0.1.
    package static func pair(backlog: Int32) throws -> (ListeningSocket, ListeningSocket) {
        // The first failed attempt replaces this error.
        var failure: any Error = RawClient.Failure.timeout
        for _ in 0..<20 {
            let ipv6 = try ListeningSocket(.ipv6(0), backlog: 128)
            do {
                return (try ListeningSocket(.ipv4(ipv6.port), backlog: backlog), ipv6)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// The port; 0 for a Unix domain socket.
    package var port: UInt16 {
        switch rawAddress {
        case .ipv4(let port), .ipv6(let port): port
        case .unix: 0
        }
    }

    package func address() throws -> ServerAddress {
        switch rawAddress {
        case .ipv4(let port): try ServerAddress("http://127.0.0.1:\(port)")
        case .ipv6(let port): try ServerAddress("http://[::1]:\(port)")
        case .unix(let path): try ServerAddress("unix:\(path)")
        }
    }

    /// Accepts the next connection. Returns nil after ``end()``.
    package func accept() -> Int32? {
        let connection = Glibc.accept(descriptor, nil, nil)
        return connection >= 0 ? connection : nil
    }

    /// Stops accepting connections.
    package func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Connects until the backlog is full. Then the kernel drops the packets of further TCP connections, and refuses
    /// further connections to a Unix domain socket. Returns false if the backlog is not full after ten connections.
    package func fillBacklog() -> Bool {
        for _ in 0..<10 {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let filler = socket(rawAddress.family, type, 0)
            let result = rawAddress.withSocketAddress { connect(filler, $0, $1) }
            let code = result == 0 ? 0 : errno
            fillers.withLock { $0.append(filler) }
            // The kernel reports a full backlog of a Unix domain socket at once. A TCP connection stays incomplete,
            // here for at least 200 ms.
            if code == EAGAIN { return true }
            var completion = pollfd(fd: filler, events: Int16(POLLOUT), revents: 0)
            if code == EINPROGRESS, poll(&completion, 1, 200) == 0 { return true }
        }
        return false
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        // The port has the same offset in the addresses of both families.
        return result == 0 ? UInt16(bigEndian: storage.sin6_port) : 0
    }
}
