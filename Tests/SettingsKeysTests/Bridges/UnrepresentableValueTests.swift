import SettingsKeys
import SettingsModel
import Testing

/// Tests of values that JSON cannot represent, or that the daemon would not accept, and of the two kinds of nil in an
/// optional of an optional.
struct UnrepresentableValueTests {
    @Test(
        "Encoding a JSON value with a number that is not finite is an error, and a schema refuses the number",
        arguments: [Double.nan, .infinity, -.infinity])
    func nonFinite(number: Double) throws {
        let value = JSONValue.object(["a": [1, .double(number)]])
        #expect(throws: BridgeError.self) { try JSONValue.defaultsBridge.encode(value) }
        #expect(throws: BridgeError.self) { try [String: JSONValue].defaultsBridge.encode(["x": value]) }
        #expect(throws: BridgeError.self) { try Holder.defaultsBridge.encode(Holder(value: value)) }
        #expect(try !KeySchema(["type": "number"]).allows(.double(number)))
    }

    @Test("Encoding a value with more levels than the JSON parser accepts is an error")
    func deep() throws {
        var value: JSONValue = 1
        for _ in 0..<JSONValue.maximumDepth { value = [value] }
        #expect(try JSONValue.defaultsBridge.encode(value) == value)
        #expect(throws: BridgeError.self) { try JSONValue.defaultsBridge.encode([value]) }
    }

    @Test("Encoding a set is an error if JSON Schema treats two of its elements as equal")
    func sets() throws {
        #expect(throws: BridgeError.self) { try Set<JSONValue>.defaultsBridge.encode([1, 1.0]) }
        // The JSON of both elements is the string NaN.
        #expect(throws: BridgeError.self) {
            try Set<Double>.defaultsBridge.allowingNonFinite().encode([.nan, .signalingNaN])
        }
        #expect(try Set<JSONValue>.defaultsBridge.encode([1, 1.5]) == [1, 1.5])
    }

    @Test("A stored null is the inner nil of an optional of an optional")
    func doubleOptional() throws {
        let codec = try KeyCodec(DefaultsKey<Int??>("n"))
        #expect(try codec.encode(.some(.none)) == .some(.null))
        #expect(try codec.decode(.null) == .some(.none))
        #expect(try codec.decode(nil) == .none)
        #expect(try codec.encode(.none) == nil)
    }

    private struct Holder: Codable, DefaultsSerializable {
        var value: JSONValue
    }
}
