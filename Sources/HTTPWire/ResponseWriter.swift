/// Serializes responses. Each function appends to a buffer, which may already contain other responses.
package enum ResponseWriter {
    /// The interim response that asks a client to send the body of its request (`Expect: 100-continue`).
    package static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Appends a whole response.
    ///
    /// - Parameters:
    ///   - omitsBody: whether to append only the head, because the request was HEAD, or because the caller sends the
    ///     body itself.
    ///   - keepAlive: whether the connection stays open. The caller has already considered `response.closes`.
    ///   - http11: whether the request was HTTP/1.1. In HTTP/1.0, a connection stays open only if the response has the
    ///     field `Connection: keep-alive`.
    ///   - additionalFields: fields that are not part of the response, such as the fields for cross-origin requests.
    package static func append(
        _ response: Response, to output: inout [UInt8], omitsBody: Bool, keepAlive: Bool, http11: Bool, date: HTTPDate,
        additionalFields: FieldBlock = FieldBlock()
    ) {
        let hasBody = mayHaveBody(response.status)
        let body = hasBody && !omitsBody ? response.body.span : Span()
        output.append(atMost: maximumHeadLength(of: response, additionalFields) + body.count) { writer in
            appendCommonHead(response, hasBody: hasBody, date, additionalFields, to: &writer)
            if hasBody {
                writer.append("Content-Length: ")
                writer.append(decimal: response.body.count)
                writer.append("\r\n")
            }
            if !keepAlive {
                writer.append("Connection: close\r\n")
            } else if !http11 {
                writer.append("Connection: keep-alive\r\n")
            }
            writer.append("\r\n")
            writer.append(copying: body)
        }
    }

    /// Appends the head of a response with a streamed body, and the first part of the body, which is `response.body`.
    ///
    /// For HTTP/1.1, the caller appends further parts with ``appendChunk(_:to:http11:)``, and finally ``lastChunk``.
    /// For HTTP/1.0, which has no chunks, the body ends when the connection is closed.
    package static func appendStreamHead(
        _ response: Response, to output: inout [UInt8], omitsBody: Bool, keepAlive: Bool, http11: Bool, date: HTTPDate,
        additionalFields: FieldBlock = FieldBlock()
    ) {
        output.append(atMost: maximumHeadLength(of: response, additionalFields)) { writer in
            appendCommonHead(response, hasBody: true, date, additionalFields, to: &writer)
            if http11 { writer.append("Transfer-Encoding: chunked\r\n") }
            if !keepAlive || !http11 { writer.append("Connection: close\r\n") }
            writer.append("\r\n")
        }
        if !omitsBody { appendChunk(response.body.span, to: &output, http11: http11) }
    }

    /// Appends a part of a streamed body. Appends nothing for an empty part, because an empty chunk would end the body.
    package static func appendChunk(_ part: Span<UInt8>, to output: inout [UInt8], http11: Bool) {
        guard !part.isEmpty else { return }
        if http11 { appendChunkHead(of: part.count, to: &output) }
        output.append(copying: part)
        if http11 { output.append(chunkEnd) }
    }

    /// Appends the line before the data of a chunk. The length must not be zero. `chunkEnd` must follow the data.
    package static func appendChunkHead(of length: Int, to output: inout [UInt8]) {
        output.append(hexadecimal: length)
        output.append("\r\n")
    }

    package static let chunkEnd: StaticString = "\r\n"

    package static let lastChunk: StaticString = "0\r\n\r\n"

    /// True if HTTP permits a body in a response with this status.
    private static func mayHaveBody(_ status: Int) -> Bool {
        status >= 200 && status != 204 && status != 304
    }

    /// An upper bound for the length of the head: the fields, and 256 bytes, which are enough for all other lines.
    private static func maximumHeadLength(of response: Response, _ additionalFields: FieldBlock) -> Int {
        256 + response.fields.bytes.count + additionalFields.bytes.count
    }

    /// Appends the status line, and all fields except `Content-Length`, `Transfer-Encoding` and `Connection`.
    @inline(__always)
    private static func appendCommonHead(
        _ response: Response, hasBody: Bool, _ date: HTTPDate, _ additionalFields: FieldBlock,
        to writer: inout BufferWriter
    ) {
        if response.status == 200 {
            writer.append("HTTP/1.1 200 OK\r\n")
        } else {
            writer.append("HTTP/1.1 ")
            writer.append(decimal: response.status)
            writer.append(" ")
            writer.append(ReasonPhrase.of(response.status))
            writer.append("\r\n")
        }
        writer.append(copying: date.line.span)
        if hasBody, response.contentType != .none {
            writer.append("Content-Type: ")
            writer.append(response.contentType.text)
            writer.append("\r\n")
        }
        writer.append(copying: response.fields.bytes.span)
        writer.append(copying: additionalFields.bytes.span)
    }
}

extension [UInt8] {
    /// Appends a number in hexadecimal digits. The number must not be negative.
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
