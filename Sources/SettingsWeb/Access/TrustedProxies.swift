internal import HTTPWire
package import Platform

/// The proxies that the daemon trusts. For a request from a trusted proxy, the daemon takes the address of the client
/// from the field `X-Forwarded-For`.
package struct TrustedProxies: Sendable {
    package var ranges: [AddressRange] = []
    /// True if the peers of Unix domain sockets are trusted proxies.
    package var includesUnix = false

    package init() {}

    /// Returns the address of the client that sent a request. If the peer is not a trusted proxy, the client is the
    /// peer. Otherwise the client is the last address in `X-Forwarded-For` that is not a trusted proxy. If all
    /// addresses are trusted proxies, the client is the first address. Without an address, the client is the peer. The
    /// method ignores all texts up to the last text that is not an address.
    func client(of head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress) -> SocketAddress {
        guard trusts(peer) else { return peer }
        var client = peer
        for line in head.values(of: .forwardedFor, in: bytes).reversed() {
            for text in bytes.text(in: line).split(separator: ",", omittingEmptySubsequences: false).reversed() {
                // Proxies add only addresses. The client sent any other text, and may have forged the texts before it.
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
