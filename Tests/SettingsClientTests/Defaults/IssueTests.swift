import SettingsClientTesting
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

@Suite(.ownThread)
struct IssueTests {
    @Test("A value beyond the key's limits is not stored, and reported", arguments: Place.allCases)
    func limits(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        defaults.volume = 0.75
        defaults.volume = 1.5
        defaults.volume += 1
        defaults[\.volume] = .nan
        defaults[\.volume] ?= 7
        #expect(defaults.volume == 0.75)
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == ["player.volume", "player.volume", "player.volume"])
        #expect(
            issues.first?.description
                == "settings: cannot write player.volume of suite com.example.app: "
                + "player.volume: must be at most 1.0 (got 1.5)")
    }

    @Test("What the server refuses is taken back", arguments: Place.allCases)
    func refusals(_ place: Place) throws {
        let schema = try Schema(
            keys: [
                DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                DefaultsKey<Int>("visits", defaultValue: 0, in: 0...3),
            ])
        let world = try place.world(schema: schema)
        let defaults = world.adapter()
        defaults.launchCount = 3
        defaults.launchCount += 1
        defaults.launchCount = -1
        defaults["launchCount"] = "x"
        defaults["launchCount"] += 1
        #expect(defaults.launchCount == 3)
        defaults.username = "me"
        #expect(defaults.username == nil)
        #expect(
            world.takeIssues().filter { $0.attempt == .write }.map(\.error.code)
                == [.invalidValue, .invalidValue, .invalidValue, .invalidValue, .unknownKey])
    }

    @Test(
        "A stored value of another kind is read as the default, reported once, and not overwritten in place",
        arguments: Place.allCases)
    func unreadable(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        defaults["launchCount"] = "many"
        #expect(defaults.launchCount == 0 && defaults.launchCount == 0)
        #expect(world.takeIssues().map(\.attempt) == [.read])
        defaults.launchCount += 1
        #expect(defaults["launchCount"].string == "many")
        #expect(world.takeIssues().map(\.attempt) == [.write])
        defaults.launchCount = 1
        #expect(defaults.launchCount == 1)
        #expect(world.takeIssues() == [])
    }

    @Test("A key that cannot be one is its default, and cannot be stored", arguments: Place.allCases)
    func unusable(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        #expect(defaults.unusable == 5)
        defaults.unusable = 1
        defaults.unusable += 1
        #expect(defaults.unusable == 5 && !defaults.isSet(\.unusable) && defaults["unusable"].value == nil)
        #expect(world.takeIssues().map(\.attempt) == [.read, .write, .write])
    }

    @Test("A secret is not repeated", arguments: Place.allCases)
    func secrets(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        defaults.token = "hunter2"
        let issues = world.takeIssues()
        #expect(issues.count == 1)
        #expect(issues.allSatisfy { !"\($0)".contains("hunter2") })
    }

    @Test("Each stream of issues gets an issue, until the adapter goes")
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

    @Test("Without a server the getters give defaults and report it, the other forms throw it")
    func unreachable() async throws {
        let backend = NoBackend(suite: try SuiteName("nowhere"), reason: "nobody answers")
        let world = World { backend }
        let defaults = world.adapter()
        for _ in 0..<1000 { #expect(defaults.launchCount == 0) }
        #expect((1..<100).contains(world.takeIssues().count), "not one for each read")
        defaults.launchCount = 1
        defaults.launchCount += 1
        defaults[\.launchCount] ?= 1
        defaults.remove(\.launchCount)
        defaults.removeAll()
        #expect(defaults.launchCount == 0 && defaults["launchCount"].value == nil && !defaults.isSet(\.launchCount))
        let issues = world.takeIssues()
        #expect(!issues.isEmpty && issues.allSatisfy { $0.error == .unreachable("nobody answers") })
        #expect(issues.filter { $0.attempt == .write }.count == 5)
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.value(\.launchCount) }
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.set(\.launchCount, 1) }
        await #expect(throws: DefaultsError.unreachable("nobody answers")) { try await defaults.synchronize() }
    }
}
