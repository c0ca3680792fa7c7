internal import Synchronization

/// How many may wait for something to happen at a time.
package struct WatcherLimits: Sendable {
    /// In all. Below the number of connections, so that there is always room for somebody who does not wait.
    package var total = 19_000
    /// From one address.
    package var perAddress = 19_000

    package init() {}
}

/// Counts those who wait, over all loops.
final class WatcherCount: Sendable {
    private struct Counts {
        var total = 0
        var byPeer: [PeerAddress: Int] = [:]
    }

    /// Why nobody further may wait.
    enum Excess: Hashable {
        case total(limit: Int)
        case ofAddress(limit: Int)
    }

    private let limits: WatcherLimits
    private let counts = Mutex(Counts())

    init(_ limits: WatcherLimits) {
        self.limits = limits
    }

    var total: Int { counts.withLock { $0.total } }

    /// Counts one more from an address, given without its port; returns why that is too many, if it is.
    func add(_ peer: PeerAddress) -> Excess? {
        counts.withLock { counts in
            guard counts.total < limits.total else { return .total(limit: limits.total) }
            let ofPeer = counts.byPeer[peer, default: 0]
            guard ofPeer < limits.perAddress else { return .ofAddress(limit: limits.perAddress) }
            counts.total += 1
            counts.byPeer[peer] = ofPeer + 1
            return nil
        }
    }

    func remove(_ peer: PeerAddress) {
        counts.withLock { counts in
            counts.total -= 1
            let left = (counts.byPeer[peer] ?? 1) - 1
            counts.byPeer[peer] = left > 0 ? left : nil
        }
    }
}
