import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Conflicts of kept writes. A kept write is a write that waits in the outbox for an answer of the daemon. `link` is
/// the connection of a program to the server, and `fixture.stored(KEY)` is the value on the server. The programs use
/// the keys `ClientKeys`, where the default of `loginTries` is 1.
@Suite(.ownThread)
struct OutboxConflictTests {
    private let fixture: OutboxFixture

    init() throws {
        fixture = try OutboxFixture()
    }

    @Test("A refused kept write is rolled back and reported, with the writes that depend on it")
    func refused() async throws {
        let fixture = try OutboxFixture(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                    DefaultsKey<Int>("loginTries", defaultValue: 1),
                ]))
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 3
        program.link.disconnect()
        defaults.launchCount = 4
        defaults.launchCount += 1
        defaults.loginTries = 2
        defaults.username = "me"
        #expect(defaults.launchCount == 5 && defaults.username == "me")
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(defaults.launchCount == 3 && defaults.loginTries == 2 && defaults.username == nil)
        #expect(fixture.stored("loginTries") == 2)
        let issues = fixture.drainIssuesOtherThanSchemaChecks()
        // 4 is above the maximum, `+= 1` depends on the refused 4, and the schema does not have `username`.
        #expect(issues.map(\.key) == ["launchCount", "launchCount", "username"])
        #expect(issues.map(\.error.code) == [.invalidValue, .preconditionFailed, .unknownKey])
        #expect(issues.allSatisfy { $0.attempt == .write })
    }

    @Test(
        "A merge rule merges a kept change with a change of another program; without a rule, the other change stays")
    func conflicts() async throws {
        let (one, two) = (fixture.program(), fixture.program())
        let (mine, theirs) = (one.defaults, two.defaults)
        mine.visits = 5
        mine.tags = ["b"]
        mine.recent = ["r"]
        mine.launchCount = 5
        mine["text"] = "a"
        try await theirs.synchronize()
        one.link.disconnect()
        // In `ClientKeys`, `visits`, `meters`, `recent` and `tags` have merge rules, and `launchCount` has none.
        // Untyped settings, such as `mine["text"]`, merge additions. The client tries to send only the first of these
        // writes, because it sends one write at a time.
        mine.visits += 1
        mine.visits += 1
        mine.meters += 2.5
        mine.recent.append("m")
        mine.tags.insert("a")
        mine.launchCount += 1
        mine["text"] += "m"
        mine["new"] += 1
        theirs.visits = 100
        theirs.meters = 1
        theirs.recent.append("t")
        theirs.tags.insert("c")
        theirs.launchCount = 50
        theirs["text"] += "t"
        theirs["new"] = 10
        one.link.reconnect()
        try await mine.synchronize()
        // The writes of the other program arrived at the server first.
        #expect(mine.visits == 102 && mine.meters == 3.5 && mine.recent == ["r", "t", "m"])
        #expect(mine.tags == ["a", "b", "c"] && fixture.stored("tags") == ["a", "b", "c"])
        #expect(mine["text"].string == "atm" && mine["new"].int == 11)
        #expect(mine.launchCount == 50)
        #expect(fixture.drainIssues().map(\.key) == ["launchCount"])
    }

    @Test("A change that is sent again after a conflict is done once, even if the answer is lost and the program ends")
    func conflictAndCrash() async throws {
        var one: OutboxFixture.Program? = fixture.program()
        let two = fixture.program()
        one?.defaults.visits = 5
        try await one?.defaults.ready()
        one?.link.disconnect()
        one?.defaults.visits += 1
        two.defaults.visits = 100
        let requests = Mutex(0)
        one?.link.setFate {
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            // The first request finds another value and is refused. The second request adds to the new value.
            return number == 1 ? .answered : number == 2 ? .answerLost : .notSent
        }
        one?.link.reconnect()
        _ = try? await one?.defaults.synchronize()
        #expect(fixture.stored("visits") == 101 && fixture.end(&one))
        // The next program sends the write again, with the same request key.
        let next = fixture.program()
        try await next.defaults.synchronize()
        #expect(fixture.stored("visits") == 101 && next.defaults.visits == 101 && fixture.drainIssues() == [])
    }

    @Test
    func `A change in place is done if another program has changed the value and changed it back`() async throws {
        let (one, two) = (fixture.program(), fixture.program())
        one.defaults.launchCount = 5
        one.link.disconnect()
        one.defaults.launchCount += 1
        two.defaults.launchCount = 6
        two.defaults.launchCount = 5
        one.link.reconnect()
        try await one.defaults.synchronize()
        #expect(fixture.stored("launchCount") == 6 && fixture.drainIssues() == [])
    }

    @Test("A kept addition starts from the default if another program has removed the value")
    func startingFromDefault() async throws {
        let (one, two) = (fixture.program(), fixture.program())
        one.defaults.visits = 5
        one.defaults["n"] = 5
        one.link.disconnect()
        one.defaults.visits += 1
        one.defaults.visits += 1
        one.defaults["n"] += 3
        two.defaults.removeAll()
        one.link.reconnect()
        try await one.defaults.synchronize()
        #expect(fixture.stored("visits") == 2 && fixture.stored("n") == 3 && fixture.drainIssues() == [])
    }

    @Test("A kept ?=, which sets a value only if none is stored, does not replace a value that was stored meanwhile")
    func ifAbsent() async throws {
        let (one, two) = (fixture.program(), fixture.program())
        one.defaults.launchCount = 1
        one.link.disconnect()
        one.defaults[\.username] ?= "mine"
        one.defaults[\.nickname] ?= "mine"
        one.defaults["color"] ?= "mine"
        #expect(one.defaults.username == "mine")
        two.defaults.username = "theirs"
        two.defaults["color"] = "theirs"
        one.link.reconnect()
        try await one.defaults.synchronize()
        #expect(one.defaults.username == "theirs" && one.defaults.nickname == "mine")
        #expect(fixture.stored("color") == "theirs" && fixture.stored("nickname") == "mine")
        #expect(fixture.drainIssues() == [])
    }

    @Test("A kept transaction has no effect if a value that it read has changed")
    func transactions() async throws {
        let (one, two) = (fixture.program(), fixture.program())
        one.defaults.launchCount = 1
        try await two.defaults.synchronize()
        one.link.disconnect()
        // The method throws because the server is unreachable, and the transaction waits in the outbox.
        await #expect(throws: DefaultsError.self) {
            try await one.defaults.transaction { transaction in
                transaction[\.launchCount] += 1
                transaction[\.loginTries] = 9
            }
        }
        #expect(one.defaults.loginTries == 9)
        two.defaults.launchCount = 7
        one.link.reconnect()
        try await one.defaults.synchronize()
        #expect(one.defaults.launchCount == 7 && one.defaults.loginTries == 1)
        #expect(fixture.stored("launchCount") == 7 && fixture.stored("loginTries") == nil)
        let issues = fixture.drainIssues()
        // The transaction changes two keys, so its issue names no key.
        #expect(issues.map(\.key) == [nil] && issues.map(\.error.isConflict) == [true])
    }

    @Test("A kept addition starts from the registered default, not from the default of the schema")
    func registered() async throws {
        let fixture = try OutboxFixture(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0), DefaultsKey<Int>("visits", defaultValue: 0),
                ]))
        let program = fixture.program()
        let defaults = program.defaults
        defaults.register(defaults: ["visits": 10])
        #expect(defaults.visits == 10)
        program.link.disconnect()
        defaults.launchCount = 1
        defaults.visits += 1
        #expect(defaults.visits == 11)
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(
            fixture.stored("visits") == 11 && defaults.visits == 11 && fixture.drainIssuesOtherThanSchemaChecks() == [])
    }

    @Test("A change that was never sent has a condition on the old value, not on its revision")
    func conditionOnValue() throws {
        var program: OutboxFixture.Program? = fixture.program()
        program?.defaults.launchCount = 5
        program?.defaults.visits = 5
        program?.link.disconnect()
        program?.defaults.launchCount += 1
        #expect(fixture.end(&program))
        let key = try KeyName("launchCount")
        let condition = Transaction.Condition.setting(try SuiteName("com.example.app"), key, .value(5))
        guard case .transaction(let transaction)? = fixture.waitingWrites.first?.action else {
            Testing.Issue.record("no write waits in the outbox")
            return
        }
        #expect(transaction.conditions == [condition])
    }

    @Test("After a refused merge, the value of the other program is visible at once")
    func refusedMerge() {
        let (one, two) = (fixture.program(), fixture.program())
        // Until `reconnect()`, `one` learns of changes only from the answers to its own requests.
        one.link.delayNotifications()
        changeInPlace(&one.defaults.meters) { meters in
            // The sum of both changes is 101, and the maximum of `meters` is 100.
            two.defaults.meters = 99
            meters += 2
        }
        #expect(one.defaults.meters == 99)
        #expect(fixture.drainIssues().map(\.key) == ["meters"])
        one.link.reconnect()
    }
}
