import HTTPWire

/// Input of a connection that could not be taken yet: an incomplete request, or complete ones that must wait. Only
/// connections that have such input have one.
final class Backlog {
    enum Waiting {
        /// For the rest of a request.
        case bytes
        /// For all answers before it; its first request is complete.
        case answers
        /// For fewer owed answers, or for unsent ones to drain.
        case room
    }

    /// From the first byte of a request on.
    var bytes: [UInt8]
    /// How far that request has been read.
    var parser: RequestParser
    var waiting: Waiting
    /// Bytes have come since it was last looked at.
    var isFresh = false
    /// The peer was told to go on and send the body.
    var isContinued = false

    init(_ bytes: Span<UInt8>, _ parser: RequestParser, _ waiting: Waiting) {
        self.bytes = bytes.withUnsafeBufferPointer { Array($0) }
        self.parser = parser
        self.waiting = waiting
    }
}
