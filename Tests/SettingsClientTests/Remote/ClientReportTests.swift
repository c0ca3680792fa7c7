import ClientTestSupport
import Dispatch
import Observation
import SettingsModel
import TestSupport
import Testing

@testable import SettingsAPI
@testable import SettingsClient
@testable import SettingsHTTP

/// The reports of programs to a daemon about the state of a suite that they have applied. The daemon lists each program
/// with a status: `current` if the program has applied the newest state, `behind` if it has not, and `failed` if it has
/// reported that it could not apply a state.
///
/// A second `ServedDaemon` in the same directory is the daemon after a restart. With port 0, the kernel chooses a port.
/// The answer `emptySuite` of a `ScriptedServer` has the cursor `e.1`. The log of a `ScriptedServer` has `connection`
/// for each connection.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ClientReportTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    private func adapter(
        _ server: ServerAddress, token: DefaultsToken? = nil, as client: String?, log: DefaultsLog? = nil
    ) -> DefaultsAdapter<ClientKeys> {
        DefaultsAdapter(
            suite: names.app, keyStore: ClientKeys(), server: server, token: token,
            timeout: .seconds(Deadline.patience), outbox: .none, arguments: [], clientName: client,
            log: log ?? DefaultsLog { _, _, _ in })
    }

    /// Waits until the daemon lists these clients: pairs of a name and a status, in the order of the names.
    private func wait(for expected: String, _ daemon: ServedDaemon, token: String? = nil) throws {
        let client = DaemonClient(try daemon.address(), token: token.map { AccessToken($0) })
        try eventually {
            let listing = try client.blocking.send(.clients(of: names.app))
            return listing.clients.map { "\($0.name):\($0.status.rawValue)" }.joined(separator: " ") == expected
        }
    }

    private func set(_ value: Int64, _ daemon: ServedDaemon) throws {
        try daemon.client().blocking.send(.set(names.launchCount, to: .integer(value), in: names.app))
    }

    /// Starts an observer that adds `changed` to the log and blocks until the semaphore is signalled.
    private typealias StartObserver =
        @Sendable (DefaultsAdapter<ClientKeys>, EventLog, DispatchSemaphore) -> DefaultsObservation?

    private static let observers: [(name: String, start: StartObserver)] = [
        (
            "a handler",
            { defaults, log, semaphore in
                defaults.observe(\.launchCount) { _ in
                    log.add("changed")
                    semaphore.wait()
                }
            }
        ),
        (
            "a function that tracks the value with Observation",
            { defaults, log, semaphore in
                withObservationTracking {
                    _ = defaults.launchCount
                } onChange: {
                    log.add("changed")
                    semaphore.wait()
                }
                return nil
            }
        ),
    ]

    @Test(
        "A program is behind while an observer of a change runs, and current when the observer has returned",
        arguments: observers.indices)
    func blockedObserver(index: Int) throws {
        let daemon = try ServedDaemon()
        try set(1, daemon)
        let (defaults, log, semaphore) = (
            adapter(try daemon.address(), as: "web"), EventLog(), DispatchSemaphore(value: 0)
        )
        #expect(defaults.launchCount == 1)
        try wait(for: "web:current", daemon)
        let observation = Self.observers[index].start(defaults, log, semaphore)
        try set(2, daemon)
        #expect(log.wait(for: "changed"))
        try wait(for: "web:behind", daemon)
        try set(3, daemon)
        try wait(for: "web:behind", daemon)
        semaphore.signal()
        // A handler runs for each change, and a function that tracks the value runs for the first change only.
        if Self.observers[index].name == "a handler" {
            #expect(log.wait(for: "changed", times: 2))
            try wait(for: "web:behind", daemon)
            semaphore.signal()
        }
        try wait(for: "web:current", daemon)
        withExtendedLifetime(observation) {}
    }

    @Test("A program is behind while a loop has not taken all updates, and current afterwards")
    func loop() async throws {
        let daemon = try ServedDaemon()
        let defaults = adapter(try daemon.address(), as: "web")
        try await defaults.set(\.launchCount, 1)
        let updates = defaults.updates(of: \.launchCount)
        try set(2, daemon)
        try set(3, daemon)
        try wait(for: "web:behind", daemon)
        for await update in updates where update.newValue == 3 { break }
        try wait(for: "web:current", daemon)
    }

    @Test("A program is current after the release of a sequence of updates that no loop has taken")
    func endedLoop() throws {
        let daemon = try ServedDaemon()
        let defaults = adapter(try daemon.address(), as: "web")
        do {
            let updates = defaults.updates(of: \.launchCount)
            try set(2, daemon)
            try wait(for: "web:behind", daemon)
            withExtendedLifetime(updates) {}
        }
        try wait(for: "web:current", daemon)
    }

    @Test("A failure is listed with its reason until the program has applied a later change", arguments: [true, false])
    func failure(isInHandler: Bool) throws {
        let daemon = try ServedDaemon()
        let defaults = adapter(try daemon.address(), as: "web")
        #expect(defaults.launchCount == 0)
        let reason = "port 7 is in use: " + String(repeating: "é", count: 600)
        let observation = defaults.observe(\.launchCount) { update in
            if isInHandler, update.newValue == 1 { defaults.reportFailure(reason) }
        }
        try set(1, daemon)
        if !isInHandler {
            try wait(for: "web:current", daemon)
            defaults.reportFailure(reason)
        }
        try wait(for: "web:failed", daemon)
        let client = try #require(try daemon.client().blocking.send(.clients(of: names.app)).clients.first)
        // A reason is shortened to 1,024 bytes: 18 ASCII characters and 503 characters of two bytes.
        #expect(client.failure?.reason == String(reason.prefix(18 + 503)))
        // A change of another suite does not end the failure.
        try daemon.client().blocking.send(.set(names.launchCount, to: 1, in: names.otherSuite))
        defaults.core.session.refresh()
        try defaults.synchronize()
        try wait(for: "web:failed", daemon)
        try set(2, daemon)
        try wait(for: "web:current", daemon)
        withExtendedLifetime(observation) {}
    }

    @Test("A program that fails to apply its first state is listed as failed")
    func firstFailure() throws {
        let daemon = try ServedDaemon()
        try set(1, daemon)
        // The first cursor of the program is later than the last change of its suite.
        try daemon.client().blocking.send(.set(names.launchCount, to: 1, in: names.otherSuite))
        let defaults = adapter(try daemon.address(), as: "web")
        #expect(defaults.launchCount == 1)
        try wait(for: "web:current", daemon)
        defaults.reportFailure("no memory")
        try wait(for: "web:failed", daemon)
        let state = try daemon.client().blocking.send(.suite(names.app))
        let epoch = try daemon.client().blocking.send(.service).cursor.epoch
        // `share: 1` means that all clients have to apply the state.
        let result = try daemon.client().blocking.send(
            .convergence(
                of: names.app, for: Cursor(epoch: epoch, revision: state.revision), share: 1, wait: .zero))
        #expect(!result.isConverged && result.failed == 1 && result.applied == 0)
    }

    @Test("A failure after a start from the cache file is listed, although the daemon has no newer changes")
    func failureAfterCachedStart() throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        try set(1, first)
        let (address, cache) = (try first.address(.unix), FileLocation.directory(directory.path + "/cache"))
        func start() -> DefaultsAdapter<ClientKeys> {
            DefaultsAdapter(
                suite: names.app, keyStore: ClientKeys(), server: address, timeout: .seconds(Deadline.patience),
                outbox: .none, cache: cache, arguments: [], clientName: "web", log: DefaultsLog { _, _, _ in })
        }
        #expect(start().launchCount == 1)
        let owner = FileOwner(server: address.description, suite: names.app)
        let file = CacheFile(in: try #require(cache.directory(for: .cache, of: owner)), of: owner)
        try eventually { file.read()?.suites.first?.values.count == 1 }
        first.stop()
        let defaults = start()
        #expect(defaults.launchCount == 1)
        let second = try ServedDaemon(in: directory, port: 0)
        try wait(for: "web:current", second)
        defaults.reportFailure("no memory")
        try wait(for: "web:failed", second)
        try set(2, second)
        try wait(for: "web:current", second)
    }

    @Test("Two programs are listed with their names, and two adapters with one name are one client")
    func severalPrograms() throws {
        let daemon = try ServedDaemon()
        let (one, two, three) = (
            adapter(try daemon.address(), as: "one"), adapter(try daemon.address(), as: "two"),
            adapter(try daemon.address(), as: "two")
        )
        for defaults in [one, two, three] { #expect(defaults.launchCount == 0) }
        try set(1, daemon)
        try wait(for: "one:current two:current", daemon)
        let (log, semaphore) = (EventLog(), DispatchSemaphore(value: 0))
        let observation = three.observe(\.launchCount) { _ in
            log.add("changed")
            semaphore.wait()
        }
        try set(2, daemon)
        #expect(log.wait(for: "changed"))
        try wait(for: "one:current two:behind", daemon)
        semaphore.signal()
        try wait(for: "one:current two:current", daemon)
        withExtendedLifetime((observation, one, two)) {}
    }

    @Test("An adapter that neither reads nor observes, and an adapter with an empty client name, are not listed")
    func noReport() throws {
        let daemon = try ServedDaemon()
        let (silent, unused) = (adapter(try daemon.address(), as: ""), adapter(try daemon.address(), as: "unused"))
        let reporting = adapter(try daemon.address(), as: "web")
        #expect(silent.launchCount == 0 && reporting.launchCount == 0)
        try set(1, daemon)
        try wait(for: "web:current", daemon)
        withExtendedLifetime((silent, unused, reporting)) {}
    }

    @Test("After a restart of the daemon, a program is listed again")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        let defaults = adapter(try first.address(.unix), as: "web")
        try set(1, first)
        #expect(defaults.launchCount == 1)
        try wait(for: "web:current", first)
        first.stop()
        let second = try ServedDaemon(in: directory, port: 0)
        try wait(for: "web:current", second)
        try set(2, second)
        try wait(for: "web:current", second)
        withExtendedLifetime(defaults) {}
    }

    @Test("If another credential uses the name, the program follows the suite under the name with a suffix")
    func nameOfAnotherCredential() throws {
        let directory = try TemporaryDirectory()
        let (daemon, tokens) = try ServedDaemon.withTokens(["one", "two"], in: directory)
        let one = adapter(try daemon.address(), token: .value(tokens[0]), as: "web")
        one.launchCount = 4
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[0]))
        try eventually { (try? client.blocking.send(.setting(names.launchCount, in: names.app))) != nil }
        try wait(for: "web:current", daemon, token: tokens[0])
        let two = adapter(try daemon.address(), token: .value(tokens[1]), as: "web")
        #expect(two.launchCount == 4)
        try eventually { try client.blocking.send(.clients(of: names.app)).clients.count == 2 }
        one.launchCount = 5
        try eventually { two.launchCount == 5 }
        try eventually {
            let clients = try client.blocking.send(.clients(of: names.app)).clients
            return clients.map(\.caller) == ["token:one", "token:two"] && clients[1].name.text.hasPrefix("web-")
                && clients.allSatisfy { $0.status == .current }
        }
    }

    @Test(
        "The reason for a new name is logged once, and a refusal of a request without a report restores the first name")
    func newName() throws {
        var reporting = ClientReporting(ClientName("web"))
        let taken = SettingsError.problem(Problem(.forbidden, "taken"), revision: nil)
        // True for each refusal after which the follower repeats its long poll at once. After the first refusal, the
        // follower reports under a new name. After the second refusal, the name is nil, so the follower sends no
        // report.
        var repeats = [reporting.recoverFromRefusal(taken)]
        let name = try #require(reporting.client?.text)
        // The suffix has eight random digits.
        #expect(name.hasPrefix("web-") && name.utf8.count == 12)
        let reasons = [reporting.removeNameChangeError(), reporting.removeNameChangeError()]
        #expect(reasons[0]?.description.contains("taken; this process reports as \(name)") == true && reasons[1] == nil)
        repeats.append(reporting.recoverFromRefusal(taken))
        #expect(reporting.client == nil)
        repeats.append(reporting.recoverFromRefusal(taken))
        #expect(reporting.client == ClientName("web"))
        repeats.append(reporting.recoverFromRefusal(.problem(Problem(.overloaded, "load"), revision: nil)))
        #expect(repeats == [true, true, false, false] && reporting.client == ClientName("web"))
    }

    @Test("If a daemon of an earlier version refuses reports, the program follows the suite without reports")
    func earlierDaemon() throws {
        let change =
            #"{"suite":"app","key":"launchCount","old":null,"new":7,"oldSource":"stored","source":"stored","#
            + #""revision":2,"modified":"2026-01-01T00:00:00.000Z"}"#
        let server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                if request.contains("client=") {
                    log.add("report")
                    peer.send(
                        ScriptedServer.answer(#"{"code":"bad_request","detail":"no parameter client"}"#, status: 400))
                } else if request.contains("since=e.1") {
                    log.add("long poll")
                    peer.send(
                        ScriptedServer.answer(
                            #"{"revision":2,"cursor":"e.2","schemaRevision":{"app":0},"changes":[\#(change)]}"#))
                } else if request.contains("since=") {
                    log.add("waiting")
                    _ = peer.read()
                } else {
                    peer.send(ScriptedServer.emptySuite)
                }
            }
        }
        let (values, issues) = (EventLog(), EventLog())
        let defaults = adapter(server.address, as: "web", log: DefaultsLog { _, message, _ in issues.add(message) })
        let observation = defaults.observe(\.launchCount, options: .initial) { values.add("\($0.newValue)") }
        #expect(server.log.wait(for: "waiting"))
        #expect(server.log.all.filter { $0 != "connection" } == ["report", "long poll", "waiting"])
        #expect(values.wait(for: "7"))
        #expect(issues.all == [])
        withExtendedLifetime(observation) {}
    }

    @Test("Long polls contain the report, and a handler that ends after the next long poll causes one PUT")
    func requests() throws {
        let change =
            #"{"suite":"app","key":"launchCount","old":null,"new":7,"oldSource":"stored","source":"stored","#
            + #""revision":2,"modified":"2026-01-01T00:00:00.000Z"}"#
        // The server sends the change when the program observes the key, and the handler ends when the server has the
        // next long poll. The log has the cursor of each long poll with the state that it reports (`-`: none), and the
        // body of each PUT.
        let (isObserved, hasNextPoll) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                let applied = request.split(separator: "applied=").dropFirst().first?.prefix { $0 != "&" && $0 != " " }
                if request.hasPrefix("PUT") {
                    log.add(String(request.split(separator: "\r\n").last ?? ""))
                    // A client that gets this status sends no further report.
                    peer.send(ScriptedServer.answer(#"{"code":"not_found","detail":"no"}"#, status: 404))
                } else if request.contains("since=e.1") {
                    log.add("e.1 \(applied ?? "-")")
                    // The client may replace its first poll by a poll with a report, so this thread signals the
                    // semaphore again for the other poll.
                    isObserved.patientWait()
                    isObserved.signal()
                    peer.send(
                        ScriptedServer.answer(
                            #"{"revision":2,"cursor":"e.2","schemaRevision":{"app":0},"changes":[\#(change)]}"#))
                } else if request.contains("since=") {
                    log.add("e.2 \(applied ?? "-")")
                    hasNextPoll.signal()
                    _ = peer.read()
                } else {
                    peer.send(ScriptedServer.emptySuite)
                }
            }
        }
        let defaults = adapter(server.address, as: "web")
        let observation = defaults.observe(\.launchCount) { _ in hasNextPoll.wait() }
        isObserved.signal()
        #expect(server.log.wait(for: #"{"applied":"e.2"}"#))
        let requests = server.log.all.filter { !["connection", "e.1 -"].contains($0) }
        #expect(requests == ["e.1 e.1", "e.2 e.1", #"{"applied":"e.2"}"#])
        withExtendedLifetime(observation) {}
    }
}
