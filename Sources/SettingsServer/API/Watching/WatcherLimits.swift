internal import Synchronization

/// The limits of how many requests may wait at a time for something to happen.
package struct WatcherLimits: Sendable {
    /// In all. Below the number of connections, so that there is room for requests that do not wait.
    package var total = 19_000
    /// Of one caller with a credential, one user of Unix domain sockets, else one network address.
    package var perCaller = 19_000

    package init() {}
}

/// A count of the requests that wait, over all loops.
final class WatcherCount: Sendable {
    /// A client with watchers. They share it, so it is looked up only when a watcher comes.
    final class Client: Sendable {
        fileprivate let key: ClientKey
        fileprivate let count = Atomic(0)

        fileprivate init(_ key: ClientKey) {
            self.key = key
        }
    }

    /// The limit that a further watcher would exceed.
    enum Excess: Error, Hashable {
        case total(limit: Int)
        case ofCaller(limit: Int)
    }

    private let limits: Mutex<WatcherLimits>
    private let count = Atomic(0)
    private let clients = Mutex<[ClientKey: Client]>([:])

    init(_ limits: WatcherLimits) {
        self.limits = Mutex(limits)
    }

    /// Sets other limits. Requests that wait already go on.
    func renew(_ limits: WatcherLimits) {
        self.limits.withLock { $0 = limits }
    }

    var total: Int { count.load(ordering: .relaxed) }

    /// Counts one more of a client. Throws if that is too many.
    func add(_ key: ClientKey) throws(Excess) -> Client {
        let limits = limits.withLock { $0 }
        return try clients.withLock { clients throws(Excess) in
            guard total < limits.total else { throw .total(limit: limits.total) }
            let client = clients[key] ?? Client(key)
            guard client.count.load(ordering: .relaxed) < limits.perCaller else {
                throw .ofCaller(limit: limits.perCaller)
            }
            clients[key] = client
            client.count.add(1, ordering: .relaxed)
            count.add(1, ordering: .relaxed)
            return client
        }
    }

    func remove(_ client: Client) {
        count.subtract(1, ordering: .relaxed)
        guard client.count.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        clients.withLock { clients in
            // Meanwhile it may have got another watcher.
            if client.count.load(ordering: .relaxed) == 0, clients[client.key] === client { clients[client.key] = nil }
        }
    }
}
