/// Where the body of a complete message is.
package enum RequestBody: Hashable, Sendable {
    /// The message has no body, not even an empty one.
    case none
    /// The body stands in the bytes of the message as it is.
    case inPlace(Range<Int>)
    /// The body was sent in chunks, which are joined here.
    case decoded([UInt8])

    /// Calls with the bytes of the body, empty if there is none. `bytes` are those that were parsed.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        of bytes: Span<UInt8>, _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch self {
        case .none: try use(bytes.extracting(0..<0))
        case .inPlace(let range): try use(bytes.extracting(range))
        case .decoded(let decoded): try use(decoded.span)
        }
    }
}
