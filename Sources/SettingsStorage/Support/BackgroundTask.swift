package import Dispatch
internal import Synchronization

/// A queue that runs one task at a time in the background, and keeps its result until the commit stage takes it.
package final class BackgroundTask<Report: Sendable>: Sendable {
    private struct Progress {
        var isBusy = false
        var report: Report?
    }

    private let queue: DispatchQueue
    private let runsInline: Bool
    private let progress = Mutex(Progress())
    private let abandoned = Atomic(false)

    /// - Parameter runsInline: true to run each task in the call that begins it.
    package init(label: String, qos: DispatchQoS, runsInline: Bool) {
        queue = DispatchQueue(label: label, qos: qos)
        self.runsInline = runsInline
    }

    /// True from the beginning of a task until its result is taken.
    package var isBusy: Bool { progress.withLock { $0.isBusy } }

    /// True once the task has to end as soon as it can.
    package var isAbandoned: Bool { abandoned.load(ordering: .relaxed) }

    /// Begins a task. The caller has seen that none is under way.
    package func begin(_ body: @escaping @Sendable (BackgroundTask) -> Report) {
        progress.withLock { $0.isBusy = true }
        let run: @Sendable () -> Void = { [self] in
            let report = body(self)
            progress.withLock { $0.report = report }
        }
        if runsInline { run() } else { queue.async(execute: run) }
    }

    /// Waits for the end of a task that is under way.
    package func wait() {
        queue.sync {}
    }

    /// Waits for the end of a task that is under way, for so many nanoseconds at most. Returns false if it goes on.
    func wait(for time: UInt64) -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        // A look at a task that has ended needs a moment, too.
        let time = min(max(time, 1_000_000), 1 << 60)
        return done.wait(timeout: .now() + .nanoseconds(Int(time))) == .success
    }

    /// Makes a task that is under way end, and those that follow, and waits for that.
    func abandon() {
        abandoned.store(true, ordering: .relaxed)
        wait()
    }

    /// As ``abandon()``, but waits for so many nanoseconds at most.
    package func abandon(waiting time: UInt64) {
        abandoned.store(true, ordering: .relaxed)
        _ = wait(for: time)
    }

    package func takeReport() -> Report? {
        progress.withLock { progress in
            guard let report = progress.report else { return nil }
            progress = Progress()
            return report
        }
    }
}
