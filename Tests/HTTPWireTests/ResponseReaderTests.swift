import HTTPWire
import TestSupport
import Testing

/// Tests of reading bytes as one response.
struct ResponseReaderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let response: Response
        let fields: [(String, String)]
        /// The bytes after the response. They are a part of `text`.
        var rest = ""
        /// True if the end of the connection ends the response.
        var needsEnd = false

        init(
            _ name: String, _ text: String, _ status: Int, _ body: String = "", fields: [(String, String)] = [],
            keepsConnection: Bool = true, rest: String = "", needsEnd: Bool = false
        ) {
            testDescription = name
            self.text = text
            response = Response(status: status, body: Array(body.utf8), closes: !keepsConnection)
            self.fields = fields
            self.rest = rest
            self.needsEnd = needsEnd
        }
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static let cases = [
        Case(
            "a body with Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag:\t\"1\" \r\n\r\nhello", 200,
            "hello",
            fields: [("Content-Length", "5"), ("ETag", "\"1\"")]),
        Case("an empty body", "HTTP/1.1 201 \r\nContent-Length: 0\r\n\r\n", 201, fields: [("Content-Length", "0")]),
        Case("no reason phrase", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404, fields: [("Content-Length", "0")]),
        Case(
            "the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, "x",
            fields: [("Content-Length", "1"), ("Content-Length", "1")]),
        Case(
            "chunks, with extensions and trailers",
            chunked + "3;name=\"value\"\r\nabc\r\nA \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", 200, "abc0123456789",
            fields: [("Transfer-Encoding", "chunked")]),
        Case("only the last chunk", chunked + "000\r\n\r\n", 200, fields: [("Transfer-Encoding", "chunked")]),
        Case(
            "a body up to the end of the connection", "HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it",
            keepsConnection: false, needsEnd: true),
        Case(
            "a server that closes", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok", 200, "ok",
            fields: [("Connection", "x, Close"), ("Content-Length", "2")], keepsConnection: false),
        Case(
            "HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", fields: [("Content-Length", "2")],
            keepsConnection: false),
        Case("204", "HTTP/1.1 204 No Content\r\n\r\n", 204),
        Case(
            "304 with the length of the omitted body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304,
            fields: [("Content-Length", "9")]),
        Case(
            "interim responses before the final response",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 204),
        Case(
            "bytes after the response", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 200, "x",
            fields: [("Content-Length", "1")], rest: "HTTP"),
        Case("an empty value", "HTTP/1.1 204 No\r\nX-Empty:\r\n\r\n", 204, fields: [("X-Empty", "")]),
    ]

    private struct Outcome: Equatable {
        var response: Response?
        var hasExcess = false
    }

    /// Passes the parts to the reader, up to the part that completes the response. If `connectionEnds` is true, then
    /// reports the end of the connection to the reader.
    private func feed(
        _ parts: [ArraySlice<UInt8>], limits: MessageLimits = ResponseReader.defaultLimits, maximumInterim: Int = 16,
        connectionEnds: Bool = false
    ) throws(MessageError) -> Outcome {
        var reader = ResponseReader(limits: limits, maximumInterimResponses: maximumInterim)
        for part in parts {
            if let response = try reader.read(Array(part).span) {
                return Outcome(response: response, hasExcess: reader.hasExcess)
            }
            if !part.isEmpty { #expect(reader.hasBegun) }
        }
        return Outcome(response: connectionEnds ? reader.receiveEnd() : nil)
    }

    @Test(arguments: cases)
    func `A response is parsed to the same result with any division of its bytes`(row: Case) throws {
        let bytes = Array(row.text.utf8)
        /// `hasExcess` is true if the part that completes the response has bytes after the response.
        func check(_ parts: [ArraySlice<UInt8>], hasExcess: Bool, _ division: String) throws {
            #expect(try (feed(parts).response == nil) == row.needsEnd, "\(division)")
            let outcome = try feed(parts, connectionEnds: true)
            var response = try #require(outcome.response, "\(division)")
            #expect(
                response.fields.all.map { "\($0.name): \($0.value)" } == row.fields.map { "\($0): \($1)" },
                "\(division)")
            response.fields = FieldBlock()
            #expect(response == row.response, "\(division)")
            #expect(outcome.hasExcess == hasExcess, "\(division)")
        }
        let length = bytes.count - row.rest.utf8.count
        for position in 0...bytes.count {
            // The second part completes the response if the first part is shorter than the response.
            try check(
                [bytes[..<position], bytes[position...]],
                hasExcess: position < length ? length < bytes.count : position > length,
                "divided at \(position)")
        }
        try check(bytes.indices.map { bytes[$0...$0] }, hasExcess: false, "byte by byte")
    }

    @Test("The reader releases the received pieces of a chunked body, with any division of the bytes of the response")
    func bodyPieces() throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let bytes = Array((head + "3\r\nabc\r\n10;x=y\r\ndefghijklmnopqrs\r\n1\r\nt\r\n0\r\n\r\n").utf8)
        for size in 1...bytes.count {
            var reader = ResponseReader()
            var received: [UInt8] = []
            var response: Response?
            for start in stride(from: 0, to: bytes.count, by: size) {
                let part = Array(bytes[start..<min(bytes.count, start + size)])
                response = try reader.read(part.span)
                received += response?.body ?? reader.removeReceivedBody()
                if start + size >= head.utf8.count { #expect(reader.status == 200 || response != nil) }
            }
            #expect(String(decoding: received, as: UTF8.self) == "abcdefghijklmnopqrst", "\(size) bytes at a time")
            #expect(response != nil)
        }
    }

    @Test(arguments: cases.filter { !$0.needsEnd })
    func `A response that ends early is incomplete`(row: Case) throws {
        let bytes = Array(row.text.utf8).dropLast(row.rest.utf8.count)
        for count in 0..<bytes.count {
            #expect(try feed([bytes.prefix(count)], connectionEnds: true).response == nil, "after \(count) bytes")
        }
    }

    @Test
    func `The first field with a name is found by the name in lower case`() throws {
        let text = "HTTP/1.1 204 No\r\nETag:\t\"1\" \r\netag: \"2\"\r\nX-Empty:\r\n\r\n"
        let fields = try #require(try feed([Array(text.utf8)[...]]).response).fields
        #expect(fields.value(of: "etag") == "\"1\"" && fields.value(of: "x-empty") == "")
        #expect(fields.value(of: "x") == nil)
    }

    @Test(arguments: [
        ("HTTP/2 200 OK\r\n", "status line"), ("HTTP/1.1  200 OK\r\n", "status line"),
        ("HTTP/1.1 20 OK\r\n", "status line"), ("HTTP/1.1 099 OK\r\n", "status line"),
        ("HTTP/1.1 2000 OK\r\n", "status line"), ("http/1.1 200 OK\r\n", "status line"), ("\r\n", "status line"),
        ("{\"a\":1}\r\n", "status line"), ("HTTP/1.1 200 OK\n", "must end with CR LF"),
        ("HTTP/1.1 200\rOK\r\n", "without a line feed"), ("HTTP/1.1 101 Switching\r\n\r\n", "101"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n", "name of a field"), ("HTTP/1.1 200 OK\r\nA\r\n", "have a ':'"),
        ("HTTP/1.1 200 OK\r\n: x\r\n", "have a name"), ("HTTP/1.1 200 OK\r\nA : x\r\n", "follow the name directly"),
        ("HTTP/1.1 200 OK\r\nA: x\r\n folded\r\n", "begin with a space or tab"),
        ("HTTP/1.1 200 OK\r\nA: x\u{1}\r\n", "(got byte 0x01"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "chunked"),
        (chunked + "\r\n", "with its size"), (chunked + "x\r\n", "with its size"),
        (chunked + "-1\r\n", "with its size"),
        (chunked + "12345678901234567\r\n", "bytes long"), (chunked + "1\r\nab\r\n", "follow the data of a chunk"),
        (chunked + "0\r\nbad trailer\r\n", "name of a field"),
    ])
    func `Bytes that are not a response are refused, with any division`(text: String, reason: String) {
        let bytes = Array(text.utf8)
        for position in 0...bytes.count {
            let error = #expect(throws: MessageError.self) { try feed([bytes[..<position], bytes[position...]]) }
            #expect(error?.reason.contains(reason) ?? false, "\(error?.reason ?? "")")
        }
    }

    @Test(arguments: [
        (
            "HTTP/1.1 200 OK\r\nLong: \(String(repeating: "x", count: 100))\r\n\r\n",
            MessageError.headTooLarge(limit: 100)
        ),
        ("HTTP/1.1 200 OK\r\nA: x\r\nB: x\r\nC: x\r\n\r\n", .tooManyFields(limit: 2)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", .bodyTooLarge(limit: 10)),
        ("HTTP/1.1 200 OK\r\n\r\n01234567890", .bodyTooLarge(limit: 10)),
        (chunked + "6\r\n012345\r\n5\r\n01234\r\n", .bodyTooLarge(limit: 10)),
    ])
    func `A part of a response beyond its limit is refused`(text: String, expected: MessageError) {
        let limits = MessageLimits(maximumHeadLength: 100, maximumFieldCount: 2, maximumBodyLength: 10)
        let error = #expect(throws: MessageError.self) { try feed([Array(text.utf8)[...]], limits: limits) }
        #expect(error == expected)
    }

    @Test
    func `Interim responses and the framing of chunks have limits`() {
        for text in [
            "HTTP/1.1 100 A\r\n\r\nHTTP/1.1 100 B\r\n\r\n",
            Self.chunked + "1;\(String(repeating: "x", count: 300))\r\n",
        ] {
            #expect(throws: MessageError.self) { try feed([Array(text.utf8)[...]], maximumInterim: 1) }
        }
    }

    @Test
    func `Random bytes are parsed or refused without a trap`() {
        let pieces = Self.cases.map(\.text) + ["\r\n", "0\r\n\r\n", "HTTP/1.1 ", "ffffffffffffffff\r\n", ": "]
        let limits = MessageLimits(maximumHeadLength: 300, maximumFieldCount: 4, maximumBodyLength: 50)
        for var generator in FuzzBudget.generators(roundsFactor: 2) {
            var bytes: [UInt8] = []
            for _ in 0..<3 { bytes += Array(generator.pick(pieces).utf8) }
            if generator.chance(oneIn: 2) { bytes[generator.below(bytes.count)] = UInt8(generator.below(256)) }
            // The result is a response within the limits, or an error.
            let response = try? feed([bytes[...]], limits: limits, maximumInterim: 2, connectionEnds: true).response
            #expect(
                response.map { $0.body.count <= 50 && $0.fields.all.count <= 4 } ?? true, "seed \(generator.seed)")
        }
    }
}
