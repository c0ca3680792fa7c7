internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The host names under which clients may address the daemon, and the origins whose web pages may call it.
///
/// A malicious web page can make its own host name resolve to this machine and then call the daemon (DNS rebinding).
/// The browser sends this name as `Host`, and the page can change neither `Host` nor `Origin`. Therefore the daemon
/// refuses requests with a host name or an origin that is not configured.
package struct HostPolicy: Sendable {
    /// The allowed host names in addition to `localhost`, in lower case.
    var hosts: Set<String>
    /// The allowed origins in addition to the daemon's own, such as `https://console.example.com`, in lower case.
    var origins: Set<String>

    package init(hosts: [String] = [], origins: [String] = []) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.origins = Set(origins.map { $0.lowercased() })
    }

    /// Throws 421 if the `Host` is not allowed, and 403 if the `Origin` is not allowed. Nil stands for a missing field.
    func check(host: String?, port: String?, origin: String?) throws(Problem) {
        if let host, !admits(host) {
            throw Problem(
                .misdirected,
                host.isEmpty
                    ? "the field Host is empty; send the host of the daemon's URL"
                    : "cannot answer a request for the host name \(host): the name is not configured; add the name to "
                        + "\"hosts\" in the configuration to allow it")
        }
        let authority = host.map { host in port.map { "\(host):\($0)" } ?? host }
        guard let origin, !admits(origin: origin, authority: authority) else { return }
        throw Problem(
            .forbidden,
            "cannot answer a request from a page of \(origin): the origin is not configured; add the origin to "
                + "\"origins\" in the configuration to allow it")
    }

    /// True if the host is an IP address, `localhost` or a configured name. IP addresses need no configuration, because
    /// DNS rebinding needs a host name.
    func admits(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || hosts.contains(name) || Self.isAddress(name)
    }

    /// True if the origin is configured, or is the daemon's own: the authority (host and port) of the request.
    private func admits(origin: String, authority: String?) -> Bool {
        let origin = origin.lowercased()
        if origins.contains(origin) { return true }
        guard let authority = authority?.lowercased() else { return false }
        return origin == "http://\(authority)" || origin == "https://\(authority)"
    }

    /// True if the text is an IPv4 address, or an IPv6 address in brackets.
    private static func isAddress(_ host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            return StringFormat.ipv6.accepts(String(host.dropFirst().dropLast()))
        }
        return StringFormat.ipv4.accepts(host)
    }
}

/// Checks `Host` and `Origin` of requests. Stores the last admitted host, because most requests have the same host.
struct HostCheck {
    private let policy: HostPolicy
    private var lastAdmitted: [UInt8]?

    init(_ policy: HostPolicy) { self.policy = policy }

    /// Refuses a request whose host or origin is not admitted. A request over a Unix domain socket may have any host,
    /// because the path of the socket identifies the daemon. If a request over a Unix domain socket has an `Origin`, it
    /// came from a web page through a proxy, so the policy applies to the request.
    mutating func check(_ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress) throws(Problem) {
        let origin = head.field(.origin)
        if origin == nil, peer.isUnix || isLastAdmitted(head.host, bytes) { return }
        try policy.check(
            host: head.host.map { bytes.text(in: $0) }, port: head.port.map { bytes.text(in: $0) },
            origin: origin.map { bytes.text(in: $0) })
        if let host = head.host { lastAdmitted = host.map { bytes[$0] } }
    }

    private func isLastAdmitted(_ host: Range<Int>?, _ bytes: Span<UInt8>) -> Bool {
        guard let host, let lastAdmitted, host.count == lastAdmitted.count else { return false }
        for index in lastAdmitted.indices where lastAdmitted[index] != bytes[host.lowerBound + index] { return false }
        return true
    }
}
