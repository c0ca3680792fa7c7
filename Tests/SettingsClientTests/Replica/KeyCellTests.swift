import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct KeyCellTests {
    @Test("A log that counts issues in a setting does not wait for itself", .timeLimit(.minutes(10)))
    func countingLog() throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0)])
        let link = FlakyBackend(InMemoryBackend(suite: try SuiteName("app"), schema: schema))
        let directory = try TemporaryDirectory()
        let (log, counter) = (EventLog(), Held<DefaultsAdapter<ClientKeys>>())
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(
                link, outbox: .directory(directory.path), cache: .none, of: .usual, patience: .seconds(20)),
            arguments: [],
            log: { issue in
                log.add("\(issue)")
                counter.value?["launchCount"] += 1
            })
        #expect(defaults["launchCount"].int == 0)
        counter.value = defaults
        link.leave()
        defaults["launchCount"] += 1
        #expect(defaults["launchCount"].int == 1)
        #expect(log.all == [])
        counter.value = nil
        link.comeBack()
    }

    @Test("A type that writes its own key while a change of it is merged gets an issue", .timeLimit(.minutes(10)))
    func nosyType() throws {
        let world = try Place.memory.world()
        let defaults = world.adapter()
        let key = DefaultsKey<[Nosy]>("nosy", defaultValue: [], merge: .append)
        let issues = Held<[DefaultsIssue]>()
        change(&defaults[key: key]) { list in
            list.append(Nosy(number: 1))
            defaults["nosy"] = JSONValue.array([5])
            Nosy.onRead.value = {
                Nosy.onRead.value = nil
                defaults["nosy"] = JSONValue.array([9])
                issues.value = world.takeIssues()
            }
        }
        #expect(issues.value?.map(\.key) == ["nosy"] && issues.value?.first?.error.code == .invalidOperation)
        #expect(defaults["nosy"].array == [5, 1])
        #expect(world.takeIssues() == [])
    }
}

/// A type that does something when it is read.
private struct Nosy: RawRepresentable, DefaultsSerializable {
    static let onRead = Held<@Sendable () -> Void>()
    let rawValue: Int

    init(number: Int) {
        rawValue = number
    }

    init?(rawValue: Int) {
        self.rawValue = rawValue
        Self.onRead.value?()
    }
}
