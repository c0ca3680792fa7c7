import CLinux
import Glibc

/// A socket that listens. It is closed by `close()`, or when nobody holds it any more.
package final class Listener: Sendable {
    /// What the kernel keeps of peers that nobody has accepted yet.
    private static let backlog: Int32 = 4096

    let descriptor: Int32
    /// Where it listens, with the port that the kernel chose if none was asked for.
    package let address: ListenAddress
    private let owned: OwnedDescriptor

    private init(descriptor: Int32, address: ListenAddress) {
        self.descriptor = descriptor
        self.address = address
        owned = OwnedDescriptor(descriptor)
    }

    /// Binds and listens. Of a name with several addresses it takes the first that works, IPv4 before IPv6, so that
    /// `localhost` is where most clients look.
    package convenience init(_ address: ListenAddress) throws(ListenError) {
        switch address {
        case .tcp(let host, let port):
            let candidates = try Self.resolve(host, port, for: address)
            var failure = SystemError(call: "getaddrinfo", code: EADDRNOTAVAIL)
            for candidate in candidates {
                do throws(SystemError) {
                    let (descriptor, boundPort) = try Self.listen(on: candidate)
                    self.init(descriptor: descriptor, address: .tcp(host: host, port: boundPort))
                    return
                } catch {
                    failure = error
                }
            }
            throw ListenError(address: address.description, reason: .system(failure))
        }
    }

    /// Peers that connect from now on are refused, those that wait are reset. The descriptor stays until `close`.
    func endListening() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    package func close() {
        owned.close()
    }

    private static func resolve(
        _ host: String, _ port: UInt16, for address: ListenAddress
    ) throws(ListenError) -> [sockaddr_storage] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let text = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
            throw ListenError(address: address.description, reason: .unresolved(text))
        }
        defer { freeaddrinfo(list) }
        var found: [(isIPv6: Bool, storage: sockaddr_storage)] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let source = entry.ai_addr, Int(entry.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size else {
                continue
            }
            var storage = sockaddr_storage()
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: Int(entry.ai_addrlen)))
            }
            found.append((entry.ai_family == AF_INET6, storage))
        }
        return found.filter { !$0.isIPv6 }.map(\.storage) + found.filter(\.isIPv6).map(\.storage)
    }

    private static func listen(on storage: sockaddr_storage) throws(SystemError) -> (Int32, port: UInt16) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(Int32(storage.ss_family), type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket", code: errno) }
        func fail(_ call: String) -> SystemError {
            let error = SystemError(call: call, code: errno)
            _ = Glibc.close(descriptor)
            return error
        }
        // A daemon that restarts must not wait for connections of the one before to fade away.
        var on: Int32 = 1
        guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw fail("setsockopt")
        }
        do throws(SystemError) {
            try TCPOptions.set(on: descriptor)
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        var address = storage
        var length = socklen_t(
            Int32(storage.ss_family) == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw fail("bind") }
        guard Glibc.listen(descriptor, backlog) == 0 else { throw fail("listen") }
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard named == 0 else { throw fail("getsockname") }
        return (descriptor, PeerAddress(address).port)
    }
}
