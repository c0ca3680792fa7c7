import SettingsKeys
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tests of the errors of bridges. A bridge converts the values of a type to JSON and back. The types `Fruit`,
/// `Priority` and `Window` are in `BridgedTypes.swift`. With the trait `ownThread`, each test has its own thread.
@Suite(.ownThread)
struct BridgeErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expected: String
        let decode: @Sendable () throws -> Void

        init<Value: DefaultsSerializable>(_ type: Value.Type, _ json: JSONValue, _ expected: String) {
            testDescription = "\(type) from \(json)"
            self.expected = expected
            decode = { _ = try Value.defaultsBridge.decode(json) }
        }
    }

    static let cases = [
        Case(Int.self, "1", "must be an integer (got a string)"),
        Case(Int.self, 1.5, "must be an integer (got a floating-point number)"),
        Case(Int.self, 1e300, "must be an integer (got a floating-point number)"),
        Case(Int.self, true, "must be an integer (got a boolean)"),
        Case(Int8.self, 128, "must be between -128 and 127 (got 128)"),
        Case(UInt.self, -1, "must be between 0 and 18446744073709551615 (got -1)"),
        Case(
            UInt64.self, "7",
            "must be an integer, or a string of digits for an integer greater than 9223372036854775807"),
        Case(
            UInt64.self, "18446744073709551616",
            "must be an integer, or a string of digits for an integer greater than 9223372036854775807"),
        // A leading zero.
        Case(
            UInt64.self, "09223372036854775808",
            "must be an integer, or a string of digits for an integer greater than 9223372036854775807"),
        Case(Double.self, "NaN", "must be a number (got a string)"),
        Case(Float.self, 1e39, "must be between ±3.4028235e+38 (got 1e+39)"),
        Case(Bool.self, 1, "must be true or false (got an integer)"),
        Case(String.self, .null, "must be a string (got null)"),
        Case(Data.self, "YQ=", "must be Base64 text with its padding"),
        // The unused bits of the last digit are not zero.
        Case(Data.self, "YR==", "must be Base64 text with its padding"),
        Case(Data.self, "Y Q==", "must be Base64 text with its padding"),
        Case(Date.self, "yesterday", "must be an RFC 3339 date and time such as 2026-11-20T10:00:00Z"),
        Case(Date.self, 0, "must be an RFC 3339 date and time such as 2026-11-20T10:00:00Z (got an integer)"),
        Case(URL.self, "http://a b", "must be a URL such as https://example.com/path"),
        Case(UUID.self, "123", "must be a UUID such as 123e4567-e89b-12d3-a456-426614174000"),
        Case(Decimal.self, "1e5", "must be decimal digits such as 3.14 that a Decimal can represent"),
        Case(Decimal.self, "1,5", "must be decimal digits such as 3.14 that a Decimal can represent"),
        Case(
            Decimal.self, .string(String(repeating: "9", count: 60)),
            "must be decimal digits such as 3.14 that a Decimal can represent"),
        Case(Decimal.self, 1.5, "must be decimal digits in a string (got a floating-point number)"),
        Case([Int].self, [1, [2]], "at /1: must be an integer (got an array)"),
        Case([[String: Int]].self, [["a/b": 1], ["a/b": "x"]], "at /1/a~1b: must be an integer (got a string)"),
        // As an integer, 1.0 is 1.
        Case(Set<Int>.self, [1, 2, 1.0], "at /2: must not repeat an earlier element"),
        Case([Fruit: Int].self, ["plum": 1], "at /plum: has a name that is not a valid key of type Fruit"),
        Case([Priority: Int].self, ["01": 1], "at /01: has a name that is not a valid key of type Priority"),
        // Two spellings of é are the same Swift string.
        Case([String: Int].self, ["e\u{301}": 1, "\u{E9}": 2], "at /\u{E9}: is a second name of the same key"),
        Case(
            Range<Int>.self, ["lowerBound": 2, "upperBound": 1],
            "must have a lowerBound that is not greater than its upperBound"),
        Case(Range<Int>.self, ["lowerBound": 2], "must be an object with lowerBound and upperBound"),
        Case(
            ClosedRange<Int>.self, ["lowerBound": "a", "upperBound": 1],
            "at /lowerBound: must be an integer (got a string)"),
        Case(Fruit.self, "plum", #"must be one of "apple", "pear" (got "plum")"#),
        Case(Priority.self, 2, "is not a valid Priority"),
        Case(Window.self, ["size": [1, "x"]], "at /size/1: must be a number (got a string)"),
    ]

    @Test("A bridge refuses JSON of the wrong kind or range with the reason", arguments: cases)
    func decoding(_ row: Case) throws {
        let error = #expect(throws: BridgeError.self) { try row.decode() }
        #expect(error?.description == row.expected)
    }

    @Test("Encoding a number or a date that is not finite throws an error")
    func encoding() {
        let error = #expect(throws: BridgeError.self) { _ = try [[Double]].defaultsBridge.encode([[0], [1, .nan]]) }
        #expect(
            error?.description
                == "at /1/1: must be a finite number (got nan); to store such numbers, give the key nonFinite: true")
        #expect(throws: BridgeError.self) {
            _ = try Date.defaultsBridge.encode(Date(timeIntervalSinceReferenceDate: .infinity))
        }
        #expect(throws: BridgeError.self) { _ = try Decimal.defaultsBridge.encode(.nan) }
    }

    @Test("Random JSON is decoded or refused without a trap")
    func random() {
        for generator in FuzzBudget.generators(roundsFactor: 2) {
            var randomJSON = RandomJSON(generator)
            let json = randomJSON.value(levels: 4)
            _ = try? [Int8?].defaultsBridge.decode(json)
            _ = try? UInt64.defaultsBridge.decode(json)
            _ = try? [String: Double].defaultsBridge.decode(json)
            _ = try? Decimal.defaultsBridge.decode(json)
            _ = try? Date.defaultsBridge.decode(json)
            _ = try? Window.defaultsBridge.decode(json)
            _ = try? Set<ClosedRange<Double>>.defaultsBridge.decode(json)
        }
    }
}
