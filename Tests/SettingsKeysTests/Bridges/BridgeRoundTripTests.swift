import SettingsKeys
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite(.ownThread)
struct BridgeRoundTripTests {
    private var generator = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))

    private mutating func random<Value>(_ count: Int = 300, _ make: (inout SeededGenerator) -> Value) -> [Value] {
        (0..<count).map { _ in make(&generator) }
    }

    private var seed: Comment {
        "seed \(generator.seed)"
    }

    private mutating func integers<Value: FixedWidthInteger & DefaultsSerializable>(_ type: Value.Type) throws {
        let edges: [Value] = [.min, .max, 0, 1, .max / 2, .min / 2, Value(clamping: Int64.max), Value(clamping: -1)]
        try RoundTrip.expect(edges + random { .random(in: .min ... .max, using: &$0) }, seed)
    }

    @Test("Integers of every width survive a round trip")
    mutating func integers() throws {
        try integers(Int.self)
        try integers(Int8.self)
        try integers(Int16.self)
        try integers(Int32.self)
        try integers(Int64.self)
        try integers(UInt.self)
        try integers(UInt8.self)
        try integers(UInt16.self)
        try integers(UInt32.self)
        try integers(UInt64.self)
        try RoundTrip.expect([UInt64(Int64.max) + 1, UInt64(Int64.max)])
    }

    @Test("Doubles and floats survive a round trip to the last bit, with the sign of zero")
    mutating func floatingPoint() throws {
        let doubles = random(3_000) { Double(bitPattern: $0.next()) }.filter(\.isFinite)
        let edges: [Double] = [
            0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 0.1, 1e21, 0x1p53,
        ]
        try RoundTrip.expect(edges + doubles, seed)
        for double in edges + doubles {
            let read = try Double.defaultsBridge.decode(
                JSONValue(parsing: Double.defaultsBridge.encode(double).bytes()))
            #expect(read.bitPattern == double.bitPattern, seed)
        }
        let floats = random(3_000) { Float(bitPattern: UInt32(truncatingIfNeeded: $0.next())) }.filter(\.isFinite)
        let floatEdges: [Float] = [0.1, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 16_777_216]
        try RoundTrip.expect(floatEdges + floats, seed)
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

    @Test("Text of any Unicode scalars survives a round trip in any normalization form")
    mutating func text() throws {
        let scalars = random(2_000) { generator in
            (0..<generator.below(20)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
            }
        }
        let strings = scalars.map { String(String.UnicodeScalarView($0)) }
        try RoundTrip.expect(strings + ["", "e\u{301}", "\u{E9}", "\u{0}\u{1F}\u{7F}\u{FEFF}", "\"\\/"], seed)
        for string in strings + ["e\u{301}", "\u{E9}"] {
            let read = try String.defaultsBridge.decode(JSONValue(parsing: JSONValue.string(string).bytes()))
            #expect(Array(read.utf8) == Array(string.utf8), seed)
        }
        try RoundTrip.expect([true, false])
    }

    @Test("Dates survive a round trip, including very early and very late dates")
    mutating func dates() throws {
        let near = random { Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &$0)) }
        let any = random { Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0.next())) }
            .filter(\.timeIntervalSinceReferenceDate.isFinite)
        try RoundTrip.expect(near + any + [.distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date()], seed)
    }

    @Test("Data, URLs, UUIDs and decimals survive a round trip")
    mutating func foundation() throws {
        try RoundTrip.expect(
            random { generator in
                Data((0..<generator.below(40)).map { _ in UInt8.random(in: 0...255, using: &generator) })
            },
            seed)
        let urls = [
            "https://example.com/a%20b?q=1#f", "file:///tmp/x", "relative/path", "mailto:a@b.example", "/",
            "http://[::1]:80/",
        ]
        try RoundTrip.expect(urls.compactMap { URL(string: $0) })
        try RoundTrip.expect(random { _ in UUID() } + [UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))])
        let decimals = random { generator in
            Decimal(
                sign: generator.chance(oneIn: 2) ? .plus : .minus, exponent: generator.below(60) - 40,
                significand: Decimal(generator.next()))
        }
        try RoundTrip.expect(
            decimals + [Decimal.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0], seed)
    }

    @Test("Sets in canonical order, ranges, and dictionaries with every kind of key survive a round trip")
    mutating func containers() throws {
        try RoundTrip.expect(
            random(50) { generator in Set((0..<generator.below(20)).map { _ in generator.below(100) }) }, seed)
        #expect(try Set([10, 9, -1]).json == [-1, 9, 10])
        #expect(try Set(["b", "a", "B", "é"]).json == ["B", "a", "b", "é"])
        try RoundTrip.expect([Set(["a", "b"]), []])
        try RoundTrip.expect([0..<10, 5..<5])
        try RoundTrip.expect([0.5...0.75, -1...1])
        try RoundTrip.expect([Date.distantPast..<Date.distantFuture])
        try RoundTrip.expect([[Fruit.apple: [1, 2], .pear: []]])
        #expect(try ["b": 1, "a": 2, "B": 3].json == ["B": 3, "a": 2, "b": 1])
        #expect(try ["b": 1, "a": 2, "B": 3].json.text() == #"{"B":3,"a":2,"b":1}"#)
    }

    @Test("Enumerations, option sets and wrappers with a raw value survive a round trip")
    func rawValues() throws {
        try RoundTrip.expect(Fruit.allCases)
        try RoundTrip.expect([Priority.low, .high])
        try RoundTrip.expect([Permissions.all, [], .read])
        try RoundTrip.expect([Meters(rawValue: 1.5), Meters(rawValue: -0.0)])
        try RoundTrip.expect([Tagged.plain])
        #expect(try Tagged.plain.json == "plain")
    }

    @Test("JSON values survive a round trip, and a stored null differs from nil")
    func json() throws {
        let values: [JSONValue] = [.null, 1, 1.0, "x", [1, .null], ["b": 1, "a": [:]]]
        try RoundTrip.check(values, JSONValue.defaultsBridge)
        try RoundTrip.expect([["a": 1, "b": .null] as [String: JSONValue]])
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
