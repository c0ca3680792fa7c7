import TestSupport
import Testing

@testable import SettingsModel

struct JSONPointerTests {
    /// The document in section 5 of RFC 6901.
    private static let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
    ]

    @Test(
        "The examples of RFC 6901 find their values",
        arguments: [
            ("", document), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2),
            ("/e^f", 3),
            ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8),
        ] as [(String, JSONValue)])
    func examples(text: String, value: JSONValue) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(Self.document[pointer] == value)
        #expect(pointer.description == text)
    }

    @Test(
        "A text is parsed to its tokens, and the tokens are written as the text",
        arguments: [
            ("", []), ("/", [""]), ("//", ["", ""]), ("/a/", ["a", ""]), ("/~01", ["~1"]), ("/~10", ["/0"]),
            ("/~1~0", ["/~"]),
            ("/~0~0", ["~~"]), ("/\u{E9}", ["\u{E9}"]), ("/e\u{301}", ["e\u{301}"]),
            ("/\u{1F600}/\u{0}", ["\u{1F600}", "\u{0}"]),
            ("/~1\u{301}", ["/\u{301}"]),
        ] as [(String, [String])])
    func tokens(text: String, tokens: [String]) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(pointer == JSONPointer(tokens))
        #expect(pointer.tokens.count == tokens.count)
        #expect(Array(pointer.description.utf8) == Array(text.utf8))
    }

    @Test(
        "A text that is not a pointer is refused",
        arguments: [
            "a", "a/b", " /a", "#", "#/a", "~", "/~", "/a~", "/~2", "/~/a", "/a/~a", "/~~0", "/~\u{301}0", "\u{301}/",
        ])
    func badTexts(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test("A pointer of random tokens is equal after it is written and parsed")
    func roundTrip() {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for generator in FuzzBudget.generators(roundsFactor: 0.5) {
            var random = RandomJSON(generator)
            var tokens: [String] = []
            for _ in 0..<random.generator.below(5) {
                tokens.append(random.text() + random.generator.pick(["", "~", "/", "~1"]))
            }
            let pointer = JSONPointer(tokens)
            guard JSONPointer(pointer.description) == pointer else {
                Issue.record("seed \(generator.seed): \(tokens) as \(pointer)")
                return
            }
        }
    }

    @Test("Each location of a random value is found by its pointer")
    func locations() {
        for generator in FuzzBudget.generators(roundsFactor: 0.1) {
            var random = RandomJSON(generator)
            let value = random.value(levels: 3)
            for (pointer, part) in Self.parts(of: value, at: .root) where value[pointer] != part {
                Issue.record("seed \(generator.seed): \(pointer) in \(value)")
                return
            }
        }
    }

    private static func parts(of value: JSONValue, at pointer: JSONPointer) -> [(JSONPointer, JSONValue)] {
        let inner: [(JSONPointer, JSONValue)] =
            switch value {
            case .array(let elements):
                elements.enumerated().flatMap { parts(of: $0.element, at: pointer.appending($0.offset)) }
            case .object(let object): object.flatMap { parts(of: $0.value, at: pointer.appending($0.name)) }
            default: []
            }
        return [(pointer, value)] + inner
    }

    @Test(
        "An array position is decimal digits without a leading zero",
        arguments: [
            ("0", 0), ("1", 1), ("10", 10), ("9223372036854775807", .max), ("", nil), ("00", nil), ("01", nil),
            ("-", nil),
            ("-0", nil), ("-1", nil), ("+1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("1e0", nil), ("0x1", nil),
            ("a", nil),
            ("9223372036854775808", nil), ("99999999999999999999999999", nil), ("\u{661}", nil), ("\u{FF11}", nil),
            ("1\u{301}", nil),
        ] as [(String, Int?)])
    func arrayIndex(token: String, index: Int?) {
        #expect(JSONPointer.arrayIndex(token) == index)
    }

    @Test(
        "A pointer to a missing location finds nothing",
        arguments: [
            "/foo/2", "/foo/-", "/foo/-1", "/foo/00", "/foo/01", "/foo/9223372036854775807", "/foo/9223372036854775808",
            "/foo/",
            "/foo/bar", "/none", "/foo/0/0", "/foo/0/", "//x", "/a", "/a/b",
        ])
    func missingLocations(text: String) throws {
        #expect(Self.document[try #require(JSONPointer(text))] == nil)
    }

    @Test("In an object, a token of digits is a name")
    func numericNames() {
        let value: JSONValue = ["0": "zero", "01": "one", "-": "dash"]
        #expect(value[JSONPointer(["0"])] == "zero")
        #expect(value[JSONPointer(["01"])] == "one")
        #expect(value[JSONPointer(["-"])] == "dash")
    }

    @Test("Pointers that differ only in the Unicode form of a token are different")
    func bytewise() {
        let (composed, decomposed) = (JSONPointer(["\u{E9}"]), JSONPointer(["e\u{301}"]))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, JSONPointer(["\u{E9}"])]).count == 2)
        #expect((["\u{E9}": 1] as JSONValue)[decomposed] == nil)
        #expect((["\u{E9}": 1] as JSONValue)[composed] == 1)
    }

    @Test("Pointers with the same characters, divided into other tokens, are different")
    func boundaries() {
        #expect(JSONPointer(["ab", "c"]) != JSONPointer(["a", "bc"]))
        #expect(JSONPointer(["a"]) != JSONPointer(["a", ""]))
        #expect(JSONPointer.root != JSONPointer([""]))
        #expect(JSONPointer.root.appending("a").appending(0) == JSONPointer(["a", "0"]))
        #expect(JSONPointer(["a", "b"]).hashValue == JSONPointer.root.appending("a").appending("b").hashValue)
    }
}
