import Foundation
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

/// The conditions of a `TestDaemon`, and their effects on a program. The tests use only the public names of the
/// library. `clock.waitForPause()` waits until the client waits for the clock, so that `advance(by:)` ends the wait.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct TestDaemonTests {
    struct Keys: DefaultsKeyStore {
        var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5, in: 0...1) }
        var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
        var visits: DefaultsKey<Int> { .init("visits", defaultValue: 0, merge: .sum) }
    }

    private let clock = TestClock(date: Date(timeIntervalSince1970: 1_000_000))
    private let daemon: TestDaemon
    private let settings: DefaultsAdapter<Keys>

    init() async throws {
        daemon = TestDaemon(values: ["volume": 0.75], clock: clock)
        settings = DefaultsAdapter.inMemory(keyStore: Keys(), daemon: daemon, log: DefaultsLog(issues: { _ in }))
    }

    @Test func `the values of the initializer are stored values`() async throws {
        #expect(settings.volume == 0.75 && settings.isSet(\.volume) && !settings.isSet(\.count))
        let other = DefaultsAdapter.inMemory(keyStore: Keys(), values: ["count": 3])
        #expect(other.count == 3 && other.volume == 0.5)
    }

    @Test func `a write of a program arrives at the daemon`() async throws {
        try await settings.set(\.count, 2)
        #expect(daemon.value(forKey: "count") == 2 && daemon.value(forKey: "visits") == nil)
    }

    @Test func `a write of another program arrives at the program`() async throws {
        let updates = settings.updates(of: \.count)
        try await settings.ready()
        daemon.store(5, forKey: "count")
        for await update in updates {
            #expect(update.newValue == 5)
            break
        }
        daemon.store(nil, forKey: "count")
        try await settings.synchronize()
        #expect(settings.count == 0)
    }

    @Test func `while the daemon is away, a write waits until the clock reaches the next attempt`() async throws {
        try await settings.ready()
        daemon.setCondition(.away)
        settings.count = 1
        #expect(settings.count == 1 && daemon.value(forKey: "count") == nil)
        #expect(await clock.waitForPause())
        daemon.setCondition(.available)
        // The pause before the next attempt is shorter than ten seconds.
        clock.advance(by: .seconds(10))
        try eventually { daemon.value(forKey: "count") == 1 }
    }

    @Test func `while the daemon is away, a program does not get the writes of other programs`() async throws {
        try await settings.ready()
        daemon.setCondition(.away)
        daemon.store(7, forKey: "count")
        #expect(settings.count == 0)
        daemon.setCondition(.available)
        try eventually { settings.count == 7 }
    }

    @Test func `a program that starts without a daemon reads defaults`() async throws {
        daemon.setCondition(.away)
        #expect(settings.volume == 0.5)
        await #expect(throws: DefaultsError.self) { try await settings.value(\.volume) }
    }

    @Test func `a slow daemon answers when the clock has advanced`() async throws {
        try await settings.ready()
        daemon.setCondition(.slow(.seconds(3)))
        settings.count = 1
        #expect(await clock.waitForPause())
        clock.advance(by: .seconds(2))
        #expect(settings.count == 1 && daemon.value(forKey: "count") == nil)
        clock.advance(by: .seconds(1))
        try eventually { daemon.value(forKey: "count") == 1 }
    }

    @Test func `a change with a deadline is reverted when the clock has advanced`() async throws {
        let pending = try #require(try await settings.set(\.volume, 1, .confirm(within: .seconds(120))))
        #expect(pending.deadline == clock.date + 120 && daemon.value(forKey: "volume") == 1.0)
        clock.advance(by: .seconds(119))
        #expect(daemon.value(forKey: "volume") == 1.0)
        clock.advance(by: .seconds(1))
        #expect(daemon.value(forKey: "volume") == 0.75)
        try await settings.synchronize()
        #expect(settings.volume == 0.75)
        let error = await #expect(throws: DefaultsError.self) { try await pending.confirm() }
        #expect(error?.code == .pendingEnded)
    }

    @Test func `one advance of the clock can make and revert a scheduled change`() async throws {
        try await settings.ready()
        let updates = settings.updates(of: \.count)
        let start = clock.date + 3600
        try await settings.set(\.count, 1, .effective(start, until: start + 60))
        clock.advance(by: .seconds(3600))
        #expect(daemon.value(forKey: "count") == 1)
        try await settings.synchronize()
        try await settings.set(\.visits, 5, .effective(start + 10, until: start + 20))
        clock.advance(by: .seconds(86_400))
        #expect(daemon.value(forKey: "count") == nil && daemon.value(forKey: "visits") == nil)
        #expect(try await settings.history(of: \.visits).count == 2)
        var values: [Int] = []
        for await update in updates {
            values.append(update.newValue)
            if values.count == 2 { break }
        }
        #expect(values == [1, 0])
    }

    @Test func `a caller waits for a slow daemon at most for the timeout of the adapter`() async throws {
        let settings = DefaultsAdapter.inMemory(keyStore: Keys(), daemon: daemon, timeout: .milliseconds(20))
        daemon.setCondition(.slow(.seconds(60)))
        let error = await #expect(throws: DefaultsError.self) { try await settings.set(\.count, 1) }
        // The program keeps the change, and sends it again later.
        guard case .kept = error else {
            Issue.record("the error is \(error as Any)")
            return
        }
        #expect(await clock.waitForPause())
        daemon.setCondition(.available)
        clock.advance(by: .seconds(60))
        try eventually { daemon.value(forKey: "count") == 1 }
    }

    @Test func `an async method throws a refusal, and a setter reports a refusal`() async throws {
        let issues = settings.issues
        try await settings.ready()
        daemon.setCondition(.refusing(.forbidden, "the token does not allow it"))
        let error = await #expect(throws: DefaultsError.self) { try await settings.set(\.volume, 1) }
        #expect(error?.code == .forbidden && "\(error as Any)".contains("the token does not allow it"))
        #expect(try await settings.value(\.volume) == 0.75)
        settings.volume = 0.25
        for await issue in issues {
            #expect(issue.key == "volume" && issue.error.code == .forbidden)
            break
        }
        #expect(settings.volume == 0.75)
    }

    @Test func `a write waits after a temporary refusal, and is sent later`() async throws {
        try await settings.ready()
        daemon.setCondition(.refusing(.insufficientStorage, "the disk is full"))
        settings.count = 1
        #expect(await clock.waitForPause())
        #expect(settings.count == 1 && daemon.value(forKey: "count") == nil)
        daemon.setCondition(.available)
        clock.advance(by: .seconds(10))
        try eventually { daemon.value(forKey: "count") == 1 }
    }

    @Test func `a refusal of reads keeps a suite from being loaded`() async throws {
        daemon.setCondition(.refusing(.forbidden, "no", includingReads: true))
        let error = await #expect(throws: DefaultsError.self) { try await settings.ready() }
        #expect(error?.code == .forbidden)
    }

    @Test func `a change in place is refused or merged if another program writes after the read`() async throws {
        let settings = DefaultsAdapter.inMemory(
            keyStore: Keys(), daemon: daemon, writes: .confirmed, log: DefaultsLog(issues: { _ in }))
        try await settings.ready()
        let issues = settings.issues
        daemon.storeBeforeNextWrite(10, forKey: "count")
        settings.count += 1
        #expect(daemon.value(forKey: "count") == 10)
        for await issue in issues {
            #expect(issue.key == "count" && issue.error.code == .preconditionFailed)
            break
        }
        daemon.storeBeforeNextWrite(10, forKey: "visits")
        settings.visits += 1
        #expect(daemon.value(forKey: "visits") == 11)
    }

    @Test func `a commit has the date of the clock`() async throws {
        clock.advance(by: .seconds(500))
        try await settings.set(\.count, 1)
        let changes = try await settings.history(of: \.count)
        #expect(changes.map(\.time) == [Date(timeIntervalSince1970: 1_000_500)])
    }
}
