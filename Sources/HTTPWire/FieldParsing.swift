/// The lines of a head or of trailers.
extension MessageParser {
    /// True if the lines are trailers, which are checked for form and dropped.
    private var isInTrailers: Bool { options.contains(.headIsComplete) }

    /// One step through the fields; false if it needs more bytes.
    @inline(__always)
    mutating func readOfFields(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        switch phase {
        case .lineStart: try readLineStart(bytes, to: end)
        case .fieldName: try readFieldName(bytes, to: end)
        case .valueStart: readValueStart(bytes, to: end)
        case .value: try readValue(bytes, to: end)
        case .valueLineEnd: try readValueLineEnd(bytes, to: end)
        default: try readLineEnd(bytes, to: end, then: .sectionEnd)
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
            throw .badRequest("a line of the head begins with a blank; give each field one line of its own")
        }
        guard fieldCount < limits.maximumFieldCount else { throw .tooManyFields(limit: limits.maximumFieldCount) }
        fieldCount += 1
        mark = position
        phase = .fieldName
        return true
    }

    private mutating func readFieldName(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        var index = position
        while index < end, ByteSet.token.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < end else { return false }
        guard bytes[index] == UInt8(ascii: ":"), index > mark else { throw badFieldName(bytes[index]) }
        currentField = isInTrailers ? nil : FieldName(bytes, mark..<index)
        if let currentField, !currentField.mayRepeat, current.has(currentField), kind == .request {
            throw .badRequest("the field \(currentField.text) stands twice; send it once")
        }
        position = index + 1
        phase = .valueStart
        return true
    }

    private func badFieldName(_ byte: UInt8) -> MessageError {
        switch byte {
        case UInt8(ascii: ":"): .badRequest("a line of the head has no name before its ':'")
        case .space, UInt8(ascii: "\t"):
            .badRequest("a blank stands in the name of a field or before its ':', where none may be")
        case .carriageReturn, .lineFeed:
            .badRequest("a line of the head has no ':'; a field is written as in Accept: text/plain")
        default: .badRequest("the name of a field has the \(byte.named), which names may not have")
        }
    }

    private mutating func readValueStart(_ bytes: Span<UInt8>, to end: Int) -> Bool {
        while position < end, bytes[position].isBlank { position += 1 }
        guard position < end else { return false }
        mark = position
        phase = .value
        return true
    }

    private mutating func readValue(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        while true {
            position = bytes.firstControl(from: position, to: end)
            guard position < end else { return false }
            switch bytes[position] {
            case UInt8(ascii: "\t"): position += 1
            case .carriageReturn:
                position += 1
                phase = .valueLineEnd
                return true
            case .lineFeed: throw .badRequest("a line feed without a carriage return; lines end with CR LF")
            case let byte: throw .badRequest("the value of a field has the control \(byte.named); send text")
            }
        }
    }

    private mutating func readValueLineEnd(_ bytes: Span<UInt8>, to end: Int) throws(MessageError) -> Bool {
        guard try readLineEnd(bytes, to: end, then: .lineStart) else { return false }
        if let currentField {
            var upper = position - 2
            while upper > mark, bytes[upper - 1].isBlank { upper -= 1 }
            try take(currentField, mark..<upper, bytes)
        }
        return true
    }

    /// Notes a field that is read; those that concern the message itself are understood here.
    private mutating func take(
        _ name: FieldName, _ value: Range<Int>, _ bytes: Span<UInt8>
    ) throws(MessageError) {
        if current.has(name) { current.noteRepeated(name) } else { current.setField(name, value) }
        switch name {
        case .host where kind == .request: try takeHost(value, bytes)
        case .contentLength: try takeContentLength(value, bytes)
        case .transferEncoding: try takeTransferEncoding(value, bytes)
        case .connection: takeConnection(value, bytes)
        case .expect where kind == .request: try takeExpectation(value, bytes)
        case .host, .expect, .ifMatch, .ifNoneMatch, .idempotencyKey, .lastEventID, .settingsNote, .forwardedFor,
            .requestID, .traceParent, .accept, .acceptEncoding, .contentType, .contentEncoding, .prefer,
            .settingsAtLeast,
            .settingsFresh, .origin, .authorization, .apiKey, .accessControlRequestMethod,
            .accessControlRequestHeaders:
            break
        }
    }
}

/// The fields that name the host, the end of the message and the end of the connection.
extension MessageParser {
    mutating func takeHost(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        let isInTarget = current.host != nil
        // An empty one is in order: it says that the URI which was asked for names no host.
        guard !value.isEmpty else {
            if !isInTarget { current.hostRange = ByteRange(value) }
            return
        }
        guard let authority = Authority(bytes, value) else {
            throw .badRequest("the field Host must be a host, or a host and a port as in example.org:7070")
        }
        // The host of a target that is a whole URI counts, but the field has to be in order all the same.
        guard !isInTarget else { return }
        current.hostRange = ByteRange(authority.host)
        if let port = authority.port { current.portRange = ByteRange(port) }
    }

    mutating func takeContentLength(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard !current.has(.transferEncoding) else { throw Self.twoFramings }
        guard !value.isEmpty else { throw Self.badContentLength }
        var number = 0
        for index in value {
            let byte = bytes[index]
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw Self.badContentLength }
            let (shifted, isTooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = shifted.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !isTooLong, !isTooLarge else {
                throw .badRequest("the field Content-Length is a number beyond all bounds")
            }
            number = sum
        }
        guard !current.isRepeated(.contentLength) || number == contentLength else {
            throw .badRequest("the field Content-Length stands twice, with different numbers")
        }
        contentLength = number
    }

    private static var badContentLength: MessageError {
        .badRequest("the field Content-Length must be one number in decimal digits and nothing else")
    }

    private static var twoFramings: MessageError {
        .badRequest("Content-Length and Transfer-Encoding contradict each other; send one of them")
    }

    mutating func takeTransferEncoding(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard current.isHTTP11 else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding; send Content-Length") }
        guard !current.has(.contentLength) else { throw Self.twoFramings }
        // Divided at every comma, however quoted, with empty elements refused: no other reader may see another list.
        var start = value.lowerBound
        repeat {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            try takeCoding(bytes.trimmed(start..<end), bytes)
            start = end + 1
        } while start <= value.upperBound
    }

    private mutating func takeCoding(_ coding: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        guard !options.contains(.hasChunkedCoding) else {
            throw .badRequest("in Transfer-Encoding, chunked must stand once, and last")
        }
        if bytes.holds(ignoringCase: "chunked", in: coding) {
            options.insert(.hasChunkedCoding)
            return
        }
        var end = coding.lowerBound
        while end < coding.upperBound, ByteSet.token.contains(bytes[end]) { end += 1 }
        guard end > coding.lowerBound, end == coding.upperBound || bytes[end] == UInt8(ascii: ";"),
            !bytes.holds(ignoringCase: "chunked", in: coding.lowerBound..<end)
        else {
            throw .badRequest("the field Transfer-Encoding must be: chunked")
        }
        options.insert(.hasUnknownCoding)
    }

    mutating func takeConnection(_ value: Range<Int>, _ bytes: Span<UInt8>) {
        var elements = ListElements(value)
        while let element = elements.next(in: bytes) {
            if bytes.holds(ignoringCase: "close", in: element) {
                options.insert(.asksToClose)
            } else if bytes.holds(ignoringCase: "keep-alive", in: element) {
                options.insert(.asksToKeepAlive)
            }
        }
    }

    mutating func takeExpectation(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(MessageError) {
        // HTTP/1.0 knows no expectations; RFC 9110 (10.1.1) has them ignored there.
        guard current.isHTTP11 else { return }
        guard bytes.holds(ignoringCase: "100-continue", in: value) else {
            throw .expectationFailed("the only expectation that this server meets is 100-continue")
        }
        current.expectsContinue = true
    }

    /// Decides, at the end of the head of a request, whether a body follows.
    mutating func settleFraming() throws(MessageError) {
        if current.isHTTP11, !current.has(.host) {
            throw .badRequest("the field Host is missing; HTTP/1.1 demands it")
        }
        if options.contains(.hasUnknownCoding) {
            throw .codingNotImplemented("the only transfer coding that this server knows is chunked")
        }
        current.keepsAlive =
            !options.contains(.asksToClose) && (current.isHTTP11 || options.contains(.asksToKeepAlive))
        if options.contains(.hasChunkedCoding) {
            current.framing = .chunked
            phase = .chunkSize
            mark = position
        } else if current.has(.contentLength) {
            current.framing = .length(contentLength)
            phase = .lengthBody
        } else {
            phase = .complete
        }
        if phase == .complete || contentLength == 0 && phase == .lengthBody { current.expectsContinue = false }
        options.insert(.headIsComplete)
        if contentLength > limits.maximumBodyLength { throw .bodyTooLarge(limit: limits.maximumBodyLength) }
    }
}
