package import HTTPWire

/// The limits on time, memory and file descriptors that clients may use. Times are in nanoseconds.
package struct TransportLimits: Sendable {
    /// The size limits of a single request.
    package var request = MessageLimits()

    /// The maximum number of open connections of all loops. Further connections are answered with 429 and closed.
    package var connections = 20_000
    /// The maximum number of open connections from one network address, or from one user of Unix domain sockets. IPv6
    /// addresses with the same first 64 bits count as one address. The default is nearly the total, because all
    /// programs on one machine, or behind one proxy, share an address. The default leaves 5 % of the connections to
    /// other addresses.
    package var connectionsPerAddress = 19_000
    /// The maximum number of connections that wait for a 429 answer. Further connections are closed at once.
    package var refusedConnections = 256
    /// The maximum time from the first byte of a request to the end of its head.
    package var headTime = 10 * second
    /// The maximum time in which the next `bodyProgressBytes` bytes of a body must be received.
    package var bodyTime = 10 * second
    package var bodyProgressBytes = 1024
    /// The maximum time between two requests, and before the first request. After this time, the loop closes the
    /// connection.
    package var idleTime = 75 * second
    /// If a peer reads no bytes of its answers for this time, its connection is reset.
    package var sendTimeout = 30 * second
    /// After its last answer, a connection discards input for at most `lingerTime`, and at most `lingerBytes` bytes.
    /// Closing earlier, with unread bytes, would reset the connection before the peer has read the answer.
    package var lingerTime = 2 * second
    package var lingerBytes = 1024 * 1024
    /// The maximum number of unanswered requests of one connection. The connection is not read while it has this number
    /// of unanswered requests.
    package var maxPipelinedRequests = 128
    /// If the rendered answers of a connection reach this size, they are sent before the next request is processed.
    package var sendBufferBytes = 64 * 1024

    /// If more than `streamBytes` of a stream are unsent for `streamTime`, the connection is reset. If a handler adds a
    /// piece while the stream has no unsent bytes, the bytes that it adds in the same iteration of the event loop do
    /// not count, also for `maximumStreamBytes`. The time is needed because a handler may add several large pieces
    /// faster than any peer can read them.
    package var streamBytes = 1024 * 1024
    package var streamTime = 2 * second
    /// If more bytes of a stream than this are unsent, the connection is reset at once.
    package var maximumStreamBytes = 16 * 1024 * 1024

    /// An iteration of an event loop is slow if it takes longer than this. Slow iterations are counted and logged.
    package var slowIteration = second / 50

    package static let second: UInt64 = 1_000_000_000

    package init() {}
}
