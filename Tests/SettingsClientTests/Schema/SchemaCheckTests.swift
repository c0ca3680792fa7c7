import ClientTestSupport
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The client compares the keys of the program with the schema of the suite, and reports differences.
@Suite(.ownThread)
struct SchemaCheckTests {
    struct Keys: DefaultsKeyStore {
        var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
        var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
        var nickname: DefaultsKey<String?> { .init("nickname") }
        var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    }

    /// A schema that agrees with the keys only on `theme`.
    private static let document = SuiteFixture.schema(of: [
        "player.volume": ["type": "number", "minimum": 0, "maximum": 2, "default": 0.5],
        "count": ["type": "string", "default": "none"],
        "theme": ["enum": ["light", "dark"], "default": "light"],
    ])

    @Test(
        "The first read of a key that differs from the schema reports the difference once",
        arguments: BackendKind.allCases)
    func getters(_ kind: BackendKind) throws {
        let fixture = try kind.fixture(schema: try Schema(Self.document))
        let defaults = fixture.adapter(Keys())
        #expect(defaults.theme == .light)
        #expect(fixture.drainIssues() == [])
        for _ in 0..<3 {
            #expect(defaults.volume == 0.5 && defaults[key: Keys().volume] == 0.5 && defaults.nickname == nil)
        }
        defaults.volume = 0.75
        #expect(defaults.volume == 0.75)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["player.volume", "nickname"] && issues.allSatisfy { $0.attempt == .check })
        #expect(
            issues.map(\.description) == [
                "settings: suite com.example.app: player.volume: the program allows 0...1, the server 0...2",
                "settings: suite com.example.app: nickname: the server's schema has no such key",
            ])
    }

    @Test(
        "An async read throws an error if the types of the program and of the schema have no common value",
        arguments: BackendKind.allCases)
    func throwing(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture(schema: try Schema(Self.document))
        let defaults = fixture.adapter(Keys())
        let error = await #expect(throws: DefaultsError.self) { try await defaults.value(\.count) }
        #expect(error?.description == "count: the program stores an integer, the server a string")
        await #expect(throws: DefaultsError.self) { try await defaults.update(\.count) { $0 += 1 } }
        #expect(
            try await defaults.value(\.volume) == 0.5,
            "the different limits are only reported, because both ranges contain the value")
        #expect(fixture.drainIssues().map(\.key) == ["count", "player.volume"])
    }

    @Test("checkSchema throws an error with all differences of the requested keys", arguments: BackendKind.allCases)
    func checking(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture(schema: try Schema(Self.document))
        let defaults = fixture.adapter(Keys())
        try await defaults.checkSchema { \.theme }
        let error = await #expect(throws: DefaultsError.self) {
            try await defaults.checkSchema {
                \.theme; \.volume; \.count; \.nickname
            }
        }
        guard case .disagreement(let differences)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // `count` has another type and another default, and the schema does not have `nickname`.
        #expect(differences.map(\.key) == ["player.volume", "count", "count", "nickname"])
        #expect(differences.map(\.aspect) == [.limits, .type, .defaultValue, .key])
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "Without a schema or a suite, checkSchema finds no difference",
        arguments: BackendKind.allCases)
    func withoutSchema(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        try await defaults.checkSchema {
            \.volume; \.count
        }
        #expect(defaults.volume == 0.5)
        defaults.count = 3
        try await defaults.checkSchema {
            \.volume; \.count
        }
        #expect(try await defaults.value(\.count) == 3)
        #expect(fixture.drainIssues() == [])
    }

    @Test("After synchronize, a new schema is compared by the next read of each key", arguments: BackendKind.allCases)
    func changing(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        #expect(defaults.volume == 0.5 && defaults.theme == .light)
        try await fixture.put(schema: Self.document)
        try await defaults.synchronize()
        #expect(defaults.volume == 0.5 && defaults.theme == .light)
        #expect(fixture.drainIssues().map(\.key) == ["player.volume"])

        let agreeing = try Schema(of: Keys.self) {
            \.volume; \.theme
        }
        try await fixture.put(schema: agreeing.document)
        try await defaults.synchronize()
        #expect(defaults.volume == 0.5 && fixture.drainIssues() == [])
        try await fixture.put(schema: Self.document)
        try await defaults.synchronize()
        #expect(defaults.volume == 0.5)
        #expect(
            fixture.drainIssues().map(\.key) == ["player.volume"],
            "the difference is reported again after a schema without the difference")
    }

    @Test(
        "A schema that another program stores is compared in later reads, without a call of synchronize",
        arguments: BackendKind.allCases)
    func schemaOfAnotherProgram(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        #expect(defaults.volume == 0.5 && defaults.count == 0)
        let log = EventLog()
        let listener = defaults.core.session.listen { changes in
            for change in changes { log.add(change.key.text) }
        }
        try await fixture.put(schema: Self.document)
        #expect(await log.waits(for: "count"), "the schema has another default")
        defaults.core.session.removeListener(listener)
        var checked: Set<String?> = []
        try eventually {
            #expect(defaults.volume == 0.5 && defaults.count == 0)
            checked.formUnion(fixture.drainIssues().filter { $0.attempt == .check }.map(\.key))
            return checked == ["player.volume", "count"]
        }
    }

    @Test("The schema is requested once for all keys, and never if the suite has no schema")
    func requestCount() throws {
        let fixture = try BackendKind.memory.fixture(schema: try Schema(Self.document))
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        for _ in 0..<10 {
            _ = (defaults.volume, defaults.count, defaults.theme, defaults[key: DefaultsKey<Int?>("other")])
            defaults.volume = .random(in: 0...1)
        }
        #expect(backend.counts.schemaReads == 1)
        let (schemaless, schemalessBackend) = try BackendKind.memory.fixture().interruptibleAdapter(Keys())
        _ = (schemaless.volume, schemaless.count)
        #expect(schemalessBackend.counts.schemaReads == 0)
    }

    @Test(
        "A schema with an unknown keyword is reported once, and reads still work",
        arguments: BackendKind.allCases)
    func unknownKeyword(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture(schema: try Schema(Self.document))
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        backend.answeredSchema = ["type": "object", "additionalProperties": false, "newKeyword": 1]
        for _ in 0..<3 { #expect(defaults.volume == 0.5 && defaults.nickname == nil) }
        let issues = fixture.drainIssues()
        #expect(issues.map(\.attempt) == [.check] && issues.map(\.key) == [nil])
        #expect(issues.first?.description.contains("newKeyword") == true)
        let error = await #expect(throws: DefaultsError.self) { try await defaults.checkSchema { \.volume } }
        guard case .unusableSchema? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A schema with writeOnly for a part of a value, which daemon 0.3 accepted, can be used")
    func older() async throws {
        let fixture = try BackendKind.memory.fixture(schema: try Schema(Self.document))
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        backend.answeredSchema = SuiteFixture.schema(of: [
            "theme": ["enum": ["light", "dark"], "default": "light"],
            "login": ["type": "object", "properties": ["pin": ["type": "string", "writeOnly": true]]],
        ])
        #expect(defaults.theme == .light)
        #expect(fixture.drainIssues() == [])
        try await defaults.checkSchema { \.theme }
    }

    @Test("While the daemon does not answer requests for the schema, reads work, and keys are compared later")
    func withoutSchemaAnswer() async throws {
        let fixture = try BackendKind.memory.fixture(schema: try Schema(Self.document))
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        backend.isSchemaUnreachable = true
        #expect(defaults.volume == 0.5)
        #expect(fixture.drainIssues() == [])
        // The reason is the error of `backend`.
        await #expect(throws: DefaultsError.unreachable("nobody answers")) {
            try await defaults.checkSchema { \.volume }
        }
        backend.isSchemaUnreachable = false
        defaults.volume = 0.25
        var issues: [DefaultsIssue] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while issues.isEmpty, ContinuousClock.now < deadline {
            #expect(defaults.volume == 0.25)
            issues += fixture.drainIssues()
            await Task.yield()
        }
        #expect(issues.map(\.key) == ["player.volume"])
    }
}
