package import Glibc

/// Who is at the other end of a connection: an address of 20 bytes, rendered only when somebody asks.
package struct PeerAddress: Hashable, Sendable {
    private enum Family: UInt8 { case none, v4, v6, unix }

    private let family: Family
    /// The address in network order, in memory order; IPv4 takes the first four bytes of `high`.
    private let high: UInt64
    private let low: UInt64
    package let port: UInt16

    /// Nobody in particular: a peer without an address.
    package static let none = PeerAddress(family: .none, high: 0, low: 0, port: 0)

    /// Whoever has come over a Unix domain socket: such peers have no address of their own.
    package static let unix = PeerAddress(family: .unix, high: 0, low: 0, port: 0)

    private init(family: Family, high: UInt64, low: UInt64, port: UInt16) {
        (self.family, self.high, self.low, self.port) = (family, high, low, port)
    }

    package init(_ storage: sockaddr_storage) {
        self = withUnsafeBytes(of: storage) { raw in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = raw.load(as: sockaddr_in.self)
                return PeerAddress(
                    family: .v4, high: UInt64(address.sin_addr.s_addr), low: 0,
                    port: UInt16(bigEndian: address.sin_port))
            case AF_INET6:
                let address = raw.load(as: sockaddr_in6.self)
                let words = withUnsafeBytes(of: address.sin6_addr) {
                    ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                }
                let port = UInt16(bigEndian: address.sin6_port)
                // A peer that comes by IPv4 to a socket for both is who it is at one for IPv4 alone.
                if words.0 == 0, UInt64(bigEndian: words.1) >> 32 == 0xFFFF {
                    let bytes = UInt32(truncatingIfNeeded: UInt64(bigEndian: words.1)).bigEndian
                    return PeerAddress(family: .v4, high: UInt64(bytes), low: 0, port: port)
                }
                return PeerAddress(family: .v6, high: words.0, low: words.1, port: port)
            case AF_UNIX: return .unix
            default: return .none
            }
        }
    }

    /// Whether it has come over a Unix domain socket.
    package var isUnix: Bool { family == .unix }

    /// The same for all connections of one peer: what to count them by.
    package var withoutPort: PeerAddress {
        PeerAddress(family: family, high: high, low: low, port: 0)
    }

    /// The numeric address without the port; empty if the peer has none.
    package var host: String {
        let family = self.family
        guard family == .v4 || family == .v6 else { return "" }
        return withUnsafeBytes(of: (high, low)) { raw in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                let written = inet_ntop(
                    family == .v4 ? AF_INET : AF_INET6, raw.baseAddress, text.baseAddress, socklen_t(text.count))
                return written.map { String(cString: $0) } ?? ""
            }
        }
    }
}

extension PeerAddress: CustomStringConvertible {
    package var description: String {
        switch family {
        case .none: "unknown"
        case .unix: "unix"
        case .v4: "\(host):\(port)"
        case .v6: "[\(host)]:\(port)"
        }
    }
}
