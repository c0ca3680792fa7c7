import Dispatch
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct ObservationLifetimeTests {
    @Test("A released observation never calls its handler again, and releases the handler's captures")
    func dropping() throws {
        final class Owner: Sendable {}
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let log = EventLog()
        weak var owner: Owner?
        var first: DefaultsObservation?
        do {
            let captured = Owner()
            owner = captured
            first = defaults.observe(\.launchCount) { _ in
                withExtendedLifetime(captured) {}
                log.add("first")
            }
        }
        let second = defaults.observe(\.launchCount) { log.add("second \($0.newValue)") }
        defaults.launchCount = 1
        #expect(log.wait(for: "second 1"))
        #expect(owner != nil && defaults.core.observers.count == 2)
        first = nil
        #expect(defaults.core.observers.count == 1)
        defaults.launchCount = 2
        #expect(log.wait(for: "second 2"))
        #expect(owner == nil)
        second.cancel()
        second.cancel()
        defaults.launchCount = 3
        #expect(defaults.core.observers.count == 0)
        #expect(log.all == ["first", "second 1", "second 2"])
        #expect(first == nil)
    }

    @Test("Creating and cancelling 10,000 observers of one key takes linear time")
    func manyObservers() throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        #expect(defaults.launchCount == 0)
        expectLinearTime {
            let observations = (0..<10_000).map { _ in defaults.observe(\.launchCount) { _ in } }
            #expect(defaults.core.observers.count == 10_000)
            for observation in observations { observation.cancel() }
        }
        #expect(defaults.core.observers.count == 0)
    }

    @Test(
        "A cancelled observation calls no handler, even if another thread is writing",
        arguments: BackendKind.allCases
    )
    func cancelling(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let isDone = Atomic(false)
        let callsAfterCancel = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            if thread == 0 {
                var number = 0
                while !isDone.load(ordering: .acquiring) {
                    number += 1
                    defaults.launchCount = number
                }
            } else {
                for _ in 0..<60 {
                    let flags = Flags()
                    let observation = defaults.observe(\.launchCount) { _ in
                        flags.calls.add(1, ordering: .relaxed)
                        if flags.isCancelled.load(ordering: .acquiring) { callsAfterCancel.add(1, ordering: .relaxed) }
                    }
                    #expect(throws: Never.self) { try eventually { flags.calls.load(ordering: .relaxed) > 0 } }
                    observation.cancel()
                    flags.isCancelled.store(true, ordering: .releasing)
                }
                isDone.store(true, ordering: .releasing)
            }
        }
        #expect(callsAfterCancel.load(ordering: .relaxed) == 0)
        #expect(defaults.core.observers.count == 0)
    }

    private final class Flags: Sendable {
        let calls = Atomic(0)
        let isCancelled = Atomic(false)
    }

    @Test("Cancelling an observation waits for its running handler, and releasing an observation does not")
    func waiting() throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let log = EventLog()
        let release = DispatchSemaphore(value: 0)
        var observation: DefaultsObservation? = defaults.observe(\.launchCount) { _ in
            log.add("in")
            release.wait()
            log.add("out")
        }
        defaults.launchCount = 1
        #expect(log.wait(for: "in"))
        let other = try #require(observation)
        DispatchQueue.global().async {
            log.add("cancelling")
            other.cancel()
            log.add("cancelled")
        }
        #expect(log.wait(for: "cancelling"))
        release.signal()
        #expect(log.wait(for: "cancelled"))
        #expect(log.all == ["in", "cancelling", "out", "cancelled"])
        observation = defaults.observe(\.loginTries) { _ in
            log.add("in again")
            release.wait()
            log.add("out again")
        }
        defaults.loginTries = 2
        #expect(log.wait(for: "in again"))
        observation = nil
        log.add("released")
        release.signal()
        #expect(log.wait(for: "out again"))
        #expect(log.all.suffix(3) == ["in again", "released", "out again"])
        #expect(observation == nil)
    }

    @Test(
        "An observer gets no change from before its creation, even if other observers still wait for the change",
        .timeLimit(.minutes(10)))
    func laterObservers() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let log = EventLog()
        let observation = Shared<DefaultsObservation>()
        let sequence = Shared<DefaultsUpdates<DefaultsUpdate<Int>>>()
        let all = Shared<DefaultsUpdates<UntypedUpdate>>()
        // The session calls this listener with the same notices before it calls the listener of the observers.
        let listener = defaults.core.session.addListener { [unowned defaults] notices in
            guard observation.value == nil, case .changed? = notices.first else { return }
            sequence.value = defaults.updates(of: \.launchCount)
            all.value = defaults.updates()
            observation.value = defaults.observe(\.launchCount) { log.add("late \($0.summary)") }
        }
        let early = defaults.observe(\.loginTries) { log.add("early \($0.summary)") }
        defaults.launchCount = 1
        try eventually { observation.value != nil }
        defaults.launchCount = 2
        defaults.loginTries = 3
        #expect(log.wait(for: "early 1→3"))
        #expect(log.all == ["late 1→2", "early 1→3"])
        var updates = try #require(sequence.value).makeAsyncIterator()
        var untyped = try #require(all.value).makeAsyncIterator()
        #expect(await updates.next()?.summary == "1→2")
        #expect(await untyped.next()?.newValue == 2)
        defaults.core.session.removeListener(listener)
        observation.value = nil
        withExtendedLifetime(early) {}
    }

    @Test("An adapter that a handler captures is retained until the observation is released")
    func adapters() throws {
        weak var core: AdapterCore?
        let log = EventLog()
        let backend = InMemoryBackend(suite: .sample)
        var observation: DefaultsObservation?
        do {
            let defaults = DefaultsAdapter(keyStore: ClientKeys(), session: SuiteSession(backend))
            core = defaults.core
            // The handler retains the adapter, but only until the observation is released.
            observation = defaults.observe(\.launchCount) { log.add("\($0.newValue) \(defaults.launchCount)") }
        }
        #expect(core != nil)
        DefaultsAdapter(keyStore: ClientKeys(), session: SuiteSession(backend)).launchCount = 3
        #expect(log.wait(for: "3 3"))
        observation?.cancel()
        observation = nil
        // The queue of the observers may still retain the adapter, and the client thread ends the subscription later.
        try eventually { core == nil && backend.followerCount == 0 }
    }

    @Test("Observing with key paths that capture new values does not grow the key table without limit")
    func capturedPaths() {
        struct IndexedKeys: DefaultsKeyStore {
            subscript(index: Int) -> DefaultsKey<Int> { .init("key\(index % 4)", defaultValue: index % 4) }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: IndexedKeys())
        for index in 0..<2000 {
            let observation = defaults.observe(\.[index]) { _ in }
            _ = defaults.updates(of: \.[index])
            defaults[\.[index]] = index
            observation.cancel()
        }
        // The table holds at most `capacity` resolved keys and `capacity` readings (the cached results of reads with
        // key paths). `count` is the sum of both numbers.
        #expect(defaults.core.keys.count <= 2 * KeyTable.capacity)
        #expect(defaults.core.observers.count == 0)
    }

    @Test("A slow handler gets the newest value of each key, and each old value is the previous new value")
    func slowHandlers() throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let log = EventLog()
        let release = DispatchSemaphore(value: 0)
        let updates = Mutex<[DefaultsUpdate<Int>]>([])
        let count = defaults.observe(\.launchCount) { update in
            if update.newValue == 1 {
                log.add("in")
                release.wait()
            }
            updates.withLock { $0.append(update) }
            if update.newValue == 4000 { log.add("last") }
        }
        let tries = defaults.observe(\.loginTries) { log.add("tries \($0.summary)") }
        defaults.launchCount = 1
        #expect(log.wait(for: "in"))
        defaults.loginTries = 2
        for number in 2...4000 { defaults.launchCount = number }
        defaults.loginTries = 3
        release.signal()
        #expect(log.wait(for: "tries 2→3"))
        let received = updates.withLock { $0 }
        // When the queue of the observer is full, it keeps only the newest notice (the change of a key) of each key.
        // The limit also allows updates that the observer has already taken from the queue.
        #expect(received.count <= NoticeBacklog.minimumLimit + 2)
        #expect(received.first == DefaultsUpdate(key: "launchCount", oldValue: 0, newValue: 1, isInitial: false))
        #expect(
            zip(received, received.dropFirst()).allSatisfy { $0.newValue == $1.oldValue && $0.newValue < $1.newValue })
        #expect(log.all == ["in", "tries 1→2", "last", "tries 2→3"])
        withExtendedLifetime((count, tries)) {}
    }
}

extension SuiteName {
    /// A suite for tests.
    static var sample: SuiteName {
        guard let name = try? SuiteName("com.example.app") else {
            preconditionFailure("com.example.app is not a valid suite name")
        }
        return name
    }
}
