import ClientTestSupport
import Dispatch
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The beginning of an observation: the first updates that an observer gets. The summary of an update is `old→new`,
/// `-→new` without the old value, or the value of an initial update.
@Suite(.ownThread)
struct BeginningTests {
    @Test(
        "Threads that begin to observe at the same time each get the first change after the beginning",
        .timeLimit(.minutes(10)))
    func simultaneously() {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let missed = Mutex<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            let key = DefaultsKey<Int>("key\(thread)", defaultValue: 0)
            for round in 1...500 {
                let received = Mutex<Int?>(nil)
                let updateArrived = DispatchSemaphore(value: 0)
                let observation = defaults.observe(key: key) { update in
                    received.withLock { $0 = $0 ?? update.newValue }
                    updateArrived.signal()
                }
                defaults[key: key] = round
                // Ends the wait if the observer has missed the first change.
                defaults[key: key] = -round
                _ = updateArrived.wait(timeout: .now() + .seconds(Deadline.patience))
                if received.withLock({ $0 }) != round { missed.withLock { $0.append(round) } }
                observation.cancel()
            }
        }
        #expect(missed.withLock { $0 } == [])
    }

    @Test(
        "Observers that are created before the suite is loaded get the initial value after the first successful load",
        arguments: [true, false])
    func waiting(synchronizes: Bool) async throws {
        let suite = try SuiteName("app")
        let backend = InterruptibleBackend(InMemoryBackend(suite: suite))
        backend.isServerUnreachable = true
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(), session: SuiteSession(backend), log: DefaultsLog { _, _, _ in })
        let log = EventLog()
        let observations = Mutex<[DefaultsObservation]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let observation = defaults.observe(\.launchCount, options: .initial) { log.add($0.summary) }
            observations.withLock { $0.append(observation) }
        }
        backend.isServerUnreachable = false
        // Without this call, the client repeats the load in the background.
        if synchronizes { try await defaults.synchronize() }
        #expect(await log.waits(for: "0", times: 4))
        defaults.launchCount = 1
        #expect(await log.waits(for: "-→1", times: 4))
        #expect(log.all.count == 8)
    }

    @Test(
        "A registered default is the initial value until another program stores a value",
        arguments: BackendKind.allCases)
    func registered(_ kind: BackendKind) async throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 5)])
        let fixture = try kind.fixture(schema: schema)
        let (one, two) = (fixture.adapter(), fixture.adapter())
        // The registered default overrides the default of the schema.
        one.register(defaults: ["launchCount": 7])
        try await one.ready()
        let updates = one.updates(of: \.launchCount, options: [.initial, .old])
        let all = one.updates(options: [.initial, .old])
        var iterator = updates.makeAsyncIterator()
        var iteratorOfAll = all.makeAsyncIterator()
        #expect(await iterator.next()?.summary == "7")
        let first = await iteratorOfAll.next()
        #expect(first?.oldValue == nil && first?.newValue == 7)
        two.launchCount = 9
        #expect(await iterator.next()?.summary == "7→9")
        let second = await iteratorOfAll.next()
        #expect(second?.oldValue == 7 && second?.newValue == 9)
        #expect(fixture.drainIssues() == [])
    }

    @Test("If two tasks wait on a sequence, the wait of one task ends at once, and the other wait when observing ends")
    func twoWaiting() async throws {
        let core = DefaultsAdapter.inMemory(keyStore: ClientKeys()).core
        // An observer of all keys that converts each change into no update, so its sequence never has an element.
        let stream = Observer(core, [NoticeConversion<Int>(keys: nil) { _ in [] }], handler: nil)
        let log = EventLog()
        for _ in 0..<2 {
            Task {
                _ = await stream.next(isolation: nil)
                log.add("ended")
            }
        }
        #expect(await log.waits(for: "ended"))
        stream.end(waits: false)
        #expect(await log.waits(for: "ended", times: 2))
    }
}
