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
    /// When the handler wants to be reminded of it.
    var alarm = DeadlineWheel.never

    /// Whether nothing more is to come from the handler.
    var isComplete: Bool { response != nil && (stream?.hasEnded ?? true) }
}
