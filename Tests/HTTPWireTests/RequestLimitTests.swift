import HTTPWire
import Testing

struct RequestLimitTests {
    private static let small = MessageLimits(
        maximumTargetLength: 12, maximumHeadLength: 80, maximumFieldCount: 3, maximumBodyLength: 10)

    /// Requests that exceed a limit. The sizes of chunks are hexadecimal: `b` is 11. The limit of a head, 80 bytes,
    /// also holds for the trailers together.
    static let excesses: [RefusedRequest] = [
        RefusedRequest(
            "a target of 13 bytes", "GET /123456789012 HTTP/1.1\r\n", status: 414, "at most 12 bytes", limits: small),
        RefusedRequest("a target without end", "GET /123456789?12", status: 414, "at most 12 bytes", limits: small),
        RefusedRequest(
            "a target beyond the limit, before a forbidden character", "GET /123456789012# HTTP/1.1\r\n", status: 414,
            "at most 12",
            limits: small),
        RefusedRequest(
            "a head of 81 bytes", head(ofLength: 81), status: 431, "at most 80 bytes", limits: small),
        RefusedRequest(
            "a value without end", String(decoding: head(ofLength: 200).utf8.prefix(80), as: UTF8.self), status: 431,
            "at most 80 bytes", limits: small),
        RefusedRequest(
            "a name without end", "GET / HTTP/1.1\r\n" + String(repeating: "a", count: 64), status: 431,
            "at most 80 bytes",
            limits: small),
        RefusedRequest(
            "four fields", "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC", status: 431, "at most 3 fields",
            limits: small),
        RefusedRequest(
            "a Content-Length of 11", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", status: 413,
            "at most 10 bytes",
            limits: small),
        RefusedRequest("a chunk of 11 bytes", chunked("b"), status: 413, "at most 10 bytes", limits: small),
        RefusedRequest(
            "chunks of 11 bytes in total", chunked("5\r\n12345\r\n6"), status: 413, "at most 10 bytes", limits: small),
        RefusedRequest(
            "a chunk size of four digits", chunked("5\r\n12345\r\n1000"), status: 413, "at most 10 bytes", limits: small
        ),
        RefusedRequest(
            "four trailers", chunked("0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD"), status: 431, "at most 3 fields", limits: small),
        RefusedRequest(
            "a trailer without end", chunked("0\r\nA: " + String(repeating: "1", count: 77)), status: 431,
            "at most 80 bytes",
            limits: small),
    ]

    private static func head(ofLength length: Int) -> String {
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX: "
        return start + String(repeating: "x", count: length - start.utf8.count - 4) + "\r\n\r\n"
    }

    private static func chunked(_ body: String) -> String {
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    }

    @Test(
        "A request beyond a limit is refused, even if the bytes after the excess have not arrived",
        arguments: excesses)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }

    @Test(
        "A request exactly at the limits is accepted",
        arguments: [
            "GET /12345678901 HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n",
            head(ofLength: 80),
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1234567890",
            chunked("5\r\n12345\r\n5\r\n12345\r\n0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"),
            chunked("0\r\nA: " + String(repeating: "1", count: 73) + "\r\n\r\n"),
        ])
    func atLimits(_ text: String) throws {
        let bytes = Array(text.utf8)
        let request = try #require(ParseOutcome.forEveryDivision(of: bytes, limits: Self.small)?.request)
        #expect(request.consumed == bytes.count)
    }

    @Test
    func `The head of a request with too large a body can be read`() {
        let text = "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n"
        var parser = MessageParser(limits: Self.small)
        #expect(parser.failure(of: Array(text.utf8)) == .bodyTooLarge(limit: 10))
        #expect(parser.head?.method == .put)
        #expect(parser.head?.framing == .length(11))
    }

    @Test("A body with too many framing bytes is refused")
    func smallChunks() {
        let limits = MessageLimits(maximumBodyLength: 1 << 20)
        let head = Self.chunked("")
        func body(_ chunks: Int) -> [UInt8] {
            var bytes = Array(head.utf8)
            for _ in 0..<chunks { bytes += Array("1\r\na\r\n".utf8) }
            return bytes + Array("0\r\n\r\n".utf8)
        }
        // Each chunk has five bytes of framing. For this limit of the body, 196,608 bytes of framing are allowed.
        #expect(ParseOutcome(of: body(10_000), limits: limits).request?.body.count == 10_000)
        let error = ParseOutcome(of: body(100_000), limits: limits).error
        #expect(error?.reason.contains("chunks of the body must be larger") == true)
    }

    @Test("Limits out of range are clamped to the nearest supported limit")
    func clamped() {
        let limits = MessageLimits(
            maximumTargetLength: 0, maximumHeadLength: .max, maximumFieldCount: -1, maximumBodyLength: .max)
        #expect(limits.maximumTargetLength == 1)
        #expect(limits.maximumHeadLength == 1 << 30)
        #expect(limits.maximumFieldCount == 1)
        #expect(limits.maximumBodyLength == 1 << 30)
        #expect(MessageLimits(maximumBodyLength: -1).maximumBodyLength == 0)
    }
}
