/// Parses the body: a number of bytes, chunks, or all bytes until the connection is closed.
extension MessageParser {
    /// Parses the rest of the message. Returns false if it needs more bytes.
    @inline(__always)
    mutating func readBody(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        switch phase {
        case .complete: return true
        case .bodyUntilClose:
            position = bytes.count
            guard position - partialHead.length <= limits.maximumBodyLength else {
                throw .bodyTooLarge(limit: limits.maximumBodyLength)
            }
            return false
        case .lengthBody:
            guard bytes.count - partialHead.length >= contentLength else { return false }
            position = partialHead.length + contentLength
            phase = .complete
            return true
        default: return try readChunks(bytes)
        }
    }

    private mutating func readChunks(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        // The raw values of the phases of a chunk begin at `chunkSize`. The trailers use the phases of the field lines
        // of the head, which have lower raw values.
        while phase.rawValue >= Phase.chunkSize.rawValue, phase != .complete {
            guard try readNextPartOfChunk(bytes) else { return false }
        }
        let end = min(bytes.count, trailerStart + limits.maximumHeadLength)
        while phase != .sectionEnd, phase != .complete {
            guard try readNextPartOfFields(bytes, to: end) else {
                return try reportIncompleteSection(bytes, from: trailerStart)
            }
        }
        phase = .complete
        return true
    }

    /// Parses one part of a chunk. Returns false if it needs more bytes.
    private mutating func readNextPartOfChunk(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        guard position < bytes.count else { return false }
        switch phase {
        case .chunkSize: return try readChunkSize(bytes)
        case .chunkExtension: return try readChunkExtension(bytes)
        case .chunkSizeLineEnd: return try endChunkLine(bytes)
        case .chunkData:
            let end = position + min(remainingChunkLength, bytes.count - position)
            reserve(end - position)
            decodedBody.append(copying: bytes.extracting(position..<end))
            remainingChunkLength -= end - position
            position = end
            if remainingChunkLength == 0 { phase = .chunkDataReturn }
            return true
        case .chunkDataReturn:
            guard bytes[position] == .carriageReturn else {
                throw .badRequest("CR LF must follow the data of a chunk; check the size of the chunk")
            }
            position += 1
            phase = .chunkDataLineEnd
            return true
        default:  // `chunkDataLineEnd`
            guard try readLineEnd(bytes, to: bytes.count, then: .chunkSize) else { return false }
            elementStart = position
            chunkSizeDigitCount = 0
            return true
        }
    }

    private mutating func readChunkSize(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            if let digit = byte.hexadecimalValue {
                // Limit the number of leading zeros, which the check of the size below does not do. A 64-bit number has
                // at most 16 digits.
                guard chunkSizeDigitCount < 16 else {
                    throw .badRequest("the size of a chunk must have at most 16 digits")
                }
                chunkSizeDigitCount += 1
                remainingChunkLength = remainingChunkLength << 4 | Int(digit)
                guard remainingChunkLength <= limits.maximumBodyLength - decodedBody.count else {
                    throw .bodyTooLarge(limit: limits.maximumBodyLength)
                }
                position += 1
                continue
            }
            guard chunkSizeDigitCount > 0 else {
                throw .badRequest("a chunk must begin with its size in hexadecimal digits (got \(byte.displayName))")
            }
            switch byte {
            case UInt8(ascii: ";"): phase = .chunkExtension
            // Some servers pad the size with spaces.
            case .space where kind == .response: phase = .chunkExtension
            case .carriageReturn: phase = .chunkSizeLineEnd
            default: throw .badRequest("CR LF or ';' must follow the size of a chunk (got \(byte.displayName))")
            }
            position += 1
            return true
        }
        return false
    }

    /// Skips the extensions of a chunk, which the parser does not support.
    private mutating func readChunkExtension(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        let maximum = MessageLimits.maximumChunkLineLength
        let bound = min(bytes.count, elementStart + maximum)
        while true {
            position = bytes.firstControlByte(from: position, to: bound)
            guard position < elementStart + maximum else {
                throw .badRequest("the line with the size of a chunk must be at most \(maximum) bytes long")
            }
            guard position < bound else { return false }
            switch bytes[position] {
            case UInt8(ascii: "\t"): position += 1
            case .carriageReturn:
                position += 1
                phase = .chunkSizeLineEnd
                return true
            case let byte:
                throw .badRequest(
                    "an extension of a chunk must not contain control characters (got \(byte.displayName))")
            }
        }
    }

    /// Reserves capacity for `count` more bytes in the decoded body. Once the body of a request has a sixteenth of the
    /// maximum length, the function reserves the maximum, because each reallocation of a long body copies the body,
    /// which takes milliseconds. The function does nothing for responses, because their maximum (up to 1 GiB) is far
    /// larger than a usual body.
    private mutating func reserve(_ count: Int) {
        guard kind == .request, decodedBody.count + count > decodedBody.capacity,
            decodedBody.count >= limits.maximumBodyLength / 16
        else { return }
        decodedBody.reserveCapacity(max(decodedBody.count + count, limits.maximumBodyLength))
    }

    /// Removes and returns the decoded part of a chunked body. Also returns the number of bytes that have been parsed:
    /// the calling code must remove this number of bytes from its buffer before the next call of ``parse(_:)``.
    mutating func removeDecodedBody() -> (body: [UInt8], parsedLength: Int) {
        guard phase.rawValue >= Phase.chunkSize.rawValue, phase != .complete else { return ([], 0) }
        // Keep an incomplete line with the size of a chunk, because the parser counts the length of this line from
        // `elementStart`.
        let isInSizeLine = phase == .chunkSize || phase == .chunkExtension || phase == .chunkSizeLineEnd
        let parsedLength = isInSizeLine ? elementStart : position
        (position, elementStart, partialHead.length) = (position - parsedLength, 0, 0)
        defer { decodedBody = [] }
        return (decodedBody, parsedLength)
    }

    private mutating func endChunkLine(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
        guard try readLineEnd(bytes, to: bytes.count, then: .chunkData) else { return false }
        guard position - partialHead.length - decodedBody.count <= limits.maximumFramingLength else {
            throw .badRequest(
                "the chunks of the body must be larger, because their sizes take more than "
                    + "\(limits.maximumFramingLength) bytes; send larger chunks, or Content-Length")
        }
        if remainingChunkLength == 0 {
            trailerStart = position
            fieldCount = 0
            phase = .lineStart
        }
        return true
    }
}

/// The body of a complete message, or its location in the bytes that were parsed.
package enum MessageBody: Equatable, Sendable {
    /// The message has no body, not even an empty one.
    case none
    /// The body is a range of the bytes that were parsed.
    case inPlace(Range<Int>)
    /// The body was sent in chunks. The associated value contains their joined data.
    case decoded([UInt8])

    /// Calls a closure with the bytes of the body. `bytes` is the buffer that was parsed.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        of bytes: Span<UInt8>, _ closure: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch self {
        case .none: try closure(bytes.extracting(0..<0))
        case .inPlace(let range): try closure(bytes.extracting(range))
        case .decoded(let decoded): try closure(decoded.span)
        }
    }
}
