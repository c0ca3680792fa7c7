/// Parses field lines: the fields of the head, or the trailers of a chunked body.
extension MessageParser {
    /// True if the parser reads trailers (fields after a chunked body). The parser ignores the values of trailers.
    private var isInTrailers: Bool { flags.contains(.headIsComplete) }

    /// Parses one part of a field line. Returns false if it needs more bytes.
    @inline(__always)
    mutating func readNextPartOfFields(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        switch phase {
        case .lineStart: try readLineStart(bytes, to: end)
        case .fieldName: try readFieldName(bytes, to: end)
        case .valueStart: readValueStart(bytes, to: end)
        case .value: try readValue(bytes, to: end)
        case .valueLineEnd: try readValueLineEnd(bytes, to: end)
        default: try readLineEnd(bytes, to: end, then: .sectionEnd)  // `sectionLineEnd`: the empty line at the end
        }
    }

    private mutating func readLineStart(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        guard position < end else { return false }
        let byte = bytes[position]
        if byte == .carriageReturn {
            position += 1
            phase = .sectionLineEnd
            return true
        }
        guard !byte.isBlank else {
            throw .badRequest("a field must not begin with a space or tab; write each field on one line")
        }
        guard fieldCount < limits.maximumFieldCount else { throw .tooManyFields(limit: limits.maximumFieldCount) }
        fieldCount += 1
        elementStart = position
        phase = .fieldName
        return true
    }

    private mutating func readFieldName(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        var index = position
        while index < end, ByteSet.token.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < end else { return false }
        guard bytes[index] == UInt8(ascii: ":"), index > elementStart else { throw badFieldName(bytes[index]) }
        currentField = isInTrailers ? nil : FieldName(bytes, elementStart..<index)
        // Concerns requests only (see `mayRepeat`). In a response, equal lines of `Content-Length` are valid.
        if let currentField, !currentField.mayRepeat, partialHead.has(currentField), kind == .request {
            throw .badRequest("the field \(currentField.text) must occur once (got a second occurrence)")
        }
        position = index + 1
        phase = .valueStart
        return true
    }

    private func badFieldName(_ byte: UInt8) -> MessageError {
        switch byte {
        case UInt8(ascii: ":"): .badRequest("a field must have a name before its ':', as in Accept: text/plain")
        case .space, UInt8(ascii: "\t"):
            .badRequest("the name of a field must not contain a space or tab, and ':' must follow the name directly")
        case .carriageReturn, .lineFeed:
            .badRequest("a field must have a ':' after its name, as in Accept: text/plain")
        default: .badRequest("the name of a field must not contain \(byte.displayName)")
        }
    }

    private mutating func readValueStart(_ bytes: Span<UInt8>, to end: Int) -> Bool {
        while position < end, bytes[position].isBlank { position += 1 }
        guard position < end else { return false }
        elementStart = position
        phase = .value
        return true
    }

    private mutating func readValue(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        while true {
            position = bytes.firstControlByte(from: position, to: end)
            guard position < end else { return false }
            switch bytes[position] {
            case UInt8(ascii: "\t"): position += 1
            case .carriageReturn:
                position += 1
                phase = .valueLineEnd
                return true
            case .lineFeed:
                throw .badRequest("each line must end with CR LF (got a line feed without a carriage return)")
            case let byte:
                throw .badRequest("the value of a field must not contain control characters (got \(byte.displayName))")
            }
        }
    }

    private mutating func readValueLineEnd(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        guard try readLineEnd(bytes, to: end, then: .lineStart) else { return false }
        if let currentField {
            var upper = position - 2
            while upper > elementStart, bytes[upper - 1].isBlank { upper -= 1 }
            try recordField(currentField, elementStart..<upper, bytes)
        }
        return true
    }

    /// Records the value of a field, and interprets the fields that affect the parsing of the message.
    private mutating func recordField(
        _ name: FieldName, _ value: Range<Int>, _ bytes: Span<UInt8>
    ) throws(MessageError) {
        if partialHead.has(name) { partialHead.markRepeated(name) } else { partialHead.setField(name, value) }
        switch name {
        case .host where kind == .request: try recordHost(value, bytes)
        case .contentLength: try recordContentLength(value, bytes)
        case .transferEncoding: try recordTransferEncoding(value, bytes)
        case .connection: recordConnection(value, bytes)
        case .expect where kind == .request: try recordExpectation(value, bytes)
        case .host, .expect, .ifMatch, .ifNoneMatch, .idempotencyKey, .lastEventID, .settingsNote, .forwardedFor,
            .requestID, .traceParent, .referer, .userAgent, .accept, .contentType, .contentEncoding,
            .prefer, .settingsConfirm, .settingsUntil, .settingsEffective, .settingsAtLeast, .settingsFresh, .origin,
            .authorization, .apiKey,
            .accessControlRequestMethod, .accessControlRequestHeaders:
            break
        }
    }
}

/// Interprets the fields that determine the host, the framing of the body, and the use of the connection.
extension MessageParser {
    mutating func recordHost(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        let isInTarget = partialHead.host != nil
        // An empty field is valid: the URI of the request has no host (RFC 9110, 7.2).
        guard !value.isEmpty else {
            if !isInTarget { partialHead.hostRange = ByteRange(value) }
            return
        }
        guard let authority = Authority(bytes, value) else {
            throw .badRequest("the field Host must be a host, or a host and a port as in example.org:7070")
        }
        // The host in the target takes precedence, but an invalid field is an error even then.
        guard !isInTarget else { return }
        partialHead.hostRange = ByteRange(authority.host)
        if let port = authority.port { partialHead.portRange = ByteRange(port) }
    }

    mutating func recordContentLength(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard !partialHead.has(.transferEncoding) else { throw Self.twoFramings }
        guard !value.isEmpty else { throw Self.badContentLength }
        var number = 0
        for index in value {
            let byte = bytes[index]
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw Self.badContentLength }
            let (shifted, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = shifted.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !isTooLong, !isTooLarge else {
                throw .badRequest("the field Content-Length must be at most \(Int.max)")
            }
            number = sum
        }
        guard !partialHead.isRepeated(.contentLength) || number == contentLength else {
            throw .badRequest("the field Content-Length must occur once (got different numbers)")
        }
        contentLength = number
    }

    private static var badContentLength: MessageError {
        .badRequest("the field Content-Length must be one number in decimal digits")
    }

    private static var twoFramings: MessageError {
        .badRequest("a message must not have both Content-Length and Transfer-Encoding; send one of these fields")
    }

    mutating func recordTransferEncoding(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard partialHead.isHTTP11 else {
            throw .badRequest("a message of HTTP/1.0 must not have the field Transfer-Encoding; send Content-Length")
        }
        guard !partialHead.has(.contentLength) else { throw Self.twoFramings }
        // Split at every comma, and refuse empty elements, so that no other parser can interpret the list differently.
        var start = value.lowerBound
        repeat {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            try recordTransferCoding(bytes.trimmed(start..<end), bytes)
            start = end + 1
        } while start <= value.upperBound
    }

    private mutating func recordTransferCoding(_ coding: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard !flags.contains(.hasChunkedCoding) else {
            throw .badRequest("the field Transfer-Encoding must name chunked once, at its end")
        }
        if bytes.holds(ignoringCase: "chunked", in: coding) {
            flags.insert(.hasChunkedCoding)
            return
        }
        var end = coding.lowerBound
        while end < coding.upperBound, ByteSet.token.contains(bytes[end]) { end += 1 }
        guard end > coding.lowerBound, end == coding.upperBound || bytes[end] == UInt8(ascii: ";"),
            !bytes.holds(ignoringCase: "chunked", in: coding.lowerBound..<end)
        else {
            throw .badRequest("the field Transfer-Encoding must be: chunked")
        }
        flags.insert(.hasUnknownCoding)
    }

    mutating func recordConnection(_ value: Range<Int>, _ bytes: Span<UInt8>) {
        var elements = ListElements(value)
        while let element = elements.next(in: bytes) {
            if bytes.holds(ignoringCase: "close", in: element) {
                flags.insert(.asksToClose)
            } else if bytes.holds(ignoringCase: "keep-alive", in: element) {
                flags.insert(.asksToKeepAlive)
            }
        }
    }

    mutating func recordExpectation(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        // RFC 9110 (10.1.1) requires that a server ignores the expectation of an HTTP/1.0 request.
        guard partialHead.isHTTP11 else { return }
        guard bytes.holds(ignoringCase: "100-continue", in: value) else {
            throw .expectationFailed(
                "the field Expect must be 100-continue, which is the only expectation that this server supports")
        }
        partialHead.expectsContinue = true
    }

    /// Determines whether a body follows the head of a request, and how it ends. Called at the end of the head.
    mutating func determineRequestFraming() throws(MessageError) {
        if partialHead.isHTTP11, !partialHead.has(.host) {
            throw .badRequest("a request of HTTP/1.1 must have the field Host")
        }
        if flags.contains(.hasUnknownCoding) {
            throw .codingNotImplemented(
                "the field Transfer-Encoding must be chunked, which is the only coding that this server supports")
        }
        partialHead.keepsAlive =
            !flags.contains(.asksToClose) && (partialHead.isHTTP11 || flags.contains(.asksToKeepAlive))
        if flags.contains(.hasChunkedCoding) {
            partialHead.framing = .chunked
            phase = .chunkSize
            elementStart = position
        } else if partialHead.has(.contentLength) {
            partialHead.framing = .length(contentLength)
            phase = .lengthBody
        } else {
            phase = .complete
        }
        if phase == .complete || contentLength == 0 && phase == .lengthBody { partialHead.expectsContinue = false }
        flags.insert(.headIsComplete)
        if contentLength > limits.maximumBodyLength { throw .bodyTooLarge(limit: limits.maximumBodyLength) }
    }
}
