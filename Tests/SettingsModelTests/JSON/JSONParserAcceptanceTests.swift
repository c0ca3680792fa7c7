import SettingsModel
import Testing

struct JSONValueTests {
    @Test("A Swift literal becomes the JSON value of its type")
    func literals() {
        let value: JSONValue = [.null, true, 1, 1.0, "text", [], [:]]
        #expect(
            value.array == [
                .null, .bool(true), .integer(1), .double(1), .string("text"), .array([]), .object(JSONObject()),
            ])
    }

    @Test("Each accessor returns a value only for its kind")
    func accessors() {
        let values: [JSONValue] = [.null, true, 1, 1.0, "text", [1], ["a": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil, nil])
        #expect(values.map(\.integer) == [nil, nil, 1, nil, nil, nil, nil])
        #expect(values.map(\.number) == [nil, nil, 1, 1, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, nil, "text", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, nil, ["a": 1]])
        #expect(values.map { $0["a"] } == [nil, nil, nil, nil, nil, nil, 1])
    }

    @Test("For an integer beyond 2⁵³, number is the nearest double, and integer is exact")
    func largeIntegers() {
        #expect(JSONValue.integer(9_007_199_254_740_993).number == 9_007_199_254_740_992)
        #expect(JSONValue.integer(.max).number == 0x1p63)
        #expect(JSONValue.integer(.max).integer == .max)
    }
}

struct JSONParserAcceptanceTests {
    struct Accepted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let value: JSONValue

        init(_ name: String, _ text: String, _ value: JSONValue) {
            testDescription = name
            self.text = text
            self.value = value
        }
    }

    static let kinds: [Accepted] = [
        Accepted("null", "null", .null),
        Accepted("true", "true", .bool(true)),
        Accepted("false", "false", .bool(false)),
        Accepted("integer", "17", .integer(17)),
        Accepted("double", "17.5", .double(17.5)),
        Accepted("string", #""text""#, .string("text")),
        Accepted("empty string", #""""#, .string("")),
        Accepted("empty array", "[]", .array([])),
        Accepted("array", "[1,true,null]", [1, true, .null]),
        Accepted("nested arrays", "[[],[[]]]", [[], [[]]]),
        Accepted("empty object", "{}", .object([:])),
        Accepted("object", #"{"a":1,"b":[2]}"#, ["a": 1, "b": [2]]),
        Accepted("nested objects", #"{"a":{"a":{}}}"#, ["a": ["a": [:]]]),
        Accepted("empty name", #"{"":0}"#, ["": 0]),
    ]

    static let whitespace: [Accepted] = [
        Accepted("space before and after", "  1  ", 1),
        Accepted("tab, line feed, carriage return", "\t\n\r1\r\n\t", 1),
        Accepted("in an empty array", "[ \n\t\r]", []),
        Accepted("in an empty object", "{ \n\t\r}", [:]),
        Accepted("around elements", "[ 1 ,\t2\n,\r3 ]", [1, 2, 3]),
        Accepted("around members", "{ \"a\" :\t1\n,\r\"b\" : 2 }", ["a": 1, "b": 2]),
    ]

    static let escapes: [Accepted] = [
        Accepted("quotation mark", #""\"""#, "\""),
        Accepted("backslash", #""\\""#, "\\"),
        Accepted("slash", #""\/""#, "/"),
        Accepted("slash without a backslash", #""/""#, "/"),
        Accepted("backspace", #""\b""#, "\u{8}"),
        Accepted("form feed", #""\f""#, "\u{C}"),
        Accepted("line feed", #""\n""#, "\n"),
        Accepted("carriage return", #""\r""#, "\r"),
        Accepted("tab", #""\t""#, "\t"),
        Accepted("NUL", #""a\u0000b""#, "a\u{0}b"),
        Accepted("control character", #""\u001F""#, "\u{1F}"),
        Accepted("lower-case digits", #""\u00e9\uabcd""#, "\u{E9}\u{ABCD}"),
        Accepted("upper-case digits", #""\u00E9\uABCD""#, "\u{E9}\u{ABCD}"),
        Accepted("last before the surrogates", #""\uD7FF""#, "\u{D7FF}"),
        Accepted("first after the surrogates", #""\uE000""#, "\u{E000}"),
        Accepted("noncharacter", #""\uFFFF""#, "\u{FFFF}"),
        Accepted("first surrogate pair", #""\uD800\uDC00""#, "\u{10000}"),
        Accepted("last surrogate pair", #""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        Accepted("pair in lower case", #""\ud83d\ude00""#, "\u{1F600}"),
        Accepted("two pairs", #""\ud83d\ude00\ud83d\ude01""#, "\u{1F600}\u{1F601}"),
        Accepted("between plain text", #""é\n€\t😀""#, "\u{E9}\n\u{20AC}\t\u{1F600}"),
        Accepted("escaped backslash before u", #""\\u0041""#, "\\u0041"),
        Accepted("in a name", #"{"\u0061":1}"#, ["a": 1]),
        Accepted("byte order mark inside a string", "\"\u{FEFF}\"", "\u{FEFF}"),
        Accepted("delete needs no escape", "\"\u{7F}\"", "\u{7F}"),
        Accepted("line separator needs no escape", "\"\u{2028}\"", "\u{2028}"),
    ]

    @Test("A document is parsed to its value", arguments: kinds + whitespace + escapes)
    func accepted(_ accepted: Accepted) throws {
        #expect(try JSONValue(parsing: accepted.text) == accepted.value)
        #expect(try JSONValue(parsing: Array(accepted.text.utf8)) == accepted.value)
        #expect(try JSONValue(parsing: Array(accepted.text.utf8).span) == accepted.value)
    }

    @Test("Members keep their order")
    func order() throws {
        let value = try JSONValue(parsing: #"{"z":1,"a":2,"m":3}"#)
        #expect(value.object.map { Array($0.names) } == ["z", "a", "m"])
        #expect(value.text() == #"{"z":1,"a":2,"m":3}"#)
    }

    @Test("The sample document is parsed to its values")
    func sample() throws {
        // `SampleDocument` has every kind of value and every escape.
        let value = try JSONValue(parsing: SampleDocument.text)
        #expect(value["integers"] == [0, -1, .integer(.max), .integer(.min)])
        #expect(value["doubles"]?.array?.last == 0.1)
        #expect(value["escapes"] == "\" \\ / \u{8} \u{C} \n \r \t A \u{E9} \u{1F600}")
        #expect(value["text"] == "plain \u{E9} e\u{301} \u{20AC} \u{1F600}")
        #expect(value["empty"] == [[:], [], ""])
        #expect(value["nested"]?["a"]?["b"] == [[1, 2], [3, ["c": .null]]])
    }

    @Test("A document with 128 levels is accepted", arguments: ["[", #"{"a":"#])
    func deepest(opening: String) throws {
        let closing = opening == "[" ? "]" : "}"
        let text = String(repeating: opening, count: 128) + "0" + String(repeating: closing, count: 128)
        #expect(try JSONValue(parsing: text).text() == text)
    }

    @Test("Levels that are closed do not count for the depth of a document")
    func closedLevels() throws {
        let text = "[" + Array(repeating: #"[[]],{"a":{}}"#, count: 200).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: text, maximumDepth: 3).array?.count == 400)
    }

    @Test("A document that is nested deeper than the argument maximumDepth is refused")
    func givenMaximumDepth() throws {
        #expect(try JSONValue(parsing: "1", maximumDepth: 0) == 1)
        #expect(try JSONValue(parsing: "[1]", maximumDepth: 1) == [1])
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: "[1]", maximumDepth: 0) }
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: [UInt8]("[[1]]".utf8), maximumDepth: 1) }
    }
}
