internal import Glibc
internal import Synchronization

/// A listening port of 127.0.0.1. The kernel accepts connections to the port, and nothing answers their requests.
package final class LocalPort: Sendable {
    struct Failure: Error {
        let code: Int32
    }

    package let number: UInt16
    private let descriptor: Int32

    /// - Parameter wanted: The port; 0 for a port that the kernel chooses.
    package init(_ wanted: UInt16 = 0) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        address.sin_port = wanted.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 128) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: address.sin_port)
        guard result else { throw Failure(code: errno) }
    }

    deinit {
        _ = close(descriptor)
    }

    /// The ports that `free` returns. By default, Linux assigns only greater ports to outgoing connections.
    private static let ports: Range<UInt16> = 10_000..<32_000
    private static let next = Mutex(UInt16.random(in: ports))

    /// Returns a free port for a program that cannot report a port chosen by the kernel. The kernel does not assign the
    /// port to an outgoing connection, and no other call returns it soon. If 1,000 ports in succession are in use,
    /// returns a port that the kernel chooses; the kernel may assign this port to an outgoing connection.
    package static func free() throws -> UInt16 {
        for _ in 0..<1000 {
            let port = next.withLock { next in
                defer { next = next + 1 < ports.upperBound ? next + 1 : ports.lowerBound }
                return next
            }
            if (try? LocalPort(port)) != nil { return port }
        }
        return try LocalPort().number
    }
}
