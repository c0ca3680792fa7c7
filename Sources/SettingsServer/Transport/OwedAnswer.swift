import HTTPWire

/// An answer that a connection is owed, with what its request said about the form of it.
struct OwedAnswer {
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after it.
    let keepsAlive: Bool
    /// Nil until the handler has answered.
    var response: Response?
}
