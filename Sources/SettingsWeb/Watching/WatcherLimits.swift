internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The limits for concurrent watchers: requests that wait for changes, for the publication of a revision, or until
/// clients of a suite have applied a state.
package struct WatcherLimits: Sendable {
    /// The limit for all callers together. It is below the limit of connections, so other requests can connect.
    package var total = 19_000
    /// The limit for one client (see ``ClientKey``): a caller for which grants are configured, otherwise the user of a
    /// Unix domain socket, or a network address. The configuration and the messages say `caller` for a client.
    /// The default equals the limit for all callers, because all programs on one machine may be one client.
    package var perCaller = 19_000

    package init() {}
}

/// Counts the watchers of all event loops, and of each client. Thread-safe.
package final class WatcherCount: Sendable {
    /// The limit that a further watcher would exceed.
    enum Excess: Error, Hashable {
        case total(limit: Int)
        case ofCaller(limit: Int)
    }

    private let limits: Mutex<WatcherLimits>
    private let count = Atomic(0)
    private let clients = ClientCounts()

    init(_ limits: WatcherLimits) { self.limits = Mutex(limits) }

    /// Replaces the limits. Existing watchers continue, even if they exceed the new limits.
    package func setLimits(_ limits: WatcherLimits) { self.limits.withLock { $0 = limits } }

    var total: Int { count.load(ordering: .relaxed) }

    /// Counts a new watcher of a client. Throws if a limit does not allow another watcher.
    func add(_ key: ClientKey) throws(Excess) -> ClientCounts.Client {
        let limits = limits.withLock { $0 }
        let isWithinTotal = count.add(1, ordering: .relaxed).newValue <= limits.total
        guard isWithinTotal, let (client, _) = clients.add(key, upTo: limits.perCaller) else {
            count.subtract(1, ordering: .relaxed)
            throw isWithinTotal ? .ofCaller(limit: limits.perCaller) : .total(limit: limits.total)
        }
        return client
    }

    func remove(_ client: ClientCounts.Client) {
        count.subtract(1, ordering: .relaxed)
        clients.remove(client)
    }
}

extension Problem {
    init(_ excess: WatcherCount.Excess) {
        switch excess {
        case .total(let limit):
            self.init(
                .tooManyWatchers, "the daemon already has the maximum of \(limit) watchers; try again in a moment")
        case .ofCaller(let limit):
            self.init(
                .tooManyWatchers,
                "this caller already has the maximum of \(limit) watchers; observe several suites with one request")
        }
        // The delay is random, so that the refused clients do not retry at the same time.
        self.retryAfterMs = Int64.random(in: 1000...5000)
    }
}
