/// The address of a daemon: `http://127.0.0.1:7070`, `http://[::1]:7070`, `unix:/run/settingsd.sock`, or
/// `https://settings.example.com` for a proxy that terminates TLS.
///
/// `https://` needs OpenSSL 3 on the machine of the client.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// TCP. The host is a name or a numeric address; an IPv6 address has no brackets.
        case tcp(host: String, port: UInt16)
        case unix(path: String)
        /// TCP with TLS.
        case https(host: String, port: UInt16)
    }

    package let kind: Kind

    /// The port of an `http://` address that contains no port.
    private static let defaultPort: UInt16 = 7070
    /// The port of an `https://` address that contains no port.
    private static let defaultSecurePort: UInt16 = 443
    /// The default address of a daemon on this machine.
    public static let usual = ServerAddress(.tcp(host: "127.0.0.1", port: defaultPort))
    /// The environment variable that contains the address.
    package static let variable = "SETTINGS_URL"

    /// The maximum length of a path in `sun_path` on Linux, without the final zero byte.
    package static let maximumPathLength = 107

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// Parses an address. If the text is not valid, throws an error with the reason.
    public init(_ text: String) throws(ServerAddressError) {
        var cursor = ByteCursor(text)
        let letters = cursor.consume(while: ByteSet(":").inverted)
        let scheme = String(decoding: letters.map(ASCII.lowercased), as: UTF8.self)
        let hasScheme = !letters.isEmpty && letters.allSatisfy(ASCII.isLetter) && cursor.consume(":")
        if hasScheme, scheme == "unix" {
            kind = .unix(path: try Self.path(cursor.rest, text))
            return
        }
        // If `//` does not follow the colon, the text before the colon may be a host, as in `localhost:7070`, and not a
        // scheme.
        guard hasScheme, cursor.consume("/"), cursor.consume("/") else {
            throw ServerAddressError(
                address: text, reason: "it must begin with http://, https:// or unix:, as in http://127.0.0.1:7070")
        }
        guard scheme == "http" || scheme == "https" else {
            throw ServerAddressError(
                address: text, reason: "the scheme \(scheme): is not supported; use http://, https:// or unix:/path")
        }
        let (host, port) = try Self.authority(cursor.rest, text)
        if scheme == "http" {
            kind = .tcp(host: host, port: port ?? Self.defaultPort)
            return
        }
        // A zone identifies a network interface of this machine, so a certificate cannot contain it.
        guard !host.utf8.contains(UInt8(ascii: "%")) else {
            throw ServerAddressError(
                address: text,
                reason: "a certificate cannot name a host with % or an address with a zone; use another host name")
        }
        kind = .https(host: host, port: port ?? Self.defaultSecurePort)
    }

    /// Parses the value of the environment variable. Returns the default address if the value is nil or empty.
    package static func from(variable text: String?) throws(ServerAddressError) -> ServerAddress {
        guard let text, !text.isEmpty else { return usual }
        return try ServerAddress(text)
    }

    private static func path(_ rest: ArraySlice<UInt8>, _ text: String) throws(ServerAddressError) -> String {
        // The URL `unix:///path` is equivalent to `unix:/path`.
        let path = rest.starts(with: "///".utf8) ? rest.dropFirst(2) : rest
        guard path.first == UInt8(ascii: "/"), path.count > 1, !path.contains(0) else {
            throw ServerAddressError(
                address: text, reason: "the path must begin with / and name a socket, as in unix:/run/settingsd.sock")
        }
        guard path.count <= maximumPathLength else {
            throw ServerAddressError(
                address: text, reason: "the path has \(path.count) bytes, more than \(maximumPathLength)")
        }
        return String(decoding: path, as: UTF8.self)
    }

    /// Parses a host with an optional port.
    private static func authority(
        _ rest: ArraySlice<UInt8>, _ text: String
    ) throws(ServerAddressError) -> (host: String, port: UInt16?) {
        func invalid(_ reason: String) -> ServerAddressError { ServerAddressError(address: text, reason: reason) }
        var cursor = ByteCursor(rest)
        var host = cursor.consume(while: ByteSet("/?#").inverted)
        guard cursor.isAtEnd || cursor.consume("/") && cursor.isAtEnd else {
            throw invalid("it must have only a host and a port; remove the path")
        }
        guard !host.contains(UInt8(ascii: "@")) else {
            throw invalid("it must not contain a user name or a password; use a token")
        }
        var port: UInt16?
        let bracket = host.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
        if let colon = host[bracket...].lastIndex(of: UInt8(ascii: ":")) {
            guard let number = Self.port(host[(colon + 1)...]) else {
                throw invalid("the port must be a number from 1 to 65535")
            }
            port = number
            host = host[..<colon]
        }
        if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(where: ByteSet("[]:").contains) {
            throw invalid("an IPv6 address must be in brackets, as in http://[::1]:7070")
        }
        guard !host.isEmpty else { throw invalid("the host is missing; use 127.0.0.1 for this machine") }
        // The host becomes a header field of each request, so it must not contain a line end.
        guard host.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw invalid("the host must consist of printable ASCII; write an international name in its xn-- form")
        }
        return (String(decoding: host, as: UTF8.self), port)
    }

    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard digits.allSatisfy(ASCII.isDigit), let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { return nil }
        return port
    }

    /// The host name or IP address that the certificate of the server must contain; nil for an address without TLS.
    package var secureHost: String? {
        if case .https(let host, _) = kind { host } else { nil }
    }

    /// The value of the field `Host` in requests.
    package var hostField: String {
        switch kind {
        case .tcp(let host, let port), .https(let host, let port):
            // A zone identifies a network interface of this machine, so it is not sent.
            return "\(Self.bracketed(String(host.prefix { $0 != "%" }))):\(port)"
        case .unix: return "localhost"
        }
    }

    /// The text form, which parses to the same address.
    public var description: String {
        switch kind {
        case .tcp(let host, let port): "http://\(Self.bracketed(host)):\(port)"
        case .https(let host, let port): "https://\(Self.bracketed(host)):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }
}

/// The reason why a text is not the address of a daemon.
public struct ServerAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The invalid text.
    public let address: String
    /// The reason, and the correct form.
    public let reason: String

    /// The invalid text and the reason.
    public var description: String {
        "\(address): \(reason)"
    }
}
