internal import Dispatch
internal import Synchronization
package import Testing

/// A trait that runs each test case on threads of its own, a few cases at a time.
///
/// These tests block: on sockets, processes, semaphores, files. On the threads of tasks, of which there are as many as cores,
/// they would hold up every task of the process, the ones that they wait for among them.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Seats.shared.take()
        defer { Seats.shared.leave() }
        try await withTaskExecutorPreference(Executor()) { try await function() }
    }

    private final class Executor: TaskExecutor {
        /// Each job has a thread: child tasks of a test may block, too, and wait for each other.
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            DispatchQueue(label: "test").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: Self { OwnThread() }
}

/// A counting semaphore that suspends tasks. It bounds how many tests run at once: enough that waiting costs no time, few enough
/// that none of them is starved.
private final class Seats: Sendable {
    static let shared = Seats(8)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func take() async {
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

    func leave() {
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
