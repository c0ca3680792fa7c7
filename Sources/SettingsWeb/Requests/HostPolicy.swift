internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A policy that names the hosts the daemon answers to, and the origins whose pages may use it.
///
/// A page can make any name resolve to this machine and then call the daemon (DNS rebinding). It cannot choose the `Host`
/// that the browser sends, nor hide its `Origin`. So a name that is not configured is refused.
package struct HostPolicy: Sendable {
    /// Names beside `localhost`, in lower case.
    var hosts: Set<String>
    /// Origins that may use the daemon beside its own, as `https://console.example.com`, in lower case.
    var origins: Set<String>

    package init(hosts: [String] = [], origins: [String] = []) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.origins = Set(origins.map { $0.lowercased() })
    }

    /// Refuses a request by its `Host` (421), then by its `Origin` (403). A field that was not sent is nil.
    func check(host: String?, port: String?, origin: String?) throws(Problem) {
        if let host, !admits(host) {
            let name = host.isEmpty ? "a host without a name" : host
            throw Problem(
                .misdirected,
                "this daemon does not answer to \(name); add the name to \"hosts\" in its configuration if it should")
        }
        let authority = host.map { host in port.map { "\(host):\($0)" } ?? host }
        guard let origin, !admits(origin: origin, authority: authority) else { return }
        throw Problem(
            .forbidden,
            "pages of \(origin) may not use this daemon; add the origin to \"origins\" in its configuration if they may"
        )
    }

    /// True if the host is an address, `localhost` or a configured name.
    func admits(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || hosts.contains(name) || Self.isAddress(name)
    }

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

/// A check of `Host` and `Origin` that remembers the last host it admitted: most requests name the same one.
struct HostCheck {
    private let policy: HostPolicy
    private var lastAdmitted: [UInt8]?

    init(_ policy: HostPolicy) {
        self.policy = policy
    }

    /// Refuses a request whose host or origin is not admitted.
    ///
    /// Over a Unix domain socket any host will do: the path of the socket says which daemon is meant, and clients make up
    /// a host for their URL. With an `Origin` the request has come from a page through a proxy, so the policy holds.
    mutating func check(_ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress) throws(Problem) {
        let origin = head.field(.origin)
        if origin == nil, peer.isUnix || isLast(head.host, bytes) { return }
        try policy.check(
            host: head.host.map { bytes.text(in: $0) }, port: head.port.map { bytes.text(in: $0) },
            origin: origin.map { bytes.text(in: $0) })
        if let host = head.host { lastAdmitted = host.map { bytes[$0] } }
    }

    private func isLast(_ host: Range<Int>?, _ bytes: Span<UInt8>) -> Bool {
        guard let host, let lastAdmitted, host.count == lastAdmitted.count else { return false }
        for index in lastAdmitted.indices where lastAdmitted[index] != bytes[host.lowerBound + index] { return false }
        return true
    }
}
