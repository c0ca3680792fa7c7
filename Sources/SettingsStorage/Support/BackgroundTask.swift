package import Dispatch
internal import Synchronization

/// Runs one task at a time on a background queue, and keeps the result of the task until its owner takes it.
///
/// Thread-safe, but only one thread may begin tasks.
package final class BackgroundTask<Report: Sendable>: Sendable {
    private struct Progress {
        var isBusy = false
        var report: Report?
    }

    private let queue: DispatchQueue
    private let runsInline: Bool
    private let progress = Mutex(Progress())
    /// True after ``abandon()``, which cancels the running task and all later tasks.
    private let abandoned = Atomic(false)

    /// - Parameter runsInline: true to run each task in the call that begins it, for tests.
    package init(label: String, qos: DispatchQoS, runsInline: Bool) {
        queue = DispatchQueue(label: label, qos: qos)
        self.runsInline = runsInline
    }

    /// True from the beginning of a task until the owner has taken its result.
    package var isBusy: Bool { progress.withLock { $0.isBusy } }

    /// True if the task was cancelled and should return early.
    package var isCancelled: Bool { abandoned.load(ordering: .relaxed) }

    /// Begins a task. ``isBusy`` must be false.
    package func begin(_ body: @escaping @Sendable (BackgroundTask) -> Report) {
        progress.withLock { $0.isBusy = true }
        let run: @Sendable () -> Void = { [self] in
            let report = body(self)
            progress.withLock { $0.report = report }
        }
        if runsInline { run() } else { queue.async(execute: run) }
    }

    /// Waits for the end of the running task, if any.
    package func wait() {
        queue.sync {}
    }

    /// Waits for the end of the running task, at most `time` nanoseconds. Returns false if the task is still running.
    func wait(for time: UInt64) -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        // At least 1 ms, because the signal takes a moment even if no task is running.
        let time = min(max(time, 1_000_000), 1 << 60)
        return done.wait(timeout: .now() + .nanoseconds(Int(time))) == .success
    }

    /// Cancels the running task and all later tasks, and waits for the end of the running task.
    func abandon() {
        abandoned.store(true, ordering: .relaxed)
        wait()
    }

    /// Cancels like ``abandon()``, but waits at most `time` nanoseconds.
    package func abandon(waiting time: UInt64) {
        abandoned.store(true, ordering: .relaxed)
        _ = wait(for: time)
    }

    /// Returns the result of the last task, once; nil if there is none.
    package func takeResult() -> Report? {
        progress.withLock { progress in
            guard let report = progress.report else { return nil }
            progress = Progress()
            return report
        }
    }
}
