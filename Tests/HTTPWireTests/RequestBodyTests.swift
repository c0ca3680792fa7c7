import HTTPWire
import Testing

struct RequestBodyTests {
    struct Body: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The whole request.
        let text: String
        let body: String

        init(_ name: String, _ text: String, _ body: String) {
            testDescription = name
            self.text = text
            self.body = body
        }
    }

    private static func put(_ fields: String, _ body: String, version: String = "1.1") -> String {
        "PUT /a HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String) -> String {
        put("Transfer-Encoding: chunked", body)
    }

    static let bodies: [Body] = [
        Body("as many bytes as Content-Length", put("Content-Length: 5", "12345"), "12345"),
        Body("an empty body", put("Content-Length: 0", ""), ""),
        Body("leading zeros", put("Content-Length: 0005", "12345"), "12345"),
        Body("blanks around the length", put("Content-Length: \t5 ", "12345"), "12345"),
        Body("a length in HTTP/1.0", put("Content-Length: 5", "12345", version: "1.0"), "12345"),
        Body("line ends in the body", put("Content-Length: 5", "\r\n\r\n\0"), "\r\n\r\n\0"),
        Body("one chunk", chunked("5\r\n12345\r\n0\r\n\r\n"), "12345"),
        Body("several chunks", chunked("1\r\n1\r\n3\r\n234\r\n01\r\n5\r\n000\r\n\r\n"), "12345"),
        Body("only the last chunk", chunked("0\r\n\r\n"), ""),
        Body(
            "a size in lower case and a size in upper case",
            chunked("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"), "01234567890123456789a"),
        Body("a chunk size of 16 digits", chunked("0000000000000001\r\na\r\n0000000000000000\r\n\r\n"), "a"),
        Body("extensions", chunked("1;a=b\r\na\r\n1;\"q\t é\"\r\nb\r\n0;z\r\n\r\n"), "ab"),
        Body(
            "a line of 256 bytes with a chunk size",
            chunked("1;" + String(repeating: "x", count: 252) + "\r\na\r\n0\r\n\r\n"), "a"),
        Body("line ends in a chunk", chunked("7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), "\r\n0\r\n\r\n"),
        Body("trailers, which are dropped", chunked("1\r\na\r\n0\r\nHost: b\r\nX: c\r\nHost: d\r\n\r\n"), "a"),
        Body("a coding in capitals", put("Transfer-Encoding: CHUNKED", "1\r\na\r\n0\r\n\r\n"), "a"),
        Body("a GET with a body", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n42", "42"),
    ]

    @Test("A body is read up to its end, with any division of its bytes", arguments: bodies)
    func read(_ body: Body) throws {
        let bytes = Array(body.text.utf8)
        let request = try #require(ParseOutcome.forEveryDivision(of: bytes)?.request)
        #expect(request.body == Array(body.body.utf8))
        #expect(request.consumed == bytes.count)
        let parsedWithFurtherBytes = ParseOutcome(of: bytes + Array("0\r\n\r\nGET".utf8)).request
        #expect(parsedWithFurtherBytes == request)
    }

    @Test("A request is incomplete before its last byte", arguments: bodies)
    func incomplete(_ body: Body) {
        let bytes = Array(body.text.utf8)
        for count in bytes.indices {
            #expect(ParseOutcome(of: Array(bytes[..<count])) == .needsMore)
        }
    }

    @Test(
        "A body with Content-Length is not copied, the chunks of a chunked body are joined, and other requests have no body"
    )
    func bodyOffsets() throws {
        func body(_ text: String) throws -> MessageBody {
            var parser = MessageParser()
            #expect(parser.body == .none)
            #expect(try parser.parse(Array(text.utf8)))
            return parser.body
        }
        #expect(try body("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == .none)
        // The head has 46 bytes.
        #expect(try body("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n42") == .inPlace(46..<48))
        #expect(try body(Self.chunked("2\r\n42\r\n0\r\n\r\n")) == .decoded([0x34, 0x32]))
    }

    @Test(
        "Expect: 100-continue is recognized after the head, and ignored in HTTP/1.0 and without a body",
        arguments: [
            ("Expect: 100-continue\r\nContent-Length: 2", "1.1", true),
            ("Expect: 100-Continue\r\nTransfer-Encoding: chunked", "1.1", true),
            ("Content-Length: 2", "1.1", false),
            ("Expect: 100-continue\r\nContent-Length: 0", "1.1", false),
            ("Expect: 100-continue", "1.1", false),
            ("Expect: 100-continue\r\nContent-Length: 2", "1.0", false),
            ("Expect: anything\r\nContent-Length: 2", "1.0", false),
        ])
    func continues(_ fields: String, _ version: String, _ expected: Bool) throws {
        let head = Array(Self.put(fields, "", version: version).utf8)
        var parser = MessageParser()
        for count in head.indices {
            #expect(try !parser.parse(head, to: count))
            #expect(!parser.headIsComplete)
            #expect(parser.head?.length == nil)
        }
        _ = try parser.parse(head)
        #expect(parser.head?.expectsContinue == expected)
        #expect(parser.head?.length == head.count)
    }
}
