internal import Glibc
package import SettingsModel
internal import Synchronization
package import TestSupport

/// A socket that clients can connect to, as many as its backlog has room for; `accept` makes room.
package final class ListeningSocket: Sendable {
    private let descriptor: Int32
    private let place: RawAddress
    /// Where a Unix domain socket stands.
    private let directory: TemporaryDirectory?
    /// Connections that only take room.
    private let fillers = Mutex<[Int32]>([])

    /// A Unix domain socket of its own.
    package convenience init(backlog: Int32) throws {
        let directory = try TemporaryDirectory()
        try self.init(.unix("\(directory.path)/socket"), backlog: backlog, in: directory)
    }

    /// The port 0 is any that is free.
    package init(_ place: RawAddress, backlog: Int32, in directory: TemporaryDirectory? = nil) throws {
        // Not in here: if `init` throws late, `deinit` runs, and would close a number that may have another owner.
        descriptor = try Self.listening(place, backlog: backlog)
        self.directory = directory
        self.place =
            switch place {
            case .ipv4(0): .ipv4(Self.port(of: descriptor))
            case .ipv6(0): .ipv6(Self.port(of: descriptor))
            default: place
            }
    }

    private static func listening(_ place: RawAddress, backlog: Int32) throws -> Int32 {
        let descriptor = socket(place.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, place.withSocketAddress({ bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, backlog) == 0
        else {
            let code = errno
            if descriptor >= 0 { _ = close(descriptor) }
            throw RawClient.Failure.system("listen", code)
        }
        return descriptor
    }

    deinit {
        for filler in fillers.withLock({ $0 }) { _ = close(filler) }
        _ = close(descriptor)
    }

    /// A port of 127.0.0.1 and the same one of ::1: both are `localhost`.
    package static func pair(backlog: Int32) throws -> (ListeningSocket, ListeningSocket) {
        var failure: any Error = RawClient.Failure.timeout
        for _ in 0..<20 {
            let second = try ListeningSocket(.ipv6(0), backlog: 128)
            do {
                return (try ListeningSocket(.ipv4(second.port), backlog: backlog), second)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// The port; 0 if it has none.
    package var port: UInt16 {
        switch place {
        case .ipv4(let port), .ipv6(let port): port
        case .unix: 0
        }
    }

    package func address() throws -> ServerAddress {
        switch place {
        case .ipv4(let port): try ServerAddress("http://127.0.0.1:\(port)")
        case .ipv6(let port): try ServerAddress("http://[::1]:\(port)")
        case .unix(let path): try ServerAddress("unix:\(path)")
        }
    }

    /// The next connection; nil once it has ended.
    package func accept() -> Int32? {
        let connection = Glibc.accept(descriptor, nil, nil)
        return connection >= 0 ? connection : nil
    }

    /// Accepts no more connections.
    package func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Connects until the backlog is full: the kernel then swallows what asks for a TCP connection, and refuses a Unix domain
    /// socket for the moment. False if it takes all of them.
    package func fill() -> Bool {
        for _ in 0..<10 {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let filler = socket(place.family, type, 0)
            let result = place.withSocketAddress { connect(filler, $0, $1) }
            let code = result == 0 ? 0 : errno
            fillers.withLock { $0.append(filler) }
            if code == EAGAIN { return true }
            var wanted = pollfd(fd: filler, events: Int16(POLLOUT), revents: 0)
            if code == EINPROGRESS, poll(&wanted, 1, 200) == 0 { return true }
        }
        return false
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        // It stands at the same place in both families.
        return result == 0 ? UInt16(bigEndian: storage.sin6_port) : 0
    }
}
