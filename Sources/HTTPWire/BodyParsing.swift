/// The body: so many bytes, or chunks.
extension MessageParser {
    /// Reads on to the end of the message; false if it needs more bytes.
    @inline(__always)
    mutating func readBody(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        switch phase {
        case .complete: return true
        case .bodyToEnd:
            position = bytes.count
            guard position - current.length <= limits.maximumBodyLength else {
                throw .bodyTooLarge(limit: limits.maximumBodyLength)
            }
            return false
        case .lengthBody:
            guard bytes.count - current.length >= contentLength else { return false }
            position = current.length + contentLength
            phase = .complete
            return true
        default: return try readChunks(bytes)
        }
    }

    private mutating func readChunks(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        while phase.rawValue >= Phase.chunkSize.rawValue, phase != .complete {
            guard try readOfChunk(bytes) else { return false }
        }
        let end = min(bytes.count, trailerStart + limits.maximumHeadLength)
        while phase != .sectionEnd, phase != .complete {
            guard try readOfFields(bytes, to: end) else { return try headGoesOn(bytes, from: trailerStart) }
        }
        phase = .complete
        return true
    }

    /// One step through the chunks; false if it needs more bytes.
    private mutating func readOfChunk(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        guard position < bytes.count else { return false }
        switch phase {
        case .chunkSize: return try readChunkSize(bytes)
        case .chunkExtension: return try readChunkExtension(bytes)
        case .chunkSizeLineEnd: return try finishChunkLine(bytes)
        case .chunkData:
            let end = position + min(chunkRest, bytes.count - position)
            reserve(end - position)
            decodedBody.append(copying: bytes.extracting(position..<end))
            chunkRest -= end - position
            position = end
            if chunkRest == 0 { phase = .chunkDataReturn }
            return true
        case .chunkDataReturn:
            guard bytes[position] == .carriageReturn else {
                throw .badRequest("a chunk is longer than its size says: CR LF must follow its data")
            }
            position += 1
            phase = .chunkDataLineEnd
            return true
        default:
            guard try readLineEnd(bytes, to: bytes.count, then: .chunkSize) else { return false }
            mark = position
            chunkDigits = 0
            return true
        }
    }

    private mutating func readChunkSize(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            if let digit = byte.hexadecimalValue {
                // Sixteen digits are all that the largest number takes; more could only be zeros in front.
                guard chunkDigits < 16 else { throw .badRequest("the size of a chunk has more than 16 digits") }
                chunkDigits += 1
                chunkRest = chunkRest << 4 | Int(digit)
                guard chunkRest <= limits.maximumBodyLength - decodedBody.count else {
                    throw .bodyTooLarge(limit: limits.maximumBodyLength)
                }
                position += 1
                continue
            }
            guard chunkDigits > 0 else {
                throw .badRequest("a chunk must begin with its size in hexadecimal digits; found \(byte.named)")
            }
            switch byte {
            case UInt8(ascii: ";"): phase = .chunkExtension
            // Some servers pad the size.
            case .space where kind == .response: phase = .chunkExtension
            case .carriageReturn: phase = .chunkSizeLineEnd
            default: throw .badRequest("CR LF or ';' must follow the size of a chunk; found \(byte.named)")
            }
            position += 1
            return true
        }
        return false
    }

    /// Extensions mean nothing here; they are passed over, but not without end.
    private mutating func readChunkExtension(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        let longest = MessageLimits.maximumChunkLineLength
        let bound = min(bytes.count, mark + longest)
        while true {
            position = bytes.firstControl(from: position, to: bound)
            guard position < mark + longest else {
                throw .badRequest("the line with the size of a chunk must be at most \(longest) bytes long")
            }
            guard position < bound else { return false }
            switch bytes[position] {
            case UInt8(ascii: "\t"): position += 1
            case .carriageReturn:
                position += 1
                phase = .chunkSizeLineEnd
                return true
            case let byte: throw .badRequest("an extension of a chunk has the control \(byte.named)")
            }
        }
    }

    /// Makes room in the decoded body. A long one of a request soon gets all its room at once: copying it takes milliseconds.
    private mutating func reserve(_ count: Int) {
        guard kind == .request, decodedBody.count + count > decodedBody.capacity,
            decodedBody.count >= limits.maximumBodyLength / 16
        else { return }
        decodedBody.reserveCapacity(max(decodedBody.count + count, limits.maximumBodyLength))
    }

    /// Takes what was decoded of chunks. Forgets the bytes that led there, whose number it returns: the next call to `parse`
    /// has to be given the bytes behind them.
    mutating func takeDecoded() -> (body: [UInt8], forgotten: Int) {
        guard phase.rawValue >= Phase.chunkSize.rawValue, phase != .complete else { return ([], 0) }
        let isInSizeLine = phase == .chunkSize || phase == .chunkExtension || phase == .chunkSizeLineEnd
        let forgotten = isInSizeLine ? mark : position
        (position, mark, current.length) = (position - forgotten, 0, 0)
        defer { decodedBody = [] }
        return (decodedBody, forgotten)
    }

    private mutating func finishChunkLine(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        guard try readLineEnd(bytes, to: bytes.count, then: .chunkData) else { return false }
        guard position - current.length - decodedBody.count <= limits.maximumFramingLength else {
            throw .badRequest("the chunks of the body are too small; send larger ones, or Content-Length")
        }
        if chunkRest == 0 {
            trailerStart = position
            fieldCount = 0
            phase = .lineStart
        }
        return true
    }
}

/// Where the body of a complete message is.
package enum MessageBody: Equatable, Sendable {
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
