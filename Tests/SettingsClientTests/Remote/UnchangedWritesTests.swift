import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility
@testable import SettingsHTTP

/// Writes that change nothing, at a daemon whose revision is later than the last revision of the suite, because other
/// suites have commits, too.
@Suite(.ownThread)
struct UnchangedWritesTests {
    private let names: SampleNames
    private let daemon: ServedDaemon
    private let fixture: SuiteFixture

    init() throws {
        names = try SampleNames()
        daemon = try ServedDaemon()
        try daemon.client().blocking.send(
            .setSchema(
                [
                    "type": "object", "additionalProperties": false,
                    "properties": [
                        "player.volume": ["type": "number", "default": 0.7], "status": ["type": "string"],
                    ],
                ], of: names.app))
        fixture = SuiteFixture(at: try daemon.address(.unix), names.app, of: daemon)
    }

    /// Writes to another suite, so that the revision of the daemon grows.
    private func commitToOtherSuite() throws {
        let client = try daemon.client().blocking
        for number in 1...3 {
            try client.send(.set(names.launchCount, to: .integer(Int64(number)), in: names.otherSuite))
        }
    }

    /// Returns the number of unconfirmed writes of a key in the replica, to which `change` gives access.
    private func pendingCount(_ name: String, in defaults: DefaultsAdapter<ClientKeys>) throws -> Int {
        let key = try KeyName(name)
        return defaults.core.session.change { $0.entries[key]?.pending.count ?? 0 }
    }

    @Test
    func `Writes that change nothing do not accumulate in the replica`() throws {
        let defaults = fixture.adapter()
        defaults["status"] = "ok"
        try commitToOtherSuite()
        for _ in 0..<50 {
            defaults["status"] = "ok"
            #expect(defaults["status"].string == "ok")
        }
        // The replica may still retain the last write: a write stays pending until the replica has the revision of its
        // answer.
        #expect(try pendingCount("status", in: defaults) <= 1)
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `After the removal of an unset key, the default of the schema is effective`() throws {
        let defaults = fixture.adapter()
        #expect(defaults["player.volume"].double == 0.7)
        try commitToOtherSuite()
        defaults.remove("player.volume")
        #expect(defaults["player.volume"].double == 0.7)
        #expect(!defaults.isSet("player.volume"))
        try commitToOtherSuite()
        defaults.remove("player.volume")
        #expect(defaults["player.volume"].double == 0.7)
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `A removal of a key that another program has just removed leaves the key unset`() throws {
        let backend = FlakyBackend(fixture.backend())
        let defaults = fixture.adapter(ClientKeys(), session: SuiteSession(backend))
        try daemon.client().blocking.send(.merge(["player.volume": 0.2, "status": "old"], into: names.app))
        #expect(defaults["player.volume"].double == 0.2)
        backend.delayNotifications()
        // Removes the values of all keys, as another program would.
        try daemon.client().blocking.send(.reset(names.app))
        defaults.remove("player.volume")
        defaults.remove("status")
        #expect(defaults["player.volume"].double == 0.7 && defaults["status"].value == nil)
        backend.reconnect()
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `removeAll after a removeAll of another program leaves all keys unset`() throws {
        let backend = FlakyBackend(fixture.backend())
        let defaults = fixture.adapter(ClientKeys(), session: SuiteSession(backend))
        try daemon.client().blocking.send(.merge(["player.volume": 0.2, "status": "old"], into: names.app))
        #expect(defaults["player.volume"].double == 0.2 && defaults["status"].string == "old")
        let log = EventLog()
        _ = defaults.core.session.listen { changes in
            for change in changes { log.add("\(change.key) \(change.visible.value.map { "\($0)" } ?? "-")") }
        }
        backend.delayNotifications()
        // Removes the values of all keys, as another program would.
        try daemon.client().blocking.send(.reset(names.app))
        defaults.removeAll()
        #expect(defaults["player.volume"].double == 0.7 && defaults["status"].value == nil)
        defaults.removeAll()
        // The client does not know the default before the daemon has answered.
        #expect(Set(log.all) == ["player.volume -", "player.volume 0.7", "status -"])
        backend.reconnect()
        #expect(fixture.drainIssues() == [])
    }
}
