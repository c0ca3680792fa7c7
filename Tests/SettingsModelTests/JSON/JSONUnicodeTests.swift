import SettingsModel
import Testing

struct JSONParserUnicodeTests {
    private static func scalars(_ range: ClosedRange<UInt32>, step: Int = 1) -> [Unicode.Scalar] {
        stride(from: range.lowerBound, through: range.upperBound, by: step).compactMap { Unicode.Scalar($0) }
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    @Test(
        "Each scalar is equal after writing and reading",
        arguments: [0...0xFFFF, 0x10000...0x7FFFF, 0x80000...0x10FFFF] as [ClosedRange<UInt32>])
    func roundTrip(range: ClosedRange<UInt32>) throws {
        let value = JSONValue.string(Self.string(Self.scalars(range)))
        #expect(try JSONValue(parsing: value.bytes()) == value)
    }

    @Test("Each scalar of the basic plane, and a sample of surrogate pairs, is read from its escape")
    func escaped() throws {
        let scalars = Self.scalars(0...0xFFFF) + Self.scalars(0x10000...0x10FFFF, step: 61)
        var text: [UInt8] = [UInt8(ascii: "\"")]
        for scalar in scalars {
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                text += Array("\\u".utf8) + Array(repeating: UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                text += Array(digits.utf8)
            }
        }
        text.append(UInt8(ascii: "\""))
        #expect(try JSONValue(parsing: text) == .string(Self.string(scalars)))
    }

    @Test("Each surrogate without its other half is refused")
    func loneSurrogates() {
        for unit in 0xD800...0xDFFF {
            let text = "\"\\u" + String(unit, radix: 16) + "\""
            guard parseFailure(of: text)?.reason.contains("surrogate") == true else {
                Issue.record("\(text) was not refused as a lone surrogate")
                return
            }
        }
    }
}

/// Tests of two Unicode forms of é. They are equal for `==` of Swift strings, but they are different strings in JSON.
struct JSONUnicodeNamesTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    @Test("An object can have both Unicode forms of a letter as names")
    func names() throws {
        let value = try JSONValue(parsing: #"{"\#(Self.composed)":1,"\#(Self.decomposed)":2}"#)
        #expect(value.object?.count == 2)
        #expect(value[Self.composed] == 1)
        #expect(value[Self.decomposed] == 2)
    }

    @Test("An object can have both Unicode forms of a letter as names if escapes represent them")
    func escapedNames() throws {
        let value = try JSONValue(parsing: #"{"\u00e9":1,"e\u0301":2}"#)
        #expect(value[Self.composed] == 1)
        #expect(value[Self.decomposed] == 2)
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: "{\"e\\u0301\":1,\"\(Self.decomposed)\":2}") }
    }

    @Test(
        "A name in one Unicode form does not find, replace or remove the other form, in small and in indexed objects",
        arguments: [0, 40])
    func lookups(otherMembers: Int) {
        // An object with more than 16 members has an index of its names.
        var object = JSONObject()
        for number in 0..<otherMembers { object["other \(number)"] = .integer(Int64(number)) }
        object[Self.composed] = 1
        #expect(object[Self.decomposed] == nil)
        object[Self.decomposed] = nil
        #expect(object.count == otherMembers + 1)
        let isNew = object.append(.init(name: Self.decomposed, value: 2))
        #expect(isNew)
        #expect(object[Self.composed] == 1)
        object[Self.composed] = nil
        #expect(object[Self.composed] == nil)
        #expect(object[Self.decomposed] == 2)
        #expect(object.count == otherMembers + 1)
    }

    @Test("Strings that differ only in the Unicode form of a letter are unequal, also mathematically")
    func values() {
        let (left, right) = (JSONValue.string(Self.composed), JSONValue.string(Self.decomposed))
        #expect(left != right)
        #expect(!left.isMathematicallyEqual(to: right))
        #expect(Set([left, right]).count == 2)
        #expect(JSONValue.array([left]) != .array([right]))
    }

    @Test("Objects that differ only in the Unicode form of a name are unequal")
    func objects() {
        let left: JSONValue = [Self.composed: 1]
        let right: JSONValue = [Self.decomposed: 1]
        #expect(left != right)
        #expect(!left.isMathematicallyEqual(to: right))
    }

    @Test("Names in two Unicode forms are sorted by their bytes")
    func sorting() throws {
        let value: JSONValue = [Self.composed: 1, "f": 2, Self.decomposed: 3, "e": 4]
        #expect(value.object?.sortedMembers.map(\.value) == [4, 3, 2, 1])
        let expected = #"{"e":4,"\#(Self.decomposed)":3,"f":2,"\#(Self.composed)":1}"#
        #expect(value.bytes(style: .canonical) == Array(expected.utf8))
    }

    @Test("A string is written in its own Unicode form")
    func writing() throws {
        for text in [Self.composed, Self.decomposed] {
            #expect(JSONValue.string(text).bytes() == Array("\"\(text)\"".utf8))
        }
    }
}

struct JSONStringScanTests {
    @Test("A control character, an escape and the closing quotation mark are found at each position of a string")
    func everyPosition() throws {
        for length in 0..<40 {
            for position in 0...length {
                // The parser searches eight bytes at once for a quotation mark, a backslash or a control character.
                // These texts contain bytes with neighbouring values, which the parser must not mistake for such a
                // byte.
                let before = String(repeating: "!\u{7F}]#", count: 10).prefix(position)
                let after = String(repeating: "[ é~", count: 10).prefix(length - position)
                #expect(try JSONValue(parsing: "\"\(before)\(after)\"").string == "\(before)\(after)")
                #expect(try JSONValue(parsing: "\"\(before)\\n\(after)\"").string == "\(before)\n\(after)")
                #expect(throws: JSONParseError.self) { try JSONValue(parsing: "\"\(before)\u{1F}\(after)\"") }
                #expect(throws: JSONParseError.self) { try JSONValue(parsing: "\"\(before)\"\(after)x\"") }
            }
        }
    }

    @Test(
        "A duplicate name is found, with and without escapes",
        arguments: [
            #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"b":0,"a":2}"#,
            #"{"\u0061":1,"\u0061":2}"#, #"{"b":0,"a/":1,"c":0,"a\/":2}"#, #"{"":1,"":2}"#,
        ])
    func duplicates(text: String) {
        let error = #expect(throws: JSONParseError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason.hasSuffix("occurs twice in the object") == true)
    }
}
