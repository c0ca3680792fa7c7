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
            guard path.count <= SocketFile.maximumLength else {
                throw bad("the path has \(path.count) bytes, more than \(SocketFile.maximumLength)")
            }
            self = .unix(path: String(decoding: path, as: UTF8.self))
            return
        }
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else {
            throw bad("a port is missing: write host:port")
        }
        guard let port = UInt16(String(decoding: bytes[(colon + 1)...], as: UTF8.self)) else {
            throw bad("a port is a number from 0 to 65535")
        }
        var host = bytes[..<colon]
        if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(UInt8(ascii: ":")) {
            throw bad("an IPv6 address stands in brackets: [::1]:7070")
        }
        guard !host.isEmpty else { throw bad("a host is missing: 127.0.0.1 for this machine, 0.0.0.0 for everyone") }
        self = .tcp(host: String(decoding: host, as: UTF8.self), port: port)
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
