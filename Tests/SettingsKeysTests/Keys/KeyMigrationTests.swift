import SettingsKeys
import Testing

/// Tests of values that an earlier version of the program stored as another type. `migrated` returns the JSON to store
/// instead of a stored value; nil if the stored value stays.
struct KeyMigrationTests {
    private struct Unsuitable: Error, CustomStringConvertible {
        var description: String { "the text is not a number" }
    }

    private let timeout = DefaultsKey<Int>(
        "timeout", defaultValue: 30, in: 0...60, renamedFrom: ["delay"],
        migrating: .from(String.self) { text throws(Unsuitable) in
            guard let seconds = Int(text) else { throw Unsuitable() }
            return seconds
        })

    @Test func `A value of the former type becomes a value of the new type`() throws {
        #expect(try KeyCodec(timeout).migrated("45") == 45)
        #expect(timeout.traits.renamedFrom == ["delay"])
    }

    @Test func `A value of the new type stays`() throws {
        #expect(try KeyCodec(timeout).migrated(45) == nil)
        #expect(try KeyCodec(timeout).migrated(45.0) == nil)
        // A string is a value of both types.
        let stringKey = DefaultsKey<String>("s", defaultValue: "", migrating: .from(String.self) { $0 + "!" })
        #expect(try KeyCodec(stringKey).migrated("text") == nil)
    }

    @Test func `A value of neither type stays`() throws {
        #expect(try KeyCodec(timeout).migrated(true) == nil)
        #expect(try KeyCodec(timeout).migrated(["45"]) == nil)
        // The key does not allow 61, because its maximum is 60. A number is not a value of the former type, String.
        #expect(try KeyCodec(timeout).migrated(61) == nil)
    }

    @Test func `A key without a migration migrates nothing`() throws {
        #expect(try KeyCodec(DefaultsKey<Int>("timeout", defaultValue: 30)).migrated("45") == nil)
    }

    @Test func `An error of the conversion and a result beyond the limits are errors`() throws {
        let codec = try KeyCodec(timeout)
        let unsuitable = #expect(throws: InvalidValue.self) { try codec.migrated("soon") }
        #expect(
            unsuitable?.description
                == "timeout: cannot be converted from a stored String to Int: the text is not a number")
        let large = #expect(throws: InvalidValue.self) { try codec.migrated("90") }
        #expect(large?.description == "timeout: must be at most 60 (got 90)")
    }

    @Test func `An error in the conversion of a secret does not contain the value`() throws {
        let key = DefaultsKey<Int?>(
            "pin", secret: true, migrating: .from(String.self) { text in throw BridgeError("is \(text)") })
        let error = #expect(throws: InvalidValue.self) { try KeyCodec(key).migrated("1234") }
        #expect(error?.description.contains("1234") == false)
    }

    @Test func `An optional key keeps the stored value if the conversion returns nil`() throws {
        let key = DefaultsKey<Int?>("n", migrating: .from(String.self) { Int($0) })
        #expect(try KeyCodec(key).migrated("7") == 7)
        #expect(try KeyCodec(key).migrated("seven") == nil)
    }

    struct Old: Codable, DefaultsSerializable { var name: String }
    struct New: Codable, DefaultsSerializable { var first: String, last: String }

    @Test func `An object of a former type becomes an object of the new type`() throws {
        let key = DefaultsKey<New?>(
            "person",
            migrating: .from(Old.self) { old in
                let parts = old.name.split(separator: " ")
                return New(first: String(parts.first ?? ""), last: String(parts.last ?? ""))
            })
        #expect(try KeyCodec(key).migrated(["name": "Ada Lovelace"]) == ["first": "Ada", "last": "Lovelace"])
    }

    @Test func `Keys with migrations from different types have different rules`() {
        func key(_ migration: KeyMigration<Int>?) -> DefaultsKey<Int> {
            .init("n", defaultValue: 0, migrating: migration)
        }
        #expect(key(.from(String.self) { _ in 1 }).hasSameRules(as: key(.from(String.self) { _ in 1 })))
        #expect(!key(.from(String.self) { _ in 1 }).hasSameRules(as: key(.from(Bool.self) { _ in 1 })))
        #expect(!key(.from(String.self) { _ in 1 }).hasSameRules(as: key(nil)))
    }
}
