internal import Dispatch
internal import Platform
internal import Synchronization

/// A fair, recursive lock for changes in place of one suite.
///
/// A change in place reads a value, runs code of the program and writes the result. Without the lock, two concurrent
/// changes of one process would conflict. The code of the program is synchronous, so the lock is not held across an
/// `await`. The lock is recursive because the code may change another value in place.
final class ChangeLock: Sendable {
    var isHeldByCurrentThread: Bool { state.withLock { $0.holder == CurrentThread.identifier } }

    private struct State {
        /// The thread that holds the lock. 0 if no thread holds the lock, or if the next thread has not woken up yet.
        var holder: UInt = 0
        /// How often the holder has acquired the lock without releasing it. 1 while the next thread has not woken up
        /// yet. 0 if the lock is free.
        var depth = 0
        var waiting: ArraySlice<Promise<Void>> = []
    }

    private let state = Mutex(State())
    /// The maximum wait for the lock. A longer wait is probably a deadlock: the thread with the lock waits for the
    /// thread that waits for the lock. The change then continues without the lock, and the daemon detects conflicts.
    private static let maxWait = Duration.seconds(2)

    /// Blocks the calling thread until it holds the lock. Returns false without the lock after the maximum wait.
    func acquire() -> Bool {
        let thread = CurrentThread.identifier
        let promise = state.withLock { state -> Promise<Void>? in
            if state.depth == 0 || state.holder == thread {
                state.holder = thread
                state.depth += 1
                return nil
            }
            let promise = Promise<Void>()
            state.waiting.append(promise)
            return promise
        }
        guard let promise else { return true }
        guard promise.wait(until: .now + Self.maxWait) != nil || !cancel(promise) else { return false }
        state.withLock { $0.holder = thread }
        return true
    }

    /// Runs a function with the lock. The task waits without blocking a thread. After the maximum wait, or if the task
    /// is cancelled, the function runs without the lock.
    nonisolated(nonsending) func withLock<Result>(_ body: () throws -> Result) async rethrows -> Result {
        let promise = state.withLock { state -> Promise<Void>? in
            if state.depth == 0 {
                state.depth = 1
                return nil
            }
            let promise = Promise<Void>()
            state.waiting.append(promise)
            return promise
        }
        var isAcquired = true
        if let promise, await promise.value(until: .now + Self.maxWait) == nil { isAcquired = !cancel(promise) }
        defer { if isAcquired { release() } }
        let thread = CurrentThread.identifier
        if isAcquired { state.withLock { $0.holder = thread } }
        return try body()
    }

    func release() {
        let next = state.withLock { state -> Promise<Void>? in
            state.depth -= 1
            guard state.depth == 0 else { return nil }
            state.holder = 0
            guard let next = state.waiting.popFirst() else {
                state.waiting = []
                return nil
            }
            state.depth = 1
            return next
        }
        next?.fulfill(())
    }

    /// Removes a waiter. Returns false if the lock was already passed to the waiter.
    private func cancel(_ promise: Promise<Void>) -> Bool {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === promise }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
    }
}
