import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Connections and followers that all adapters of one server share. A follower (`RemoteFollower`) receives the changes
/// of one suite by long polls. Here, a `CuttingProxy` forwards all requests and answers, and its log has `connection`
/// for each connection.
@Suite(.ownThread)
struct SharedServerTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test
    func `Forty writes of two suites need at most six connections, and each suite gets its own changes`() throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let address = proxy.server.address
        // The empty client name turns reports off. A report that overlaps with a write would open another connection.
        let one = DefaultsAdapter(
            suite: names.app, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed, arguments: [],
            clientName: "")
        let two = DefaultsAdapter(
            suite: names.otherSuite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed,
            arguments: [],
            clientName: "")
        for number in 1...20 {
            one.launchCount = number
            two.launchCount = -number
            #expect(one.launchCount == number && two.launchCount == -number)
        }
        let log = EventLog()
        for adapter in [one, two] {
            _ = adapter.core.session.listen { changes in
                for change in changes where change.key == names.theme { log.add("\(change.visible.value ?? .null)") }
            }
        }
        let client = try daemon.client().blocking
        try client.send(.set(names.theme, to: "dark", in: names.app))
        try client.send(.set(names.theme, to: "light", in: names.otherSuite))
        #expect(log.wait(for: "\"dark\"") && log.wait(for: "\"light\""))
        #expect(one.theme == .dark && two.theme == .light)
        #expect(proxy.server.log.count("connection") <= 6, "far fewer than the 40 writes")
    }

    @Test
    func `Adapters of a suite share one long poll until the last adapter is released`() throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        func adapter() -> DefaultsAdapter<ClientKeys> {
            DefaultsAdapter(
                suite: names.app, keyStore: ClientKeys(), server: proxy.server.address, outbox: .none,
                writes: .confirmed, arguments: [])
        }
        var adapters = [adapter(), adapter(), adapter()]
        let log = EventLog()
        for (number, adapter) in adapters.enumerated() {
            #expect(adapter.theme == .light)
            _ = adapter.core.session.listen { changes in
                for change in changes where change.key == names.theme {
                    log.add("\(number) \(change.visible.value ?? .null)")
                }
            }
        }
        let client = try daemon.client().blocking
        try client.send(.set(names.theme, to: "dark", in: names.app))
        #expect(log.wait { Set($0) == ["0 \"dark\"", "1 \"dark\"", "2 \"dark\""] })
        adapters.removeFirst(2)
        try client.send(.set(names.theme, to: "light", in: names.app))
        #expect(log.wait(for: "2 \"light\"") && adapters[0].theme == .light)
        // Three adapters saw the first change, and one adapter the second change. The proxy has one connection for long
        // polls and one for other requests.
        #expect(log.all.count == 4 && proxy.server.log.count("connection") == 2)
        adapters = []
        // A new adapter after the release of all adapters can load the suite.
        #expect(adapter().theme == .light)
    }
}
