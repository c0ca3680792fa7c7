import SettingsKeys
import SettingsModel
import Testing

/// Tests of the schema that is made from keys. `SampleKeys.swift` declares the sample keys.
struct SchemaOfKeysTests {
    @Test("A key becomes the property that follows from its type, limits, default and traits")
    func documents() throws {
        let keys = SampleKeys()
        func document<Value>(_ key: DefaultsKey<Value>) throws -> String {
            JSONValue.object(try key.schemaDocument()).text()
        }
        #expect(try document(keys.username) == #"{"type":"string"}"#)
        #expect(try document(keys.nickname) == #"{"type":"string","default":"anonymous"}"#)
        #expect(
            try document(keys.launchCount)
                == #"{"type":"integer","default":0,"description":"Times the app was started"}"#)
        #expect(try document(keys.volume) == #"{"type":"number","minimum":0.0,"maximum":1.0,"default":0.5}"#)
        // The minimum is the lowest Float.
        #expect(
            try document(keys.gain)
                == #"{"type":"number","minimum":-3.4028235e+38,"exclusiveMaximum":0.0}"#)
        #expect(
            try document(keys.retries) == #"{"type":"integer","minimum":1,"exclusiveMaximum":10,"default":3}"#)
        #expect(try document(keys.ceiling) == #"{"type":"integer","maximum":100,"default":7}"#)
        #expect(
            try document(keys.code)
                == #"{"type":"string","maxLength":3,"pattern":"^[A-Z]{2}[0-9]$","default":"AB1"}"#)
        #expect(try document(keys.fruit) == #"{"enum":["apple"],"default":"apple"}"#)
        #expect(try document(keys.size) == #"{"type":"integer","enum":[1,2,4],"default":2}"#)
        #expect(try document(keys.token) == #"{"type":"string","maxLength":4,"writeOnly":true}"#)
        #expect(
            try document(keys.libraries)
                == #"{"type":"array","items":{"type":"string"},"default":[],"x-renamedFrom":["folders","paths"]}"#)
        #expect(try document(keys.extra) == "{}")
        #expect(try document(keys.visits) == #"{"type":"integer","minimum":0,"default":0,"x-merge":"sum"}"#)
        #expect(try document(keys.balance) == #"{"type":"number","x-merge":"sum"}"#)
        #expect(try document(keys.recent) == #"{"type":"array","items":{"type":"string"},"x-merge":"append"}"#)
        #expect(
            try document(keys.tags)
                == #"{"type":"array","items":{"type":"integer"},"uniqueItems":true,"default":[],"x-merge":"append"}"#)
    }

    @Test("A schema of listed keys, including keys of nested stores, is equal after it is parsed again")
    func listed() throws {
        let schema = try Schema(of: SampleKeys.self) {
            \.username
            \.volume
            \.equalizer.bass
        }
        #expect(schema.keys.map(\.name) == ["player.equalizer.bass", "player.volume", "username"])
        #expect(schema.key("player.volume")?.defaultValue == 0.5)
        #expect(schema.key("other") == nil)
        #expect(try Schema(JSONValue(parsing: schema.document.text(style: .pretty))) == schema)
    }

    @Test("A schema can allow further keys, and the list can contain conditions")
    func conditions() throws {
        func schema(_ all: Bool) throws -> Schema {
            try Schema(of: SampleKeys.self, additionalProperties: ["type": "string"]) {
                \.username
                if all { \.volume } else { \.gain }
                if all { \.code }
            }
        }
        #expect(try schema(true).keys.map(\.name) == ["code", "player.volume", "username"])
        #expect(try schema(false).keys.map(\.name) == ["gain", "username"])
        #expect(try schema(true).key("other")?.violations(of: 1).map(\.keyword) == ["type"])
    }

    struct StoredKeys: DefaultsKeyStore {
        let name = DefaultsKey<String?>("name")
        let count = DefaultsKey<Int>("count", defaultValue: 1)
        let inner = InnerKeys()

        struct InnerKeys: DefaultsKeyStore {
            static let prefix = "inner"
            let flag = DefaultsKey<Bool>(Self["flag"], defaultValue: true)
        }
    }

    @Test("Reflection finds keys in stored properties, including keys of nested stores")
    func reflection() throws {
        let schema = try Schema(reflecting: StoredKeys())
        #expect(schema.keys.map(\.name) == ["count", "inner.flag", "name"])
    }

    @Test("Two keys with one name and different types or limits are refused, and a repeated key is accepted")
    func duplicates() throws {
        let same: [any AnyDefaultsKey] = [
            DefaultsKey<Int>("n", defaultValue: 1), DefaultsKey<Int>("n", defaultValue: 1),
        ]
        #expect(try Schema(keys: same).keys.count == 1)

        let types: [any AnyDefaultsKey] = [DefaultsKey<Int>("n", defaultValue: 1), DefaultsKey<Double?>("n")]
        let typeError = #expect(throws: SchemaError.self) { _ = try Schema(keys: types) }
        #expect(typeError?.problems.first?.detail == "n is defined twice: as Int and as Optional<Double>")

        let limits: [any AnyDefaultsKey] = [
            DefaultsKey<Int>("n", defaultValue: 1), DefaultsKey<Int>("n", defaultValue: 1, in: 0...9),
        ]
        let limitError = #expect(throws: SchemaError.self) { _ = try Schema(keys: limits) }
        let limitDetail = "n is defined twice, with different limits, defaults or other properties"
        #expect(limitError?.problems.first?.detail == limitDetail)
    }

    @Test("A name that is not a valid key name is refused")
    func names() {
        let tooLong = String(repeating: "k", count: KeyName.maximumLength + 1)
        for name in ["", ".", "..", "a\u{1}b", tooLong] {
            #expect(throws: SchemaError.self, "\(name)") { _ = try Schema(keys: [DefaultsKey<Int?>(name)]) }
        }
    }
}
