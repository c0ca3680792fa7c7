import Dispatch
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct ReplicaListeningTests {
    private let suite: SuiteName
    private let key: KeyName
    private let replica = SuiteSession(InMemoryBackend(suite: .sample))

    init() throws {
        suite = try SuiteName("app")
        key = try KeyName("k")
    }

    private func write(_ value: Int64) {
        let operations = [Transaction.Operation(suite: suite, key: key, .set(.integer(value)))]
        replica.change { $0.begin(.unique(), operations) }
    }

    @Test("Listeners get changes outside the lock, until they stop")
    func telling() {
        let heard = Mutex<[JSONValue?]>([])
        let listener = replica.listen { [replica] changes in
            for change in changes { heard.withLock { $0.append(change.new.value) } }
            // Reading from here would never return if the lock were held.
            _ = replica.cursor
        }
        write(1)
        write(1)
        write(2)
        replica.stopListening(listener)
        write(3)
        #expect(heard.withLock { $0 } == [1, 2])
    }

    @Test("A listener may cause more news, which come after", .timeLimit(.minutes(10)))
    func reentrance() {
        let heard = Mutex<[JSONValue?]>([])
        _ = replica.listen { [self] changes in
            for change in changes {
                heard.withLock { $0.append(change.new.value) }
                if case .integer(let number)? = change.new.value, number < 3 { write(number + 1) }
            }
        }
        write(1)
        #expect(heard.withLock { $0 } == [1, 2, 3])
    }

    @Test("News of many threads come one after the other, each from where the last ended")
    func order() {
        let heard = Mutex<[ReplicaChange]>([])
        _ = replica.listen { changes in heard.withLock { $0 += changes } }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<200 { write(Int64(thread * 1000 + number)) }
        }
        let changes = heard.withLock { $0 }
        #expect(changes.count == 1600)
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new.value == $1.old.value })
    }

    @Test("Beginnings of observers and registered defaults are events in order")
    func places() {
        let heard = Mutex<[ReplicaNews]>([])
        _ = replica.listenForNews { news in heard.withLock { $0 += news } }
        write(1)
        replica.change { [key] in $0.begin(7, [key]) }
        replica.change { [key] in $0.register([key: 6]) }
        write(2)
        let one = VisibleSetting(value: 1, source: .stored, revision: nil)
        let two = VisibleSetting(value: 2, source: .stored, revision: nil)
        #expect(
            heard.withLock { $0 } == [
                .changed(ReplicaChange(key: key, old: .unset, new: one)),
                .began(7, [ObservedSetting(key: key, visible: one)]),
                .registered(ObservedSetting(key: key, visible: one, registered: 6)),
                .changed(ReplicaChange(key: key, old: one, new: two)),
            ])
    }
}
