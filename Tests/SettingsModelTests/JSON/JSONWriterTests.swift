import SettingsModel
import TestSupport
import Testing

struct JSONWriterTests {
    static let nested: JSONValue = [
        "name": "player", "empty array": [], "empty object": [:],
        "list": [1, 2.5, [.null], [[:], []]], "b": ["z": true, "a": false],
    ]

    @Test("The compact layout is one line without spaces, with members in their order")
    func compact() {
        let expected =
            #"{"name":"player","empty array":[],"empty object":{},"#
            + #""list":[1,2.5,[null],[{},[]]],"b":{"z":true,"a":false}}"#
        #expect(Self.nested.text() == expected)
        #expect(Self.nested.description == expected)
    }

    @Test("The pretty layout has one member or element per line, indented by two spaces")
    func pretty() {
        let expected = """
            {
              "name": "player",
              "empty array": [],
              "empty object": {},
              "list": [
                1,
                2.5,
                [
                  null
                ],
                [
                  {},
                  []
                ]
              ],
              "b": {
                "z": true,
                "a": false
              }
            }
            """
        #expect(Self.nested.text(style: .pretty) == expected)
    }

    @Test("The canonical layout sorts the members by the bytes of their names at each level")
    func canonical() {
        let expected =
            #"{"b":{"a":false,"z":true},"empty array":[],"empty object":{},"#
            + #""list":[1,2.5,[null],[{},[]]],"name":"player"}"#
        #expect(Self.nested.text(style: .canonical) == expected)
    }

    @Test("The pretty canonical layout is sorted and indented")
    func canonicalPretty() {
        let value: JSONValue = ["b": [["d": 1, "c": 2]], "a": [:]]
        let expected = """
            {
              "a": {},
              "b": [
                {
                  "c": 2,
                  "d": 1
                }
              ]
            }
            """
        #expect(value.text(style: .canonicalPretty) == expected)
    }

    @Test("Null and empty containers are written the same in each layout")
    func bareValues() {
        for style in [JSONWriter.Style.compact, .pretty, .canonical, .canonicalPretty] {
            #expect(JSONValue.null.text(style: style) == "null")
            #expect(JSONValue.array([]).text(style: style) == "[]")
            #expect(JSONValue.object([:]).text(style: style) == "{}")
        }
    }

    @Test("Two values have the same canonical text if and only if they are equal")
    func canonicalText() {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for generator in FuzzBudget.generators(roundsFactor: 0.3) {
            // With few values and names, two random values are often equal.
            var random = RandomJSON(generator, vocabulary: .narrow)
            let value = random.value(levels: 3)
            let (same, other) = (random.reordered(value), random.value(levels: 3))
            let text = value.bytes(style: .canonical)
            guard same.bytes(style: .canonical) == text, (other.bytes(style: .canonical) == text) == (other == value)
            else {
                Issue.record("seed \(generator.seed): \(value), \(same), \(other)")
                return
            }
        }
    }

    @Test(
        "Only characters that require an escape are escaped, in the shortest form",
        arguments: [
            ("\"", #"\""#), ("\\", #"\\"#), ("/", "/"), ("\u{8}", #"\b"#), ("\t", #"\t"#), ("\n", #"\n"#),
            ("\u{C}", #"\f"#), ("\r", #"\r"#), ("\u{0}", #"\u0000"#), ("\u{B}", #"\u000b"#), ("\u{1F}", #"\u001f"#),
            (" ", " "), ("\u{7F}", "\u{7F}"), ("\u{E9}", "\u{E9}"), ("\u{2028}", "\u{2028}"),
            ("\u{1F600}", "\u{1F600}"),
            ("\r\n", #"\r\n"#), ("a\"b\"c", #"a\"b\"c"#), ("\\u0041", #"\\u0041"#), ("", ""),
        ])
    func escapes(text: String, written: String) {
        #expect(JSONValue.string(text).bytes() == Array("\"\(written)\"".utf8))
        #expect(JSONValue.object([text: 0]).bytes() == Array("{\"\(written)\":0}".utf8))
    }

    @Test(
        "An integer is written as its digits",
        arguments: [
            (0, "0"), (-1, "-1"), (10, "10"), (100, "100"), (.max, "9223372036854775807"),
            (.min, "-9223372036854775808"),
        ] as [(Int64, String)])
    func integers(value: Int64, written: String) {
        #expect(JSONValue.integer(value).text() == written)
        #expect(JSONValue.array([.integer(value), .integer(value)]).text() == "[\(written),\(written)]")
    }

    @Test(
        "A double is written as a double, with the fewest digits that are parsed as the same value",
        arguments: [
            (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.1, "0.1"), (0.1 + 0.2, "0.30000000000000004"),
            (1e16, "1e+16"),
            (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"), (9_007_199_254_740_992.0, "9007199254740992.0"),
            (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
        ] as [(Double, String)])
    func doubles(value: Double, written: String) {
        #expect(JSONValue.double(value).text() == written)
    }

    @Test(
        "A double that is not finite is written as null", arguments: [Double.nan, .infinity, -.infinity, .signalingNaN])
    func notFinite(value: Double) {
        #expect(JSONValue.double(value).text() == "null")
        #expect(JSONValue.array([1, .double(value), ["a": .double(value)]]).text() == #"[1,null,{"a":null}]"#)
    }
}

struct JSONWriterCallTests {
    private static func text(_ writer: JSONWriter) -> String {
        String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("In the compact layout, the writer adds commas between values, containers and rendered JSON texts")
    func compact() {
        var writer = JSONWriter()
        Self.writeSample(to: &writer)
        #expect(Self.text(writer) == #"{"a":1,"b":[true,null,{},[],{"r":1},"s",-0.5,{"x":1}],"c":{"d":[1]},"e":0}"#)
    }

    @Test("In the pretty layout, the writer adds line breaks, and keeps rendered JSON texts unchanged")
    func pretty() {
        var writer = JSONWriter(style: .pretty)
        Self.writeSample(to: &writer)
        let expected = """
            {
              "a": 1,
              "b": [
                true,
                null,
                {},
                [],
                {"r":1},
                "s",
                -0.5,
                {
                  "x": 1
                }
              ],
              "c": {"d":[1]},
              "e": 0
            }
            """
        #expect(Self.text(writer) == expected)
    }

    @Test("In the canonical layout, members that are written one by one keep their order, and whole values are sorted")
    func canonicalOrder() {
        var writer = JSONWriter(style: .canonical)
        writer.beginObject()
        writer.name("z")
        writer.write(["b": 1, "a": 2] as JSONValue)
        writer.name("y")
        writer.writeNull()
        writer.endObject()
        #expect(Self.text(writer) == #"{"z":{"a":2,"b":1},"y":null}"#)
    }

    @Test
    func `A value whose parts are written one by one has the same bytes as the value that is written at once`() {
        for generator in FuzzBudget.generators(roundsFactor: 0.1) {
            var random = RandomJSON(generator)
            let value = random.value(levels: 4)
            for style in [JSONWriter.Style.compact, .pretty] {
                var writer = JSONWriter(style: style)
                Self.writeParts(of: value, to: &writer)
                guard writer.bytes == value.bytes(style: style) else {
                    Issue.record("seed \(generator.seed): \(value) as \(Self.text(writer))")
                    return
                }
            }
        }
    }

    private static func writeSample(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("a")
        writer.write(integer: 1)
        writer.name("b")
        writer.beginArray()
        writer.write(bool: true)
        writer.writeNull()
        writer.beginObject()
        writer.endObject()
        writer.beginArray()
        writer.endArray()
        writer.write(rendered: Array(#"{"r":1}"#.utf8).span)
        writer.write(string: "s")
        writer.write(double: -0.5)
        writer.write(["x": 1] as JSONValue)
        writer.endArray()
        writer.name("c")
        writer.write(rendered: Array(#"{"d":[1]}"#.utf8).span)
        writer.name("e")
        writer.write(integer: 0)
        writer.endObject()
    }

    /// Writes each member and each element of a value with a call of its own.
    private static func writeParts(of value: JSONValue, to writer: inout JSONWriter) {
        switch value {
        case .array(let elements):
            writer.beginArray()
            for element in elements { writeParts(of: element, to: &writer) }
            writer.endArray()
        case .object(let object):
            writer.beginObject()
            for member in object {
                writer.name(member.name)
                writeParts(of: member.value, to: &writer)
            }
            writer.endObject()
        case .null: writer.writeNull()
        case .bool(let bool): writer.write(bool: bool)
        case .integer(let integer): writer.write(integer: integer)
        case .double(let double): writer.write(double: double)
        case .string(let string): writer.write(string: string)
        }
    }
}
