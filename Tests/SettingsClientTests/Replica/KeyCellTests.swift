import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// A `KeyCell` is the state that all readers of one key share.
@Suite(.ownThread)
struct KeyCellTests {
    @Test("A log handler that increments a setting for each issue does not deadlock", .timeLimit(.minutes(10)))
    func countingLog() throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0)])
        let link = FlakyBackend(InMemoryBackend(suite: try SuiteName("app"), schema: schema))
        let directory = try TemporaryDirectory()
        let (log, counter) = (EventLog(), Shared<DefaultsAdapter<ClientKeys>>())
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(
                link, outbox: .directory(directory.path), cache: .none, of: .usual, timeout: .seconds(20)),
            arguments: [], writes: .background,
            log: DefaultsLog { _, message, _ in
                log.add(message)
                counter.value?["launchCount"] += 1
            })
        #expect(defaults["launchCount"].int == 0)
        counter.value = defaults
        link.disconnect()
        defaults["launchCount"] += 1
        #expect(defaults["launchCount"].int == 1)
        #expect(log.all == [])
        counter.value = nil
        link.reconnect()
    }
}
