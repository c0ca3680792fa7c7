import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

@Suite(.ownThread)
struct LimitTests {
    struct Keys: DefaultsKeyStore {
        var closed: DefaultsKey<Double> { .init("closed", defaultValue: 0.5, in: 0...1) }
        var halfOpen: DefaultsKey<Int> { .init("halfOpen", defaultValue: 0, in: 0..<10) }
        var from: DefaultsKey<Int?> { .init("from", in: 1...) }
        var through: DefaultsKey<Float?> { .init("through", in: ...2) }
        var upTo: DefaultsKey<UInt8?> { .init("upTo", in: ..<5) }
        var short: DefaultsKey<String> { .init("short", defaultValue: "", maxLength: 3) }
        var word: DefaultsKey<String?> { .init("word", matching: "^[a-z]+$") }
        var code: DefaultsKey<String?> { .init("code", maxLength: 2, matching: "^[A-Z]*$") }
        var size: DefaultsKey<Int> { .init("size", defaultValue: 1, allowed: [1, 2, 4]) }
        var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light, allowed: [.light]) }
    }

    /// A key with a valid value (`good`), an invalid value (`bad`), and the reason for the refusal of the invalid
    /// value.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let refusal: String
        let check: @Sendable (DefaultsAdapter<Keys>, SuiteFixture) async throws -> Void

        init<Value: DefaultsSerializable & Equatable>(
            _ path: any KeyPath<Keys, DefaultsKey<Value>> & Sendable, _ good: Value, _ bad: Value, _ refusal: String
        ) {
            let name = Keys()[keyPath: path].name
            testDescription = name
            self.refusal = refusal
            check = { defaults, fixture in
                defaults[path] = good
                #expect(defaults[path] == good && fixture.drainIssues() == [])
                defaults[path] = bad
                #expect(defaults[path] == good)
                let issuesOfClient = fixture.drainIssues()
                #expect(
                    issuesOfClient.map(\.error.code) == [nil],
                    "the client refuses the value without a request to the server")
                #expect(issuesOfClient.first?.error.description == "\(name): \(refusal)")
                await #expect(throws: DefaultsError.self) { try await defaults.set(path, bad) }

                // The server also enforces the limits for a program that does not declare these keys.
                let json = try #require(try Value.defaultsBridge.encodeStored(bad))
                defaults[name] = json
                #expect(defaults[path] == good)
                let issuesOfServer = fixture.drainIssues()
                #expect(issuesOfServer.map(\.error.code) == [.invalidValue])
                #expect(issuesOfServer.first?.error.description.hasSuffix(refusal) ?? false)
            }
        }
    }

    static let rows: [Row] = [
        Row(\.closed, 1, 1.5, "must be at most 1.0 (got 1.5)"),
        Row(\.halfOpen, 9, 10, "must be less than 10 (got 10)"),
        Row(\.from, 1, 0, "must be at least 1 (got 0)"),
        Row(\.through, 2, 2.5, "must be at most 2.0 (got 2.5)"),
        Row(\.upTo, 4, 5, "must be less than 5 (got 5)"),
        Row(\.short, "abc", "abcd", "must have at most 3 characters (got 4)"),
        Row(\.word, "abc", "a c", "must match the pattern ^[a-z]+$ (got \"a c\")"),
        Row(\.code, "AB", "ab", "must match the pattern ^[A-Z]*$ (got \"ab\")"),
        Row(\.size, 4, 3, "must be one of 1, 2, 4 (got 3)"),
        Row(\.theme, .light, .dark, "must be one of \"light\" (got \"dark\")"),
    ]

    @Test(
        "The client and the server refuse a value beyond the limits of a key with the same message",
        arguments: BackendKind.allCases, Self.rows)
    func limits(_ kind: BackendKind, _ row: Row) async throws {
        let schema = try Schema(of: Keys.self) {
            \.closed; \.halfOpen; \.from; \.through; \.upTo; \.short; \.word; \.code; \.size; \.theme
        }
        let fixture = try kind.fixture(schema: schema)
        try await row.check(fixture.adapter(Keys()), fixture)
    }
}
