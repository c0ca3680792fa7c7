/// Reads one request, in as many pieces as it comes in.
///
/// A pure state machine: it holds no bytes. Each call is given the bytes from the first of the message on, at least as
/// many as the call before, and goes on where that one stopped; no byte is looked at twice because others are late. The
/// outcome does not depend on where the bytes were divided. It is strict where two readers of the same bytes
/// might see different messages. When a message is complete, `consumed` says where the next one begins, for which the
/// parser is `reset`. After an error it only repeats the error: the connection has to be closed.
package struct RequestParser: Sendable {
    /// What the byte at `position` is about to be.
    enum Phase: UInt8, BitwiseCopyable {
        case start, emptyLineEnd, method, target, version
        case lineStart, fieldName, valueStart, value, valueLineEnd, sectionLineEnd, sectionEnd
        case lengthBody
        case chunkSize, chunkExtension, chunkSizeLineEnd, chunkData, chunkDataReturn, chunkDataLineEnd
        case complete
    }

    /// What has been gathered from the fields that say how the message and the connection end.
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

    let limits: RequestLimits
    var phase = Phase.start
    var options = Options()
    /// The field whose value is being read, if anybody reads it.
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
    package internal(set) var request = RequestHead()

    /// What is left of the chunk that is being read.
    var chunkRest = 0
    var chunkDigits = 0
    /// Where the trailers begin.
    var trailerStart = 0
    var decodedBody: [UInt8] = []
    private var failure: RequestError?

    package init(limits: RequestLimits = RequestLimits()) {
        self.limits = limits
    }

    /// Whether `head` is there; the body may still be missing.
    package var headIsComplete: Bool { options.contains(.headIsComplete) }

    /// Whether the last call found the end of the message.
    package var isComplete: Bool { phase == .complete }

    /// The head once it is complete. Still there when the body then turns out to be too large or badly framed.
    package var head: RequestHead? { headIsComplete ? request : nil }

    /// Whether any byte of a request has come; the empty line that may stand before one is none.
    package var hasBegun: Bool { phase != .start && phase != .emptyLineEnd }

    /// The bytes of the complete message, those of an empty line before it included; 0 as long as it is not complete.
    package var consumed: Int { phase == .complete ? position : 0 }

    /// The body of the complete message.
    package var body: RequestBody {
        guard phase == .complete else { return .none }
        switch request.framing {
        case .none: return .none
        case .length: return .inPlace(request.length..<position)
        case .chunked: return .decoded(decodedBody)
        }
    }

    /// Goes on with the message; true if that is complete now. More bytes may follow it.
    package mutating func parse(_ bytes: Span<UInt8>) throws(RequestError) -> Bool {
        if let failure { throw failure }
        do throws(RequestError) {
            if !headIsComplete {
                guard try readHead(bytes) else { return false }
                try settleFraming()
            }
            return try readBody(bytes)
        } catch {
            failure = error
            throw error
        }
    }

    /// Makes the parser ready for another message.
    package mutating func reset() {
        phase = .start
        options = Options()
        currentField = nil
        position = 0
        mark = 0
        queryMark = 0
        fieldCount = 0
        contentLength = 0
        request.reset()
        chunkRest = 0
        chunkDigits = 0
        trailerStart = 0
        if !decodedBody.isEmpty { decodedBody = [] }
        if failure != nil { failure = nil }
    }

    /// Reads on to the end of the head.
    private mutating func readHead(_ bytes: Span<UInt8>) throws(RequestError) -> Bool {
        let end = min(bytes.count, limits.maximumHeadLength)
        while phase.rawValue < Phase.lineStart.rawValue {
            guard try readOfRequestLine(bytes, to: end) else { return try headGoesOn(bytes, from: 0) }
        }
        while phase != .sectionEnd {
            guard try readOfFields(bytes, to: end) else { return try headGoesOn(bytes, from: 0) }
        }
        request.length = position
        return true
    }

    /// What to say when the bytes of a head or of trailers are used up before its end: false as long as there may
    /// be more.
    func headGoesOn(_ bytes: Span<UInt8>, from start: Int) throws(RequestError) -> Bool {
        if bytes.count - start >= limits.maximumHeadLength { throw .headTooLarge(limit: limits.maximumHeadLength) }
        return false
    }

    /// One step through the request line; false if it needs more bytes.
    private mutating func readOfRequestLine(_ bytes: Span<UInt8>, to end: Int) throws(RequestError) -> Bool {
        switch phase {
        case .start: try readStart(bytes, to: end)
        case .emptyLineEnd: try readLineEnd(bytes, to: end, then: .start)
        case .method: try readMethod(bytes, to: end)
        case .target: try readTarget(bytes, to: end)
        default: try readVersion(bytes, to: end)
        }
    }

    /// Takes the line feed that has to follow a carriage return.
    mutating func readLineEnd(
        _ bytes: Span<UInt8>, to end: Int, then next: Phase
    ) throws(RequestError) -> Bool {
        guard position < end else { return false }
        guard bytes[position] == .lineFeed else {
            throw .badRequest("a carriage return without a line feed; lines end with CR LF")
        }
        position += 1
        phase = next
        return true
    }
}
