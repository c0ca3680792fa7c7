internal import CLinux
internal import Glibc

/// An address that a stream socket is bound or connected to.
package enum SocketAddress: Hashable, Sendable {
    case tcp(IPAddress, port: UInt16)
    /// A Unix domain socket. A peer that connects to one has no path.
    case unix(path: String)

    /// The bytes that the kernel takes of a path, without the zero at its end.
    package static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    package var isUnix: Bool {
        if case .unix = self { true } else { false }
    }

    /// The port; 0 for a Unix domain socket.
    package var port: UInt16 {
        if case .tcp(_, let port) = self { port } else { 0 }
    }

    /// The host in figures, without brackets; empty for a Unix domain socket.
    package var host: String {
        if case .tcp(let address, _) = self { address.description } else { "" }
    }

    /// Returns the same address with another port.
    package func with(port: UInt16) -> SocketAddress {
        if case .tcp(let address, _) = self { .tcp(address, port: port) } else { self }
    }

    /// The address without its port, and of IPv6 the network of 64 bits: a host may have all addresses of that.
    package var network: SocketAddress {
        if case .tcp(let address, _) = self { .tcp(address.network, port: 0) } else { self }
    }

    /// True for a Unix domain socket and for an address of loopback.
    package var isLocal: Bool {
        if case .tcp(let address, _) = self { address.isLoopback } else { true }
    }

    package var isIPv4: Bool {
        if case .tcp(let address, _) = self { address.isIPv4 } else { false }
    }

    var family: Int32 {
        switch self {
        case .tcp(let address, _): address.isIPv4 ? AF_INET : AF_INET6
        case .unix: AF_UNIX
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let address, let port): address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)"
        case .unix(let path): path.isEmpty ? "unix" : "unix:\(path)"
        }
    }
}

/// An address of a host: IPv4, or IPv6 with the scope of a link-local one.
package struct IPAddress: Hashable, Sendable {
    package let isIPv4: Bool
    private let scope: UInt32
    /// The bytes as they travel; IPv4 takes the first four of `high`.
    private let high: UInt64
    private let low: UInt64

    fileprivate init(_ address: in_addr) {
        (isIPv4, scope, high, low) = (true, 0, UInt64(address.s_addr), 0)
    }

    fileprivate init(_ address: in6_addr, scope: UInt32) {
        (high, low) = withUnsafeBytes(of: address) {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        (isIPv4, self.scope) = (false, scope)
    }

    /// The IPv4 address that an IPv6 address stands for, as `::ffff:192.0.2.1` does; else the address itself.
    package var unmapped: IPAddress {
        guard !isIPv4, high == 0, UInt64(bigEndian: low) >> 32 == 0xFFFF else { return self }
        return IPAddress(in_addr(s_addr: UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian))
    }

    /// The address itself, or the first 64 bits of an IPv6 address, with those of loopback as they are.
    fileprivate var network: IPAddress {
        guard !isIPv4, !isLoopback else { return self }
        return IPAddress(isIPv4: false, scope: scope, high: high, low: 0)
    }

    /// True for 127.0.0.0/8 and ::1.
    fileprivate var isLoopback: Bool {
        isIPv4 ? high.littleEndian & 0xFF == 127 : high == 0 && UInt64(bigEndian: low) == 1
    }

    private init(isIPv4: Bool, scope: UInt32, high: UInt64, low: UInt64) {
        (self.isIPv4, self.scope, self.high, self.low) = (isIPv4, scope, high, low)
    }

    /// Reads an address in figures, without brackets, zone or port; nil for any other text.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(four)
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self = IPAddress(six, scope: 0).unmapped
        } else {
            return nil
        }
    }

    /// True if the first bits of both addresses are the same.
    fileprivate func agrees(with other: IPAddress, bits: Int) -> Bool {
        guard isIPv4 == other.isIPv4 else { return false }
        let different =
            isIPv4
            ? UInt128(UInt32(truncatingIfNeeded: high ^ other.high).byteSwapped) << 96
            : UInt128((high ^ other.high).byteSwapped) << 64 | UInt128((low ^ other.low).byteSwapped)
        return bits == 0 || different >> UInt128(128 - bits) == 0
    }

    fileprivate var socketAddress4: sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(truncatingIfNeeded: high)
        return address
    }

    fileprivate var socketAddress6: sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.storeBytes(of: (high, low), as: (UInt64, UInt64).self) }
        address.sin6_scope_id = scope
        return address
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address in figures, with the zone of one that is good on one link only.
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let status = SocketAddress.tcp(self, port: 0).withSocketAddress { address, length in
                getnameinfo(address, length, text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            }
            return status == 0 ? text.baseAddress.map { String(cString: $0) } ?? "" : ""
        }
    }
}

/// A range of addresses that begin with the same bits, as `10.0.0.0/8`; or one address.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress
    private let bits: Int

    /// Reads an address, or an address and the number of bits; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = IPAddress(parts[0]) else { return nil }
        let most = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || parts[1].utf8.count <= 3,
            let bits = parts.count == 1 ? most : Int(parts[1]), (0...most).contains(bits)
        else { return nil }
        self.address = address
        self.bits = bits
    }

    package func contains(_ other: IPAddress) -> Bool { address.agrees(with: other, bits: bits) }

    package var description: String { bits == (address.isIPv4 ? 32 : 128) ? "\(address)" : "\(address)/\(bits)" }
}

// MARK: The kernel's form

extension SocketAddress {
    /// Reads an address of a known family.
    init?(_ storage: sockaddr_storage, _ length: socklen_t) {
        let address: SocketAddress? = withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = bytes.load(as: sockaddr_in.self)
                return .tcp(IPAddress(address.sin_addr), port: UInt16(bigEndian: address.sin_port))
            case AF_INET6:
                let address = bytes.load(as: sockaddr_in6.self)
                return .tcp(
                    IPAddress(address.sin6_addr, scope: address.sin6_scope_id),
                    port: UInt16(bigEndian: address.sin6_port))
            case AF_UNIX:
                let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
                let path = bytes[min(start, Int(length))..<Int(length)].prefix { $0 != 0 }
                return .unix(path: String(decoding: path, as: UTF8.self))
            default: return nil
            }
        }
        guard let address else { return nil }
        self = address
    }

    /// Reads the address that a system call writes; nil if the call fails.
    static func written(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return result < 0 ? nil : SocketAddress(storage, length)
    }

    /// Calls the body with the address in the kernel's form. Of a path that is too long only the beginning is passed.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        func pass<Form>(_ form: Form) -> Result {
            withUnsafePointer(to: form) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Form>.size))
                }
            }
        }
        switch self {
        case .tcp(let address, let port) where address.isIPv4:
            var form = address.socketAddress4
            form.sin_port = port.bigEndian
            return pass(form)
        case .tcp(let address, let port):
            var form = address.socketAddress6
            form.sin6_port = port.bigEndian
            return pass(form)
        case .unix(let path):
            var form = sockaddr_un()
            form.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &form.sun_path) {
                $0.copyBytes(from: path.utf8.prefix(Self.maximumPathLength))
            }
            return pass(form)
        }
    }
}

// MARK: From text

/// An error of the resolver.
package struct ResolveError: Error, Equatable, Sendable, CustomStringConvertible {
    package let host: String
    /// The resolver's words.
    package let reason: String

    package var description: String { "\(host): \(reason)" }
}

extension SocketAddress {
    /// Asks the resolver for the addresses of a host, each once, in its order. Blocks, perhaps for many seconds.
    ///
    /// - Parameter isNumeric: if true, only an address in figures has a result, and nothing is asked.
    package static func resolve(
        _ host: String, port: UInt16, isNumeric: Bool = false
    ) throws(ResolveError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let reason = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
            throw ResolveError(host: host, reason: reason)
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let source = entry.ai_addr, entry.ai_addrlen <= MemoryLayout<sockaddr_storage>.size else { continue }
            var storage = sockaddr_storage()
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: Int(entry.ai_addrlen)))
            }
            if let address = SocketAddress(storage, entry.ai_addrlen), !found.contains(address) {
                found.append(address)
            }
        }
        return found
    }
}

/// A host with a port that may be left out, as people write them: `127.0.0.1:7070`, `[::1]:7070`, `example.com`.
package struct HostAndPort: Equatable, Sendable {
    package enum Fault: Error {
        /// The host is empty.
        case noHost
        /// The port is no number up to 65535.
        case noPort
        /// An IPv6 address stands without its brackets.
        case noBrackets
    }

    /// A name, or an address in figures without brackets.
    package let host: String
    package let port: UInt16?

    package init(_ text: Substring) throws(Fault) {
        var host = text
        var port: UInt16?
        let bracket = host.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            let digits = host[host.utf8.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = UInt16(digits)
            else { throw .noPort }
            port = number
            host = host[..<colon]
        }
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.utf8.contains(where: { "[]:".utf8.contains($0) }) {
            throw .noBrackets
        }
        guard !host.isEmpty else { throw .noHost }
        self.host = String(host)
        self.port = port
    }
}
