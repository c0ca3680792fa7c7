/// The parts of the head of an answer that are needed to find the end of the answer.
struct AnswerHead {
    enum Body {
        case length(Int)
        case chunked
    }

    let status: Int
    /// The index of the first byte after the head.
    let bodyStart: Int
    let body: Body

    /// Nil while the head is incomplete.
    init?(_ bytes: Span<UInt8>) throws(LoadFailure) {
        var start = 0
        var status: Int?
        var body: Body?
        while let end = bytes.position(of: UInt8(ascii: "\n"), from: start) {
            // An empty line, which has at most a CR before its LF, ends the head.
            if end - start <= 1 {
                guard let status, let body else {
                    throw LoadFailure("an answer has no status, or neither Content-Length nor Transfer-Encoding")
                }
                self.status = status
                self.bodyStart = end + 1
                self.body = body
                return
            }
            if status == nil {
                // The status follows "HTTP/1.1 ".
                status = bytes.decimal(from: start + 9)
            } else if bytes.hasName("content-length:", at: start) {
                body = bytes.decimal(from: start + "content-length:".utf8.count).map(Body.length)
            } else if bytes.hasName("transfer-encoding:", at: start) {
                body = .chunked
            }
            start = end + 1
        }
        return nil
    }

    /// Returns the index of the end of the answer, which may be greater than the number of received bytes; nil if more
    /// bytes are needed to find the end.
    func end(_ bytes: Span<UInt8>) throws(LoadFailure) -> Int? {
        guard case .chunked = body else {
            guard case .length(let length) = body else { return nil }
            return bodyStart + length
        }
        var start = bodyStart
        while let line = bytes.position(of: UInt8(ascii: "\n"), from: start) {
            guard let size = bytes.hexadecimal(from: start) else { throw LoadFailure("a chunk has no size") }
            let end = line + 1 + size + 2  // CR LF follows the bytes of the chunk.
            if size == 0 { return end }
            guard end <= bytes.count else { return nil }
            start = end
        }
        return nil
    }
}
