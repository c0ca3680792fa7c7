internal import HTTPWire
internal import Platform
internal import SettingsModel

/// The check of `Host` and `Origin`, which remembers the last host that it let pass: most requests name the same one.
struct AcceptedHosts {
    private let policy: HostPolicy
    private var last: [UInt8]?

    init(_ policy: HostPolicy) {
        self.policy = policy
    }

    /// Refuses a request that names a host which is not this one, or that comes from a page which may not send it.
    ///
    /// Over a Unix domain socket the path has said which daemon is meant, and no page gets there by itself: clients make up
    /// a host for their URL. One that tells of a page has come through a proxy, and is held to the rules.
    mutating func check(_ head: RequestHead, _ bytes: Span<UInt8>, from peer: PeerAddress) throws(Problem) {
        let origin = head.field(.origin)
        if origin == nil, peer.isUnix { return }
        if origin == nil, isLast(head.host, bytes) { return }
        try policy.check(
            host: head.host.map { bytes.text(in: $0) }, port: head.port.map { bytes.text(in: $0) },
            origin: origin.map { bytes.text(in: $0) })
        if let host = head.host { last = host.map { bytes[$0] } }
    }

    private func isLast(_ host: Range<Int>?, _ bytes: Span<UInt8>) -> Bool {
        guard let host, let last, host.count == last.count else { return false }
        for index in last.indices where last[index] != bytes[host.lowerBound + index] { return false }
        return true
    }
}
