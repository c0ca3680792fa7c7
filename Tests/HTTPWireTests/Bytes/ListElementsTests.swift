import HTTPWire
import Testing

struct ListElementsTests {
    @Test("Elements stand between commas that are not quoted, without blanks; empty ones are passed over")
    func elements() {
        let cases: [(String, [String])] = [
            ("", []), (" , ,\t,", []), ("a", ["a"]), (" a ,\tb c\t, ", ["a", "b c"]),
            (#""1", W/"2,3" ,"4""#, [#""1""#, #"W/"2,3""#, #""4""#]), (#""a\",b",c"#, [#""a\",b""#, "c"]),
            (#""open, b"#, [#""open, b"#]), (#"a\,b"#, [#"a\"#, "b"]), (#""\"#, [#""\"#]),
        ]
        for (text, expected) in cases {
            let bytes = Array(("x," + text + ",y").utf8)
            var elements = ListElements(2..<bytes.count - 2)
            var found: [String] = []
            while let element = elements.next(in: bytes.span) { found.append(bytes.span.text(in: element)) }
            #expect(found == expected, "\(text)")
        }
    }
}
