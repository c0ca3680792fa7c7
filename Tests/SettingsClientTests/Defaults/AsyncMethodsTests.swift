import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// The async methods of an adapter. The expected values start from the defaults in `ClientKeys`.
@Suite(.ownThread)
struct AsyncMethodsTests {
    @Test("Async methods read, store and change a setting", arguments: BackendKind.allCasesWithTCP)
    func basics(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        try await one.set(\.launchCount, 3)
        #expect(try await one.value(\.launchCount) == 3)
        #expect(try await one.value(\.theme) == .light)
        try await one.update(\.launchCount) { $0 += 1 }
        try await one.update(\.libraries) { $0.append("a") }
        #expect(one.launchCount == 4 && one.libraries == ["a"])
        try await two.synchronize()
        #expect(two.launchCount == 4)
        try await one.set(\.username, nil)
        #expect(!one.isSet(\.username))
    }

    @Test("Async methods throw the errors that a setter reports", arguments: BackendKind.allCases)
    func errors(_ kind: BackendKind) async throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3)])
        let fixture = try kind.fixture(schema: schema)
        let defaults = fixture.adapter()
        let refused = await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, 4) }
        #expect(refused?.code == .invalidValue)
        let unknown = await #expect(throws: DefaultsError.self) { try await defaults.set(\.username, "me") }
        #expect(unknown?.code == .unknownKey)
        let local = await #expect(throws: DefaultsError.self) { try await defaults.set(\.volume, 2) }
        #expect(local?.description == "player.volume: must be at most 1.0 (got 2.0)")
        await #expect(throws: DefaultsError.self) { try await defaults.update(\.launchCount) { $0 = -1 } }
        // The default of `unusable` is outside the limits of the key.
        await #expect(throws: DefaultsError.self) { try await defaults.value(\.unusable) }
        #expect(defaults.launchCount == 0)
        // The client also reports that the keys of the program differ from the schema (`.check`).
        #expect(fixture.drainIssues().filter { $0.attempt != .check }.map(\.key) == ["unusable"])
    }

    @Test(
        "An async read throws an error for a stored value of another type instead of returning the default",
        arguments: BackendKind.allCases)
    func unreadable(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        defaults["launchCount"] = "many"
        let error = await #expect(throws: DefaultsError.self) { try await defaults.value(\.launchCount) }
        #expect(error?.description == "launchCount: must be an integer (got \"many\")")
        await #expect(throws: DefaultsError.self) { try await defaults.update(\.launchCount) { $0 += 1 } }
        #expect(defaults["launchCount"].string == "many")
    }

    struct Failure: Error {}

    @Test("A transaction makes all changes or none, and reads its own writes", arguments: BackendKind.allCases)
    func transactions(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let sum = try await defaults.transaction { t in
            t[\.launchCount] += 1
            t.launchCount += 1
            t.libraries.append("a")
            t[\.libraries][0] += "!"
            t[\.username] = "me"
            t[\.player.volume] = 0.25
            return t[\.launchCount] + t.loginTries
        }
        #expect(sum == 3)
        #expect(defaults.launchCount == 2 && defaults.libraries == ["a!"] && defaults.username == "me")
        await #expect(throws: Failure.self) {
            try await defaults.transaction { t in
                t[\.launchCount] = 9
                throw Failure()
            }
        }
        await #expect(throws: DefaultsError.self) {
            try await defaults.transaction { t in
                t[\.launchCount] = 9
                t[\.volume] = 9  // The maximum of the key is 1.
            }
        }
        #expect(defaults.launchCount == 2)
        try await defaults.transaction { t in
            t[\.username] = nil
            t.libraries = t.libraries
            t[\.loginTries] += 0  // A change in place that changes nothing stores nothing.
        }
        #expect(!defaults.isSet(\.username) && !defaults.isSet(\.loginTries))
        #expect(fixture.drainIssues() == [])
    }

    @Test("A transaction reads and writes keys of nested stores at any depth", arguments: BackendKind.allCases)
    func nestedTransactions(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.player.volume = 0.25
        let bass = try await defaults.transaction { t in
            t.player.volume += 0.5
            t.player.queue.append("a")
            t.player.equalizer.bass = 3
            t.player.equalizer[\.bass] += t.player.queue.count
            t.launchCount = t.player.equalizer.bass
            t.player[\.equalizer.bands] = [t[\.player.equalizer.bass]]
            return t.player.equalizer.bass
        }
        #expect(bass == 4 && defaults.launchCount == 4 && defaults.player.equalizer.bands == [4])
        #expect(defaults.player.volume == 0.75 && defaults.player.queue == ["a"])
        await #expect(throws: Failure.self) {
            try await defaults.transaction { t in
                t.player.equalizer.bass = 9
                throw Failure()
            }
        }
        await #expect(throws: DefaultsError.self) {
            try await defaults.transaction { t in
                t.launchCount = 9
                t.limited.volume = 9  // The maximum of the key is 1.
            }
        }
        #expect(defaults.player.equalizer.bass == 4 && defaults.launchCount == 4)
        var runs = 0
        let other = fixture.adapter()
        try await defaults.transaction { t in
            let volume = t.player.volume
            runs += 1
            if runs == 1 { other.player.volume = 1 }
            t.ratio = volume
        }
        #expect(runs == 2 && defaults.ratio == 1, "the transaction has read the volume, which has changed")
        #expect(fixture.drainIssues() == [])
    }

    @Test("A transaction runs again if a value that it read has changed", arguments: BackendKind.allCases)
    func repeated(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        var runs = 0
        try await one.transaction { t in
            let count = t[\.launchCount]
            runs += 1
            if runs <= 2 { two.launchCount += 10 }
            t[\.loginTries] = count
        }
        #expect(runs == 3)
        #expect(one.loginTries == 20)
        try await one.update(\.launchCount) { count in
            runs += 1
            if runs == 4 { two.launchCount += 1 }
            count += 1
        }
        #expect(runs == 5 && one.launchCount == 22)
    }

    @Test("Many tasks update one key, and no update is lost", arguments: BackendKind.allCases)
    func concurrent(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let programs = [fixture.adapter(), fixture.adapter()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<100 {
                group.addTask { try await programs[task % 2].update(\.launchCount) { $0 += 1 } }
            }
            try await group.waitForAll()
        }
        try await programs[0].synchronize()
        #expect(programs[0].launchCount == 100)
    }
}
