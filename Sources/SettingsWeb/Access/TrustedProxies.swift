internal import HTTPWire
package import Platform

/// A list of the proxies whose `X-Forwarded-For` is believed.
package struct TrustedProxies: Sendable {
    package var ranges: [AddressRange] = []
    /// True if the peers of Unix domain sockets are proxies.
    package var includesUnix = false

    package init() {}

    /// Returns the client behind a request: the last address in the field that is no proxy. Without a proxy that is the peer.
    func client(of head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress) -> SocketAddress {
        guard trusts(peer) else { return peer }
        var client = peer
        for line in head.values(of: .forwardedFor, in: bytes).reversed() {
            for text in bytes.text(in: line).split(separator: ",", omittingEmptySubsequences: false).reversed() {
                // What a proxy would not write was sent by the client: nothing before it can be believed.
                guard let address = IPAddress(text.filter { $0 != " " && $0 != "\t" }) else { return client }
                client = .tcp(address, port: 0)
                guard trusts(client) else { return client }
            }
        }
        return client
    }

    func trusts(_ peer: SocketAddress) -> Bool {
        guard case .tcp(let address, _) = peer else { return includesUnix }
        return ranges.contains { $0.contains(address) }
    }
}
