package import Dispatch
internal import Synchronization

/// Runs one task at a time on a background queue. Keeps the result of a task until the owner of this object takes it.
///
/// Thread-safe, but only one thread, the owner, may begin tasks and take results.
package final class BackgroundTask<TaskResult: Sendable>: Sendable {
    private struct Progress {
        var isBusy = false
        /// The result of the last task; nil before its end, and after the owner has taken the result.
        var result: TaskResult?
    }

    private let queue: DispatchQueue
    private let runsSynchronously: Bool
    private let progress = Mutex(Progress())
    private let cancelled = Atomic(false)

    /// - Parameter runsSynchronously: true to run each task in the call that begins it, for tests.
    package init(label: String, qos: DispatchQoS, runsSynchronously: Bool) {
        queue = DispatchQueue(label: label, qos: qos)
        self.runsSynchronously = runsSynchronously
    }

    /// True from the beginning of a task until the owner has taken its result.
    package var isBusy: Bool { progress.withLock { $0.isBusy } }

    /// True after a cancellation. The running task, and each task that begins later, should then return early.
    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Begins a task. ``isBusy`` must be false. The task receives this object, so that it can read ``isCancelled``.
    package func begin(_ body: @escaping @Sendable (BackgroundTask) -> TaskResult) {
        progress.withLock { $0.isBusy = true }
        let run: @Sendable () -> Void = { [self] in
            let result = body(self)
            progress.withLock { $0.result = result }
        }
        if runsSynchronously { run() } else { queue.async(execute: run) }
    }

    /// Waits for the end of the running task, if any.
    package func wait() { queue.sync {} }

    /// Waits for the end of the running task, at most `time` nanoseconds. Returns false if the task is still running.
    func wait(for time: UInt64) -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        // At least 1 ms, because the signal takes a moment even if no task is running. The maximum fits into an `Int`.
        let time = min(max(time, 1_000_000), 1 << 60)
        return done.wait(timeout: .now() + .nanoseconds(Int(time))) == .success
    }

    /// Makes ``isCancelled`` true, and waits for the end of the running task.
    func cancelAndWait() {
        cancelled.store(true, ordering: .relaxed)
        wait()
    }

    /// Like ``cancelAndWait()``, but waits at most `time` nanoseconds.
    package func cancelAndWait(atMost time: UInt64) {
        cancelled.store(true, ordering: .relaxed)
        _ = wait(for: time)
    }

    /// Returns and forgets the result of the last task; nil if no task has ended since the owner took the last result.
    package func takeResult() -> TaskResult? {
        progress.withLock { progress in
            guard let result = progress.result else { return nil }
            progress = Progress()
            return result
        }
    }
}
