internal import Synchronization

/// A key for the clients that share a limit: a caller with a credential, a user of Unix domain sockets, else a network
/// address.
package enum ClientKey: Hashable, Sendable {
    case caller(String)
    case user(UInt32)
    case address(SocketAddress)

    /// The key of a peer without a credential.
    ///
    /// - Parameter user: the number of the user of a Unix domain socket, if the kernel tells it.
    package init(_ peer: SocketAddress, _ user: UInt32?) {
        self = user.map { .user($0) } ?? .address(peer.network)
    }
}

/// A count of what each client has under way, over all loops: connections, or requests that wait.
package final class ClientCounts: Sendable {
    /// A client that has something under way. All that it has shares the object, so that an end takes no look-up.
    package final class Client: Sendable {
        package let key: ClientKey
        fileprivate let count = Atomic(0)

        fileprivate init(_ key: ClientKey) {
            self.key = key
        }
    }

    private let clients = Mutex<[ClientKey: Client]>([:])

    package init() {}

    /// Counts one more of a client. Returns how many it has then; nil if it has as many as it may.
    package func add(_ key: ClientKey, upTo most: Int) -> (client: Client, count: Int)? {
        clients.withLock { clients in
            let client = clients[key] ?? Client(key)
            let count = client.count.load(ordering: .relaxed) + 1
            guard count <= most else { return nil }
            client.count.add(1, ordering: .relaxed)
            clients[key] = client
            return (client, count)
        }
    }

    package func remove(_ client: Client) {
        guard client.count.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        clients.withLock { clients in
            // Meanwhile it may have begun something else.
            if client.count.load(ordering: .relaxed) == 0, clients[client.key] === client { clients[client.key] = nil }
        }
    }
}
