import HTTPWire
import Testing

struct FieldLinesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let lines: [String]
        let name: FieldName
        let values: [String]

        init(_ lines: [String], _ name: FieldName, _ values: [String]) {
            self.lines = lines
            self.name = name
            self.values = values
        }

        var testDescription: String { "\(lines)" }
    }

    static let cases = [
        Case(["If-Match: a"], .ifMatch, ["a"]),
        Case(["If-Match: a", "IF-MATCH:b ", "if-match: \tc, d"], .ifMatch, ["a", "b", "c, d"]),
        Case(
            ["If-None-Match: a", "X: b", "If-Match: c", "If-None-Match:", "If-None-Match: d"], .ifNoneMatch,
            ["a", "", "d"]),
        Case(["If-None-Match: a", "If-None-Match: d"], .ifMatch, []),
        Case(
            ["If-Match: a", "X: If-Match: b", "If-Match-: c", "Accept: If-Match", "If-Match: d:e"], .ifMatch,
            ["a", "d:e"]),
        Case(["If-Match: é", "If-Match: é"], .ifMatch, ["é", "é"]),
        Case(["If-Match:", "If-Match: "], .ifMatch, ["", ""]),
        Case(["Accept: a", "Accept: b"], .accept, ["a", "b"]),
    ]

    @Test("All values of a field are found, in their order", arguments: cases)
    func values(of example: Case) throws {
        let text =
            "PUT / HTTP/1.1\r\nHost: a\r\n" + example.lines.map { $0 + "\r\n" }.joined() + "Content-Length: 15\r\n\r\n"
        let bytes = Array((text + "If-Match: body\n").utf8)
        var parser = MessageParser()
        #expect(try parser.parse(bytes.span))
        let head = try #require(parser.head)
        let values = head.values(of: example.name, in: bytes.span)
        #expect(values.map { String(decoding: bytes[$0], as: UTF8.self) } == example.values)
        #expect(head.isRepeated(example.name) == (example.values.count > 1))
        parser.reset()
        let plain = Array("GET / HTTP/1.1\r\nHost: a\r\nIf-Match: a\r\nAccept: b\r\n\r\n".utf8)
        #expect(try parser.parse(plain.span))
        #expect(parser.head?.isRepeated(example.name) == false)
    }
}
