import SettingsModel
import TestSupport
import Testing

/// Tests of documents that are so large that an algorithm with more than linear time would take too long.
@Suite(.ownThread)
struct JSONLargeDocumentTests {
    private static let million = 1_000_000

    private static func zeros(_ count: Int) -> String {
        String(repeating: "0", count: count)
    }

    @Test(
        "A document with a million levels is refused at level 129",
        arguments: [("[", ""), ("[", "]"), (#"{"a":"#, ""), (#"{"a":"#, "}"), (" [\n", "")])
    func deepNesting(opening: String, closing: String) throws {
        let text = String(repeating: opening, count: Self.million) + String(repeating: closing, count: Self.million)
        let error = try #require(expectLinearTime { parseFailure(of: text) })
        #expect(error.reason == "the value is nested more than 128 levels deep")
        #expect(error.offset < 129 * opening.utf8.count)
    }

    @Test("A million closing brackets or commas are refused at the first byte", arguments: ["]", "}", ","])
    func onlyClosing(closing: String) throws {
        let text = String(repeating: closing, count: Self.million)
        #expect(try #require(expectLinearTime { parseFailure(of: text) }).offset == 0)
    }

    @Test("A string of a million bytes is parsed")
    func plainString() throws {
        let text = String(repeating: "0123456789", count: Self.million / 10)
        #expect(try expectLinearTime { try JSONValue(parsing: "\"\(text)\"") } == .string(text))
    }

    @Test(
        "A string that consists of escapes is parsed",
        arguments: [(#"\n"#, "\n"), (#"\u00e9"#, "\u{E9}"), (#"\ud83d\ude00"#, "\u{1F600}")])
    func escapedString(escape: String, meaning: String) throws {
        let count = Self.million / escape.utf8.count
        let text = "\"" + String(repeating: escape, count: count) + "\""
        let value = try expectLinearTime { try JSONValue(parsing: text) }
        #expect(value == .string(String(repeating: meaning, count: count)))
    }

    @Test("A string of 250,000 control characters, which are written as escapes, is equal after writing and reading")
    func controlCharacters() throws {
        let value = JSONValue.string(String(repeating: "\u{1}", count: Self.million / 4))
        #expect(try expectLinearTime { try JSONValue(parsing: value.bytes()) } == value)
    }

    @Test("An open string of a million bytes is refused at its end")
    func openString() throws {
        let text = "\"" + Self.zeros(Self.million)
        #expect(try #require(expectLinearTime { parseFailure(of: text) }).offset == Self.million + 1)
    }

    struct LongNumber: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        /// Nil if the parser refuses the text: an integer outside Int64, or another number too large for a double.
        let value: JSONValue?

        init(_ name: String, _ text: String, _ value: JSONValue?) {
            testDescription = name
            self.text = text
            self.value = value
        }
    }

    static let longNumbers: [LongNumber] = [
        LongNumber("integer digits", "1" + zeros(million), nil),
        LongNumber("integer digits, all nine", String(repeating: "9", count: million), nil),
        LongNumber("integer digits and a fraction", "1" + zeros(million) + ".0", nil),
        LongNumber(
            "a power of ten, and an exponent that shifts it to 1", "1" + zeros(million) + "e-1000000", .double(1)),
        LongNumber(
            "a power of ten, and an exponent that shifts it below 1", "1" + zeros(million) + "e-1000010", .double(1e-10)
        ),
        LongNumber("fraction digits", "0." + String(repeating: "3", count: million), .double(1.0 / 3)),
        LongNumber("fraction zeros", "1." + zeros(million), .double(1)),
        LongNumber(
            "a number between two doubles, and a digit far after the point", "9007199254740993." + zeros(million) + "1",
            .double(9_007_199_254_740_994)),
        LongNumber("the digit 1 after a million zeros", "0." + zeros(million) + "1", .double(0)),
        LongNumber("the same number with a minus sign", "-0." + zeros(million) + "1", .double(-0.0)),
        LongNumber(
            "the digit 1 after zeros, and an exponent that shifts it to 1", "0." + zeros(million - 1) + "1e1000000",
            .double(1)),
        LongNumber(
            "the digit 1 after zeros, and an exponent that shifts it beyond 1", "0." + zeros(million - 1) + "1e1000010",
            .double(1e10)),
        LongNumber(
            "the digit 1 after zeros, and an exponent that shifts it beyond all doubles",
            "0." + zeros(million - 1) + "1e1000400", nil),
        LongNumber("exponent digits", "1e" + String(repeating: "9", count: million), nil),
        LongNumber("negative exponent digits", "1e-" + String(repeating: "9", count: million), .double(0)),
        LongNumber("exponent zeros", "1e" + zeros(million) + "1", .double(10)),
        LongNumber("negative exponent zeros", "1e-" + zeros(million) + "1", .double(0.1)),
        LongNumber("zero with exponent digits", "0e" + String(repeating: "9", count: million), .double(0)),
    ]

    @Test("A number of a million digits is rounded correctly or refused", arguments: longNumbers)
    func longNumber(_ number: LongNumber) {
        #expect(expectLinearTime { try? JSONValue(parsing: number.text) } == number.value)
    }

    @Test("An array of a million elements is parsed")
    func longArray() throws {
        let text = "[" + String(repeating: "0,", count: Self.million - 1) + "0]"
        let value = try expectLinearTime { try JSONValue(parsing: text) }
        #expect(value.array?.count == Self.million)
        #expect(value.array?.last == 0)
    }

    @Test("200,000 members are parsed, and a duplicate of the first name is refused")
    func manyMembers() throws {
        let count = 200_000
        let members = (0..<count).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let value = try expectLinearTime { try JSONValue(parsing: "{\(members)}") }
        #expect(value.object?.count == count)
        #expect(value["m0"] == 0)
        #expect(value["m199999"] == 199_999)
        #expect(value["m200000"] == nil)
        let error = try #require(expectLinearTime { parseFailure(of: "{\(members),\n\"m\\u0030\":0}") })
        #expect(error.reason == #"the name "m0" occurs twice in the object"#)
        #expect((error.line, error.column) == (2, 1))
    }

    @Test("A thousand settings of all types are equal after writing and reading in each layout")
    func manySettings() throws {
        var random = RandomJSON(SeededGenerator(seed: FuzzBudget.firstSeed))
        var object = JSONObject()
        for position in 0..<1_000 { object["setting.\(position)"] = random.value(levels: 3) }
        let value = JSONValue.object(object)
        for style in [JSONWriter.Style.compact, .pretty, .canonical, .canonicalPretty] {
            let bytes = value.bytes(style: style)
            #expect(try expectLinearTime { try JSONValue(parsing: bytes) } == value, "seed \(random.generator.seed)")
        }
    }
}
