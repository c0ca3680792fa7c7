internal import Glibc

/// A port of 127.0.0.1 on which the kernel accepts connections and nothing is ever answered.
package final class LocalPort: Sendable {
    struct Failure: Error {
        let code: Int32
    }

    package let number: UInt16
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
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

    /// One that was free a moment ago, for a program that cannot say itself which it took.
    package static func free() throws -> UInt16 { try LocalPort().number }
}
