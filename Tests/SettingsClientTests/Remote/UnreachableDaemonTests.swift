import ClientTestSupport
import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility
@testable import SettingsHTTP

/// Adapters whose daemon does not run, does not answer or refuses all requests. A second `ServedDaemon` in the same
/// directory is the daemon after a restart. With port 0, the kernel chooses a port.
@Suite(.ownThread)
struct UnreachableDaemonTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test
    func `A program without a daemon reads defaults and its own writes until the daemon starts`() async throws {
        let directory = try TemporaryDirectory()
        let address = try ServerAddress("unix:\(directory.path)/socket")
        let fixture = SuiteFixture(at: address, names.app, timeout: .seconds(Deadline.patience))
        let defaults = fixture.adapter(writes: .background)
        #expect(defaults.launchCount == 0 && defaults.theme == .light && !defaults.isSet(\.theme))
        defaults.launchCount = 3
        defaults.launchCount += 1
        defaults.visits += 2
        #expect(defaults.launchCount == 4 && defaults.visits == 2)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.attempt).contains(.read) && !issues.map(\.attempt).contains(.write))
        let reason = "\(address): no answer from the daemon: No such file or directory"
        #expect(issues.allSatisfy { $0.error == .unreachable(reason) })
        await #expect(throws: DefaultsError.unreachable(reason)) { try await defaults.value(\.theme) }
        let daemon = try ServedDaemon(in: directory, port: 0)
        try eventually { defaults.core.session.isLoaded && !defaults.core.session.hasUnansweredWrites }
        #expect(try await defaults.value(\.launchCount) == 4 && defaults.visits == 2)
        #expect(try daemon.client().blocking.send(.setting(names.launchCount, in: names.app)).value == 4)
    }

    @Test
    func `Without a daemon, reads return the last values, and writes wait in the queue`() async throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        let fixture = SuiteFixture(at: try first.address(.unix), names.app, timeout: .milliseconds(500))
        let defaults = fixture.adapter()
        defaults.launchCount = 3
        first.stop()
        let start = ContinuousClock.now
        for number in 10..<40 { defaults.launchCount = number }
        #expect(defaults.launchCount == 39 && fixture.drainIssues() == [])
        #expect(.now - start < .seconds(10), "only one of the setters waited for the daemon")
        let second = try ServedDaemon(in: directory, port: 0)
        try eventually { !defaults.core.session.hasUnansweredWrites }
        defaults.launchCount += 1
        #expect(defaults.launchCount == 40)
        try eventually { !defaults.core.session.hasUnansweredWrites }
        #expect(try second.client().blocking.send(.setting(names.launchCount, in: names.app)).value == 40)
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `A daemon that is restarted while a setter waits gets the write of the setter`() throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        let fixture = SuiteFixture(at: try first.address(.unix), names.app, timeout: .seconds(60))
        let defaults = fixture.adapter()
        #expect(defaults.launchCount == 0)
        first.stop()
        let log = EventLog()
        DispatchQueue(label: "writing").async {
            log.add("writing")
            defaults.launchCount = 3
            log.add("written")
        }
        #expect(log.wait(for: "writing"))
        let second = try ServedDaemon(in: directory, port: 0)
        #expect(log.wait(for: "written"))
        #expect(defaults.launchCount == 3)
        #expect(try second.client().blocking.send(.setting(names.launchCount, in: names.app)).value == 3)
        #expect(fixture.drainIssues() == [])
    }

    /// Returns a server that answers a request for the state with an empty suite, and does not answer any other
    /// request. The log has `long poll` and `write` for requests without an answer, and `closed` if the client closes a
    /// connection with such a request.
    private func silentServer() throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                if request.hasPrefix("GET /v1/observe"), !request.contains("since=") {
                    peer.send(ScriptedServer.emptySuite)
                    continue
                }
                log.add(request.hasPrefix("GET") ? "long poll" : "write")
                if peer.read() == nil { return log.add("closed") }
            }
        }
    }

    @Test
    func `A setter waits for an answer until its deadline, and a getter then returns the new value`() async throws {
        let server = try silentServer()
        let fixture = SuiteFixture(at: server.address, names.app, timeout: .milliseconds(200))
        let defaults = fixture.adapter()
        #expect(defaults.launchCount == 0)
        let start = ContinuousClock.now
        defaults.launchCount = 1
        let spent = ContinuousClock.now - start
        #expect(spent >= .milliseconds(200) && spent < .seconds(20))
        #expect(defaults.launchCount == 1 && fixture.drainIssues() == [])
        // Async methods throw an error, because their writes wait in the queue.
        await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, 1) }
        await #expect(throws: DefaultsError.self) { try await defaults.update(\.launchCount) { $0 += 1 } }
    }

    @Test
    func `A server that refuses to send the suite is reported once for each request`() throws {
        let server = try ScriptedServer { _, peer, log in
            while peer.readRequest() != nil {
                log.add("request")
                peer.send(ScriptedServer.answer(#"{"code":"misdirected","detail":"not here"}"#, status: 421))
            }
        }
        let fixture = SuiteFixture(at: server.address, names.app)
        let defaults = fixture.adapter()
        for _ in 0..<1000 { #expect(defaults.launchCount == 0 && defaults["theme"].value == nil) }
        let issues = fixture.drainIssues()
        // The 2,000 reads cause far fewer requests.
        #expect(issues.count == server.log.count("request") && issues.count < 100)
        #expect(issues.allSatisfy { $0.error.code == .misdirected })
    }

    @Test
    func `Releasing an adapter closes the connection of its long poll`() throws {
        let server = try silentServer()
        do {
            let defaults = SuiteFixture(at: server.address, names.app).adapter()
            #expect(defaults.launchCount == 0)
            #expect(server.log.wait(for: "long poll"))
        }
        #expect(server.log.wait(for: "closed"))
        // One connection for long polls and one for other requests.
        #expect(server.log.count("connection") == 2 && server.log.count("write") == 0)
    }
}
