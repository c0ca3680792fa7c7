import SettingsModel
import Testing

/// Swift's `==` takes both for one string; as JSON they are two.
@Suite("Two Unicode forms of é")
struct JSONUnicodeNamesTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    @Test("They are two names of one object")
    func names() throws {
        let value = try JSONValue(parsing: #"{"\#(Self.composed)":1,"\#(Self.decomposed)":2}"#)
        #expect(value.object?.count == 2)
        #expect(value[Self.composed] == 1)
        #expect(value[Self.decomposed] == 2)
    }

    @Test("They are two names when spelled with escapes")
    func escapedNames() throws {
        let value = try JSONValue(parsing: #"{"\u00e9":1,"e\u0301":2}"#)
        #expect(value[Self.composed] == 1)
        #expect(value[Self.decomposed] == 2)
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: "{\"e\\u0301\":1,\"\(Self.decomposed)\":2}") }
    }

    @Test(
        "Neither finds, replaces or removes the other, in a small object and in one with an index", arguments: [0, 40])
    func lookups(others: Int) {
        var object = JSONObject()
        for number in 0..<others { object["other \(number)"] = .integer(Int64(number)) }
        object[Self.composed] = 1
        #expect(object[Self.decomposed] == nil)
        object[Self.decomposed] = nil
        #expect(object.count == others + 1)
        let isNew = object.append(.init(name: Self.decomposed, value: 2))
        #expect(isNew)
        #expect(object[Self.composed] == 1)
        object[Self.composed] = nil
        #expect(object[Self.composed] == nil)
        #expect(object[Self.decomposed] == 2)
        #expect(object.count == others + 1)
    }

    @Test("They are two values for both equalities")
    func values() {
        let (left, right) = (JSONValue.string(Self.composed), JSONValue.string(Self.decomposed))
        #expect(left != right)
        #expect(!left.isMathematicallyEqual(to: right))
        #expect(Set([left, right]).count == 2)
        #expect(JSONValue.array([left]) != .array([right]))
    }

    @Test("Objects that differ only in the form of a name are two")
    func objects() {
        let left: JSONValue = [Self.composed: 1]
        let right: JSONValue = [Self.decomposed: 1]
        #expect(left != right)
        #expect(!left.isMathematicallyEqual(to: right))
    }

    @Test("They are sorted by their bytes")
    func sorting() throws {
        let value: JSONValue = [Self.composed: 1, "f": 2, Self.decomposed: 3, "e": 4]
        #expect(value.object?.sortedMembers.map(\.value) == [4, 3, 2, 1])
        let expected = #"{"e":4,"\#(Self.decomposed)":3,"f":2,"\#(Self.composed)":1}"#
        #expect(value.bytes(style: .canonical) == Array(expected.utf8))
    }

    @Test("They are written as they came")
    func writing() throws {
        for text in [Self.composed, Self.decomposed] {
            #expect(JSONValue.string(text).bytes() == Array("\"\(text)\"".utf8))
        }
    }
}
