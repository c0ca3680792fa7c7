import Foundation
import SettingsModel
import Testing

@testable import SettingsKeys

/// Tests of types that keep the JSON form of their bridge (their own form) as parts of `Codable` types. Such a type
/// conforms to `StandardForm`. The form of `Hexadecimal` (`Specimens.swift`) is a string such as `0xff`.
struct OwnFormInCodableTests {
    struct Holder: Codable, Equatable {
        var one: Hexadecimal
        var maybe: Hexadecimal?
        var list: [Hexadecimal?]
        var map: [String: Hexadecimal]
        var keyed: [Hexadecimal: Hexadecimal]
        var set: Set<Hexadecimal>
    }

    static let holder = Holder(
        one: Hexadecimal(value: 1), maybe: Hexadecimal(value: 2), list: [Hexadecimal(value: 255), nil],
        map: ["a": Hexadecimal(value: 10)], keyed: [Hexadecimal(value: 3): Hexadecimal(value: 4)],
        set: [Hexadecimal(value: 5)])

    @Test(
        "Values with their own form keep this form as members, optionals, elements, and values and keys of dictionaries"
    )
    func everywhere() throws {
        // `keyed` is an array of alternating keys and values.
        let json: JSONValue = [
            "one": "0x1", "maybe": "0x2", "list": ["0xff", .null], "map": ["a": "0xa"], "keyed": ["0x3", "0x4"],
            "set": ["0x5"],
        ]
        #expect(try encoded(Self.holder) == json)
        #expect(try afterRoundTrip(Self.holder) == Self.holder)
        #expect(try encoded(Hexadecimal(value: 7)) == "0x7")
        #expect(try afterRoundTrip(Hexadecimal(value: 7)) == Hexadecimal(value: 7))
    }

    @Test("Values with their own form keep this form in nested containers and in single value containers")
    func containers() throws {
        let script = Script { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            var nested = container.nestedUnkeyedContainer(forKey: "n")
            try nested.encode(Hexadecimal(value: 8))
            try container.encode(Script { try Hexadecimal?(Hexadecimal(value: 9)).encode(to: $0) }, forKey: "s")
        }
        #expect(try encoded(script) == ["n": ["0x8"], "s": "0x9"])
    }

    @Test("Data, URLs, UUIDs, decimals and the largest integers have the forms of their bridges inside Codable types")
    func foundation() throws {
        struct Foundations: Codable, Equatable {
            var data: [Data]
            var url: URL?
            var id: [UUID: Int]
            var price: [String: Decimal]
            var size: [UInt]
        }
        let id = try #require(UUID(uuidString: "123E4567-E89B-12D3-A456-426614174000"))
        let price = try #require(Decimal(string: "0.10000000000000000000000001"))
        let value = Foundations(
            data: [Data([1, 2, 255])], url: URL(string: "https://example.com/a"), id: [id: 1], price: ["a": price],
            size: [.max, 1])
        // `id` is an array of alternating keys and values. An integer beyond Int64 is a string.
        #expect(
            try encoded(value) == [
                "data": ["AQL/"], "url": "https://example.com/a", "id": ["123E4567-E89B-12D3-A456-426614174000", 1],
                "price": ["a": "0.10000000000000000000000001"], "size": ["18446744073709551615", 1],
            ])
        #expect(try afterRoundTrip(value) == value)
    }

    @Test("A refusal by the bridge of a member is an error with the path of the member")
    func errors() throws {
        #expect(encodingOutcome(of: [Hexadecimal(value: 1), Hexadecimal(value: -1)]) == "at /1: must not be negative")
        #expect(
            try decodingOutcome([String: [Hexadecimal]].self, #"{"a":["0x1",2]}"#)
                == "at /a/1: must be hexadecimal digits (got an integer)")
        #expect(
            try decodingOutcome([String: Hexadecimal].self, #"{"a":null}"#)
                == "at /a: must be hexadecimal digits (got null)")
        #expect(try decodingOutcome([Data].self, #"["?"]"#) == "at /0: must be Base64 text with its padding")
    }

    @Test("The path of an error continues inside a value with its own form")
    func pathInsideValue() throws {
        struct Pair: StandardForm, Codable {
            struct Bridge: DefaultsBridge {
                func encode(_ value: Pair) throws(BridgeError) -> JSONValue {
                    throw BridgeError(at: JSONPointer(["x", "0"]), "is odd")
                }
                func decode(_ json: JSONValue) throws(BridgeError) -> Pair {
                    throw BridgeError(at: JSONPointer(["y"]), "is odd")
                }
                var schema: WireSchema { .any }
            }
            static var defaultsBridge: Bridge { Bridge() }
        }
        #expect(encodingOutcome(of: ["a": [Pair()]]) == "at /a/0/x/0: is odd")
        #expect(try decodingOutcome([Pair].self, "[null]") == "at /0/y: is odd")
    }
}
