import SettingsKeys
import SettingsModel
import Testing

/// Tests of encoding and decoding the values of keys. `SampleKeys.swift` declares the keys and their limits.
struct KeyCodecTests {
    private let keys = SampleKeys()

    @Test("An optional key without a default is nil if nothing is stored, and storing nil removes the setting")
    func optional() throws {
        let username = try KeyCodec(keys.username)
        #expect(try username.decode(nil) == nil)
        #expect(try username.encode(nil) == nil)
        #expect(try username.encode("radek") == "radek")
        #expect(try username.decode("radek") == "radek")
        // The key `extra` has the type `JSONValue?`, for which null is a value.
        #expect(try KeyCodec(keys.extra).decode(.null) == .some(.null))
    }

    @Test("An optional key with a default has the default if nothing is stored, also after storing nil")
    func optionalWithDefault() throws {
        let nickname = try KeyCodec(keys.nickname)
        #expect(try nickname.decode(nil) == "anonymous")
        #expect(try nickname.encode(nil) == nil)
        // The key `ceiling` has the default 7.
        #expect(try KeyCodec(keys.ceiling).decode(nil) == 7)
    }

    @Test("A key that is not optional has its default if nothing is stored, and otherwise the stored value")
    func withDefault() throws {
        #expect(try KeyCodec(keys.launchCount).decode(nil) == 0)
        #expect(try KeyCodec(keys.launchCount).decode(7.0) == 7)
        #expect(try KeyCodec(keys.libraries).decode(["a"]) == ["a"])
    }

    /// An encoding or a decoding that a key refuses, and the description of the error.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expected: String
        let attempt: @Sendable () throws -> Void

        init<Value>(
            _ path: KeyPath<SampleKeys, DefaultsKey<Value>>, encoding value: Value, _ expected: String
        ) {
            let key = SampleKeys()[keyPath: path]
            testDescription = "\(key.name) encoding \(value)"
            self.expected = expected
            attempt = { _ = try KeyCodec(key).encode(value) }
        }

        init<Value>(
            _ path: KeyPath<SampleKeys, DefaultsKey<Value>>, decoding json: JSONValue, _ expected: String
        ) {
            let key = SampleKeys()[keyPath: path]
            testDescription = "\(key.name) decoding \(json)"
            self.expected = expected
            attempt = { _ = try KeyCodec(key).decode(json) }
        }
    }

    static let refusals = [
        Refusal(\.volume, encoding: 1.5, "player.volume: must be at most 1.0 (got 1.5)"),
        Refusal(\.volume, decoding: "loud", "player.volume: must be a number (got a string)"),
        Refusal(
            \.volume, encoding: .nan,
            "player.volume: must be a finite number (got nan); to store such numbers, give the key nonFinite: true"),
        Refusal(\.gain, encoding: 0, "gain: must be less than 0.0 (got 0.0)"),
        Refusal(\.retries, encoding: 10, "retries: must be less than 10 (got 10)"),
        Refusal(\.retries, decoding: 0, "retries: must be at least 1 (got 0)"),
        Refusal(\.ceiling, encoding: 101, "ceiling: must be at most 100 (got 101)"),
        Refusal(
            \.code, encoding: "AB12",
            "code: must have at most 3 characters (got 4); "
                + #"code: must match the pattern ^[A-Z]{2}[0-9]$ (got "AB12")"#),
        Refusal(\.slug, encoding: "No", #"slug: must match the pattern ^[a-z-]+$ (got "No")"#),
        Refusal(\.motto, encoding: "longer", "motto: must have at most 5 characters (got 6)"),
        Refusal(\.fruit, encoding: .pear, #"fruit: must be one of "apple" (got "pear")"#),
        Refusal(\.size, decoding: 3, "size: must be one of 1, 2, 4 (got 3)"),
        Refusal(\.username, decoding: .null, "username: must be a string (got null)"),
        // The key is a secret, so the messages do not contain the value.
        Refusal(\.token, encoding: "hunter2", "token: must have at most 4 characters"),
        Refusal(\.token, decoding: 12_345, "token: must be a string"),
        Refusal(\.window, decoding: ["size": "x"], "window at /size: must be an array (got a string)"),
    ]

    @Test(
        "Encoding or decoding a value outside of the type or the limits of the key throws the reason",
        arguments: refusals)
    func refuses(_ row: Refusal) {
        let error = #expect(throws: InvalidValue.self) { try row.attempt() }
        #expect(error?.description == row.expected)
    }

    @Test("Numbers that are not finite are stored if the key allows them")
    func nonFinite() throws {
        let ratio = try KeyCodec(keys.ratio)
        #expect(try ratio.encode(-.infinity) == "-Infinity")
        #expect(try ratio.decode("NaN").isNaN)
        #expect(try ratio.decode(nil) == .infinity)
        #expect(ratio.schema.document["default"] == "Infinity")
    }

    @Test("Creating the codec of an invalid key throws the reason")
    func unusableKeys() {
        func problem<Value>(_ key: DefaultsKey<Value>) -> String? {
            #expect(throws: SchemaError.self) { _ = try KeyCodec(key) }?.problems.first?.detail
        }
        #expect(problem(DefaultsKey<Int?>(""))?.contains("key") == true)
        #expect(problem(DefaultsKey<Int>("n", defaultValue: 5, in: 0...1)) == "default must be at most 1 (got 5)")
        #expect(problem(DefaultsKey<Double>("d", defaultValue: .nan))?.contains("finite") == true)
        #expect(problem(DefaultsKey<String>("s", defaultValue: "", matching: "("))?.hasPrefix("pattern") == true)
        #expect(problem(DefaultsKey<String>("s", defaultValue: "", matching: "(?=a)"))?.contains("look-around") == true)
        #expect(problem(DefaultsKey<Int>("n", defaultValue: 3, allowed: [1, 2]))?.contains("one of 1, 2") == true)
    }
}
