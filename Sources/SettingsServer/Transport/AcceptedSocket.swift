import Platform

/// A connection on its way from the acceptor to its loop.
struct AcceptedSocket: Sendable {
    let socket: Socket
    let peer: PeerAddress
    /// It is one too many: it gets an answer that says so, and is closed.
    let exceededLimit: Int?
}
