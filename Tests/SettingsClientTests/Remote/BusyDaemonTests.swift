import ClientTestSupport
import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Programs with an outbox, and a daemon that does not accept writes for a time.
@Suite(.ownThread)
struct BusyDaemonTests {
    private let names: SampleNames
    private let directory: TemporaryDirectory
    private let issues = IssueCollector()

    /// The answer of the server to each write. If the text is nil, the server does not answer writes.
    private final class WriteAnswer: Sendable {
        let text: Mutex<String?>

        init(_ text: String?) {
            self.text = Mutex(text)
        }

        /// Makes the server answer writes as a daemon that has carried them out.
        func acceptWrites() {
            text.withLock { $0 = ScriptedServer.acceptedWrite }
        }
    }

    init() throws {
        names = try SampleNames()
        directory = try TemporaryDirectory()
    }

    /// Returns a server with an empty suite, which answers writes with `writeAnswer` and never answers long polls. The
    /// log has `write` for each write.
    private func server(_ writeAnswer: WriteAnswer) throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                if request.hasPrefix("GET /v1/observe") {
                    guard request.contains("since=") else {
                        peer.send(ScriptedServer.emptySuite)
                        continue
                    }
                    // A request with `wait=0` asks for the changes so far.
                    if request.contains("wait=0&") || request.contains("wait=0 ") {
                        peer.send(ScriptedServer.noChanges)
                        continue
                    }
                } else if request.hasPrefix("GET") {
                    let problem = #"{"code":"unknown_suite","detail":"there is none"}"#
                    peer.send(ScriptedServer.answer(problem, status: 404))
                    continue
                } else {
                    log.add("write")
                    if let answer = writeAnswer.text.withLock({ $0 }) {
                        peer.send(answer)
                        continue
                    }
                }
                if peer.read() == nil { return }
            }
        }
    }

    private func program(
        _ server: ScriptedServer, timeout: Duration = .seconds(180)
    ) -> DefaultsAdapter<ClientKeys> {
        issues.collect(
            from: DefaultsAdapter(
                suite: names.app, keyStore: ClientKeys(), server: server.address, timeout: timeout,
                outbox: .directory(directory.path + "/outbox"), writes: .confirmed, arguments: [], clientName: "",
                log: issues.log))
    }

    /// Loads the suite. On a busy machine, one attempt may take longer than the timeout of the adapter.
    private func loadPatiently(_ defaults: DefaultsAdapter<ClientKeys>) async throws {
        for _ in 0..<100 where (try? await defaults.ready()) != nil { return }
        try await defaults.ready()
    }

    /// Sends all writes. On a busy machine, one attempt may take longer than the timeout of the adapter.
    private func synchronizePatiently(_ defaults: DefaultsAdapter<ClientKeys>) async throws {
        for _ in 0..<100 where (try? await defaults.synchronize()) != nil { return }
        try await defaults.synchronize()
    }

    /// Waits until the client thread, which sends all writes, has run the tasks that are already queued.
    private func waitForClientThread() {
        let done = Promise<Void>()
        ClientThread.shared.execute { done.fulfill(()) }
        done.waitForever()
    }

    /// Answers to a write that do not confirm the write, and the reason that the client reports for each answer. The
    /// last three answers come from a proxy or another server.
    private static let answers: [(answer: String, reason: String)] = [
        (
            ScriptedServer.answer(
                #"{"code":"storage_failed","detail":"the journal failed","retryAfterMs":60000}"#, status: 503),
            "503 storage_failed: the journal failed"
        ),
        (
            ScriptedServer.answer(
                #"{"code":"too_many_requests","detail":"later","retryAfterMs":60000}"#, status: 429),
            "429 too_many_requests: later"
        ),
        (ScriptedServer.answer("<html>Welcome</html>"), "the response is not from a settings daemon: "),
        (ScriptedServer.answer("<html>Not here</html>", status: 404), "404"),
        (ScriptedServer.answer("<html>Not you</html>", status: 403), "403"),
    ]

    @Test("A server that does not confirm writes is reported once, and writes wait", arguments: answers.indices)
    func busyServer(_ index: Int) async throws {
        let (answer, expectedReason) = Self.answers[index]
        let writeAnswer = WriteAnswer(answer)
        let server = try server(writeAnswer)
        let defaults = program(server, timeout: .milliseconds(200))
        defaults.launchCount = 1
        #expect(defaults.launchCount == 1)
        // On a busy machine, the first answer may come after the timeout of the setter.
        try eventually { issues.count > 0 }
        let firstIssues = issues.drain()
        guard firstIssues.count == 1, case .kept(let reason)? = firstIssues.first?.error else {
            Testing.Issue.record("\(firstIssues)")
            return
        }
        #expect(reason.hasPrefix("a write waits: "), "\(reason)")
        #expect(reason.contains(expectedReason), "\(reason)")
        try await loadPatiently(defaults)
        let writesBefore = server.log.count("write")
        // The server answers reads. These answers do not cause another attempt to write.
        for number in 2..<20 {
            #expect(!defaults.isSet(\.theme))
            defaults.launchCount = number
        }
        waitForClientThread()
        // Without a retry time in the answer, the client repeats the write soon.
        if answer.contains("retryAfterMs") { #expect(server.log.count("write") == writesBefore) }
        #expect(defaults.launchCount == 19)
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        let laterIssues = issues.drain()
        #expect(laterIssues == [] && defaults.launchCount == 19, "\(laterIssues)")
        writeAnswer.acceptWrites()
        try await synchronizePatiently(defaults)
        let issuesAfterConfirmation = issues.drain()
        #expect(issuesAfterConfirmation == [], "\(issuesAfterConfirmation)")
    }

    @Test("A gateway without a daemon counts as an unreachable daemon", arguments: [502, 503, 504])
    func gateway(status: Int) async throws {
        let page = "<html>\(status)</html>"
        let head = "HTTP/1.1 \(status) X\r\nContent-Length: \(page.utf8.count)\r\n\r\n"
        let writeAnswer = WriteAnswer(head + page)
        let server = try server(writeAnswer)
        let defaults = program(server, timeout: .milliseconds(500))
        defaults.launchCount = 1
        defaults.visits += 1
        #expect(defaults.launchCount == 1 && defaults.visits == 1)
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        #expect(issues.drain() == [], "a waiting write is not reported while the daemon is unreachable")
        writeAnswer.acceptWrites()
        try await synchronizePatiently(defaults)
        #expect(issues.drain() == [])
    }

    /// Setters that can need several requests, such as a read before the write.
    enum Setter: CaseIterable {
        case inPlace, ifAbsent, ofRenamedKey, removalOfRenamedKey
    }

    @Test(
        "A daemon that does not answer delays a setter for one timeout, even if the setter needs several requests",
        arguments: Setter.allCases)
    func silentDaemon(_ setter: Setter) throws {
        let server = try ScriptedServer { _, peer, _ in while peer.read() != nil {} }
        let timeout = Duration.seconds(2)
        let defaults = program(server, timeout: timeout)
        let renamed = DefaultsKey<Int>("number", defaultValue: 0, renamedFrom: ["count"])
        let start = ContinuousClock.now
        switch setter {
        case .inPlace: defaults.launchCount += 1
        case .ifAbsent: defaults.launchCount ?= 1
        case .ofRenamedKey: defaults[key: renamed] = 1
        case .removalOfRenamedKey: defaults.remove(key: renamed)
        }
        let spent = ContinuousClock.now - start
        // Two requests that each wait for the timeout would take twice as long.
        #expect(spent >= timeout && spent < timeout * 2, "\(spent)")
        switch setter {
        case .inPlace, .ifAbsent: #expect(defaults.launchCount == 1)
        case .ofRenamedKey, .removalOfRenamedKey: break
        }
    }

    @Test
    func `A daemon that does not answer writes delays one setter, and later setters return at once`() async throws {
        let writeAnswer = WriteAnswer(nil)
        let server = try server(writeAnswer)
        let defaults = program(server, timeout: .seconds(1))
        #expect(defaults.launchCount == 0)
        let start = ContinuousClock.now
        defaults.launchCount = 1
        #expect(.now - start >= .seconds(1))
        for number in 2..<50 { defaults.launchCount = number }
        #expect(defaults.launchCount == 49 && .now - start < .seconds(30), "only one setter waited")
        #expect(issues.drain() == [])
        writeAnswer.acceptWrites()
        try await synchronizePatiently(defaults)
        // The 49 writes, and at least one repetition of the first write.
        #expect(server.log.count("write") > 49 && issues.drain() == [])
    }
}
