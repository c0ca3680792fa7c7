import SettingsKeys
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tests that encoding a value with the bridge of its type and decoding the JSON gives the same value. `RoundTrip`
/// makes these checks, and also checks the JSON against the schema of the bridge. The types are in
/// `BridgedTypes.swift`. With the trait `ownThread`, each test has its own thread.
@Suite(.ownThread)
struct BridgeRoundTripTests {
    private var generator = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))

    private mutating func randomValues<Value>(_ count: Int = 300, _ make: (inout SeededGenerator) -> Value) -> [Value] {
        (0..<count).map { _ in make(&generator) }
    }

    private var seedComment: Comment {
        "seed \(generator.seed)"
    }

    private mutating func checkIntegers<Value: FixedWidthInteger & DefaultsSerializable>(_ type: Value.Type) throws {
        let edges: [Value] = [.min, .max, 0, 1, .max / 2, .min / 2, Value(clamping: Int64.max), Value(clamping: -1)]
        try RoundTrip.checkAloneAndNested(edges + randomValues { .random(in: .min ... .max, using: &$0) }, seedComment)
    }

    @Test("Integers of every width survive a round trip")
    mutating func integers() throws {
        try checkIntegers(Int.self)
        try checkIntegers(Int8.self)
        try checkIntegers(Int16.self)
        try checkIntegers(Int32.self)
        try checkIntegers(Int64.self)
        try checkIntegers(UInt.self)
        try checkIntegers(UInt8.self)
        try checkIntegers(UInt16.self)
        try checkIntegers(UInt32.self)
        try checkIntegers(UInt64.self)
        try RoundTrip.checkAloneAndNested([UInt64(Int64.max) + 1, UInt64(Int64.max)])
    }

    @Test("Doubles and floats survive a round trip to the last bit, with the sign of zero")
    mutating func floatingPoint() throws {
        let doubles = randomValues(3_000) { Double(bitPattern: $0.next()) }.filter(\.isFinite)
        let edges: [Double] = [
            0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 0.1, 1e21, 0x1p53,
        ]
        try RoundTrip.checkAloneAndNested(edges + doubles, seedComment)
        for double in edges + doubles {
            let read = try Double.defaultsBridge.decode(
                JSONValue(parsing: Double.defaultsBridge.encode(double).bytes()))
            #expect(read.bitPattern == double.bitPattern, seedComment)
        }
        let floats = randomValues(3_000) { Float(bitPattern: UInt32(truncatingIfNeeded: $0.next())) }.filter(\.isFinite)
        let floatEdges: [Float] = [0.1, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0x1p24]
        try RoundTrip.checkAloneAndNested(floatEdges + floats, seedComment)
        // Converted to a Double, the Float is 0.10000000149011612.
        #expect(try Float.defaultsBridge.encode(0.1) == 0.1)
    }

    @Test("If a bridge allows numbers that are not finite, they survive a round trip, also in nested values")
    func nonFinite() throws {
        let values: [Double] = [.infinity, -.infinity, 1.5]
        try RoundTrip.check([values], [Double].defaultsBridge.allowingNonFinite())
        try RoundTrip.check([["a": [values]]], [String: [[Double]]].defaultsBridge.allowingNonFinite())
        try RoundTrip.check([Set(values)], Set<Double>.defaultsBridge.allowingNonFinite())
        try RoundTrip.check([values.map { Float($0) }], [Float].defaultsBridge.allowingNonFinite())
        try RoundTrip.check([1...Double.infinity], ClosedRange<Double>.defaultsBridge.allowingNonFinite())
        let nan = try Double?.defaultsBridge.allowingNonFinite().encode(.nan)
        #expect(nan == "NaN")
        #expect(try Double?.defaultsBridge.allowingNonFinite().decode(nan)?.isNaN == true)
    }

    @Test(
        "Text of any Unicode scalars has the same bytes after a round trip, in any normalization form; so do booleans")
    mutating func text() throws {
        let scalars = randomValues(2_000) { generator in
            (0..<generator.below(20)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
            }
        }
        let strings = scalars.map { String(String.UnicodeScalarView($0)) }
        try RoundTrip.checkAloneAndNested(
            strings + ["", "e\u{301}", "\u{E9}", "\u{0}\u{1F}\u{7F}\u{FEFF}", "\"\\/"], seedComment)
        for string in strings + ["e\u{301}", "\u{E9}"] {
            let read = try String.defaultsBridge.decode(JSONValue(parsing: JSONValue.string(string).bytes()))
            #expect(Array(read.utf8) == Array(string.utf8), seedComment)
        }
        try RoundTrip.checkAloneAndNested([true, false])
    }

    @Test("Dates survive a round trip, including very early and very late dates")
    mutating func dates() throws {
        let nearDates = randomValues { Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &$0)) }
        let anyDates = randomValues { Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0.next())) }
            .filter(\.timeIntervalSinceReferenceDate.isFinite)
        try RoundTrip.checkAloneAndNested(
            nearDates + anyDates + [.distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date()], seedComment)
    }

    @Test("Data, URLs, UUIDs and decimals survive a round trip")
    mutating func foundation() throws {
        try RoundTrip.checkAloneAndNested(
            randomValues { generator in
                Data((0..<generator.below(40)).map { _ in UInt8.random(in: 0...255, using: &generator) })
            },
            seedComment)
        let urls = [
            "https://example.com/a%20b?q=1#f", "file:///tmp/x", "relative/path", "mailto:a@b.example", "/",
            "http://[::1]:80/",
        ]
        try RoundTrip.checkAloneAndNested(urls.compactMap { URL(string: $0) })
        try RoundTrip.checkAloneAndNested(
            randomValues { _ in UUID() } + [UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))])
        let decimals = randomValues { generator in
            Decimal(
                sign: generator.chance(oneIn: 2) ? .plus : .minus, exponent: generator.below(60) - 40,
                significand: Decimal(generator.next()))
        }
        try RoundTrip.checkAloneAndNested(
            decimals + [Decimal.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0], seedComment)
    }

    @Test("Sets in canonical order, ranges, and dictionaries with string and enumeration keys survive a round trip")
    mutating func containers() throws {
        try RoundTrip.checkAloneAndNested(
            randomValues(50) { generator in Set((0..<generator.below(20)).map { _ in generator.below(100) }) },
            seedComment)
        // The canonical order is the order of the numbers, or of the bytes of the texts.
        #expect(try Set([10, 9, -1]).json == [-1, 9, 10])
        #expect(try Set(["b", "a", "B", "é"]).json == ["B", "a", "b", "é"])
        try RoundTrip.checkAloneAndNested([Set(["a", "b"]), []])
        try RoundTrip.checkAloneAndNested([0..<10, 5..<5])
        try RoundTrip.checkAloneAndNested([0.5...0.75, -1...1])
        try RoundTrip.checkAloneAndNested([Date.distantPast..<Date.distantFuture])
        try RoundTrip.checkAloneAndNested([[Fruit.apple: [1, 2], .pear: []]])
        try RoundTrip.checkAloneAndNested([[Priority.low: "a", .high: "b"]])
        #expect(try ["b": 1, "a": 2, "B": 3].json == ["B": 3, "a": 2, "b": 1])
        #expect(try ["b": 1, "a": 2, "B": 3].json.text() == #"{"B":3,"a":2,"b":1}"#)
    }

    @Test("Enumerations, option sets and wrappers with a raw value survive a round trip")
    func rawValues() throws {
        try RoundTrip.checkAloneAndNested(Fruit.allCases)
        try RoundTrip.checkAloneAndNested([Priority.low, .high])
        try RoundTrip.checkAloneAndNested([Permissions.all, [], .read])
        try RoundTrip.checkAloneAndNested([Meters(rawValue: 1.5), Meters(rawValue: -0.0)])
        try RoundTrip.checkAloneAndNested([Tagged.plain])
        #expect(try Tagged.plain.json == "plain")
    }

    @Test("JSON values survive a round trip, and a stored null differs from nil")
    func json() throws {
        let values: [JSONValue] = [.null, 1, 1.0, "x", [1, .null], ["b": 1, "a": [:]]]
        try RoundTrip.check(values, JSONValue.defaultsBridge)
        try RoundTrip.checkAloneAndNested([["a": 1, "b": .null] as [String: JSONValue]])
        // `encodeStored` returns nil if no value is to be stored.
        let bridge = JSONValue?.defaultsBridge
        #expect(try bridge.encodeStored(nil) == nil)
        #expect(try bridge.encodeStored(.some(.null)) == .some(.null))
        #expect(try bridge.decode(.null) == .some(.null))
        #expect(try Int??.defaultsBridge.decode(.null) == .some(.none))
    }
}

extension DefaultsSerializable {
    /// The JSON that the bridge of the type encodes.
    fileprivate var json: JSONValue {
        get throws { try Self.defaultsBridge.encode(self) }
    }
}
