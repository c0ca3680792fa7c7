internal import CLinux
internal import Glibc

/// An address that a stream socket is bound or connected to.
package enum SocketAddress: Hashable, Sendable {
    case tcp(IPAddress, port: UInt16)
    /// A Unix domain socket. The address of a client has an empty path, because a client socket is not bound to a path.
    case unix(path: String)

    /// The maximum number of bytes in the path of a Unix domain socket, without the terminating zero.
    package static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    package var isUnix: Bool {
        if case .unix = self { true } else { false }
    }

    /// The port; 0 for a Unix domain socket.
    package var port: UInt16 {
        if case .tcp(_, let port) = self { port } else { 0 }
    }

    /// The numeric address of the host, without brackets; empty for a Unix domain socket.
    package var host: String {
        if case .tcp(let address, _) = self { address.description } else { "" }
    }

    package func with(port: UInt16) -> SocketAddress {
        if case .tcp(let address, _) = self { .tcp(address, port: port) } else { self }
    }

    /// The address to which the limits for one client apply: the address without its port. An IPv6 address is reduced
    /// to its 64-bit network prefix, because one host can use all addresses with this prefix.
    package var network: SocketAddress {
        if case .tcp(let address, _) = self { .tcp(address.network, port: 0) } else { self }
    }

    /// True for a Unix domain socket and for a loopback address.
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

/// An IPv4 address, or an IPv6 address with its scope.
package struct IPAddress: Hashable, Sendable {
    package let isIPv4: Bool
    /// The index of the network interface to which a link-local IPv6 address belongs; 0 for other addresses.
    private let scope: UInt32
    /// The first eight bytes of an IPv6 address in network byte order. An IPv4 address uses the first four bytes.
    private let high: UInt64
    /// The last eight bytes of an IPv6 address in network byte order.
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

    /// The IPv4 address in an IPv4-mapped IPv6 address such as `::ffff:192.0.2.1`; the same address in all other cases.
    package var unmapped: IPAddress {
        guard !isIPv4, high == 0, UInt64(bigEndian: low) >> 32 == 0xFFFF else { return self }
        return IPAddress(in_addr(s_addr: UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian))
    }

    /// The 64-bit network prefix of an IPv6 address. IPv4 and loopback addresses are unchanged.
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

    /// Parses a numeric address without brackets, scope or port. Returns nil for any other text.
    package init?(_ text: String) {
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4)
        } else if inet_pton(AF_INET6, text, &ipv6) == 1 {
            self = IPAddress(ipv6, scope: 0).unmapped
        } else {
            return nil
        }
    }

    /// Returns true if the first `bitCount` bits of both addresses are equal.
    fileprivate func hasPrefix(of other: IPAddress, bitCount: Int) -> Bool {
        guard isIPv4 == other.isIPv4 else { return false }
        let different =
            isIPv4
            ? UInt128(UInt32(truncatingIfNeeded: high ^ other.high).byteSwapped) << 96
            : UInt128((high ^ other.high).byteSwapped) << 64 | UInt128((low ^ other.low).byteSwapped)
        return bitCount == 0 || different >> UInt128(128 - bitCount) == 0
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
    /// The numeric address. A link-local IPv6 address ends with `%` and the name of its network interface.
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            let status = SocketAddress.tcp(self, port: 0).withSocketAddress { address, length in
                getnameinfo(address, length, text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            }
            return status == 0 ? text.baseAddress.map { String(cString: $0) } ?? "" : ""
        }
    }
}

/// All addresses with a common prefix, in CIDR notation such as `10.0.0.0/8`; or a single address.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress
    private let prefixLength: Int

    /// Parses an address with an optional prefix length. Returns nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = IPAddress(parts[0]) else { return nil }
        let maximum = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || parts[1].utf8.count <= 3,
            let prefixLength = parts.count == 1 ? maximum : Int(parts[1]), (0...maximum).contains(prefixLength)
        else { return nil }
        self.address = address
        self.prefixLength = prefixLength
    }

    package func contains(_ other: IPAddress) -> Bool { address.hasPrefix(of: other, bitCount: prefixLength) }

    package var description: String {
        prefixLength == (address.isIPv4 ? 32 : 128) ? "\(address)" : "\(address)/\(prefixLength)"
    }
}

// MARK: Conversion from and to `sockaddr` structures

extension SocketAddress {
    /// Converts a `sockaddr` structure from the kernel. Returns nil if its family is neither IPv4, IPv6 nor Unix.
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

    /// Returns the address that a system call, such as `getsockname`, writes to its arguments. Returns nil if the call
    /// fails or writes an address of an unknown family.
    static func returned(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return result < 0 ? nil : SocketAddress(storage, length)
    }

    /// Calls the body with a `sockaddr` of the address. Truncates a path to ``maximumPathLength`` bytes.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        func call<Structure>(with structure: Structure) -> Result {
            withUnsafePointer(to: structure) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Structure>.size))
                }
            }
        }
        switch self {
        case .tcp(let address, let port) where address.isIPv4:
            var structure = address.socketAddress4
            structure.sin_port = port.bigEndian
            return call(with: structure)
        case .tcp(let address, let port):
            var structure = address.socketAddress6
            structure.sin6_port = port.bigEndian
            return call(with: structure)
        case .unix(let path):
            var structure = sockaddr_un()
            structure.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &structure.sun_path) {
                $0.copyBytes(from: path.utf8.prefix(Self.maximumPathLength))
            }
            return call(with: structure)
        }
    }
}

// MARK: Host names

/// An error of the system's resolver, which looks up host names.
package struct ResolveError: Error, Equatable, Sendable, CustomStringConvertible {
    package let host: String
    /// The error message of the resolver.
    package let reason: String

    package var description: String { "\(host): \(reason)" }
}

extension SocketAddress {
    /// Returns the addresses of a host, without duplicates, in the order of the resolver. May block for many seconds.
    ///
    /// - Parameter isNumeric: if true, only parses a numeric address and makes no lookup. A host name then throws.
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

/// A host with an optional port, parsed from a text such as `127.0.0.1:7070`, `[::1]:7070` or `example.com`.
package struct HostAndPort: Equatable, Sendable {
    package enum ParseError: Error {
        case emptyHost
        /// The port is not a number from 0 to 65535.
        case invalidPort
        /// The host contains a bracket or a colon, but is not enclosed in brackets.
        case misplacedBracketOrColon
    }

    /// A host name, or a numeric address without brackets.
    package let host: String
    /// Nil if the text has no port.
    package let port: UInt16?

    package init(_ text: Substring) throws(ParseError) {
        var host = text
        var port: UInt16?
        let bracket = host.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            let digits = host[host.utf8.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = UInt16(digits)
            else { throw .invalidPort }
            port = number
            host = host[..<colon]
        }
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.utf8.contains(where: { "[]:".utf8.contains($0) }) {
            throw .misplacedBracketOrColon
        }
        guard !host.isEmpty else { throw .emptyHost }
        self.host = String(host)
        self.port = port
    }
}
