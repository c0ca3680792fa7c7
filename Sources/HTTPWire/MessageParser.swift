/// A state machine that reads one message, a request or a response, in as many pieces as it comes in.
///
/// It holds no bytes. Each call is given the bytes from the first of the message on, at least as many as the call before,
/// and goes on where that one stopped; no byte is looked at twice because others are late. The outcome does not depend on
/// where the bytes were divided. It is strict where two readers of the same bytes might see different messages. When a
/// message is complete, `consumed` says where the next one begins, for which the parser is `reset`. After an error it only
/// repeats the error: the connection has to be closed.
package struct MessageParser: Sendable {
    /// The part of the message that the byte at `position` belongs to.
    enum Phase: UInt8, BitwiseCopyable {
        case start, emptyLineEnd, method, target, version
        case status, reason, statusLineEnd
        case lineStart, fieldName, valueStart, value, valueLineEnd, sectionLineEnd, sectionEnd
        case lengthBody, bodyToEnd
        case chunkSize, chunkExtension, chunkSizeLineEnd, chunkData, chunkDataReturn, chunkDataLineEnd
        case complete
    }

    /// Facts from the fields about the end of the message and of the connection.
    struct Options: OptionSet, BitwiseCopyable {
        let rawValue: UInt8
        static let skippedEmptyLine = Options(rawValue: 1)
        static let asksToClose = Options(rawValue: 2)
        static let asksToKeepAlive = Options(rawValue: 4)
        static let hasChunkedCoding = Options(rawValue: 8)
        static let hasUnknownCoding = Options(rawValue: 16)
        /// The head is complete and its framing known.
        static let headIsComplete = Options(rawValue: 32)
    }

    /// The kind of message that the bytes are read as.
    package enum Kind: Sendable, BitwiseCopyable {
        case request, response
    }

    let kind: Kind
    let limits: MessageLimits
    var phase: Phase
    var options = Options()
    /// The field whose value is being read; nil if it is passed over.
    var currentField: FieldName?
    /// Where to go on.
    var position = 0
    /// Where the token, value or section of a chunked body that is being read begins.
    var mark = 0
    /// Where the first `?` of the target stands; 0 if there was none.
    var queryMark = 0
    var fieldCount = 0
    var contentLength = 0
    /// The head as far as it is known: to be believed once `headIsComplete`. The same as `head`, without a copy.
    package internal(set) var current = MessageHead()

    /// The bytes that are missing from the chunk being read.
    var chunkRest = 0
    var chunkDigits = 0
    /// Where the trailers begin.
    var trailerStart = 0
    var decodedBody: [UInt8] = []
    private var failure: MessageError?

    package init(_ kind: Kind = .request, limits: MessageLimits = MessageLimits()) {
        self.kind = kind
        self.limits = limits
        phase = Self.firstPhase(kind)
    }

    private static func firstPhase(_ kind: Kind) -> Phase {
        kind == .request ? .start : .status
    }

    /// True if `head` is there; the body may still be missing.
    package var headIsComplete: Bool { options.contains(.headIsComplete) }

    /// True if the last call found the end of the message.
    package var isComplete: Bool { phase == .complete }

    /// The head once it is complete. Still there when the body then turns out to be too large or badly framed.
    package var head: MessageHead? { headIsComplete ? current : nil }

    /// True if any byte of a request has come; the empty line that may stand before one is none.
    package var hasBegun: Bool { phase != .start && phase != .emptyLineEnd }

    /// The bytes of the complete message, those of an empty line before it included; 0 as long as it is not complete.
    package var consumed: Int { phase == .complete ? position : 0 }

    /// The length of the message, once its head says so.
    package var messageLength: Int? { phase == .lengthBody ? current.length + contentLength : nil }

    /// The length of the longest message that is taken.
    package var longestMessage: Int {
        limits.maximumHeadLength + limits.maximumBodyLength + limits.maximumFramingLength
    }

    /// The length of what was decoded of a chunked body.
    package var decodedLength: Int { decodedBody.count }

    /// The body of the complete message.
    package var body: MessageBody {
        guard phase == .complete else { return .none }
        switch current.framing {
        case .none: return .none
        case .length, .toEnd: return .inPlace(current.length..<position)
        case .chunked: return .decoded(decodedBody)
        }
    }

    /// Goes on with the message; true if that is complete now. More bytes may follow it.
    package mutating func parse(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        if let failure { throw failure }
        do throws(MessageError) {
            if !headIsComplete {
                guard try readHead(bytes) else { return false }
                if kind == .request { try settleFraming() } else { try settleResponseFraming() }
            }
            return try readBody(bytes)
        } catch {
            failure = error
            throw error
        }
    }

    /// Makes the parser ready for another message.
    package mutating func reset() {
        phase = Self.firstPhase(kind)
        options = Options()
        currentField = nil
        position = 0
        mark = 0
        queryMark = 0
        fieldCount = 0
        contentLength = 0
        current.reset()
        chunkRest = 0
        chunkDigits = 0
        trailerStart = 0
        if !decodedBody.isEmpty { decodedBody = [] }
        if failure != nil { failure = nil }
    }

    /// Reads on to the end of the head.
    private mutating func readHead(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        let end = min(bytes.count, limits.maximumHeadLength)
        while phase.rawValue < Phase.lineStart.rawValue {
            guard try readOfFirstLine(bytes, to: end) else { return try headGoesOn(bytes, from: 0) }
        }
        while phase != .sectionEnd {
            guard try readOfFields(bytes, to: end) else { return try headGoesOn(bytes, from: 0) }
        }
        current.length = position
        return true
    }

    /// Returns false if the head or the trailers may go on behind the last byte. Throws if they are too long.
    func headGoesOn(_ bytes: Span<UInt8>, from start: Int) throws(MessageError) -> Bool {
        if bytes.count - start >= limits.maximumHeadLength { throw .headTooLarge(limit: limits.maximumHeadLength) }
        return false
    }

    /// One step through the first line; false if it needs more bytes.
    private mutating func readOfFirstLine(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        switch phase {
        case .start: try readStart(bytes, to: end)
        case .emptyLineEnd: try readLineEnd(bytes, to: end, then: .start)
        case .method: try readMethod(bytes, to: end)
        case .target: try readTarget(bytes, to: end)
        case .version: try readVersion(bytes, to: end)
        case .status: try readStatus(bytes, to: end)
        case .reason: try readReason(bytes, to: end)
        default: try readLineEnd(bytes, to: end, then: .lineStart)
        }
    }

    /// Takes the line feed that has to follow a carriage return.
    mutating func readLineEnd(
        _ bytes: Span<UInt8>, to end: Int, then next: Phase
    ) throws(MessageError) -> Bool {
        guard position < end else { return false }
        guard bytes[position] == .lineFeed else {
            throw .badRequest("a carriage return without a line feed; lines end with CR LF")
        }
        position += 1
        phase = next
        return true
    }
}
