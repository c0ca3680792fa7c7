import Foundation
import Testing

@testable import SettingsKeys

/// Tests that encoding and decoding with the coder of this module gives the same value. The types `Account`, `Shape`,
/// `Theme`, `Level`, `Point`, `Dog` and `Cat` are in `Specimens.swift`.
struct CodableRoundTripTests {
    @Test("A struct with members of every kind is equal after a round trip")
    func richStruct() throws {
        let back = try afterRoundTrip(Account.sample)
        #expect(back == Account.sample)
        // `==` treats two spellings of é, and 0.0 and -0.0, as equal, so the bytes and the bits are compared, too.
        #expect(back.name.utf8.elementsEqual(Account.sample.name.utf8))
        #expect(back.raw == Account.sample.raw)
        // The first shape of the sample is a circle with the radius -0.0.
        let firstRadiusBits = { (account: Account) -> UInt64? in
            if case .circle(let radius)? = account.shapes.first { radius.bitPattern } else { nil }
        }
        #expect(firstRadiusBits(back) == (-0.0).bitPattern)
    }

    @Test(
        "Enumerations with associated values have the JSON form of the compiler's synthesized code",
        arguments: [
            (Shape.circle(radius: 1), #"{"circle":{"radius":1.0}}"#),
            (.label("a"), #"{"label":{"_0":"a"}}"#),
            (.nothing, #"{"nothing":{}}"#),
            (.polygon([], closed: true), #"{"polygon":{"_0":[],"closed":true}}"#),
            (.group(.nothing, .label("b")), #"{"group":{"_0":{"nothing":{}},"_1":{"label":{"_0":"b"}}}}"#),
        ])
    func enumerations(shape: Shape, text: String) throws {
        #expect(try encoded(shape).text() == text)
        #expect(try afterRoundTrip(shape) == shape)
    }

    @Test("A class is equal after a round trip, with its superclass in a separate member or in the same object")
    func inheritance() throws {
        let dog = Dog(name: "Rex", tricks: ["sit"])
        #expect(try encoded(dog) == ["tricks": ["sit"], "super": ["name": "Rex"]])
        #expect(try afterRoundTrip(dog).name == "Rex")
        #expect(try afterRoundTrip(dog).tricks == ["sit"])
        let cat = Cat(name: "Tom", lives: 9)
        #expect(try encoded(cat) == ["name": "Tom", "lives": 9])
        #expect(try afterRoundTrip(cat).name == "Tom")
        #expect(try afterRoundTrip(cat).lives == 9)
    }

    @Test("Scalars, optionals and collections outside of a struct are plain JSON and survive a round trip")
    func bareValues() throws {
        #expect(try encoded("a") == "a")
        #expect(try encoded(Int?.none) == .null)
        #expect(try encoded([1, nil, 3]) == [1, .null, 3])
        #expect(try encoded(Theme.highContrast) == "high-contrast")
        #expect(try encoded(Level.high) == 9)
        // A dictionary whose keys are not text, integers or `CodingKeyRepresentable` is an array of keys and values.
        #expect(try encoded([Theme.dark: 1]) == ["dark", 1])
        #expect(try afterRoundTrip([Theme.dark: 1, .light: 2]) == [.dark: 1, .light: 2])
        #expect(try afterRoundTrip([Int?.none, 1]) == [nil, 1])
        #expect(try afterRoundTrip([[true]]) == [[true]])
        #expect(try afterRoundTrip(Set([Point(x: 1, y: 2)])) == [Point(x: 1, y: 2)])
        #expect(try afterRoundTrip(ContiguousArray([1.5])) == [1.5])
        #expect(try afterRoundTrip(3..<7) == 3..<7)
    }

    @Test("A nested optional with nil at any level is nil after a round trip")
    func nestedOptionals() throws {
        struct Nested: Codable, Equatable {
            var inner: [Int??]
            var member: Int??
        }
        #expect(try afterRoundTrip(Nested(inner: [1, .some(.none)], member: 5)) == Nested(inner: [1, nil], member: 5))
        #expect(try encoded(Nested(inner: [], member: .some(.none))) == ["inner": [], "member": .null])
        #expect(try afterRoundTrip(Nested(inner: [], member: .some(.none))).member == nil)
    }

    @Test("Dictionaries with text, integer or coding key representable keys are objects")
    func dictionaries() throws {
        enum Side: String, Codable, CodingKeyRepresentable { case left, right }
        #expect(try encoded(["": 1]) == ["": 1])
        #expect(try encoded([-7: "a"]) == ["-7": "a"])
        #expect(try encoded([Side.left: 1.5]) == ["left": 1.5])
        #expect(try afterRoundTrip([Side.left: 1, .right: 2]) == [.left: 1, .right: 2])
        #expect(try afterRoundTrip([Int.min: [Int.max: "x"]]) == [.min: [.max: "x"]])
        #expect(try afterRoundTrip([String: Int]()) == [:])
    }

    @Test("The extremes of the integer types of up to 64 bits survive a round trip exactly")
    func integerExtremes() throws {
        func check<Integer: FixedWidthInteger & Codable>(_ type: Integer.Type) throws {
            #expect(try afterRoundTrip([Integer.min, 0, .max]) == [.min, 0, .max])
            #expect(try afterRoundTrip(["a": Integer.max]) == ["a": .max])
            #expect(try afterRoundTrip(Integer.min) == .min)
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
    }

    @Test(
        "Doubles have the same bits after a round trip",
        arguments: [
            0.0, -0.0, 0.1, 1, -1, .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, 0x1p53,
            1e300, .pi,
        ])
    func doubles(value: Double) throws {
        struct Holder: Codable { var value: Double }
        #expect(try afterRoundTrip(Holder(value: value)).value.bitPattern == value.bitPattern)
        #expect(try afterRoundTrip([value]).map(\.bitPattern) == [value.bitPattern])
        #expect(try afterRoundTrip(Double?(value))?.bitPattern == value.bitPattern)
    }

    @Test("A Float is written with the fewest digits that identify the Float, also in arrays and dictionaries")
    func floats() throws {
        struct Holder: Codable, Equatable {
            var value: Float
            var list: [Float]
            var map: [String: Float?]
        }
        let holder = Holder(value: 0.1, list: [0.3, .greatestFiniteMagnitude], map: ["a": 1.1])
        #expect(
            try encoded(holder).text() == #"{"value":0.1,"list":[0.3,3.4028235e+38],"map":{"a":1.1}}"#)
        #expect(try afterRoundTrip(holder) == holder)
    }

    @Test("Numbers that are not finite are strings if the key allows them, otherwise an error")
    func nonFinite() throws {
        struct Holder: Codable, Equatable {
            var list: [Double]
            var float: Float
        }
        let holder = Holder(list: [.infinity, -.infinity], float: .infinity)
        #expect(
            try encoded(holder, allowsNonFinite: true)
                == ["list": ["Infinity", "-Infinity"], "float": "Infinity"])
        #expect(try afterRoundTrip(holder, allowsNonFinite: true) == holder)
        #expect(try afterRoundTrip(Double.nan, allowsNonFinite: true).isNaN)
        #expect(
            encodingOutcome(of: holder)
                == "at /list/0: must be a finite number (got inf); to store such numbers, give the key nonFinite: true")
        #expect(
            encodingOutcome(of: ["a": Float.nan])
                == "at /a: must be a finite number (got nan); to store such numbers, give the key nonFinite: true")
        #expect(try decodingOutcome([Double].self, #"["NaN"]"#) == "at /0: must be a number (got a string)")
    }

    @Test("JSON inside a struct keeps the order of its members and the kind of its numbers")
    func json() throws {
        struct Holder: Codable {
            var any: JSONValue
            var list: [JSONValue]
            var map: [String: JSONValue]
            var maybe: JSONValue?
        }
        let text =
            #"{"any":{"z":1.0,"a":1,"é":[{}],"#
            + "\"e\u{301}\"" + #":null},"list":[null,-0.0,1e+22],"map":{"n":null},"maybe":[]}"#
        let json = try JSONValue(parsing: text)
        let holder = try ValueDecoder.decode(Holder.self, from: json, allowsNonFinite: false)
        #expect(try encoded(holder) == json)
        #expect(try encoded(holder)["any"]?.text() == json["any"]?.text())
        #expect(holder.map["n"] == .null)
    }

    @Test("JSON values survive a round trip with the coders of Foundation and with the coder of this module")
    func jsonAndOtherCoders() throws {
        let json: JSONValue = ["a": [1, 2.5, .null, true, "x", [:], []]]
        let data = try JSONEncoder().encode(json)
        #expect(try JSONValue(parsing: Array(data)) == json)
        #expect(try JSONDecoder().decode(JSONValue.self, from: data) == json)
        /// Encodes its JSON without an object around it.
        struct Transparent: Codable {
            var json: JSONValue
            init(json: JSONValue) { self.json = json }
            init(from decoder: any Decoder) throws { json = try JSONValue(from: decoder) }
            func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
        }
        for part: JSONValue in [json, 1.0, 1, "s", .null, false, [1.0], [:]] {
            #expect(try encoded([Transparent(json: part)]) == [part])
            #expect(try afterRoundTrip(Transparent(json: part)).json == part)
        }
    }
}
