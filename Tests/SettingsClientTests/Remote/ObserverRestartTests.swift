import ClientTestSupport
import HTTPServer
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Observers during a restart of the daemon. A second `ServedDaemon` in the same directory is the daemon after a
/// restart. With port 0, the kernel chooses a port. The summary of an update is `old→new`, or the value of an initial
/// update.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ObserverRestartTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test
    func `Observers get each change once across a restart, without gaps`() async throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let log = EventLog()
        let observation = one.observe(\.launchCount, options: [.initial, .old]) { log.add($0.summary) }
        let updates = one.updates(of: \.launchCount, \.username)
        for number in 1...3 { two.launchCount = number }
        two.username = "me"
        first.stop()
        #expect(one.launchCount <= 3, "reads need no daemon, and the last changes may not have arrived")
        let second = try ServedDaemon(in: directory, port: 0)
        for number in 4...6 {
            try second.client().blocking.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.app))
        }
        #expect(await log.waits(for: "5→6"))
        #expect(log.all == ["0", "0→1", "1→2", "2→3", "3→4", "4→5", "5→6"])
        var received: [String] = []
        for await update in updates {
            if let count = update[\.launchCount] { received.append(count.summary) }
            if let name = update[\.username] { received.append(name.summary) }
            if update[\.launchCount]?.newValue == 6 { break }
        }
        #expect(received == ["0→1", "1→2", "2→3", #"nil→"me""#, "3→4", "4→5", "5→6"])
        #expect(fixture.drainIssues() == [])
        withExtendedLifetime((observation, second)) {}
    }

    @Test
    func `After a reset, observers get the differences between the replica and the new state`() async throws {
        let first = try ServedDaemon()
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let defaults = fixture.adapter()
        for number in 1...9 { defaults.launchCount = number }
        defaults.username = "me"
        defaults.theme = .dark
        let log = EventLog()
        let observation = defaults.observe(\.launchCount, \.username, \.theme, \.tags) { update in
            if let count = update[\.launchCount] { log.add("count \(count.summary)") }
            if let name = update[\.username] { log.add("name \(name.summary)") }
            if let tags = update[\.tags] { log.add("tags \(tags.summary)") }
            if let theme = update[\.theme] { log.add("theme \(theme.summary)") }
        }
        let (path, other) = (first.path, try TemporaryDirectory())
        first.stop()
        let preparingDaemon = try ServedDaemon(in: other, port: 0)
        try preparingDaemon.client().blocking.send(
            .merge(
                ["launchCount": 70, "theme": "dark", "tags": ["other"]], into: names.app))
        preparingDaemon.stop()
        let second = try ServedDaemon(in: other, port: 0) { $0.listen.append(.unix(path: path)) }
        #expect(await log.waits(for: "count 9→70"))
        #expect(await log.waits(for: #"tags []→["other"]"#))
        #expect(await log.waits(for: #"name "me"→nil"#))
        try second.client().blocking.send(.set(names.launchCount, to: 71, in: names.app))
        #expect(await log.waits(for: "count 70→71"))
        // The theme is the same in both states, so it causes no update.
        #expect(log.all.count == 4)
        #expect(fixture.drainIssues() == [])
        withExtendedLifetime(observation) {}
    }

    @Test
    func `An observer that is created without a daemon gets the initial value when the daemon starts`() async throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        try first.client().blocking.send(.set(names.launchCount, to: 3, in: names.app))
        let address = try first.address(.unix)
        first.stop()
        let fixture = SuiteFixture(at: address, names.app)
        let defaults = fixture.adapter()
        let log = EventLog()
        let observation = defaults.observe(\.launchCount, options: [.initial, .old]) { log.add($0.summary) }
        let updates = defaults.updates(of: \.launchCount, options: .initial)
        #expect(fixture.drainIssues().map(\.attempt) == [.read])
        #expect(log.all == [])
        let daemon = try ServedDaemon(in: directory, port: 0)
        #expect(await log.waits(for: "3"))
        var iterator = updates.makeAsyncIterator()
        #expect(await iterator.next()?.summary == "3")
        try daemon.client().blocking.send(.set(names.launchCount, to: 4, in: names.app))
        #expect(await log.waits(for: "3→4"))
        #expect(log.all == ["3", "3→4"])
        #expect(fixture.drainIssues() == [])
        withExtendedLifetime((observation, daemon)) {}
    }

    @Test
    func `An adapter that only an observer retains closes its connections when the observer is released`()
        async throws
    {
        let daemon = try ServedDaemon()
        let fixture = SuiteFixture(at: try daemon.address(.unix), names.app)
        var observation: DefaultsObservation? = fixture.adapter().observe(\.launchCount) { _ in }
        let task = Task(priority: .high) { [updates = fixture.adapter().updates(of: \.launchCount)] in
            for await _ in updates {}
        }
        #expect(await daemon.waits(forWatchers: 2))
        task.cancel()
        #expect(await daemon.waits(forWatchers: 1))
        observation = nil
        #expect(await daemon.waits(forWatchers: 0))
        await task.value
        #expect(observation == nil)
    }
}
