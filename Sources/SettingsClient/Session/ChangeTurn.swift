internal import Dispatch
internal import Platform
internal import Synchronization

/// The right to change values of a suite in place. One thread or task has it at a time, in the order of the requests.
///
/// A change in place reads a value, runs code of the program and writes the result. Without the turn, two such changes of one
/// process would conflict. The code of the program runs without a suspension, so a holder never waits for the network. A
/// thread that has the turn can take it again, for a change within a change.
final class ChangeTurn: Sendable {
    private struct State {
        /// The thread that has the turn. 0 if no thread has it.
        var holder: UInt = 0
        var depth = 0
        var waiting: ArraySlice<Promise<Void>> = []
    }

    private let state = Mutex(State())
    /// A thread that holds the turn for longer probably waits for a thread that wants the turn. The change then goes on
    /// without the turn, and the daemon detects a conflict.
    private static let longestWait = Duration.seconds(2)

    /// Blocks the calling thread until it has the turn. Returns false if the wait was too long.
    func begin() -> Bool {
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
        guard promise.wait(until: .now + Self.longestWait) != nil || !cancel(promise) else { return false }
        state.withLock { $0.holder = thread }
        return true
    }

    /// Runs a body in turn. The task waits without blocking a thread.
    nonisolated(nonsending) func run<Result>(_ body: () throws -> Result) async rethrows -> Result {
        let promise = state.withLock { state -> Promise<Void>? in
            if state.depth == 0 {
                state.depth = 1
                return nil
            }
            let promise = Promise<Void>()
            state.waiting.append(promise)
            return promise
        }
        var hasTurn = true
        if let promise, await promise.value(until: .now + Self.longestWait) == nil { hasTurn = !cancel(promise) }
        defer { if hasTurn { end() } }
        let thread = CurrentThread.identifier
        if hasTurn { state.withLock { $0.holder = thread } }
        return try body()
    }

    func end() {
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

    /// Removes a waiter. Returns false if it has the turn already.
    private func cancel(_ promise: Promise<Void>) -> Bool {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === promise }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
    }
}
