/// Why bytes are not taken as a request. Where the next request begins is then unknown or not to be trusted, so the
/// connection is closed after the answer, whatever the error.
package enum MessageError: Error, Equatable, Sendable {
    /// 400. The sentence says what is wrong.
    case badRequest(String)
    /// 413. The head is complete and can be looked at: who may not ask at all should hear that first.
    case bodyTooLarge(limit: Int)
    /// 414.
    case targetTooLong(limit: Int)
    /// 417. The sentence says what was expected.
    case expectationFailed(String)
    /// 431: the head or the trailers have too many bytes.
    case headTooLarge(limit: Int)
    /// 431: there are too many fields or trailers.
    case tooManyFields(limit: Int)
    /// 501. The sentence names the coding.
    case codingNotImplemented(String)
    /// 505. The sentence names the version.
    case versionNotSupported(String)

    /// The status of the answer.
    package var status: Int {
        switch self {
        case .badRequest: 400
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .expectationFailed: 417
        case .headTooLarge, .tooManyFields: 431
        case .codingNotImplemented: 501
        case .versionNotSupported: 505
        }
    }

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .badRequest(let reason), .expectationFailed(let reason), .codingNotImplemented(let reason),
            .versionNotSupported(let reason):
            reason
        case .bodyTooLarge(let limit): "the body must be at most \(limit) bytes long"
        case .targetTooLong(let limit): "the target of the request must be at most \(limit) bytes long"
        case .headTooLarge(let limit): "the fields of the request must be at most \(limit) bytes long, all together"
        case .tooManyFields(let limit): "a request must have at most \(limit) fields"
        }
    }

    /// The limit that was exceeded, where it was one.
    package var limit: Int? {
        switch self {
        case .bodyTooLarge(let limit), .targetTooLong(let limit), .headTooLarge(let limit), .tooManyFields(let limit):
            limit
        case .badRequest, .expectationFailed, .codingNotImplemented, .versionNotSupported: nil
        }
    }
}

/// How much of a request is taken before it is refused.
package struct MessageLimits: Equatable, Sendable {
    /// Bytes of the target, in the form in which it was sent.
    package let maximumTargetLength: Int
    /// Bytes of the head, from the first of the request to the end of the empty line; and as much for trailers.
    package let maximumHeadLength: Int
    /// Fields of the head; and as many trailers.
    package let maximumFieldCount: Int
    /// Bytes of the body, without the framing of chunks.
    package let maximumBodyLength: Int

    /// Limits; a number out of the reach of the parser (1 to 1 GiB) is taken as the nearest one in it.
    package init(
        maximumTargetLength: Int = 8_192, maximumHeadLength: Int = 16_384, maximumFieldCount: Int = 64,
        maximumBodyLength: Int = 16 << 20
    ) {
        func bounded(_ number: Int) -> Int { max(1, min(number, 1 << 30)) }
        self.maximumTargetLength = bounded(maximumTargetLength)
        self.maximumHeadLength = bounded(maximumHeadLength)
        self.maximumFieldCount = bounded(maximumFieldCount)
        self.maximumBodyLength = max(0, min(maximumBodyLength, 1 << 30))
    }

    /// How many bytes of a chunked body may be framing. Chunks of one byte are five times as much framing as body, so
    /// without a bound a sender could make the server hold a multiple of the longest body.
    package var maximumFramingLength: Int { 65_536 + maximumBodyLength / 8 }

    /// Bytes of one line with the size of a chunk and its extensions.
    static let maximumChunkLineLength = 256
}
