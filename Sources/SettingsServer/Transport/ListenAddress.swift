internal import Platform

/// Where to listen, as an operator writes it: `127.0.0.1:7070`, `[::1]:7070`, `localhost:7070`, `unix:/run/settingsd.sock`.
package enum ListenAddress: Hashable, Sendable {
    /// A host name or a numeric address (IPv6 without its brackets). Port 0 lets the kernel choose one.
    case tcp(host: String, port: UInt16)
    /// A Unix domain socket.
    case unix(path: String)

    /// What stands before the path of a Unix domain socket.
    static let unixPrefix = "unix:"

    /// Throws a `ListenError` that says what is missing.
    package init(_ text: String) throws(ListenError) {
        func bad(_ reason: String) -> ListenError { ListenError(address: text, reason: .malformed(reason)) }
        let bytes = Array(text.utf8)
        if bytes.starts(with: Self.unixPrefix.utf8) {
            let path = bytes.dropFirst(Self.unixPrefix.utf8.count)
            // A relative one would depend on where the daemon was started, and "unix:7070" looks like a port.
            guard path.first == UInt8(ascii: "/"), !path.contains(0) else { throw bad("a path begins with /") }
            guard path.count <= SocketAddress.maximumPathLength else {
                throw bad("the path has \(path.count) bytes, more than \(SocketAddress.maximumPathLength)")
            }
            self = .unix(path: String(decoding: path, as: UTF8.self))
            return
        }
        let place: HostAndPort
        do throws(HostAndPort.Fault) {
            place = try HostAndPort(text[...])
        } catch {
            switch error {
            case .noHost: throw bad("a host is missing: 127.0.0.1 for this machine, 0.0.0.0 for everyone")
            case .noPort: throw bad("a port is a number from 0 to 65535")
            case .noBrackets: throw bad("an IPv6 address stands in brackets: [::1]:7070")
            }
        }
        guard let port = place.port else { throw bad("a port is missing: write host:port") }
        self = .tcp(host: place.host, port: port)
    }

    /// The address that a listener has, in figures.
    init(_ address: SocketAddress) {
        switch address {
        case .tcp(_, let port): self = .tcp(host: address.host, port: port)
        case .unix(let path): self = .unix(path: path)
        }
    }

    /// True if only programs on this machine can reach it: a Unix domain socket, or an address of loopback in figures.
    var isLocal: Bool {
        guard case .tcp(let host, _) = self else { return true }
        let mapped = "::ffff:"
        return host == "::1" || (host.hasPrefix(mapped) ? String(host.dropFirst(mapped.count)) : host).hasPrefix("127.")
    }

    /// For the log: what a client is given, where there is such a thing.
    package var location: String {
        switch self {
        case .tcp: "http://\(self)"
        case .unix: description
        }
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): Self.unixPrefix + path
        }
    }
}
