/// Reading answers: whole, or piece by piece where they have no end.
extension RawClient {
    /// Sends a request and reads its answer.
    package func exchange(_ text: String) throws -> RawResponse {
        try send(text)
        return try readResponse()
    }

    /// Reads one answer with its body, by its length or chunk by chunk. `toHead`: it answers HEAD and has no body, whatever
    /// it says.
    package func readResponse(toHead: Bool = false) throws -> RawResponse {
        var response = try readHead()
        if !toHead { response.body = try readBody(of: response) }
        return response
    }

    /// Reads what comes after the head of an answer.
    package func readBody(of response: RawResponse) throws -> [UInt8] {
        guard response.mayHaveBody else { return [] }
        if response.isChunked {
            var body: [UInt8] = []
            while let chunk = try readChunkBytes() { body += chunk }
            return body
        }
        let length = response.length
        return try receive { $0.count >= length ? Array($0.take(length)) : nil }
    }

    /// Reads the head of an answer and nothing of its body.
    package func readHead() throws -> RawResponse {
        try RawResponse(head: receive { $0.take(through: "\r\n\r\n") })
    }

    /// Reads a chunk of a body that comes in chunks, as it was sent; nil for the last, which is empty.
    package func readChunk() throws -> String? {
        try readChunkBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a chunked body up to the end of the next mark, wherever the chunks begin and end: an empty line (`\n\n`) ends an
    /// event. Nil if the body ends before it; what is left then is thrown as malformed.
    package func readPiece(through mark: String = "\n\n") throws -> String? {
        while true {
            if let piece = decoded.take(through: mark) { return String(decoding: piece, as: UTF8.self) }
            guard let chunk = try readChunkBytes() else {
                guard decoded.isEmpty else { throw Failure.malformed(decoded.text) }
                return nil
            }
            decoded.append(chunk)
        }
    }

    /// Everything up to the end that the peer makes.
    package func readUntilClose() throws -> [UInt8] {
        do {
            return try receive { _ -> [UInt8]? in nil }
        } catch Failure.closed {
            return pending.takeAll()
        }
    }

    /// Reads some more of a body, as it comes: a chunk, or where there are none, whatever is there. Nil at its end.
    package func readBodyPart(of head: RawResponse) throws -> [UInt8]? {
        if head.isChunked { return try readChunkBytes().map { Array($0) } }
        do {
            return try receive { $0.isEmpty ? nil : $0.takeAll() }
        } catch Failure.closed {
            return nil
        }
    }

    private func readChunkBytes() throws -> ArraySlice<UInt8>? {
        let line = try receive { $0.take(through: "\r\n") }.dropLast(2)
        guard let size = Int(String(decoding: line, as: UTF8.self), radix: 16) else {
            throw Failure.malformed(String(decoding: line, as: UTF8.self))
        }
        let chunk = try receive { $0.count >= size + 2 ? $0.take(size + 2) : nil }
        guard chunk.suffix(2).elementsEqual("\r\n".utf8) else {
            throw Failure.malformed(String(decoding: chunk, as: UTF8.self))
        }
        return size == 0 ? nil : chunk.dropLast(2)
    }
}
