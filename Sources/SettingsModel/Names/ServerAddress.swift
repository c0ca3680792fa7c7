/// An address of a daemon: `http://127.0.0.1:7070`, `http://[::1]:7070`, `unix:/run/settingsd.sock`, or
/// `https://settings.example.com` behind a proxy that speaks TLS.
///
/// For `https://` a program adds and enables the library SettingsClientHTTPS.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// A name or a numeric address, IPv6 without its brackets.
        case tcp(host: String, port: UInt16)
        case unix(path: String)
        /// The same as TCP, with TLS in between.
        case https(host: String, port: UInt16)
    }

    package let kind: Kind

    private static let usualPort: UInt16 = 7070
    private static let usualSecurePort: UInt16 = 443
    /// The default address of a daemon on this machine.
    public static let usual = ServerAddress(.tcp(host: "127.0.0.1", port: usualPort))
    /// The environment variable with the address.
    public static let variable = "SETTINGS_URL"

    /// The longest path that fits into `sun_path` of Linux, without the zero at its end.
    package static let maximumPathLength = 107

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// Reads an address. Throws the reason if the text is not valid.
    public init(_ text: String) throws(ServerAddressError) {
        let reason: String
        switch Self.scheme(of: text) {
        case ("unix", let rest):
            kind = .unix(path: try Self.path(rest, text))
            return
        case ("http", let rest):
            let (host, port) = try Self.authority(rest, text)
            kind = .tcp(host: host, port: port ?? Self.usualPort)
            return
        case ("https", let rest):
            let (host, port) = try Self.authority(rest, text)
            // A zone has a meaning on this machine only, so no certificate can be for it.
            guard !host.utf8.contains(UInt8(ascii: "%")) else {
                reason = "an address with a zone, or a host with %, has no certificate"
                break
            }
            kind = .https(host: host, port: port ?? Self.usualSecurePort)
            return
        case (let scheme?, _): reason = "there is no \(scheme): here, only http://, https:// and unix:/path"
        case (nil, _): reason = "it begins with http://, https:// or unix:, as http://127.0.0.1:7070"
        }
        throw ServerAddressError(address: text, reason: reason)
    }

    package static func from(variable text: String?) throws(ServerAddressError) -> ServerAddress {
        guard let text, !text.isEmpty else { return usual }
        return try ServerAddress(text)
    }

    /// Splits the text after the scheme. The scheme is in lower case; nil if there is none.
    private static func scheme(of text: String) -> (String?, Substring) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (nil, text[...]) }
        let name = text[..<colon].lowercased()
        var rest = text[text.utf8.index(after: colon)...]
        guard !name.isEmpty, name.utf8.allSatisfy({ ASCII.isLetter($0) }) else {
            return (nil, rest)
        }
        guard name != "unix" else { return (name, rest) }
        // Without slashes it may be a host before its port.
        guard rest.utf8.starts(with: "//".utf8) else { return (nil, rest) }
        rest = rest.dropFirst(2)
        return (name, rest)
    }

    private static func path(_ rest: Substring, _ text: String) throws(ServerAddressError) -> String {
        // `unix:///path` is the same thing as a URL.
        let path = rest.utf8.starts(with: "///".utf8) ? rest.dropFirst(2) : rest
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count > 1, !path.utf8.contains(0) else {
            throw ServerAddressError(address: text, reason: "a path begins with /, as unix:/run/settingsd.sock")
        }
        guard path.utf8.count <= maximumPathLength else {
            throw ServerAddressError(
                address: text, reason: "the path has \(path.utf8.count) bytes, more than \(maximumPathLength)")
        }
        return String(path)
    }

    /// Reads a host and an optional port.
    private static func authority(
        _ rest: Substring, _ text: String
    ) throws(ServerAddressError) -> (host: String, port: UInt16?) {
        func bad(_ reason: String) -> ServerAddressError { ServerAddressError(address: text, reason: reason) }
        let slash = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        guard slash == rest.endIndex || rest[slash...].utf8.elementsEqual("/".utf8) else {
            throw bad("only a host and a port belong there, no path")
        }
        var host = rest[..<slash]
        guard !host.utf8.contains(UInt8(ascii: "@")) else { throw bad("a name and a password do not belong there") }
        var port: UInt16?
        let bracket = host.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            guard let number = Self.port(host[host.utf8.index(after: colon)...]) else {
                throw bad("a port is a number from 1 to 65535")
            }
            port = number
            host = host[..<colon]
        }
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.utf8.contains(where: { "[]:".utf8.contains($0) }) {
            throw bad("an IPv6 address stands in brackets: http://[::1]:7070")
        }
        guard !host.isEmpty else { throw bad("a host is missing: 127.0.0.1 is this machine") }
        // The host is sent in a field of each request, where nothing may end the line.
        guard host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw bad("a host consists of printable ASCII; write a name of other letters in its xn-- form")
        }
        return (String(host), port)
    }

    private static func port(_ digits: Substring) -> UInt16? {
        guard digits.utf8.allSatisfy(ASCII.isDigit), let port = UInt16(digits), port > 0 else { return nil }
        return port
    }

    /// True if only a carrier reaches it.
    package var isSecure: Bool {
        if case .https = kind { true } else { false }
    }

    /// The value of `Host` in requests.
    package var hostField: String {
        switch kind {
        case .tcp(let host, let port), .https(let host, let port):
            // The zone of an address has a meaning on this machine only.
            return "\(Self.bracketed(String(host.prefix { $0 != "%" }))):\(port)"
        case .unix: return "localhost"
        }
    }

    /// The text that reads back as this address.
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

/// An error that says why a text is not the address of a daemon.
public struct ServerAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let address: String
    /// The cause, and what to write instead.
    public let reason: String

    /// The text with the reason.
    public var description: String {
        "\(address): \(reason)"
    }
}
