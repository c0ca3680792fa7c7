/// The fields that say whom the message is for, where it ends and what becomes of the connection.
extension RequestParser {
    mutating func takeHost(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(RequestError) {
        let isInTarget = request.host != nil
        // An empty one is in order: it says that the URI which was asked for names no host.
        guard !value.isEmpty else {
            if !isInTarget { request.hostRange = ByteRange(value) }
            return
        }
        guard let authority = Authority(bytes, value) else {
            throw .badRequest("the field Host must be a host, or a host and a port as in example.org:7070")
        }
        // The host of a target that is a whole URI counts, but the field has to be in order all the same.
        guard !isInTarget else { return }
        request.hostRange = ByteRange(authority.host)
        if let port = authority.port { request.portRange = ByteRange(port) }
    }

    mutating func takeContentLength(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(RequestError) {
        guard !request.has(.transferEncoding) else { throw Self.twoFramings }
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
        contentLength = number
    }

    private static var badContentLength: RequestError {
        .badRequest("the field Content-Length must be one number in decimal digits and nothing else")
    }

    private static var twoFramings: RequestError {
        .badRequest("Content-Length and Transfer-Encoding contradict each other; send one of them")
    }

    mutating func takeTransferEncoding(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(RequestError) {
        guard request.isHTTP11 else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding; send Content-Length") }
        guard !request.has(.contentLength) else { throw Self.twoFramings }
        // Divided at every comma, however quoted, with empty elements refused: nobody may see another list here.
        var start = value.lowerBound
        repeat {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            try takeCoding(bytes.trimmed(start..<end), bytes)
            start = end + 1
        } while start <= value.upperBound
    }

    private mutating func takeCoding(_ coding: Range<Int>, _ bytes: Span<UInt8>) throws(RequestError) {
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

    mutating func takeExpectation(_ value: Range<Int>, _ bytes: Span<UInt8>) throws(RequestError) {
        // HTTP/1.0 knows no expectations; RFC 9110 (10.1.1) has them ignored there.
        guard request.isHTTP11 else { return }
        guard bytes.holds(ignoringCase: "100-continue", in: value) else {
            throw .expectationFailed("the only expectation that this server meets is 100-continue")
        }
        request.expectsContinue = true
    }

    /// Decides, at the end of the head, what follows it.
    mutating func settleFraming() throws(RequestError) {
        if request.isHTTP11, !request.has(.host) {
            throw .badRequest("the field Host is missing; HTTP/1.1 demands it")
        }
        if options.contains(.hasUnknownCoding) {
            throw .codingNotImplemented("the only transfer coding that this server knows is chunked")
        }
        request.keepsAlive =
            !options.contains(.asksToClose) && (request.isHTTP11 || options.contains(.asksToKeepAlive))
        if options.contains(.hasChunkedCoding) {
            request.framing = .chunked
            phase = .chunkSize
            mark = position
        } else if request.has(.contentLength) {
            request.framing = .length(contentLength)
            phase = .lengthBody
        } else {
            phase = .complete
        }
        if phase == .complete || contentLength == 0 && phase == .lengthBody { request.expectsContinue = false }
        options.insert(.headIsComplete)
        if contentLength > limits.maximumBodyLength { throw .bodyTooLarge(limit: limits.maximumBodyLength) }
    }
}
