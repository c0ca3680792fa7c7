import HTTPWire

/// An answer that a connection is owed, with what its request said about the form of it.
struct OwedAnswer {
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after it.
    let keepsAlive: Bool
    /// Nil until the handler has answered, or begun to.
    var response: Response?
    /// If the body comes bit by bit.
    var stream: AnswerStream?

    /// Whether nothing more is to come from the handler.
    var isComplete: Bool { response != nil && (stream?.hasEnded ?? true) }
}

/// A body that comes bit by bit.
final class AnswerStream {
    /// What has come and is not rendered yet, framed as it will be sent.
    var pending: [UInt8] = []
    /// What was added while something before it was still waiting: how far the peer is behind. What it began with does not
    /// count, however long it is.
    var added = 0
    /// Whether the handler wants to hear when everything is sent.
    var isAwaited = false
    var hasBegun = false
    var hasEnded = false
}
