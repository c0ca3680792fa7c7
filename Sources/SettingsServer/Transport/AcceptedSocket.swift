internal import Platform
internal import Synchronization

/// A connection on its way from the acceptor to its loop. Closes its socket if no loop takes it.
final class AcceptedSocket: Sendable {
    private let socket: Mutex<Socket?>
    let peer: SocketAddress
    /// The limit that this connection exceeds: it gets an answer that says so, and is closed.
    let exceededLimit: Int?

    init(_ socket: consuming Socket, _ peer: SocketAddress, exceededLimit: Int?) {
        self.socket = Mutex(socket)
        self.peer = peer
        self.exceededLimit = exceededLimit
    }

    /// Returns the socket, once.
    func take() -> Socket? {
        socket.withLock { $0.take() }
    }
}
