import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// `publishSchema` returns true if it has stored a new schema, and false if the suite already has this schema.
@Suite(.ownThread)
struct PublishTests {
    struct StoredKeys: DefaultsKeyStore {
        let name = DefaultsKey<String?>("name")
        let count = DefaultsKey<Int>("count", defaultValue: 1, in: 0...9)
        let player = PlayerStore()
    }

    struct PlayerStore: DefaultsKeyStore {
        static let prefix = "player"
        let volume = DefaultsKey<Double>(Self["volume"], defaultValue: 0.5)
    }

    @Test("A schema is published once, and publishing it again writes nothing", arguments: BackendKind.allCases)
    func publishing(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        #expect(
            try await one.publishSchema {
                \.username; \.loginTries; \.player.equalizer.bass
            })
        let published = try await #require(try fixture.backend().schema())
        #expect(
            published.document["properties"]?.object.map { Array($0.names) }?.sorted() == [
                "loginTries", "player.equalizer.bass", "username",
            ])
        #expect(
            try await !one.publishSchema {
                \.username; \.loginTries; \.player.equalizer.bass
            })
        #expect(
            try await !two.publishSchema {
                \.player.equalizer.bass; \.loginTries; \.username
            })
        #expect(try await fixture.backend().schema()?.revision == published.revision)
        #expect(one.loginTries == 1 && !one.isSet(\.loginTries), "the value is the default")
        let unknown = await #expect(throws: DefaultsError.self) { try await two.set(\.launchCount, 1) }
        #expect(unknown?.code == .unknownKey)
        #expect(try await two.publishSchema(additionalProperties: true) { \.username })
        try await two.set(\.launchCount, 1)
        #expect(fixture.drainIssues() == [])
    }

    @Test("The keys of a store and of its nested stores are found by reflection", arguments: BackendKind.allCases)
    func reflection(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(StoredKeys())
        #expect(try await defaults.publishSchema())
        try await defaults.checkSchema()
        let schema = try await Schema(try #require(try fixture.backend().schema()).document)
        #expect(schema.keys.map(\.name) == ["count", "name", "player.volume"])
        #expect(try schema == Schema(reflecting: StoredKeys()))
    }

    @Test("A store with only computed keys publishes nothing without an explicit list", arguments: BackendKind.allCases)
    func computed(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let error = await #expect(throws: DefaultsError.self) { try await defaults.publishSchema() }
        #expect(
            error?.description
                == "cannot use the schema: /properties: cannot find the keys of ClientKeys: no stored property "
                + #"contains a key, and computed properties cannot be searched; list the keys, as in { \.username }"#)
        await #expect(throws: DefaultsError.self) { try await defaults.checkSchema() }
        #expect(try await fixture.backend().schema() == nil)
    }

    @Test(
        "Stored values that the schema refuses are listed by key, and are kept or removed as requested",
        arguments: BackendKind.allCases)
    func conflicts(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults["loginTries"] = "many"
        defaults["theme"] = "blue"
        defaults["unknown"] = 1
        defaults.username = "me"
        let error = await #expect(throws: DefaultsError.self) {
            try await defaults.publishSchema {
                \.loginTries; \.theme; \.username
            }
        }
        #expect(error?.code == .schemaConflict)
        #expect(
            error?.description
                == "stored values do not match the schema: loginTries: must be an integer (got \"many\"); "
                + "theme: must be one of \"light\", \"dark\" (got \"blue\"); unknown: the schema has no such key")
        #expect(try await fixture.backend().schema() == nil)

        #expect(
            try await defaults.publishSchema(onConflict: .keep) {
                \.loginTries; \.theme; \.username
            })
        #expect(
            try await !defaults.publishSchema {
                \.loginTries; \.theme; \.username
            })
        let unreadable = await #expect(throws: DefaultsError.self) { try await defaults.value(\.loginTries) }
        #expect(unreadable?.code == .invalidStored)
        #expect(defaults.isSet(\.loginTries) && defaults.username == "me")
        defaults.loginTries = 3
        #expect(defaults.loginTries == 3)

        #expect(
            try await defaults.publishSchema(onConflict: .reset) {
                \.loginTries; \.theme
            })
        #expect(defaults.theme == .light && !defaults.isSet(\.theme) && defaults.loginTries == 3)
        // `reset` has removed `theme`, whose value is invalid, and `unknown` and `username`, which the schema lacks.
        #expect(try await fixture.storedKeys() == ["loginTries"])
    }

    @Test("A schema of two keys with one name and different types is refused", arguments: BackendKind.allCases)
    func duplicates(_ kind: BackendKind) async throws {
        struct Keys: DefaultsKeyStore {
            var count: DefaultsKey<Int> { .init("n", defaultValue: 0) }
            var name: DefaultsKey<String?> { .init("n") }
        }
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        let error = await #expect(throws: DefaultsError.self) {
            try await defaults.publishSchema {
                \.count; \.name
            }
        }
        #expect(error?.description.contains("n is defined twice: as Int and as Optional<String>") == true)
        #expect(try await fixture.backend().schema() == nil)
    }

    @Test(
        "Keys that members of the adapter hide are reported when the schema is created", arguments: BackendKind.allCases
    )
    func shadowed(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        #expect(
            try await defaults.publishSchema {
                \.username; \.value
            })
        let issues = fixture.drainIssues()
        #expect(issues.map(\.error) == [.shadowedKeys(["value"])])
        #expect(
            issues.first?.description
                == #"settings: suite com.example.app: members of the adapter hide keys of the same name: value; "#
                + #"use the path of such a key, as in Defaults[\.value]"#
        )
        #expect(
            try Schema(of: ClientKeys.self) {
                \.value; \.theme
            }.keysShadowedByAdapter == ["value"])
    }

    @Test("Publishing without a server throws an error")
    func withoutServer() async throws {
        let (defaults, backend) = try BackendKind.memory.fixture().interruptibleAdapter(StoredKeys())
        backend.isServerUnreachable = true
        // The reason is the error of the unreachable `backend`.
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.publishSchema() }
        backend.isServerUnreachable = false
        #expect(try await defaults.publishSchema())
        #expect(defaults.count == 1)
    }

    @Test("Programs that follow the suite see the defaults of a new schema", arguments: BackendKind.allCases)
    func defaults(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(StoredKeys()), fixture.adapter(StoredKeys()))
        // A read of a key by its name does not use the default that the program declares.
        #expect(two["count"].int == nil)
        try await one.publishSchema()
        #expect(one["count"].int == 1)
        try await two.synchronize()
        #expect(two["count"].int == 1 && two.count == 1)
        #expect(fixture.drainIssues() == [])
    }
}
