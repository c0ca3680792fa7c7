import SettingsClient
import SettingsClientCompatibility
import Synchronization
import TestSupport
import Testing

/// The operators `?=` and `++`, and `setIfAbsent`. The expected values start from the defaults in `ClientKeys`.
@Suite(.ownThread)
struct OperatorTests {
    @Test("?= stores a value only if no value is stored", arguments: BackendKind.allCases)
    func ifAbsent(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults[\.username] ?= "first"
        defaults[\.username] ?= "second"
        defaults.username ?= "third"
        #expect(defaults.username == "first")
        defaults.launchCount ?= 5
        defaults[key: DefaultsKey<Int>("launchCount", defaultValue: 0)] ?= 6
        #expect(defaults.launchCount == 5)
        defaults.nickname ?= nil
        #expect(!defaults.isSet(\.nickname))
        defaults.theme ?= .light
        #expect(defaults.isSet(\.theme), "?= stores a value that is equal to the default, because no value is stored")
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "The right side of ?= is evaluated only if no value is stored, and may throw", arguments: BackendKind.allCases)
    func evaluation(_ kind: BackendKind) throws {
        struct Failure: Error {}
        let defaults = try kind.fixture().adapter()
        func fail() throws -> Int { throw Failure() }
        #expect(throws: Failure.self) { try defaults[\.launchCount] ?= try fail() }
        #expect(!defaults.isSet(\.launchCount))
        defaults.launchCount = 1
        try defaults[\.launchCount] ?= try fail()
        try defaults["launchCount"] ?= try fail()
        #expect(defaults.launchCount == 1)
    }

    @Test("The backend, not the adapter, decides whether ?= stores a value", arguments: BackendKind.allCases)
    func decidedByDaemon(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        #expect(one.username == nil)
        func name() -> String {
            two.username = "two"
            return "one"
        }
        one[\.username] ?= name()
        #expect(one.username == "two" && two.username == "two")
        one["color"]
            ?= { () -> String in
                two["color"] = "red"
                return "blue"
            }()
        #expect(one["color"].string == "red")
        #expect(fixture.drainIssues() == [])
    }

    @Test("++ adds one, starting from the default", arguments: BackendKind.allCases)
    func increment(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        defaults[\.loginTries]++
        defaults.loginTries++
        defaults[key: DefaultsKey<Int>("loginTries", defaultValue: 1)]++
        #expect(defaults.loginTries == 4)
        defaults[\.ratio]++
        // 3.14 + 1, with or without the rounding error of a Double.
        #expect(defaults.ratio == 4.140000000000001 || defaults.ratio == 4.14)
        defaults[key: DefaultsKey<Int>("fresh", defaultValue: 41)]++
        #expect(defaults["fresh"].int == 42)
    }

    @Test(
        "setIfAbsent awaits its closure, and stores a value only if no value is stored", arguments: BackendKind.allCases
    )
    func asynchronous(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        func name() async -> String { "async" }
        let first = try await defaults.setIfAbsent(\.username) { await name() }
        let second = try await defaults.setIfAbsent(\.username) { "again" }
        #expect(first && !second)
        #expect(defaults.username == "async")
    }
}
