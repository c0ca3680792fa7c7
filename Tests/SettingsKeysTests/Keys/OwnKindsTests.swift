import SettingsKeys
import Testing

/// Tests of a program's own types as values with limits and as dictionary keys. A `NumericSetting` can be limited by a
/// range, and a `TextSetting` by a length and a pattern.
struct OwnKindsTests {
    struct Percent: RawRepresentable, NumericSetting {
        var rawValue: Double

        static func < (one: Percent, other: Percent) -> Bool { one.rawValue < other.rawValue }
    }

    struct Slug: RawRepresentable, TextSetting, Equatable {
        var rawValue: String
    }

    struct Port: DefaultsDictionaryKey, CodingKeyRepresentable {
        var number: Int

        init(_ number: Int) { self.number = number }
        init?<Key: CodingKey>(codingKey: Key) {
            guard let number = codingKey.intValue ?? Int(codingKey.stringValue) else { return nil }
            self.number = number
        }

        var codingKey: any CodingKey { number.codingKey }
    }

    @Test func `A number type of the program accepts a range of its own values`() throws {
        let codec = try KeyCodec(
            DefaultsKey<Percent>(
                "p", defaultValue: Percent(rawValue: 1), in: Percent(rawValue: 0)..<Percent(rawValue: 9)))
        #expect(codec.schema.document == ["type": "number", "minimum": 0.0, "exclusiveMaximum": 9.0, "default": 1.0])
        #expect(throws: InvalidValue.self) { try codec.encode(Percent(rawValue: 9)) }
        let optional = try KeyCodec(DefaultsKey<Percent?>("p", in: Percent(rawValue: 0)...))
        #expect(try optional.decode(nil) == nil)
        #expect(throws: InvalidValue.self) { try optional.decode(-1) }
    }

    @Test func `A text type of the program accepts a length and a pattern`() throws {
        let codec = try KeyCodec(DefaultsKey<Slug?>("s", maxLength: 3, matching: "^[a-z]+$"))
        #expect(try codec.decode("abc") == Slug(rawValue: "abc"))
        #expect(throws: InvalidValue.self) { try codec.encode(Slug(rawValue: "abcd")) }
        #expect(throws: InvalidValue.self) { try codec.encode(Slug(rawValue: "A")) }
    }

    @Test func `A dictionary key type of the program names the members of the object`() throws {
        let bridge = [Port: String].defaultsBridge
        #expect(try bridge.encode([Port(80): "http"]) == ["80": "http"])
        #expect(try bridge.decode(["443": "https"]) == [Port(443): "https"])
        let unknown = #expect(throws: BridgeError.self) { try bridge.decode(["http": "80"]) }
        #expect(unknown?.description == "at /http: has a name that is not a valid key of type Port")
        let repeated = #expect(throws: BridgeError.self) { try bridge.decode(["80": "a", "080": "b"]) }
        #expect(repeated?.reason == "is a second name of the same key")
    }
}
