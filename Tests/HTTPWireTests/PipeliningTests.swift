import HTTPWire
import Testing

struct PipeliningTests {
    private static let requests = [
        "GET /1 HTTP/1.1\r\nHost: a\r\nIf-Match: \"1\"\r\n\r\n",
        "PUT /2 HTTP/1.1\r\nHost: b:80\r\nContent-Length: 4\r\n\r\n\r\n\r\n",
        "\r\nPOST /3?x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n42\r\n0\r\nX: y\r\n\r\n",
        "GET http://d HTTP/1.1\r\nHost: c\r\nConnection: keep-alive\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: e\r\n\r\n",
        "GET /6 HTTP/1.0\r\n\r\n",
    ]

    /// Parses requests from bytes. When the parser needs more bytes, the peer sends `step` more bytes.
    private static func requests(in bytes: [UInt8], step: Int) throws -> [ParsedRequest] {
        var parser = MessageParser()
        var requests: [ParsedRequest] = []
        var (start, end) = (0, 0)
        while start < bytes.count {
            end = min(end + step, bytes.count)
            while try parser.parse(bytes.span.extracting(start..<end)) {
                if let request = ParsedRequest(parser, bytes.span.extracting(start..<end)) { requests.append(request) }
                start += parser.consumed
                parser.reset()
            }
        }
        return requests
    }

    @Test("Each pipelined request is parsed like a single request, with any division of the bytes")
    func sequence() throws {
        let parsedAlone = try Self.requests.map { try #require(ParseOutcome(of: $0).request) }
        let bytes = Self.requests.flatMap { Array($0.utf8) }
        for step in 1...bytes.count {
            #expect(try Self.requests(in: bytes, step: step) == parsedAlone, "\(step) bytes at a time")
        }
    }

    @Test("A reset parser has no state of the previous request")
    func reset() throws {
        var parser = MessageParser()
        for text in Self.requests + Self.requests.reversed() {
            let bytes = Array(text.utf8)
            #expect(try parser.parse(bytes))
            let request = ParsedRequest(parser, bytes.span)
            #expect(request == ParseOutcome(of: bytes).request)
            parser.reset()
            #expect(!parser.headIsComplete && !parser.isComplete && !parser.hasBegun)
            #expect(parser.consumed == 0)
        }
    }

    @Test("A complete request stays complete and uses no byte of the next request")
    func completeRequest() throws {
        let bytes = Array((Self.requests[1] + Self.requests[0]).utf8)
        var parser = MessageParser()
        #expect(try parser.parse(bytes))
        let consumed = parser.consumed
        #expect(try parser.parse(bytes))
        #expect(parser.consumed == consumed)
        #expect(consumed == Self.requests[1].utf8.count)
    }

    @Test("A request begins with the first byte after an empty line that precedes the request")
    func begun() throws {
        let bytes = Array("\r\nGET".utf8)
        var parser = MessageParser()
        for (count, expected) in [(0, false), (1, false), (2, false), (3, true), (5, true)] {
            #expect(try !parser.parse(bytes, to: count))
            #expect(parser.hasBegun == expected)
        }
    }

    @Test
    func `A request with an ambiguous length that precedes a smuggled request is refused`() {
        let smuggled = "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
        let ambiguousFields = [
            "Content-Length: \(smuggled.utf8.count)\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: xchunked", "Transfer-Encoding: \u{B}chunked", "Transfer-Encoding\u{B}: chunked",
            "X: a\nTransfer-Encoding: chunked", "X: a\rTransfer-Encoding: chunked", "X: a\r\n Content-Length: 5",
            "Content-Length: 0\r\nContent-Length: 5", "Content-Length: 0, 5", "Content-Length: 0 5",
            "Content-Length : 5", "Content-Length: +0", "Content-Length: 0\u{C}", "Transfer-Encoding: chunked\u{0}",
        ]
        for fields in ambiguousFields {
            let text = "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n0\r\n\r\n\(smuggled)"
            #expect(ParseOutcome(of: text).error != nil, "\(fields)")
        }
    }
}
