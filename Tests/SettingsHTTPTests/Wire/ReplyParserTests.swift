import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// From bytes to one answer.
struct ReplyParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let reply: WireReply
        /// What of the text does not belong to the answer.
        var rest = ""
        /// Whether the answer is complete only when the connection ends.
        var needsEnd = false

        init(
            _ name: String, _ text: String, _ status: Int, _ body: String = "", fields: [(String, String)] = [],
            keeps: Bool = true, rest: String = "", needsEnd: Bool = false
        ) {
            testDescription = name
            self.text = text
            var reply = WireReply(status: status)
            reply.fields = fields.map { WireReply.Field(name: $0.0, value: $0.1) }
            reply.body = Array(body.utf8)
            reply.keepsConnection = keeps
            self.reply = reply
            self.rest = rest
            self.needsEnd = needsEnd
        }
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static let cases = [
        Case(
            "a counted body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag:\t\"1\" \r\n\r\nhello", 200, "hello",
            fields: [("content-length", "5"), ("etag", "\"1\"")]),
        Case("an empty body", "HTTP/1.1 201 \r\nContent-Length: 0\r\n\r\n", 201, fields: [("content-length", "0")]),
        Case("no reason", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", 404, fields: [("content-length", "0")]),
        Case(
            "the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, "x",
            fields: [("content-length", "1"), ("content-length", "1")]),
        Case(
            "chunks, with what nobody asked for",
            chunked + "3;name=\"value\"\r\nabc\r\nA \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", 200, "abc0123456789",
            fields: [("transfer-encoding", "chunked")]),
        Case("no chunk", chunked + "000\r\n\r\n", 200, fields: [("transfer-encoding", "chunked")]),
        Case("up to the end", "HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it", keeps: false, needsEnd: true),
        Case(
            "a server that closes", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok", 200, "ok",
            fields: [("connection", "x, Close"), ("content-length", "2")], keeps: false),
        Case(
            "HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", fields: [("content-length", "2")],
            keeps: false),
        Case("204", "HTTP/1.1 204 No Content\r\n\r\n", 204),
        Case(
            "304 with the length of what it is not", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304,
            fields: [("content-length", "9")]),
        Case(
            "answers before the real one",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 204),
        Case(
            "more than the answer", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 200, "x",
            fields: [("content-length", "1")], rest: "HTTP"),
        Case("an empty value", "HTTP/1.1 204 No\r\nX-Empty:\r\n\r\n", 204, fields: [("x-empty", "")]),
    ]

    /// Feeds the parts; returns the parser and how many bytes it took.
    private func feed(_ parts: [ArraySlice<UInt8>], limits: ReplyLimits = ReplyLimits()) throws -> (ReplyParser, Int) {
        var parser = ReplyParser(limits: limits)
        var used = 0
        for part in parts { used += try parser.take(Array(part).span) }
        return (parser, used)
    }

    @Test(arguments: cases)
    func `An answer is read alike however it is divided`(row: Case) throws {
        let bytes = Array(row.text.utf8)
        func check(_ parts: [ArraySlice<UInt8>], _ how: String) throws {
            var (parser, used) = try feed(parts)
            #expect(parser.isComplete != row.needsEnd, "\(how)")
            let isComplete = parser.end()
            #expect(isComplete, "\(how)")
            #expect(parser.reply == row.reply, "\(how)")
            #expect(used == bytes.count - row.rest.utf8.count, "\(how)")
        }
        for place in 0...bytes.count { try check([bytes[..<place], bytes[place...]], "divided at \(place)") }
        try check(bytes.indices.map { bytes[$0...$0] }, "byte by byte")
    }

    @Test(arguments: cases.filter { !$0.needsEnd })
    func `An answer that ends too early is not complete`(row: Case) throws {
        let bytes = Array(row.text.utf8).dropLast(row.rest.utf8.count)
        for count in 0..<bytes.count {
            var (parser, _) = try feed([bytes.prefix(count)])
            let isComplete = parser.end()
            #expect(!isComplete, "after \(count) bytes")
            #expect(parser.hasBegun == (count > 0))
        }
    }

    @Test(arguments: [
        ("HTTP/2 200 OK\r\n", "status line"), ("HTTP/1.1  200 OK\r\n", "status line"),
        ("HTTP/1.1 20 OK\r\n", "status line"), ("HTTP/1.1 099 OK\r\n", "status line"),
        ("HTTP/1.1 2000 OK\r\n", "status line"), ("http/1.1 200 OK\r\n", "status line"), ("\r\n", "status line"),
        ("{\"a\":1}\r\n", "status line"), ("HTTP/1.1 200 OK\n", "without a carriage return"),
        ("HTTP/1.1 200\rOK\r\n", "inside a line"), ("HTTP/1.1 101 Switching\r\n\r\n", "another protocol"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n", "a field has no name"), ("HTTP/1.1 200 OK\r\nA\r\n", "is no field"),
        ("HTTP/1.1 200 OK\r\n: x\r\n", "is no field"), ("HTTP/1.1 200 OK\r\nA : x\r\n", "a field has no name"),
        ("HTTP/1.1 200 OK\r\nA: x\r\n folded\r\n", "a field has no name"),
        ("HTTP/1.1 200 OK\r\nA: x\u{1}\r\n", "a control character"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "and a Transfer-Encoding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "is not chunked"),
        (chunked + "\r\n", "with its size"), (chunked + "x\r\n", "with its size"),
        (chunked + "-1\r\n", "with its size"),
        (chunked + "1234567890123456\r\n", "with its size"), (chunked + "1\r\nab\r\n", "longer than it says"),
        (chunked + "0\r\nbad trailer\r\n", "a field has no name"),
    ])
    func `What is no answer is refused, however it is divided`(text: String, reason: String) {
        let bytes = Array(text.utf8)
        for place in 0...bytes.count {
            let error = #expect(throws: MalformedReply.self) { try feed([bytes[..<place], bytes[place...]]) }
            #expect(error?.reason.contains(reason) ?? false, "\(error?.reason ?? "")")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nLong: \(String(repeating: "x", count: 100))\r\n\r\n", "the head has more than 100 bytes"),
        ("HTTP/1.1 200 OK\r\nA: x\r\nB: x\r\nC: x\r\n\r\n", "more than 2 fields"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", "the body has more than 10 bytes"),
        ("HTTP/1.1 200 OK\r\n\r\n01234567890", "the body has more than 10 bytes"),
        (chunked + "6\r\n012345\r\n5\r\n01234\r\n", "the body has more than 10 bytes"),
        ("HTTP/1.1 100 A\r\n\r\nHTTP/1.1 100 B\r\n\r\n", "more than 1 answers before the real one"),
        (chunked + "1;\(String(repeating: "x", count: 100))\r\n", "the head has more than 100 bytes"),
    ])
    func `Nothing may be larger than its limit`(text: String, reason: String) {
        let limits = ReplyLimits(head: 100, fields: 2, body: 10, interim: 1)
        let error = #expect(throws: MalformedReply.self) { try feed([Array(text.utf8)[...]], limits: limits) }
        #expect(error?.reason == reason)
    }

    @Test func `Random bytes never bring the parser down`() {
        var generator = SeededGenerator(seed: .random(in: 0 ... .max))
        let pieces = Self.cases.map(\.text) + ["\r\n", "0\r\n\r\n", "HTTP/1.1 ", "ffffffffffffffff\r\n", ": "]
        for _ in 0..<2000 {
            var parser = ReplyParser(limits: ReplyLimits(head: 300, fields: 4, body: 50, interim: 2))
            var bytes: [UInt8] = []
            for _ in 0..<3 { bytes += Array(generator.pick(pieces).utf8) }
            if generator.chance(oneIn: 2) { bytes[generator.below(bytes.count)] = UInt8(generator.below(256)) }
            // Whatever comes of it, an answer within the limits or an error.
            _ = try? parser.take(bytes.span)
            #expect(parser.reply.body.count <= 50 && parser.reply.fields.count <= 4, "seed \(generator.seed)")
        }
    }
}
