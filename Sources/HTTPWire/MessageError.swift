/// The reason why the parser refuses a message, with the HTTP status for the answer of a server.
///
/// After an error, the start of the next message is unknown, so the connection must be closed.
package enum MessageError: Error, Equatable, Sendable {
    /// 400. The string describes the fault.
    case badRequest(String)
    /// 413. `MessageParser.head` is available, so that the server can check authorization before it answers 413.
    case bodyTooLarge(limit: Int)
    /// 414.
    case targetTooLong(limit: Int)
    /// 417. The string names the expectation that the server supports.
    case expectationFailed(String)
    /// 431: the head or the trailers are too long.
    case headTooLarge(limit: Int)
    /// 431: there are too many fields or trailers.
    case tooManyFields(limit: Int)
    /// 501. The string names the transfer coding that the parser supports.
    case codingNotImplemented(String)
    /// 505. The string names the requested version of HTTP.
    case versionNotSupported(String)

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

    /// The fault and how to correct it, as a sentence without a full stop.
    package var reason: String {
        switch self {
        case .badRequest(let reason), .expectationFailed(let reason), .codingNotImplemented(let reason),
            .versionNotSupported(let reason):
            reason
        case .bodyTooLarge(let limit): "the body must be at most \(limit) bytes long"
        case .targetTooLong(let limit): "the target of the request must be at most \(limit) bytes long"
        case .headTooLarge(let limit):
            "the head of a message (the first line and the fields) must be at most \(limit) bytes long"
        case .tooManyFields(let limit): "a message must have at most \(limit) fields"
        }
    }

    /// The limit that the message exceeds; nil for an error that does not concern a limit.
    package var limit: Int? {
        switch self {
        case .bodyTooLarge(let limit), .targetTooLong(let limit), .headTooLarge(let limit), .tooManyFields(let limit):
            limit
        case .badRequest, .expectationFailed, .codingNotImplemented, .versionNotSupported: nil
        }
    }
}

/// The maximum sizes of the parts of a message. The parser refuses a message that exceeds a maximum.
package struct MessageLimits: Equatable, Sendable {
    /// Bytes of the request target as it was sent.
    package let maximumTargetLength: Int
    /// Bytes of the head, including the empty line at its end. The same limit applies to the trailers.
    package let maximumHeadLength: Int
    /// Fields of the head. The same limit applies to the trailers.
    package let maximumFieldCount: Int
    /// Bytes of the body, excluding the framing of chunks.
    package let maximumBodyLength: Int

    /// Creates limits. Each limit is clamped to the range from 1 to 2³⁰, and the limit of the body to the range from 0
    /// to 2³⁰.
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

    /// The maximum number of framing bytes in a chunked body. A chunk of one byte has five bytes of framing, so without
    /// a limit the server might have to buffer a multiple of `maximumBodyLength`. A body of the maximum length may
    /// consist of chunks of 48 bytes, each of which has six bytes of framing. The constant 65,536 allows smaller chunks
    /// in a short body.
    package var maximumFramingLength: Int { 65_536 + maximumBodyLength / 8 }

    /// The maximum number of bytes in a line with the size of a chunk and its extensions.
    static let maximumChunkLineLength = 256
}
