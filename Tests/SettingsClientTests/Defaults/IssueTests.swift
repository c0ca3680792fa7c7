import SettingsClientTesting
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// The issues that adapters report. In `ClientKeys`, the limits of `volume` are 0 and 1, and a `token` has at most four
/// characters.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct IssueTests {
    @Test("A value beyond the key's limits is reported and not stored", arguments: BackendKind.allCases)
    func limits(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.volume = 0.75
        defaults.volume = 1.5
        defaults.volume += 1
        defaults[\.volume] = .nan
        // `?=` writes nothing, because a value is stored.
        defaults[\.volume] ?= 7
        #expect(defaults.volume == 0.75)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["player.volume", "player.volume", "player.volume"])
        #expect(
            issues.first?.description
                == "settings: cannot write player.volume of suite com.example.app: "
                + "player.volume: must be at most 1.0 (got 1.5)")
    }

    @Test("A write that the server refuses is rolled back", arguments: BackendKind.allCases)
    func refusals(_ kind: BackendKind) throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3)])
        let fixture = try kind.fixture(schema: schema)
        let defaults = fixture.adapter()
        defaults.launchCount = 3
        defaults.launchCount += 1
        defaults.launchCount = -1
        defaults["launchCount"] = "x"
        defaults["launchCount"] += 1
        #expect(defaults.launchCount == 3)
        defaults.username = "me"
        #expect(defaults.username == nil)
        // Other issues report that the keys of the program differ from the schema.
        #expect(
            fixture.drainIssues().filter { $0.attempt == .write }.map(\.error.code)
                == [.invalidValue, .invalidValue, .invalidValue, .invalidValue, .unknownKey])
    }

    @Test(
        "A stored value of another type is reported once and read as the default, and a change in place does not replace it",
        arguments: BackendKind.allCases)
    func unreadable(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults["launchCount"] = "many"
        #expect(defaults.launchCount == 0 && defaults.launchCount == 0)
        #expect(fixture.drainIssues().map(\.attempt) == [.read])
        defaults.launchCount += 1
        #expect(defaults["launchCount"].string == "many")
        #expect(fixture.drainIssues().map(\.attempt) == [.write])
        defaults.launchCount = 1
        #expect(defaults.launchCount == 1)
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A key whose default is outside its limits reads as the default and refuses writes",
        arguments: BackendKind.allCases)
    func unusable(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        #expect(defaults.unusable == 5)
        defaults.unusable = 1
        defaults.unusable += 1
        #expect(defaults.unusable == 5 && !defaults.isSet(\.unusable) && defaults["unusable"].value == nil)
        #expect(fixture.drainIssues().map(\.attempt) == [.read, .write, .write])
    }

    @Test("An issue about a secret does not contain its value", arguments: BackendKind.allCases)
    func secrets(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.token = "hunter2"
        let issues = fixture.drainIssues()
        #expect(issues.count == 1)
        #expect(issues.allSatisfy { !"\($0)".contains("hunter2") })
    }

    @Test("Each stream of issues gets all issues until the adapter is released")
    func sequence() async throws {
        var defaults: DefaultsAdapter<ClientKeys>? = .inMemory(keyStore: ClientKeys(), log: DefaultsLog { _, _, _ in })
        let first = try #require(defaults?.issues)
        let second = try #require(defaults?.issues)
        defaults?.volume = 2
        defaults?.launchCount = 2
        defaults?.volume = 3
        defaults = nil
        for issues in [first, second] {
            var keys: [String?] = []
            for await issue in issues { keys.append(issue.key) }
            #expect(keys == ["player.volume", "player.volume"])
        }
    }

    @Test("Without a server, getters and setters report the error, and async methods throw the error")
    func unreachable() async throws {
        let backend = NoBackend(suite: try SuiteName("nowhere"), reason: "nobody answers")
        let fixture = SuiteFixture { backend }
        let defaults = fixture.adapter()
        for _ in 0..<1000 { #expect(defaults.launchCount == 0) }
        #expect((1..<100).contains(fixture.drainIssues().count), "only some of the 1000 reads report an issue")
        defaults.launchCount = 1
        defaults.launchCount += 1
        defaults[\.launchCount] ?= 1
        defaults.remove(\.launchCount)
        defaults.removeAll()
        #expect(defaults.launchCount == 0 && defaults["launchCount"].value == nil && !defaults.isSet(\.launchCount))
        let issues = fixture.drainIssues()
        #expect(!issues.isEmpty && issues.allSatisfy { $0.error == .unreachable("nobody answers") })
        // The two setters, `?=` and the two removals.
        #expect(issues.filter { $0.attempt == .write }.count == 5)
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.value(\.launchCount) }
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.set(\.launchCount, 1) }
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.synchronize() }
    }
}
