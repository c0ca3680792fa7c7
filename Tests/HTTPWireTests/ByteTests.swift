import Testing

@testable import HTTPWire

struct ByteScanTests {
    @Test("A scan finds each delimiter at each position, and skips all other bytes")
    func everyByteAtEachPosition() {
        // The fillers are not delimiters, but some are next to a delimiter or differ from a delimiter only in the high
        // bit.
        for filler in [UInt8(ascii: "a"), 0xFF, 0x80, 0x7E, 0x21, 0xA0] {
            for byte in UInt8.min...UInt8.max {
                for position in 0..<20 {
                    var bytes = [UInt8](repeating: filler, count: 20)
                    bytes[position] = byte
                    let isControl = byte < 0x20 || byte == 0x7F
                    let isDelimiter = isControl || [0x20, UInt8(ascii: "?"), UInt8(ascii: "#")].contains(byte)
                    let control = bytes.span.firstControlByte(from: 0, to: 20)
                    let delimiter = bytes.span.firstTargetDelimiter(from: 0, to: 20)
                    guard control == (isControl ? position : 20), delimiter == (isDelimiter ? position : 20) else {
                        Issue.record("byte \(byte) at \(position) among \(filler): \(control), \(delimiter)")
                        return
                    }
                }
            }
        }
    }
}

struct ByteSetTests {
    private static let digits = "0123456789"
    private static let capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    private static let symbols = "!#$%&'*+-.^_`|~"

    @Test("Each byte set contains exactly the bytes that its documentation comment names")
    func members() {
        let cases: [(ByteSet, String)] = [
            (.token, Self.symbols + Self.digits + Self.capitals + Self.capitals.lowercased()),
            (.method, Self.symbols + Self.digits + Self.capitals),
            (.hostName, "-._~!$&'()*+,;=" + Self.digits + Self.capitals + Self.capitals.lowercased()),
            (.addressInBrackets, ":." + Self.digits + "abcdefABCDEF"),
        ]
        for (set, members) in cases {
            for byte in UInt8.min...UInt8.max {
                #expect(set.contains(byte) == members.utf8.contains(byte), "\(byte) in \(members)")
            }
        }
    }

    @Test("The array of field values in a head, which has 29 elements, has an element for each known field")
    func fieldCount() {
        #expect(FieldName.allCases.count == 29)
        #expect(FieldName.allCases.allSatisfy { $0.rawValue < 29 })
    }
}

struct ListElementsTests {
    @Test("List elements are separated by unquoted commas, trimmed, and skipped if empty")
    func elements() {
        let cases: [(String, [String])] = [
            ("", []), (" , ,\t,", []), ("a", ["a"]), (" a ,\tb c\t, ", ["a", "b c"]),
            (#""1", W/"2,3" ,"4""#, [#""1""#, #"W/"2,3""#, #""4""#]), (#""a\",b",c"#, [#""a\",b""#, "c"]),
            (#""open, b"#, [#""open, b"#]), (#"a\,b"#, [#"a\"#, "b"]), (#""\"#, [#""\"#]),
        ]
        for (text, expected) in cases {
            // The bytes before and after the text show that the iterator reads only the given range.
            let bytes = Array(("x," + text + ",y").utf8)
            var elements = ListElements(2..<bytes.count - 2)
            var found: [String] = []
            while let element = elements.next(in: bytes.span) { found.append(bytes.span.text(in: element)) }
            #expect(found == expected, "\(text)")
        }
    }
}
