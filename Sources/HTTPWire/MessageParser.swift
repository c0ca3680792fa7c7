/// An incremental parser for one HTTP/1.1 message, a request or a response.
///
/// The parser stores no bytes, except the data of a chunked body. The caller keeps the bytes of the message in a
/// buffer, and passes the whole buffer again to ``parse(_:)`` each time it has received more bytes. The parser
/// continues at the position that it has reached, so it examines no byte twice, and the outcome does not depend on how
/// the bytes were split.
///
/// The parser refuses a message if another HTTP parser could interpret its bytes differently. After an error it throws
/// the same error again, and the caller must close the connection. When a message is complete, `consumed` is the length
/// of the message, and ``reset()`` prepares the parser for the next message.
package struct MessageParser: Sendable {
    /// The part of the message that the byte at `position` belongs to. The code compares the raw values of the cases,
    /// so the order of the three groups below matters: first line, field lines, body. The trailers after a chunked body
    /// use the phases of the field lines again. A case whose name ends in `LineEnd` expects the line feed after a
    /// carriage return.
    enum Phase: UInt8, BitwiseCopyable {
        // The request line, or the status line of a response.
        case start, emptyLineEnd, method, target, version
        case status, reason, statusLineEnd
        // A section of field lines: the fields of the head, or the trailers of a chunked body.
        case lineStart, fieldName, valueStart, value, valueLineEnd, sectionLineEnd, sectionEnd
        // The body.
        case lengthBody, bodyUntilClose
        case chunkSize, chunkExtension, chunkSizeLineEnd, chunkData, chunkDataReturn, chunkDataLineEnd
        case complete
    }

    /// Properties of the message that the parser has found so far. Most flags determine the framing of the body, or
    /// whether the connection stays open.
    struct Flags: OptionSet, BitwiseCopyable {
        let rawValue: UInt8
        /// The parser has skipped the one empty line that may precede a request.
        static let skippedEmptyLine = Flags(rawValue: 1)
        /// The field `Connection` contains `close`.
        static let asksToClose = Flags(rawValue: 2)
        /// The field `Connection` contains `keep-alive`.
        static let asksToKeepAlive = Flags(rawValue: 4)
        /// The field `Transfer-Encoding` contains `chunked`.
        static let hasChunkedCoding = Flags(rawValue: 8)
        /// The field `Transfer-Encoding` contains a coding that the parser does not support.
        static let hasUnknownCoding = Flags(rawValue: 16)
        /// The head is complete, and the framing of the body is known.
        static let headIsComplete = Flags(rawValue: 32)
    }

    package enum Kind: Sendable, BitwiseCopyable {
        case request, response
    }

    let kind: Kind
    let limits: MessageLimits
    var phase: Phase
    var flags = Flags()
    /// The field whose value is being parsed; nil if the parser ignores the value.
    var currentField: FieldName?
    /// The index of the next byte to parse.
    var position = 0
    /// The index of the first byte of the element that is being parsed: the method, the target, the version, the name
    /// or the value of a field, or the line with the size of a chunk.
    var elementStart = 0
    /// The index of the first `?` in the target; 0 if the parser has found none.
    var questionMarkPosition = 0
    var fieldCount = 0
    var contentLength = 0
    /// The parsed part of the head. Callers may use it only if `headIsComplete` is true. Reading this property does not
    /// copy the head, unlike reading `head`.
    package internal(set) var partialHead = MessageHead()

    /// The number of bytes that are missing from the data of the current chunk.
    var remainingChunkLength = 0
    var chunkSizeDigitCount = 0
    /// The index of the first byte of the trailers.
    var trailerStart = 0
    /// The data of the chunks that have been parsed.
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

    /// True if the head has been parsed completely. The body may be incomplete.
    package var headIsComplete: Bool { flags.contains(.headIsComplete) }

    package var isComplete: Bool { phase == .complete }

    /// The head; nil until it is complete. It remains available if the parser then refuses the body.
    package var head: MessageHead? { headIsComplete ? partialHead : nil }

    /// True if the parser has received a byte of the request. An empty line before the request does not count. Always
    /// true for a parser of responses.
    package var hasBegun: Bool { phase != .start && phase != .emptyLineEnd }

    /// The length of the complete message, including an empty line before it; 0 while the message is incomplete.
    package var consumed: Int { phase == .complete ? position : 0 }

    /// The length of the whole message, while a body with `Content-Length` is incomplete; otherwise nil.
    package var messageLength: Int? { phase == .lengthBody ? partialHead.length + contentLength : nil }

    /// The length of the longest message without trailers that the limits permit.
    package var maximumMessageLength: Int {
        limits.maximumHeadLength + limits.maximumBodyLength + limits.maximumFramingLength
    }

    package var decodedLength: Int { decodedBody.count }

    /// The body of the complete message; `none` while the message is incomplete.
    package var body: MessageBody {
        guard phase == .complete else { return .none }
        switch partialHead.framing {
        case .none: return .none
        case .length, .untilClose: return .inPlace(partialHead.length..<position)
        case .chunked: return .decoded(decodedBody)
        }
    }

    /// Continues with the message. Returns true if the message is complete; bytes of the next message may follow it.
    ///
    /// - Parameter bytes: the bytes of the previous call, followed by the bytes that have arrived since. After a call
    ///   of `removeDecodedBody()`, without the `parsedLength` bytes that the caller had to remove.
    package mutating func parse(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        if let failure { throw failure }
        do throws(MessageError) {
            if !headIsComplete {
                guard try readHead(bytes) else { return false }
                if kind == .request { try determineRequestFraming() } else { try determineResponseFraming() }
            }
            return try readBody(bytes)
        } catch {
            failure = error
            throw error
        }
    }

    package mutating func reset() {
        phase = Self.firstPhase(kind)
        flags = Flags()
        currentField = nil
        position = 0
        elementStart = 0
        questionMarkPosition = 0
        fieldCount = 0
        contentLength = 0
        partialHead.reset()
        remainingChunkLength = 0
        chunkSizeDigitCount = 0
        trailerStart = 0
        if !decodedBody.isEmpty { decodedBody = [] }
        if failure != nil { failure = nil }
    }

    /// Parses the rest of the head. Returns false if it needs more bytes.
    private mutating func readHead(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        let end = min(bytes.count, limits.maximumHeadLength)
        while phase.rawValue < Phase.lineStart.rawValue {
            guard try readNextPartOfFirstLine(bytes, to: end) else {
                return try reportIncompleteSection(bytes, from: 0)
            }
        }
        while phase != .sectionEnd {
            guard try readNextPartOfFields(bytes, to: end) else { return try reportIncompleteSection(bytes, from: 0) }
        }
        partialHead.length = position
        return true
    }

    /// Handles a section (the head or the trailers) that does not end within the received bytes. Throws if the section
    /// has reached the maximum length; otherwise returns false, because the parser needs more bytes.
    func reportIncompleteSection(_ bytes: Span<UInt8>, from start: Int) throws(MessageError) -> Bool {
        if bytes.count - start >= limits.maximumHeadLength { throw .headTooLarge(limit: limits.maximumHeadLength) }
        return false
    }

    /// Parses one part of the first line. Returns false if it needs more bytes.
    private mutating func readNextPartOfFirstLine(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        switch phase {
        case .start: try readStart(bytes, to: end)
        case .emptyLineEnd: try readLineEnd(bytes, to: end, then: .start)
        case .method: try readMethod(bytes, to: end)
        case .target: try readTarget(bytes, to: end)
        case .version: try readVersion(bytes, to: end)
        case .status: try readStatus(bytes, to: end)
        case .reason: try readReason(bytes, to: end)
        default: try readLineEnd(bytes, to: end, then: .lineStart)  // `statusLineEnd`
        }
    }

    /// Parses the line feed that must follow a carriage return. Returns false if it needs more bytes.
    mutating func readLineEnd(
        _ bytes: Span<UInt8>, to end: Int, then next: Phase
    ) throws(MessageError) -> Bool {
        guard position < end else { return false }
        guard bytes[position] == .lineFeed else {
            throw .badRequest("each line must end with CR LF (got a carriage return without a line feed)")
        }
        position += 1
        phase = next
        return true
    }
}
