/// A reader that turns the bytes of a connection into one response. It holds them until that is complete.
package struct ResponseReader: Sendable {
    /// The limits of a client: a suite may be large.
    package static let usualLimits = MessageLimits(
        maximumHeadLength: 65_536, maximumFieldCount: 256, maximumBodyLength: 1 << 30)

    private var parser: MessageParser
    private var received: [UInt8] = []
    /// Interim responses (1xx) that may still come before the final one.
    private var interimAllowance: Int

    package init(limits: MessageLimits = Self.usualLimits, maximumInterimResponses: Int = 16) {
        parser = MessageParser(.response, limits: limits)
        interimAllowance = maximumInterimResponses
    }

    /// True if anything has come.
    package private(set) var hasBegun = false

    /// True if bytes came behind the complete response.
    package private(set) var hasExcess = false

    /// Reads received bytes; returns the response once it is complete.
    package mutating func read(_ bytes: Span<UInt8>) throws(MessageError) -> Response? {
        if !bytes.isEmpty { hasBegun = true }
        received.append(copying: bytes)
        while try parse() {
            if parser.current.status >= 200 { return finish() }
            guard interimAllowance > 0 else {
                throw .badRequest("too many interim responses (1xx) came before the final one")
            }
            interimAllowance -= 1
            received.removeSubrange(..<parser.consumed)
            parser.reset()
        }
        if case .length(let length) = parser.head?.framing {
            // A length is a promise only: no more room is made ahead than a server may easily fill.
            received.reserveCapacity(parser.current.length + min(length, 1 << 20))
        }
        return nil
    }

    /// Takes note that the server has closed its side; returns the response if that completes it.
    package mutating func end() -> Response? {
        parser.endOfInput() ? finish() : nil
    }

    /// The status of the response, once its head is complete.
    package var status: Int? { parser.head?.status }

    /// Takes what has come of a body in chunks that may go on for ever. It is not part of the response any more.
    package mutating func takeBody() -> [UInt8] {
        let (body, done) = parser.takeDecoded()
        received.removeSubrange(..<done)
        return body
    }

    private mutating func parse() throws(MessageError) -> Bool {
        // The compiler takes a span of a property for an access to all of them.
        let bytes = received
        return try parser.parse(bytes.span)
    }

    private mutating func finish() -> Response {
        let head = parser.current
        hasExcess = received.count > parser.consumed
        var fields = FieldBlock()
        // `takeBody` drops the head with what was read of the body.
        if head.length > 0 {
            let firstLineEnd = received.firstIndex(of: .lineFeed) ?? 0
            fields.append(lines: received.span.extracting(firstLineEnd + 1..<head.length - 2))
        }
        var response = Response(status: head.status, fields: fields, closes: !head.keepsAlive)
        switch parser.body {
        case .none: break
        case .decoded(let body): response.body = body
        case .inPlace(let range):
            received.removeSubrange(range.upperBound...)
            received.removeSubrange(..<range.lowerBound)
            response.body = received
        }
        received = []
        return response
    }
}

/// The first line of a response, and the framing of its body.
extension MessageParser {
    /// Takes note that no more bytes come; true if the message is complete.
    mutating func endOfInput() -> Bool {
        if phase == .bodyToEnd { phase = .complete }
        return phase == .complete
    }

    mutating func readStatus(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        while position < min(end, 12) {
            let byte = bytes[position]
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            switch position {
            case 7 where isDigit: current.isHTTP11 = byte != UInt8(ascii: "0")
            case 9...11 where isDigit && (position > 9 || byte != UInt8(ascii: "0")):
                current.status = current.status * 10 + Int(byte - UInt8(ascii: "0"))
            case 7, 9...11: throw Self.badStatusLine
            default: guard byte == Self.statusLineStart[position] else { throw Self.badStatusLine }
            }
            position += 1
        }
        guard position < end else { return false }
        guard bytes[position] == .space || bytes[position] == .carriageReturn else { throw Self.badStatusLine }
        phase = .reason
        return true
    }

    private static let statusLineStart = Array("HTTP/1.1 ".utf8)

    private static var badStatusLine: MessageError { .badRequest("the first line is no status line of HTTP/1.1") }

    mutating func readReason(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        position = bytes.firstControl(from: position, to: end)
        guard position < end else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\t"): break
        case .carriageReturn: phase = .statusLineEnd
        default: throw .badRequest("a control character stands in the status line; lines end with CR LF")
        }
        position += 1
        return true
    }

    /// Decides, at the end of the head of a response, whether a body follows and where it ends.
    mutating func settleResponseFraming() throws(MessageError) {
        let hasNoBody = current.status < 200 || current.status == 204 || current.status == 304
        guard current.status != 101 else { throw .badRequest("the server changes to another protocol") }
        guard !options.contains(.hasUnknownCoding) else {
            throw .codingNotImplemented("the only transfer coding known here is chunked")
        }
        // A server of HTTP/1.0 ends the connection with its answer.
        current.keepsAlive = current.isHTTP11 && !options.contains(.asksToClose)
        if hasNoBody {
            phase = .complete
        } else if options.contains(.hasChunkedCoding) {
            current.framing = .chunked
            phase = .chunkSize
            mark = position
        } else if current.has(.contentLength) {
            current.framing = .length(contentLength)
            phase = .lengthBody
            guard contentLength <= limits.maximumBodyLength else {
                throw .bodyTooLarge(limit: limits.maximumBodyLength)
            }
        } else {
            current.framing = .toEnd
            current.keepsAlive = false
            phase = .bodyToEnd
        }
        options.insert(.headIsComplete)
    }
}
