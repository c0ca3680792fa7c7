import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Keys whose stored values are of a former type, and that declare a conversion with `migrating:`.
@Suite(.ownThread)
struct MigrationTests {
    private struct Failure: Error {}

    private struct Keys: DefaultsKeyStore {
        var timeout: DefaultsKey<Int> {
            .init(
                "timeout", defaultValue: 30, in: 0...100, renamedFrom: ["wait"],
                migrating: .from(String.self) { text in
                    guard let number = Int(text) else { throw Failure() }
                    return number
                })
        }
        var size: DefaultsKey<Int> {
            .init("size", defaultValue: 1, migrating: .from(String.self) { Int($0) ?? 1 })
        }
    }

    @Test(
        "The first read converts a value of the former type and stores the result once", arguments: BackendKind.allCases
    )
    func sameName(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        fixture.adapter()["timeout"] = JSONValue.string("7")
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        for _ in 0..<10 { #expect(defaults.timeout == 7) }
        #expect(try await fixture.adapter(Keys()).value(\.timeout) == 7)
        #expect(backend.counts.writes == 1)
        #expect(fixture.adapter()["timeout"].value == 7)
        #expect(fixture.drainIssues() == [])
    }

    @Test("A value of the former type under a former name is moved and converted", arguments: BackendKind.allCases)
    func formerName(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        fixture.adapter()["wait"] = JSONValue.string("8")
        #expect(fixture.adapter(Keys()).timeout == 8)
        #expect(try await fixture.waits(forStoredKeys: ["timeout"]))
        #expect(fixture.drainIssues() == [])
    }

    @Test("A stored value that the new schema refuses is converted", arguments: BackendKind.allCases)
    func newSchema(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        fixture.adapter()["timeout"] = JSONValue.string("9")
        try await fixture.adapter(Keys()).publishSchema(onConflict: .keep) {
            \.timeout
            \.size
        }
        #expect(fixture.adapter(Keys()).timeout == 9)
        #expect(fixture.adapter()["timeout"].value == 9)
        #expect(fixture.drainIssues() == [])
    }

    // The text `many` is not a number, and 101 is above the maximum of the key.
    @Test("A value that cannot be converted stays, and the reason is reported", arguments: ["many", "101"])
    func failure(_ text: String) throws {
        let fixture = try BackendKind.memory.fixture()
        fixture.adapter()["timeout"] = JSONValue.string(text)
        #expect(fixture.adapter(Keys()).timeout == 30)
        let issues = fixture.drainIssues()
        #expect(issues.contains { if case .notTakenOver = $0.error { $0.key == "timeout" } else { false } })
        #expect(fixture.adapter()["timeout"].value == .string(text))
    }

    @Test("A value of the new type is not converted")
    func newType() throws {
        let fixture = try BackendKind.memory.fixture()
        fixture.adapter()["size"] = JSONValue.integer(5)
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        #expect(defaults.size == 5 && backend.counts.writes == 0)
    }
}
