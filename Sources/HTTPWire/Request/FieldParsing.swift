/// The lines of a head or of trailers.
extension RequestParser {
    /// Whether the lines are trailers, which are checked for form and dropped.
    private var isInTrailers: Bool { options.contains(.headIsComplete) }

    /// One step through the fields; false if it needs more bytes.
    @inline(__always)
    mutating func readOfFields(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        switch phase {
        case .lineStart: try readLineStart(bytes, to: end)
        case .fieldName: try readFieldName(bytes, to: end)
        case .valueStart: readValueStart(bytes, to: end)
        case .value: try readValue(bytes, to: end)
        case .valueLineEnd: try readValueLineEnd(bytes, to: end)
        default: try readLineEnd(bytes, to: end, then: .sectionEnd)
        }
    }

    private mutating func readLineStart(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
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

    private mutating func readFieldName(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        var index = position
        while index < end, ByteSet.token.contains(bytes[index]) { index &+= 1 }
        position = index
        guard index < end else { return false }
        guard bytes[index] == UInt8(ascii: ":"), index > mark else { throw badFieldName(bytes[index]) }
        currentField = isInTrailers ? nil : FieldName(bytes, mark..<index)
        if let currentField, !currentField.mayRepeat, request.has(currentField) {
            throw .badRequest("the field \(currentField.text) stands twice; send it once")
        }
        position = index + 1
        phase = .valueStart
        return true
    }

    private func badFieldName(_ byte: UInt8) -> RequestError {
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

    private mutating func readValue(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
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

    private mutating func readValueLineEnd(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        guard try readLineEnd(bytes, to: end, then: .lineStart) else { return false }
        if let currentField {
            var upper = position - 2
            while upper > mark, bytes[upper - 1].isBlank { upper -= 1 }
            try take(currentField, mark..<upper, bytes)
        }
        return true
    }

    /// Notes a field that somebody reads; those that concern the message itself are understood here.
    private mutating func take(
        _ name: FieldName, _ value: Range<Int>, _ bytes: Span<UInt8>
    ) throws(RequestError) {
        if request.has(name) { request.noteRepeated(name) } else { request.setField(name, value) }
        switch name {
        case .host: try takeHost(value, bytes)
        case .contentLength: try takeContentLength(value, bytes)
        case .transferEncoding: try takeTransferEncoding(value, bytes)
        case .connection: takeConnection(value, bytes)
        case .expect: try takeExpectation(value, bytes)
        case .ifMatch, .ifNoneMatch, .idempotencyKey, .lastEventID, .accept, .contentType, .contentEncoding, .prefer,
            .origin, .authorization, .accessControlRequestMethod, .accessControlRequestHeaders:
            break
        }
    }
}
