import ClientTestSupport
import Dispatch
import HTTPServer
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Adapters during a restart of the daemon, or when a daemon with other data replaces the daemon. A second
/// `ServedDaemon` in the same directory is the daemon after a restart. With port 0, the kernel chooses a port.
@Suite(.ownThread)
struct RestartTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// Returns a log of the values of a key that a reader sees, in order.
    private func watch(_ key: String, in defaults: DefaultsAdapter<ClientKeys>) -> EventLog {
        let log = EventLog()
        _ = defaults.core.session.listen { changes in
            for change in changes where change.key.text == key {
                log.add(change.visible.value.map { "\($0)" } ?? "-")
            }
        }
        return log
    }

    @Test
    func `After a restart, values are available, and each change is delivered once and in order`() throws {
        let directory = try TemporaryDirectory()
        let first = try ServedDaemon(in: directory, port: 0)
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one.username = "me"
        one.launchCount = 1
        one.username = nil
        #expect(two.launchCount == 1)
        let log = watch("launchCount", in: two)
        for number in 2...4 { one.launchCount = number }
        first.stop()
        #expect(one.launchCount == 4 && two.username == nil, "reads need no daemon")
        let second = try ServedDaemon(in: directory, port: 0)
        for number in 5...7 {
            try second.client().blocking.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.app))
        }
        one.launchCount = 8
        #expect(one.launchCount == 8)
        #expect(log.wait(for: "8"))
        #expect(log.all == (2...8).map { "\($0)" })
        let third = fixture.adapter()
        #expect(third.launchCount == 8 && third.username == nil)
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `Increments with merge .sum are done once while the daemon is killed repeatedly`() async throws {
        let directory = try TemporaryDirectory()
        let (data, socket) = (directory.path + "/data", directory.path + "/socket")
        func start() throws -> DaemonProcess { try DaemonProcess(data: data, options: ["--listen", "unix:\(socket)"]) }
        var daemon = try start()
        let fixture = SuiteFixture(at: try ServerAddress("unix:\(socket)"), names.app)
        let programs = [fixture.adapter(), fixture.adapter()]
        let log = EventLog()
        let (threads, rounds) = (4, 60)
        let counting = DispatchQueue(label: "counting")
        counting.async {
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                for round in 0..<rounds {
                    programs[thread % 2][\.visits] += 1
                    if round % 10 == 0 { programs[thread % 2].recent.append("\(thread).\(round)") }
                    log.add("counted")
                }
            }
            log.add("done")
        }
        for kill in 1...3 {
            // The daemon is killed after one, two and three quarters of the increments.
            #expect(await log.waits(for: "counted", times: kill * threads * rounds / 4))
            try daemon.killAtOnce()
            daemon = try start()
        }
        #expect(await log.waits(for: "done"))
        for program in programs {
            try await program.synchronize()
            #expect(program.visits == threads * rounds)
            // The default of `recent` has one element.
            #expect(program.recent.count == 1 + threads * rounds / 10)
        }
        #expect(fixture.drainIssues() == [])
        try daemon.stop()
    }

    /// Returns a daemon with other data at the address of another daemon.
    private func replacement(of first: ServedDaemon) throws -> ServedDaemon {
        let (path, directory) = (first.path, try TemporaryDirectory())
        // Stores the data before the daemon listens on the address, because a client must not see an empty suite.
        let writingDaemon = try ServedDaemon(in: directory, port: 0)
        try writingDaemon.client().blocking.send(.merge(["launchCount": 70, "tags": ["other"]], into: names.app))
        writingDaemon.stop()
        return try ServedDaemon(in: directory, port: 0) { $0.listen.append(.unix(path: path)) }
    }

    /// Returns an adapter after 20 writes of `launchCount` and a write of `username`.
    private func adapterWithWrites(_ fixture: SuiteFixture) -> DefaultsAdapter<ClientKeys> {
        let defaults = fixture.adapter()
        for number in 1...20 { defaults.launchCount = number }
        defaults.username = "me"
        return defaults
    }

    @Test
    func `A daemon with other data causes a reset`() throws {
        let first = try ServedDaemon()
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let defaults = adapterWithWrites(fixture)
        let (counts, users) = (watch("launchCount", in: defaults), watch("username", in: defaults))
        first.stop()
        let second = try replacement(of: first)
        #expect(counts.wait(for: "70") && users.wait(for: "-"))
        #expect(defaults.launchCount == 70 && defaults.username == nil && defaults.tags == ["other"])
        try second.client().blocking.send(.set(names.launchCount, to: 71, in: names.app))
        #expect(counts.wait(for: "71"))
        defaults.launchCount += 1
        #expect(defaults.launchCount == 72)
        // The log also gets a change that the adapter makes in the new epoch.
        #expect(counts.wait(for: "72"))
        #expect(counts.all == ["70", "71", "72"])
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `After a write to a daemon with other data, the write and all other data are visible at once`() throws {
        let first = try ServedDaemon()
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let defaults = adapterWithWrites(fixture)
        first.stop()
        let second = try replacement(of: first)
        // The revisions of the new epoch are lower than the revisions that the client knows.
        defaults.loginTries = 5
        #expect(defaults.loginTries == 5 && defaults.launchCount == 70 && defaults.username == nil)
        defaults.launchCount += 1
        #expect(defaults.launchCount == 71)
        #expect(try second.client().blocking.send(.setting(names.launchCount, in: names.app)).value == 71)
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `Synchronizing with a daemon with other data loads the state of its epoch`() async throws {
        let first = try ServedDaemon()
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let defaults = adapterWithWrites(fixture)
        first.stop()
        let second = try replacement(of: first)
        try await defaults.synchronize()
        #expect(defaults.launchCount == 70 && defaults.username == nil && defaults.isSet(\.launchCount))
        withExtendedLifetime(second) {}
    }

    @Test
    func `A read that finds a new epoch also makes the other values of that epoch visible`() async throws {
        let schema = try Schema(of: ClientKeys.self) {
            \.launchCount; \.username; \.tags
        }
        let first = try ServedDaemon()
        try first.client().blocking.send(.setSchema(schema.document, of: names.app))
        let fixture = SuiteFixture(at: try first.address(.unix), names.app)
        let defaults = adapterWithWrites(fixture)
        let other = fixture.adapter()
        #expect(other.launchCount == 20)
        first.stop()
        let second = try replacement(of: first)
        // In a suite with a schema, `isSet` requests the source of the value from the daemon.
        #expect(other.isSet(\.launchCount) && other.launchCount == 70)
        withExtendedLifetime((defaults, second)) {}
    }
}
