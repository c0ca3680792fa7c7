package import HTTPWire

/// The limits on time, memory and descriptors that peers may take. Times are in nanoseconds.
package struct TransportLimits: Sendable {
    /// Sizes of a single request.
    package var request = MessageLimits()

    /// Connections at a time, over all loops. Further ones are answered 429 and closed.
    package var connections = 20_000
    /// Connections at a time from one network address, or of one user of Unix domain sockets.
    package var connectionsPerAddress = 19_000
    /// Further connections that may wait for their 429 at a time. Any beyond these are closed at once.
    package var refusedConnections = 256
    /// From a request's first byte to the end of its head.
    package var headTime = 10 * second
    /// How long a body may take for each `bodyProgress` bytes.
    package var bodyTime = 10 * second
    package var bodyProgress = 1024
    /// Between requests, and before the first. The connection is closed without an answer.
    package var idleTime = 75 * second
    /// A peer that reads nothing of its answers for so long is reset.
    package var sendTimeout = 30 * second
    /// How long, and how far, a connection is read after its last answer, so that the peer sees it and no reset.
    package var lingerTime = 2 * second
    package var lingerBytes = 1024 * 1024
    /// Requests of one connection that wait for answers at a time. With more it is not read.
    package var maxPipelinedRequests = 128
    /// Rendered answers of one connection that wait to be sent. With more, no further request of it is taken. A single
    /// answer may be larger.
    package var sendBufferBytes = 64 * 1024

    /// What may wait of a stream, beyond what came while nothing waited. A peer that is further behind for `streamTime`
    /// is reset: two or three large pieces may come faster than any peer reads.
    package var streamBytes = 1024 * 1024
    package var streamTime = 2 * second
    /// A peer that is this far behind is reset at once.
    package var mostStreamBytes = 16 * 1024 * 1024

    /// From how long on a batch of events of a loop is slow, which is counted and logged.
    package var slowBatch = second / 50

    package static let second: UInt64 = 1_000_000_000

    package init() {}
}
