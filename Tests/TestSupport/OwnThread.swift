internal import Dispatch
internal import Synchronization
package import Testing

/// A trait that runs each test case on its own threads, with a limit on concurrent cases.
///
/// The tests block on sockets, processes, semaphores and files. The cooperative thread pool has only one thread for
/// each core, so a blocking test could block the task for which it waits.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // Nil for a whole suite or a whole test function, whose cases get their own calls.
        guard testCase != nil else { return try await function() }
        await TestSlots.shared.acquire()
        defer { TestSlots.shared.release() }
        try await withTaskExecutorPreference(Executor()) { try await function() }
    }

    private final class Executor: TaskExecutor {
        /// Each job has its own thread, because child tasks of a test can block and wait for each other.
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            DispatchQueue(label: "test").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: Self { OwnThread() }
}

/// A counting semaphore that suspends tasks. It limits the number of concurrent tests to eight: with more tests than
/// cores, the processors are busy while some tests wait for an event; with a limit, each test gets enough processor
/// time to meet its deadlines.
private final class TestSlots: Sendable {
    static let shared = TestSlots(8)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func acquire() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func release() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
