import ClientTestSupport
import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Async methods that run at the same time on one adapter. The error `kept` says that the client still has the write
/// and sends it later.
@Suite(.ownThread)
struct ConcurrentMethodsTests {
    /// The log of the backend has the key of each write.
    private let backend: ScriptedBackend
    private let fixture: SuiteFixture
    private let defaults: DefaultsAdapter<ClientKeys>

    init() throws {
        let backend = try ScriptedBackend()
        self.backend = backend
        fixture = SuiteFixture { backend }
        defaults = fixture.adapter()
    }

    @Test
    func `A read of a loaded value does not wait for writes of other tasks`() async throws {
        #expect(defaults.theme == .light)
        let log = EventLog()
        let hasRead = DispatchSemaphore(value: 0)
        backend.beforeWrite { _ in
            log.add("writing")
            if hasRead.wait(timeout: .now() + 120) == .timedOut { log.add("timed out") }
        }
        let writes = (0..<20).map { number in
            Task { try await defaults.set(\.launchCount, number) }
        }
        #expect(await log.waits(for: "writing"))
        #expect(try await defaults.value(\.theme) == .light)
        #expect(try await defaults.value(\.loginTries) == 1, "the suite is loaded, and loginTries has no stored value")
        for _ in writes { hasRead.signal() }
        for write in writes { try await write.value }
        #expect(log.count("timed out") == 0)
    }

    @Test("A task that is cancelled before its write writes nothing")
    func cancelledBefore() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await defaults.set(\.launchCount, 1)
        }
        await #expect(throws: DefaultsError.cancelled) { try await task.value }
        #expect(defaults.launchCount == 0 && backend.log.count("launchCount") == 0)
    }

    @Test("A task that is cancelled while its write is being sent throws `kept`, and the value is stored")
    func cancelledMeanwhile() async throws {
        let log = EventLog()
        let cancelled = DispatchSemaphore(value: 0)
        backend.beforeWrite { _ in
            log.add("writing")
            _ = cancelled.wait(timeout: .now() + 120)
        }
        let task = Task { try await defaults.set(\.launchCount, 2) }
        #expect(await log.waits(for: "writing"))
        task.cancel()
        let error = await #expect(throws: DefaultsError.self) { try await task.value }
        if case .kept? = error {} else { Issue.record("\(String(describing: error))") }
        cancelled.signal()
        try await defaults.flush()
        #expect(defaults.launchCount == 2 && backend.log.count("launchCount") == 1)
    }

    @Test("A transaction that is cancelled while it waits for another change in the process does not run")
    @MainActor
    func cancelledBeforeLock() async throws {
        try await defaults.ready()
        let lock = defaults.core.session.changeLock
        #expect(lock.acquire())
        let task = Task.immediate { try await defaults.transaction { $0.launchCount = 1 } }
        task.cancel()
        await #expect(throws: DefaultsError.cancelled) { try await task.value }
        lock.release()
        #expect(!defaults.core.session.hasUnansweredWrites && backend.log.count("launchCount") == 0)
    }

    @Test
    @MainActor
    func `A write enters the queue before its task suspends`() async throws {
        try await defaults.ready()
        let gate = DispatchSemaphore(value: 0)
        backend.beforeWrite { _ in _ = gate.wait(timeout: .now() + 120) }
        for number in 1...20 {
            // The task runs on this thread until its first suspension.
            let task = Task.immediate { try await defaults.set(\.launchCount, number) }
            #expect(defaults.core.session.hasUnansweredWrites && defaults.launchCount == number)
            gate.signal()
            try await task.value
        }
    }

    @Test("400 concurrent updates cause no conflict, and each update is sent once")
    func concurrentUpdates() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<400 {
                group.addTask { [defaults] in try await defaults.update(\.launchCount) { $0 += 1 } }
            }
            try await group.waitForAll()
        }
        #expect(defaults.launchCount == 400)
        #expect(backend.log.count("launchCount") == 400, "each update is sent once")
    }

    @Test
    @MainActor func `Tasks write one key in the order in which they began`() async throws {
        let tasks = (1...200).map { number in
            Task { try await defaults.set(\.launchCount, number) }
        }
        let seen = Mutex<[JSONValue?]>([])
        let listener = defaults.core.session.listen { changes in
            seen.withLock { $0 += changes.map(\.visible.value) }
        }
        for task in tasks { try await task.value }
        defaults.core.session.removeListener(listener)
        let values = seen.withLock { $0.compactMap { $0?.integer } }
        #expect(values == values.sorted() && defaults.launchCount == 200)
    }
}
