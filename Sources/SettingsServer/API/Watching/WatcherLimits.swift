internal import Platform
internal import Synchronization

/// The limits of how many requests may wait at a time for something to happen.
package struct WatcherLimits: Sendable {
    /// In all. Below the number of connections, so that there is room for requests that do not wait.
    package var total = 19_000
    package var perAddress = 19_000

    package init() {}
}

/// A count of the requests that wait, over all loops.
final class WatcherCount: Sendable {
    /// An address that watchers come from. They share it, so it is looked up only when a watcher comes.
    final class Peer: Sendable {
        fileprivate let address: SocketAddress
        fileprivate let count = Atomic(0)

        fileprivate init(_ address: SocketAddress) {
            self.address = address
        }
    }

    /// The limit that a further watcher would exceed.
    enum Excess: Error, Hashable {
        case total(limit: Int)
        case ofAddress(limit: Int)
    }

    private let limits: Mutex<WatcherLimits>
    private let count = Atomic(0)
    private let peers = Mutex<[SocketAddress: Peer]>([:])

    init(_ limits: WatcherLimits) {
        self.limits = Mutex(limits)
    }

    /// Sets other limits. Requests that wait already go on.
    func renew(_ limits: WatcherLimits) {
        self.limits.withLock { $0 = limits }
    }

    var total: Int { count.load(ordering: .relaxed) }

    /// Counts one more from an address, given without its port. Throws if that is too many.
    func add(_ address: SocketAddress) throws(Excess) -> Peer {
        let limits = limits.withLock { $0 }
        return try peers.withLock { peers throws(Excess) in
            guard total < limits.total else { throw .total(limit: limits.total) }
            let peer = peers[address] ?? Peer(address)
            guard peer.count.load(ordering: .relaxed) < limits.perAddress else {
                throw .ofAddress(limit: limits.perAddress)
            }
            peers[address] = peer
            peer.count.add(1, ordering: .relaxed)
            count.add(1, ordering: .relaxed)
            return peer
        }
    }

    func remove(_ peer: Peer) {
        count.subtract(1, ordering: .relaxed)
        guard peer.count.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        peers.withLock { peers in
            // Meanwhile another watcher may have come from there.
            if peer.count.load(ordering: .relaxed) == 0, peers[peer.address] === peer { peers[peer.address] = nil }
        }
    }
}
