/// A reader for one response of a server. It buffers the received bytes until the response is complete.
package struct ResponseReader: Sendable {
    /// The default limits of a client. They exceed the default limits of a server, because responses can be large.
    package static let defaultLimits = MessageLimits(
        maximumHeadLength: 65_536, maximumFieldCount: 256, maximumBodyLength: 1 << 30)

    private var parser: MessageParser
    private var received: [UInt8] = []
    /// The number of interim responses (1xx) that are still permitted. Without a limit, they could continue forever.
    private var remainingInterimResponses: Int

    package init(limits: MessageLimits = Self.defaultLimits, maximumInterimResponses: Int = 16) {
        parser = MessageParser(.response, limits: limits)
        remainingInterimResponses = maximumInterimResponses
    }

    /// True if any byte has been received.
    package private(set) var hasBegun = false

    /// True if bytes were received after the complete response.
    package private(set) var hasExcess = false

    /// Parses received bytes. Returns the response if it is now complete, otherwise nil.
    package mutating func read(_ bytes: Span<UInt8>) throws(MessageError) -> Response? {
        if !bytes.isEmpty { hasBegun = true }
        received.append(copying: bytes)
        while try parse() {
            if parser.partialHead.status >= 200 { return makeResponse() }
            guard remainingInterimResponses > 0 else {
                throw .badRequest("the server sent too many interim responses (1xx) before the final response")
            }
            remainingInterimResponses -= 1
            received.removeSubrange(..<parser.consumed)
            parser.reset()
        }
        if case .length(let length) = parser.head?.framing {
            // The server may send less than it announced, so reserve at most 1 MiB in advance.
            received.reserveCapacity(parser.partialHead.length + min(length, 1 << 20))
        }
        return nil
    }

    /// Handles the end of the input. Returns the response if the end completes it, otherwise nil.
    package mutating func receiveEnd() -> Response? {
        parser.endOfInput() ? makeResponse() : nil
    }

    /// The status of the response; nil until its head is complete.
    package var status: Int? { parser.head?.status }

    /// Removes and returns the received part of a chunked body. This method is for endless bodies such as event
    /// streams. The complete response then has neither the removed part nor the fields of the head.
    package mutating func removeReceivedBody() -> [UInt8] {
        let (body, parsedLength) = parser.removeDecodedBody()
        received.removeSubrange(..<parsedLength)
        return body
    }

    private mutating func parse() throws(MessageError) -> Bool {
        // Copy the array reference, because a span of the property would overlap the mutation of `parser`.
        let bytes = received
        return try parser.parse(bytes.span)
    }

    private mutating func makeResponse() -> Response {
        let head = parser.partialHead
        hasExcess = received.count > parser.consumed
        var fields = FieldBlock()
        // If `removeReceivedBody` was called, it has removed the head, too.
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

/// Parses the status line of a response, and determines the framing of its body.
extension MessageParser {
    /// Handles the end of the input, which can complete the message. Returns true if the message is complete.
    mutating func endOfInput() -> Bool {
        if phase == .bodyUntilClose { phase = .complete }
        return phase == .complete
    }

    // In `HTTP/1.1 200 OK`, byte 7 is the minor version, and bytes 9 to 11 are the status.
    mutating func readStatus(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        while position < min(end, 12) {
            let byte = bytes[position]
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            switch position {
            case 7 where isDigit: partialHead.isHTTP11 = byte != UInt8(ascii: "0")
            case 9...11 where isDigit && (position > 9 || byte != UInt8(ascii: "0")):
                partialHead.status = partialHead.status * 10 + Int(byte - UInt8(ascii: "0"))
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

    private static var badStatusLine: MessageError {
        .badRequest("the first line of the response must be a status line such as HTTP/1.1 200 OK")
    }

    mutating func readReason(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        position = bytes.firstControlByte(from: position, to: end)
        guard position < end else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\t"): break
        case .carriageReturn: phase = .statusLineEnd
        default: throw .badRequest("the status line must end with CR LF, and must not contain other control characters")
        }
        position += 1
        return true
    }

    /// Determines whether a body follows the head of a response, and how it ends. Called at the end of the head.
    mutating func determineResponseFraming() throws(MessageError) {
        let hasNoBody = partialHead.status < 200 || partialHead.status == 204 || partialHead.status == 304
        guard partialHead.status != 101 else {
            throw .badRequest("the status must not be 101, because this client does not support other protocols")
        }
        guard !flags.contains(.hasUnknownCoding) else {
            throw .codingNotImplemented(
                "Transfer-Encoding must be chunked, which is the only coding that this client supports")
        }
        // A server of HTTP/1.0 closes the connection after the response.
        partialHead.keepsAlive = partialHead.isHTTP11 && !flags.contains(.asksToClose)
        if hasNoBody {
            phase = .complete
        } else if flags.contains(.hasChunkedCoding) {
            partialHead.framing = .chunked
            phase = .chunkSize
            elementStart = position
        } else if partialHead.has(.contentLength) {
            partialHead.framing = .length(contentLength)
            phase = .lengthBody
            guard contentLength <= limits.maximumBodyLength else {
                throw .bodyTooLarge(limit: limits.maximumBodyLength)
            }
        } else {
            partialHead.framing = .untilClose
            partialHead.keepsAlive = false
            phase = .bodyUntilClose
        }
        flags.insert(.headIsComplete)
    }
}
