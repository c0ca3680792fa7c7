import SettingsModel
import Testing

/// Tests of invalid, truncated and additional bytes. `SampleDocument` has every kind of value and every escape.
struct JSONParserBytesTests {
    struct InvalidUTF8: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) {
            testDescription = name
            self.bytes = bytes
        }
    }

    static let invalid: [InvalidUTF8] = [
        InvalidUTF8("a continuation byte alone", [0x80]),
        InvalidUTF8("the last continuation byte alone", [0xBF]),
        InvalidUTF8("an overlong NUL", [0xC0, 0x80]),
        InvalidUTF8("an overlong slash in two bytes", [0xC0, 0xAF]),
        InvalidUTF8("the last overlong form of two bytes", [0xC1, 0xBF]),
        InvalidUTF8("an overlong slash in three bytes", [0xE0, 0x80, 0xAF]),
        InvalidUTF8("the last overlong form of three bytes", [0xE0, 0x9F, 0xBF]),
        InvalidUTF8("an overlong slash in four bytes", [0xF0, 0x80, 0x80, 0xAF]),
        InvalidUTF8("the last overlong form of four bytes", [0xF0, 0x8F, 0xBF, 0xBF]),
        InvalidUTF8("the first surrogate", [0xED, 0xA0, 0x80]),
        InvalidUTF8("the last surrogate", [0xED, 0xBF, 0xBF]),
        InvalidUTF8("a surrogate pair", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
        InvalidUTF8("the first code point beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]),
        InvalidUTF8("the last form of four bytes", [0xF7, 0xBF, 0xBF, 0xBF]),
        InvalidUTF8("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
        InvalidUTF8("six bytes", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
        InvalidUTF8("0xFE", [0xFE]),
        InvalidUTF8("0xFF", [0xFF]),
        InvalidUTF8("the first byte of a two-byte scalar", [0xC3]),
        InvalidUTF8("the first byte of a three-byte scalar", [0xE2]),
        InvalidUTF8("two bytes of a three-byte scalar", [0xE2, 0x82]),
        InvalidUTF8("three bytes of a four-byte scalar", [0xF0, 0x9F, 0x98]),
        InvalidUTF8("Latin-1", [0xE9, 0x74]),
        InvalidUTF8("UTF-16 byte order mark", [0xFF, 0xFE]),
    ]

    @Test(arguments: invalid)
    func `Invalid UTF-8 is refused in a string, in a name, outside of both and at the end`(_ invalid: InvalidUTF8)
        throws
    {
        let contexts: [(before: String, after: String, line: Int, column: Int)] = [
            ("\"", "\"", 1, 2),
            ("{\"\u{E9}\":1,\n\"\u{20AC}", "\":2}", 2, 3),
            ("[1,", "]", 1, 4),
            ("", "", 1, 1),
            ("\"\u{1F600}", "", 1, 3),
            ("1 ", "", 1, 3),
        ]
        for context in contexts {
            let bytes = Array(context.before.utf8) + invalid.bytes + Array(context.after.utf8)
            let error = try #require(parseFailure(of: bytes))
            #expect(error.reason == "the bytes are not valid UTF-8")
            #expect((error.line, error.column) == (context.line, context.column))
            #expect(error.offset == context.before.utf8.count)
        }
    }

    @Test("Each prefix of a document is refused at a position inside the prefix")
    func truncation() throws {
        let bytes = SampleDocument.bytes
        #expect(parseFailure(of: bytes) == nil)
        for length in 0..<bytes.count {
            let error = try #require(parseFailure(of: Array(bytes[..<length])), "the first \(length) bytes")
            #expect((0...length).contains(error.offset))
            #expect(error.line >= 1 && error.column >= 1)
            if error.reason.hasSuffix("found the end of the text") { #expect(error.offset == length, "\(error)") }
        }
    }

    @Test("A document without its first bytes is refused")
    func suffixes() throws {
        let bytes = SampleDocument.bytes
        for start in 1..<bytes.count {
            _ = try #require(parseFailure(of: Array(bytes[start...])), "from byte \(start)")
        }
    }

    @Test("After a value, each byte except whitespace is refused", arguments: UInt8.min...UInt8.max)
    func trailingByte(byte: UInt8) {
        let isWhitespace = [0x20, 0x09, 0x0A, 0x0D].contains(byte)
        #expect((parseFailure(of: Array("[]".utf8) + [byte]) == nil) == isWhitespace)
    }
}
