internal import SettingsModel

/// Which names the daemon answers to, and which pages may use it.
///
/// A page in a browser can have any name resolve to this machine and then speak to whatever listens here. It cannot
/// choose the `Host` that the browser sends, nor hide its `Origin`: so a name that nobody configured is not this daemon.
package struct HostPolicy: Sendable {
    /// Names beside `localhost`, in lower case.
    package var hosts: Set<String>
    /// Origins that may use the daemon beside its own, as `https://console.example.com`, in lower case.
    package var origins: Set<String>

    package init(hosts: [String] = [], origins: [String] = []) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.origins = Set(origins.map { $0.lowercased() })
    }

    /// Refuses a request by the host that it names and by the page that it comes from.
    ///
    /// - Parameters:
    ///   - host: as it was sent; nil if it was not, which only HTTP/1.0 allows.
    ///   - port: as it was sent; nil if it was not.
    ///   - origin: the page that the request comes from; nil if it comes from none.
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

    /// Whether the host is an address, `localhost` or a name that was configured.
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

    /// Whether the text is an IPv4 address, or an IPv6 address in brackets.
    private static func isAddress(_ host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            return StringFormat.ipv6.accepts(String(host.dropFirst().dropLast()))
        }
        return StringFormat.ipv4.accepts(host)
    }
}
