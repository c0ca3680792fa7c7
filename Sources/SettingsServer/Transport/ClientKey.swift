internal import Platform
internal import Synchronization

/// A key for the clients that share a limit: a caller with a credential, a user of Unix domain sockets, else a network
/// address.
enum ClientKey: Hashable, Sendable {
    case caller(String)
    case user(UInt32)
    case address(SocketAddress)

    /// The key of a peer without a credential.
    init(_ peer: SocketAddress, _ user: PeerUser?) {
        self = user.map { .user($0.id) } ?? .address(peer.network)
    }

    /// True for a peer without a credential that is on this machine.
    var isLocal: Bool {
        switch self {
        case .caller: false
        case .user: true
        case .address(let address): address.isLocal
        }
    }
}

/// A count of the open connections by their peers.
final class ConnectionCounts: Sendable {
    private let counts = Mutex<[ClientKey: Int]>([:])

    /// Counts one more, and returns how many the peer has with it.
    func add(_ key: ClientKey) -> Int {
        counts.withLock { counts in
            counts[key, default: 0] += 1
            return counts[key, default: 0]
        }
    }

    func remove(_ keys: some Sequence<ClientKey>) {
        counts.withLock { counts in
            for key in keys {
                let left = counts[key, default: 1] - 1
                counts[key] = left > 0 ? left : nil
            }
        }
    }
}
