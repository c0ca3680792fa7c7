internal import Dispatch
internal import Platform
internal import SettingsHTTP
internal import Synchronization

/// A value that is set once. Threads and tasks can wait for the value. Thread-safe.
package final class Promise<Value: Sendable>: Sendable {
    private struct Waiter: Sendable {
        /// Called with the value, or with nil if the wait ends without a value.
        let resume: @Sendable (Value?) -> Void
        /// The timer of the deadline of a waiting task. Nil without a deadline, and for a thread in `wait(until:)`.
        var timer: UInt64?

        func end(_ value: Value?) {
            if let timer { ClientThread.shared.cancelTimer(timer) }
            resume(value)
        }
    }

    private struct State {
        var value: Value?
        var waiters: [UInt64: Waiter] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    var value: Value? { state.withLock { $0.value } }

    /// Sets the value and wakes all waiters. Does nothing if the value is set.
    package func fulfill(_ value: Value) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.value == nil else { return [] }
            state.value = value
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.end(value) }
    }

    /// Blocks the calling thread until the value is set. Returns nil if the deadline comes first.
    func wait(until deadline: ContinuousClock.Instant) -> Value? {
        let semaphore = DispatchSemaphore(value: 0)
        let id = nextID()
        guard add(id, Waiter { _ in semaphore.signal() }) else { return value }
        _ = semaphore.wait(timeout: .after(max(.zero, deadline - .now)))
        state.withLock { $0.waiters[id] = nil }
        return value
    }

    func waitForever() {
        while wait(until: .now + .seconds(3600)) == nil {}
    }

    /// Waits until the value is set. Returns nil if the deadline comes first, or if the task is cancelled.
    package nonisolated(nonsending) func value(until deadline: ContinuousClock.Instant? = nil) async -> Value? {
        let id = nextID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
                guard add(id, Waiter { continuation.resume(returning: $0) }) else {
                    return continuation.resume(returning: value)
                }
                // The cancellation handler may have run before there was a waiter.
                if Task.isCancelled { return endWait(id) }
                if let deadline { setTimer(for: id, at: deadline) }
            }
        } onCancel: {
            endWait(id)
        }
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    /// Adds a waiter. Returns false if the value is already set.
    private func add(_ id: UInt64, _ waiter: Waiter) -> Bool {
        state.withLock { state in
            guard state.value == nil else { return false }
            state.waiters[id] = waiter
            return true
        }
    }

    private func setTimer(for id: UInt64, at moment: ContinuousClock.Instant) {
        let timer = ClientThread.shared.schedule(at: moment) { [weak self] in self?.endWait(id) }
        let isNeeded = state.withLock { state in
            state.waiters[id]?.timer = timer
            return state.waiters[id] != nil
        }
        if !isNeeded { ClientThread.shared.cancelTimer(timer) }
    }

    /// Ends a wait without a value.
    private func endWait(_ id: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
        waiter?.end(nil)
    }
}
