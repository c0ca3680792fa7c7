internal import Synchronization

/// Identifies a client for limits that apply to each client, such as the number of connections.
///
/// A client is the caller whose credential the requests carry. Without a credential, a client is the user at the other
/// end of a Unix domain socket, or a network address.
package enum ClientKey: Hashable, Sendable {
    /// The name of the caller to whom the credential belongs.
    case caller(String)
    /// The user ID of the process at the other end of a Unix domain socket.
    case user(UInt32)
    /// The result of ``SocketAddress/network``: an IPv4 address, or the 64-bit network prefix of an IPv6 address.
    case address(SocketAddress)

    /// Makes the key of a peer without a credential.
    ///
    /// - Parameter user: the user ID of the peer of a Unix domain socket; nil if the kernel does not report a user ID.
    package init(_ peer: SocketAddress, _ user: UInt32?) {
        self = user.map { .user($0) } ?? .address(peer.network)
    }
}

/// Counts items of each client, such as open connections or waiting requests, over all event loops. Thread-safe.
package final class ClientCounts: Sendable {
    /// A client, with the number of its items. Each item keeps a reference to this object, so that
    /// ``ClientCounts/remove(_:)`` needs a dictionary lookup only for the last item of the client.
    package final class Client: Sendable {
        package let key: ClientKey
        fileprivate let count = Atomic(0)

        fileprivate init(_ key: ClientKey) {
            self.key = key
        }
    }

    private let clients = Mutex<[ClientKey: Client]>([:])

    package init() {}

    /// Adds one item to the count of a client, and returns the new count of the client. Returns nil, and leaves the
    /// count unchanged, if the client already has `limit` items.
    package func add(_ key: ClientKey, upTo limit: Int) -> (client: Client, count: Int)? {
        clients.withLock { clients in
            let client = clients[key] ?? Client(key)
            let count = client.count.load(ordering: .relaxed) + 1
            guard count <= limit else { return nil }
            client.count.add(1, ordering: .relaxed)
            clients[key] = client
            return (client, count)
        }
    }

    /// Subtracts one item from the count of a client.
    package func remove(_ client: Client) {
        guard client.count.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        clients.withLock { clients in
            // Another thread may have counted a new item of the client before this thread locked the dictionary.
            if client.count.load(ordering: .relaxed) == 0, clients[client.key] === client { clients[client.key] = nil }
        }
    }
}
