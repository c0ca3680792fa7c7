import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// A `KeyCell` is the state that all readers of one key share. A read may report an issue, and the log handler of this
/// issue may read the same key again.
@Suite(.ownThread)
struct KeyCellTests {
    @Test("A log handler that reads and increments settings for each issue does not deadlock", .timeLimit(.minutes(10)))
    func countingLog() throws {
        // The adapter that the log handler uses.
        let (log, handlerAdapter) = (EventLog(), Shared<DefaultsAdapter<ClientKeys>>())
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(), session: SuiteSession(InMemoryBackend(suite: try SuiteName("app"))),
            log: DefaultsLog { _, message, _ in
                log.add("\(handlerAdapter.value?.launchCount ?? -1) \(message)")
                handlerAdapter.value?.loginTries += 1
            })
        handlerAdapter.value = defaults
        let before = defaults.loginTries
        defaults["launchCount"] = "many"
        #expect(defaults.launchCount == 0)
        defaults.core.issues.waitUntilLogged(until: .now + .seconds(180))
        #expect(log.all.count == 1 && log.all[0].hasPrefix("0 "), "\(log.all)")
        #expect(defaults.loginTries == before + 1)
        handlerAdapter.value = nil
    }
}
