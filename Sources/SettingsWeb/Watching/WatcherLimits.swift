internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The limits of how many requests may wait at a time for something to happen.
package struct WatcherLimits: Sendable {
    /// In all. Below the number of connections, so that there is room for requests that do not wait.
    package var total = 19_000
    /// The limit of a caller with a credential, a user of Unix domain sockets, or otherwise a network address.
    package var perCaller = 19_000

    package init() {}
}

/// A count of the requests that wait, over all loops.
package final class WatcherCount: Sendable {
    /// The limit that a further watcher would exceed.
    enum Excess: Error, Hashable {
        case total(limit: Int)
        case ofCaller(limit: Int)
    }

    private let limits: Mutex<WatcherLimits>
    private let count = Atomic(0)
    private let clients = ClientCounts()

    init(_ limits: WatcherLimits) {
        self.limits = Mutex(limits)
    }

    /// Sets other limits. Requests that wait already go on.
    package func renew(_ limits: WatcherLimits) {
        self.limits.withLock { $0 = limits }
    }

    var total: Int { count.load(ordering: .relaxed) }

    /// Counts a watcher of a client. Throws if the watcher exceeds a limit.
    func add(_ key: ClientKey) throws(Excess) -> ClientCounts.Client {
        let limits = limits.withLock { $0 }
        let isWithin = count.add(1, ordering: .relaxed).newValue <= limits.total
        guard isWithin, let (client, _) = clients.add(key, upTo: limits.perCaller) else {
            count.subtract(1, ordering: .relaxed)
            throw isWithin ? .ofCaller(limit: limits.perCaller) : .total(limit: limits.total)
        }
        return client
    }

    func remove(_ client: ClientCounts.Client) {
        count.subtract(1, ordering: .relaxed)
        clients.remove(client)
    }
}

extension Problem {
    /// The error for a watcher too many.
    init(_ excess: WatcherCount.Excess) {
        switch excess {
        case .total(let limit):
            self.init(.tooManyWatchers, "there are \(limit) watchers already; try again in a moment")
        case .ofCaller(let limit):
            self.init(
                .tooManyWatchers,
                "this caller has \(limit) watchers already; let one request observe several keys or suites")
        }
        // At random, or they would come back as many as before.
        self.retryAfterMs = Int64.random(in: 1000...5000)
    }
}
