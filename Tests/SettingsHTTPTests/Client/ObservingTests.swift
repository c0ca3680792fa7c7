import ClientTestSupport
import HTTPServer
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@testable import SettingsAPI
@testable import SettingsHTTP

/// Tests of observing suites of a real daemon. `names.app` is the suite `app`, and `names.otherSuite` is `net`. Tasks
/// have a high priority, because a task with the default priority would start only after all tests in the queue.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ObservingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test(
        "The first answer contains the state, and the next answer contains the changes after the state",
        arguments: ServedDaemon.Transport.allCases)
    func stateThenChanges(transport: ServedDaemon.Transport) async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport)
        try await client.send(.merge(["theme": "dark", "launchCount": 1, "a.b": 1], into: names.app))
        guard
            case .state(let state) = try client.blocking.send(
                .observe(names.app, keys: [names.theme], prefixes: ["a."]))
        else {
            Issue.record("no state")
            return
        }
        #expect(state.suites.map { $0.values.map(\.key.text) } == [["a.b", "theme"]])
        for number in 2...5 {
            try await client.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.app))
        }
        let since = ResumePoint.cursor(state.cursor)
        guard case .changes(let observed) = try await client.send(.observe(names.app, since: since)),
            case .changes(let limited) = try await client.send(.observe(names.app, since: since, limit: 2)),
            case .changes(let latestOnly) = try client.blocking.send(.observe(names.app, since: since, latest: true)),
            case .changes(let unchanged) = try await client.send(
                .observe([names.app], since: .cursor(observed.cursor), wait: .zero))
        else {
            Issue.record("no changes")
            return
        }
        #expect(observed.changes.map(\.new) == [2, 3, 4, 5] && !observed.hasMore)
        #expect(limited.changes.map(\.new) == [2, 3] && limited.hasMore)
        #expect(latestOnly.changes.map(\.old) == [1] && latestOnly.changes.map(\.new) == [5])
        #expect(unchanged.changes.isEmpty)
    }

    @Test("A sequence with a client name reports an element as applied when the program asks for the next element")
    func report() async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client()
        let cursor = try await client.send(.set(names.launchCount, to: 1, in: names.app)).cursor
        var changes = client.changes(of: names.app)
        changes.client = ClientName("web")
        var iterator = changes.makeAsyncIterator()
        _ = try await iterator.next()
        let first = try await client.send(.clients(of: names.app)).clients
        #expect(first.map(\.name.text) == ["web"] && first.map(\.applied) == [nil])
        try await client.send(.set(names.launchCount, to: 2, in: names.app))
        _ = try await iterator.next()
        let second = try await client.send(.clients(of: names.app)).clients
        #expect(second.map(\.applied) == [cursor] && second.map(\.status) == [.behind])
    }

    @Test("An observer of a prefix sees old and new suites with the prefix, and which named suites are missing")
    func suitePrefixes() async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client()
        try await client.send(.set(names.theme, to: "dark", in: SuiteName("app.a")))
        let firstAnswer = try await client.send(.observe([names.otherSuite], suitePrefixes: ["app."]))
        guard case .state(let state) = firstAnswer, case .several(_, let missing) = state.scope else {
            Issue.record("not a state of several suites: \(firstAnswer)")
            return
        }
        #expect(state.suites.map(\.suite.text) == ["app.a"] && missing == [names.otherSuite])
        try await client.send(.set(names.theme, to: "light", in: SuiteName("other")))
        try await client.send(.set(names.theme, to: "light", in: SuiteName("app.b")))
        let since = ResumePoint.cursor(state.cursor)
        for answer in [
            try await client.send(.observe([], suitePrefixes: ["app."], since: since)),
            try client.blocking.send(.observe([], suitePrefixes: ["app."], since: since)),
        ] {
            guard case .changes(let observed) = answer else {
                Issue.record("no changes: \(answer)")
                continue
            }
            #expect(observed.changes.map(\.suite.text) == ["app.b"] && observed.changes.map(\.new) == ["light"])
        }
        var received: [String] = []
        // The empty prefix matches all suites.
        for try await observation in client.changes(of: [], suitePrefixes: [""], since: since) {
            guard case .changes(let observed) = observation else { break }
            received += observed.changes.map(\.suite.text)
            if received.count == 2 { break }
        }
        #expect(received == ["other", "app.b"])
    }

    @Test("An observer waits for a missing suite, then receives all its changes and the drop in order")
    func missingSuite()
        async throws
    {
        let daemon = try ServedDaemon()
        let client = try daemon.client()
        let names = names
        let log = EventLog()
        let listener = Task(priority: .high) {
            for try await observation in client.changes(of: [names.app, names.otherSuite]) {
                switch observation {
                case .state(let state): log.add("state \(state.suites.count)")
                case .changes(let observed):
                    for change in observed.changes {
                        log.add("\(change.suite) \(change.key) \(change.new.map { "\($0)" } ?? "-")")
                    }
                    if case .several(_, let dropped, _) = observed.scope, !dropped.isEmpty {
                        log.add("dropped \(dropped)")
                    }
                }
            }
            log.add("ended")
        }
        #expect(await log.waits(for: "state 0"))
        try await client.send(.set(names.theme, to: 1, in: names.app))
        try await client.send(.set(names.theme, to: 2, in: names.otherSuite))
        try await client.send(.drop(names.app))
        #expect(await log.waits(for: "dropped [app]"))
        listener.cancel()
        #expect(await log.waits(for: "ended"))
        try await listener.value
        let received = log.all.filter { $0.hasPrefix("app") || $0.hasPrefix("net") }
        #expect(received == ["app theme 1", "net theme 2", "app theme -"])
    }

    @Test("An observer receives each change once, also when the daemon restarts") func daemonRestart()
        async throws
    {
        let directory = try TemporaryDirectory()
        let names = names
        let first = try ServedDaemon(in: directory, port: 0)
        // Each daemon in this directory listens on the same Unix domain socket.
        let client = try first.client(.unix)
        try await client.send(.set(names.launchCount, to: 0, in: names.app))
        let log = EventLog()
        let listener = Task(priority: .high) {
            for try await observation in client.changes(of: names.app, keys: [names.launchCount]) {
                switch observation {
                case .state(let state): log.add("state, reset \(state.isReset)")
                case .changes(let observed): for change in observed.changes { log.add("\(change.new ?? .null)") }
                }
            }
        }
        #expect(await log.waits(for: "state, reset false"))
        for number in 1...3 {
            try await client.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.app))
        }
        first.stop()
        let second = try ServedDaemon(in: directory, port: 0)
        for number in 4...6 {
            try second.client().blocking.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.app))
        }
        #expect(await log.waits(for: "6"))
        #expect(log.all == ["state, reset false", "1", "2", "3", "4", "5", "6"])
        second.stop()
        // The third daemon has other data and listens on the socket of the first daemon. The observer receives the new
        // history as a state that replaces all earlier values.
        let other = try TemporaryDirectory()
        let third = try ServedDaemon(in: other, port: 0) { $0.listen.append(.unix(path: directory.path + "/socket")) }
        try third.client().blocking.send(.set(names.launchCount, to: 9, in: names.app))
        #expect(await log.waits(for: "state, reset true"))
        listener.cancel()
        try await listener.value
    }

    @Test("A permanent refusal ends the sequence with the reason of the refusal") func permanentRefusal()
        async throws
    {
        let daemon = try ServedDaemon()
        let client = try daemon.client()
        try await client.send(.set(names.theme, to: 1, in: names.app))
        // The daemon refuses the limit 0.
        var iterator = client.changes(of: names.app, limit: 0).makeAsyncIterator()
        let error = await #expect(throws: SettingsError.self) { try await iterator.next() }
        #expect(error?.code == .badRequest)
        #expect(try await iterator.next() == nil)
    }

    @Test(
        "If the task of an observer is cancelled, its request ends, and the daemon removes the watcher",
        arguments: ServedDaemon.Transport.allCases)
    func cancelledTask(
        transport: ServedDaemon.Transport
    ) async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport)
        let names = names
        let one = Task(priority: .high) { for try await _ in client.changes(of: names.app) {} }
        let several = Task(priority: .high) { for try await _ in client.changes(of: [names.app, names.otherSuite]) {} }
        #expect(await daemon.waits(forWatchers: 2))
        one.cancel()
        #expect(await daemon.waits(forWatchers: 1))
        try await one.value
        several.cancel()
        #expect(await daemon.waits(forWatchers: 0))
        try await several.value
    }
}
