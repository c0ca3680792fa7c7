/// Writes responses as they go over the wire, appending to bytes that may hold earlier ones.
package enum ResponseWriter {
    /// Tells a peer that waits with its body to send it. The response still follows.
    package static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Writes a whole response.
    ///
    /// - Parameters:
    ///   - head: whether it answers HEAD: all as for GET, but without the body.
    ///   - keepAlive: whether the connection stays open, which `response.closes` is a wish against.
    ///   - http11: whether the request was HTTP/1.1, where staying open is the rule, and not HTTP/1.0.
    ///   - more: fields beside those of the response.
    package static func append(
        _ response: Response, to output: inout [UInt8], head: Bool, keepAlive: Bool, http11: Bool, date: HTTPDate,
        more: FieldBlock = FieldBlock()
    ) {
        let hasBody = mayHaveBody(response.status)
        let body = hasBody && !head ? response.body.span : Span()
        output.append(upTo: longestHead(of: response, more) + body.count) { room in
            beginHead(response, hasBody: hasBody, date, more, to: &room)
            if hasBody {
                room.append("Content-Length: ")
                room.append(decimal: response.body.count)
                room.append("\r\n")
            }
            if !keepAlive {
                room.append("Connection: close\r\n")
            } else if !http11 {
                room.append("Connection: keep-alive\r\n")
            }
            room.append("\r\n")
            room.append(copying: body)
        }
    }

    /// Writes the head of a response whose body comes bit by bit; `response.body` is its beginning.
    ///
    /// For HTTP/1.1 the body is sent in chunks: `appendChunk`, and `lastChunk` in the end. HTTP/1.0 knows no chunks, so
    /// there the bytes are sent as they are and the connection is closed after them.
    package static func appendStreamHead(
        _ response: Response, to output: inout [UInt8], head: Bool, keepAlive: Bool, http11: Bool, date: HTTPDate,
        more: FieldBlock = FieldBlock()
    ) {
        output.append(upTo: longestHead(of: response, more)) { room in
            beginHead(response, hasBody: true, date, more, to: &room)
            if http11 { room.append("Transfer-Encoding: chunked\r\n") }
            if !keepAlive || !http11 { room.append("Connection: close\r\n") }
            room.append("\r\n")
        }
        if !head { appendChunk(response.body.span, to: &output, http11: http11) }
    }

    /// Writes a piece of a streamed body; nothing for an empty piece, as an empty chunk would be the end.
    package static func appendChunk(_ piece: Span<UInt8>, to output: inout [UInt8], http11: Bool) {
        guard !piece.isEmpty else { return }
        if http11 { appendChunkHead(of: piece.count, to: &output) }
        output.append(copying: piece)
        if http11 { output.append(chunkEnd) }
    }

    /// Writes what comes before a chunk of some length, which is not zero. `chunkEnd` comes behind it.
    package static func appendChunkHead(of length: Int, to output: inout [UInt8]) {
        output.append(hexadecimal: length)
        output.append("\r\n")
    }

    package static let chunkEnd: StaticString = "\r\n"

    /// The end of a body that is sent in chunks.
    package static let lastChunk: StaticString = "0\r\n\r\n"

    /// True if a response with this status can have a body, even an empty one.
    private static func mayHaveBody(_ status: Int) -> Bool {
        status >= 200 && status != 204 && status != 304
    }

    /// The room for any head with these fields: what the writer adds is about 200 bytes at most.
    private static func longestHead(of response: Response, _ more: FieldBlock) -> Int {
        256 + response.fields.bytes.count + more.bytes.count
    }

    /// Writes the status line and the fields that do not concern the connection.
    @inline(__always)
    private static func beginHead(
        _ response: Response, hasBody: Bool, _ date: HTTPDate, _ more: FieldBlock,
        to room: inout Room
    ) {
        if response.status == 200 {
            room.append("HTTP/1.1 200 OK\r\n")
        } else {
            room.append("HTTP/1.1 ")
            room.append(decimal: response.status)
            room.append(" ")
            room.append(ReasonPhrase.of(response.status))
            room.append("\r\n")
        }
        room.append(copying: date.line.span)
        if hasBody, response.contentType != .none {
            room.append("Content-Type: ")
            room.append(response.contentType.text)
            room.append("\r\n")
        }
        room.append(copying: response.fields.bytes.span)
        room.append(copying: more.bytes.span)
    }
}

extension [UInt8] {
    /// Adds a number that is not negative in hexadecimal digits.
    fileprivate mutating func append(hexadecimal number: Int) {
        var shift = 60
        while shift > 0, number >> shift == 0 { shift -= 4 }
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: number >> shift) & 0x0F
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            shift -= 4
        }
    }
}
