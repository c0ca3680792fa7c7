import ClientTestSupport
import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Async forms of one adapter at the same time.
@Suite(.ownThread)
struct ConcurrentFormsTests {
    private let backend: SilentBackend
    private let world: World
    private let defaults: DefaultsAdapter<ClientKeys>

    init() throws {
        let backend = try SilentBackend()
        self.backend = backend
        world = World { backend }
        defaults = world.adapter()
    }

    @Test("Writes of different keys are sent at the same time") func writesDifferentKeysSent() async throws {
        let log = EventLog()
        let (one, two) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        backend.beforeCommit { key in
            // Each waits for the other.
            let (mine, other) = key.text == "launchCount" ? (one, two) : (two, one)
            mine.signal()
            log.add(other.wait(timeout: .now() + 120) == .success ? "met" : "alone")
        }
        async let first: Void = defaults.set(\.launchCount, 1)
        async let second: Void = defaults.set(\.loginTries, 2)
        _ = try await (first, second)
        #expect(log.count("met") == 2)
    }

    @Test("A value that is known is read while others write") func valueKnownReadWhile() async throws {
        #expect(defaults.theme == .light)
        let log = EventLog()
        let read = DispatchSemaphore(value: 0)
        backend.beforeCommit { _ in
            log.add("in")
            if read.wait(timeout: .now() + 120) == .timedOut { log.add("alone") }
        }
        let writes = (0..<20).map { number in
            Task { try await defaults.set(\.launchCount, number) }
        }
        #expect(await log.waits(for: "in"))
        #expect(try await defaults.value(\.theme) == .light)
        #expect(try await defaults.value(\.loginTries) == 1, "of the suite it is known that nothing is stored")
        for _ in writes { read.signal() }
        for write in writes { try await write.value }
        #expect(log.count("alone") == 0)
    }

    @Test("What a cancelled task was to write is not written") func whatCancelledTaskWas() async throws {
        #expect(defaults.launchCount == 0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await defaults.set(\.launchCount, 1)
        }
        await #expect(throws: DefaultsError.cancelled) { try await task.value }
        let log = EventLog()
        let cancelled = DispatchSemaphore(value: 0)
        backend.beforeCommit { _ in
            log.add("in")
            _ = cancelled.wait(timeout: .now() + 120)
        }
        let first = Task { try await defaults.set(\.launchCount, 2) }
        #expect(await log.waits(for: "in"))
        let second = Task { try await defaults.set(\.launchCount, 3) }
        second.cancel()
        cancelled.signal()
        try await first.value
        await #expect(throws: DefaultsError.cancelled) { try await second.value }
        #expect(defaults.launchCount == 2 && backend.log.count("launchCount") == 1)
    }

    @Test("A write has its place in the order before its task waits") @MainActor func writeHasPlaceBefore() async throws
    {
        let gate = DispatchSemaphore(value: 0)
        backend.beforeCommit { _ in _ = gate.wait(timeout: .now() + 120) }
        let key = try KeyName("launchCount")
        // A write that is queued elsewhere may be fast enough now and then.
        for number in 1...20 {
            // Runs here up to its first suspension.
            let task = Task.immediate { try await defaults.set(\.launchCount, number) }
            #expect(defaults.core.work.isBusy(with: key))
            gate.signal()
            try await task.value
        }
    }

    @Test("Tasks that begin in an order write one key in that order") @MainActor func tasksBeginOrderWrite()
        async throws
    {
        let tasks = (1...200).map { number in
            Task { try await defaults.set(\.launchCount, number) }
        }
        let seen = Mutex<[JSONValue?]>([])
        let listener = defaults.core.session.listen { changes in
            seen.withLock { $0 += changes.map(\.visible.value) }
        }
        for task in tasks { try await task.value }
        defaults.core.session.stopListening(listener)
        let values = seen.withLock { $0.compactMap { $0?.integer } }
        #expect(values == values.sorted() && defaults.launchCount == 200)
    }
}

/// The order of work as a value would have it: what waits for what.
@Suite(.ownThread)
struct KeyedWorkTests {
    private let a: KeyName
    private let b: KeyName
    private let log = EventLog()

    init() throws {
        a = try KeyName("a")
        b = try KeyName("b")
    }

    @Test("What is about one key is done in order, what is about another beside it") func whatAboutOneKey() {
        let work = KeyedWork()
        let isBeside = DispatchSemaphore(value: 0)
        work.add(about: [a]) { [log] in
            log.add("a1")
            log.add(isBeside.wait(timeout: .now() + 120) == .success ? "a1 done" : "a1 alone")
        }
        work.add(about: [a]) { [log] in log.add("a2") }
        work.add(about: [b]) { [log] in
            log.add("b1")
            isBeside.signal()
        }
        work.add(about: [a, b]) { [log] in log.add("ab") }
        work.add(about: nil) { [log] in log.add("end") }
        #expect(log.wait(for: "end"))
        let all = log.all.filter { $0 != "b1" }
        #expect(all == ["a1", "a1 done", "a2", "ab", "end"] && log.count("b1") == 1)
    }

    @Test("No more is done at a time than there is room for") func noMoreDoneTime() {
        let work = KeyedWork()
        let most = KeyedWork.maxRunning
        let present = Mutex((now: 0, highest: 0))
        let leave = DispatchSemaphore(value: 0)
        for _ in 0..<2 * most {
            work.add(about: []) { [log] in
                present.withLock { present in
                    present.now += 1
                    present.highest = max(present.highest, present.now)
                }
                log.add("in")
                _ = leave.wait(timeout: .now() + 120)
                present.withLock { $0.now -= 1 }
                log.add("out")
            }
        }
        #expect(log.wait(for: "in", times: most))
        for _ in 0..<2 * most { leave.signal() }
        #expect(log.wait(for: "out", times: 2 * most))
        #expect(present.withLock { $0.highest } == most)
    }
}
