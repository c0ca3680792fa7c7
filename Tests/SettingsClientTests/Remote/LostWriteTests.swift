import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility
@testable import SettingsHTTP

/// Writes that the daemon has carried out, and whose answers were lost: a `CuttingProxy` forwards each request to the
/// daemon, and closes the connection instead of sending the next answers (`dropAnswers(COUNT, to: METHOD)`).
@Suite(.ownThread)
struct LostWriteTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test(arguments: [1, 2, 3, 7])
    func `A write whose answers are lost is done once`(lostAnswers: Int) throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let fixture = SuiteFixture(at: proxy.server.address, names.app)
        let defaults = fixture.adapter()
        defaults.visits += 1
        proxy.dropAnswers(lostAnswers, to: "POST")
        defaults.visits += 1
        #expect(defaults.visits == 2)
        proxy.dropAnswers(lostAnswers, to: "POST")
        defaults.visits += 1
        defaults.recent.append("x")
        defaults["list"] += [1]
        // The default of `recent` is `["start"]`.
        #expect(defaults.visits == 3 && defaults.recent == ["start", "x"] && defaults["list"].array == [1])
        // The proxy has dropped the answers of both calls of `dropAnswers`.
        #expect(proxy.server.log.count("dropped answer") == 2 * lostAnswers)
        proxy.dropAnswers(lostAnswers, to: "DELETE")
        defaults.removeAll()
        #expect(defaults.visits == 0 && !defaults.isSet(\.visits))
        #expect(try daemon.client().blocking.send(.suite(names.app)).contents.values.isEmpty)
        #expect(fixture.drainIssues() == [])
    }

    @Test(arguments: [1, 3])
    func `A change with a deadline whose answers are lost has one pending action`(lostAnswers: Int) async throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let defaults = SuiteFixture(at: proxy.server.address, names.app).adapter()
        try await defaults.ready()
        proxy.dropAnswers(lostAnswers, to: "POST")
        let pending = try #require(try await defaults.set(\.launchCount, 1, .confirm(within: .seconds(3600))))
        let listing = try daemon.client().blocking.send(.pendingActions(of: names.app))
        #expect(listing.pending.map(\.id.description) == [pending.id])
        proxy.dropAnswers(lostAnswers, to: "POST")
        try await pending.confirm()
        #expect(proxy.server.log.count("dropped answer") == 2 * lostAnswers)
        #expect(try daemon.client().blocking.send(.pendingActions(of: names.app)).pending.isEmpty)
        #expect(defaults.launchCount == 1)
    }

    @Test
    func `Each addition of two programs counts once, although answers to one program are lost`() throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let defaults = SuiteFixture(at: proxy.server.address, names.app).adapter()
        let other = SuiteFixture(at: try daemon.address(), names.app).adapter()
        for _ in 0..<5 {
            proxy.dropAnswers(2, to: "POST")
            defaults.visits += 1
            other.visits += 10
        }
        let visits = try daemon.client().blocking.send(.setting(try KeyName("visits"), in: names.app)).value
        #expect(visits == 55, "five additions of 1 and five additions of 10")
    }

    @Test
    func `A write without an answer is repeated, and later changes are followed`() throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let fixture = SuiteFixture(at: proxy.server.address, names.app, timeout: .milliseconds(300))
        let defaults = fixture.adapter()
        defaults.launchCount = 1
        let log = EventLog()
        _ = defaults.core.session.listen { changes in
            for change in changes where change.visible.source == .stored { log.add("\(change.visible.value ?? .null)") }
        }
        proxy.dropAnswers(1_000_000, to: "POST")  // All answers to POST requests.
        defaults.launchCount = 2
        #expect(defaults.launchCount == 2 && fixture.drainIssues() == [], "the write waits in the queue")
        proxy.dropAnswers(0)
        defaults.loginTries = 1
        #expect(log.wait(for: "1"))  // The value of `loginTries`.
        try daemon.client().blocking.send(.set(names.theme, to: "dark", in: names.app))
        #expect(log.wait(for: "\"dark\""))
        #expect(defaults.launchCount == 2)
        defaults.launchCount += 1
        #expect(defaults.launchCount == 3)
    }
}
