package import HTTPWire

/// What a peer may take of the daemon: time, memory, descriptors. Times are in nanoseconds.
package struct TransportLimits: Sendable {
    /// Sizes of a single request.
    package var request = RequestLimits()

    /// Connections at a time, over all loops. Those beyond are answered 429 and closed.
    package var connections = 20_000
    /// Connections beyond that which may wait for their 429 at a time. Those beyond these, too, are closed at once.
    package var refusedConnections = 256
    /// From a request's first byte to the end of its head.
    package var headTime = 10 * second
    /// How long a body may take for each `bodyProgress` bytes.
    package var bodyTime = 10 * second
    package var bodyProgress = 1024
    /// Between requests, and before the first. Such a connection is closed without a word.
    package var idleTime = 75 * second
    /// A peer that takes none of its answers for so long is reset.
    package var unreadTime = 30 * second
    /// How long, and how far, a connection is read after its last answer, so that the peer sees that and not a reset.
    package var lingerTime = 2 * second
    package var lingerBytes = 1024 * 1024
    /// Requests of one connection that wait for their answers at a time. With more it is not read until some are
    /// answered.
    package var owedAnswers = 128
    /// Rendered answers of one connection that wait for room in its send buffer: with more, no further request of it is
    /// looked at. A single answer may be larger.
    package var unsentBytes = 64 * 1024

    /// What may wait to be sent of a body that comes bit by bit, beyond what came when nothing waited. A peer that is
    /// further behind for so long is closed: two or three large pieces may come faster than any peer reads.
    package var streamBytes = 1024 * 1024
    package var streamTime = 2 * second
    /// A peer that is even this far behind is closed at once.
    package var mostStreamBytes = 16 * 1024 * 1024

    package static let second: UInt64 = 1_000_000_000

    package init() {}
}
