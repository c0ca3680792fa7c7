internal import Dispatch
internal import Platform
internal import SettingsHTTP
internal import Synchronization

/// The thread that runs the tasks, the timers and the background file operations of all suite sessions of the process.
///
/// The tasks must not need a thread of Swift's cooperative pool, because a getter may block a thread of that pool until
/// a task has finished. The thread starts with the first work. It ends when it has been idle for one second and no
/// timer is set.
final class ClientThread: TaskExecutor {
    static let shared = ClientThread()

    private struct State {
        var jobs: [UnownedJob] = []
        var actions: [@Sendable () -> Void] = []
        var timers = TimerQueue()
        var isRunning = false
        /// The identifier of the thread. 0 if there is no thread.
        var identifier: UInt = 0
    }

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private static let idleLimit = Duration.seconds(1)

    /// True on the client thread, which must not wait for its own tasks.
    var isCurrent: Bool { state.withLock { $0.identifier } == CurrentThread.identifier }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        add { $0.jobs.append(job) }
    }

    /// Calls the function soon on the client thread, after the functions of earlier calls.
    func execute(_ action: @escaping @Sendable () -> Void) {
        add { $0.actions.append(action) }
    }

    /// Calls the function on the client thread at a moment. Returns a number for ``cancelTimer(_:)``.
    @discardableResult
    func schedule(at moment: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void) -> UInt64 {
        add { $0.timers.add(at: moment, action) }
    }

    func cancelTimer(_ id: UInt64) {
        let removed = state.withLock { $0.timers.remove(id) }
        // The function may own the last reference to an object, whose release may run other code. So the function is
        // released without the lock.
        withExtendedLifetime(removed) {}
    }

    /// Adds work with the body, and starts or wakes the thread.
    private func add<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, mustStart) = state.withLock { state in
            let result = body(&state)
            defer { state.isRunning = true }
            return (result, !state.isRunning)
        }
        if mustStart { start() } else { signal.signal() }
        return result
    }

    private func start() {
        do throws(SystemError) {
            try DetachedThread.start { self.run() }
        } catch {
            // If the system cannot create a thread, dispatch may still have an idle thread.
            DispatchQueue.global().async { self.run() }
        }
    }

    private func run() {
        state.withLock { $0.identifier = CurrentThread.identifier }
        var idleSince = ContinuousClock.now
        while true {
            let (jobs, actions, next) = removeDueWork()
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            for action in actions { action() }
            let now = ContinuousClock.now
            if !jobs.isEmpty || !actions.isEmpty {
                idleSince = now
                continue
            }
            let limit = idleSince + Self.idleLimit
            if next == nil, now >= limit, stopIfIdle() { return }
            let pause = (next ?? limit) - now
            _ = signal.wait(timeout: .after(max(pause, .zero)))
        }
    }

    /// Removes and returns the work that is due, and returns the moment of the next timer.
    private func removeDueWork() -> ([UnownedJob], [@Sendable () -> Void], next: ContinuousClock.Instant?) {
        let now = ContinuousClock.now
        return state.withLock { state in
            let due = state.timers.removeDue(at: now)
            defer {
                state.jobs.removeAll(keepingCapacity: true)
                state.actions.removeAll(keepingCapacity: true)
            }
            return (state.jobs, state.actions + due, state.timers.nextMoment)
        }
    }

    /// Marks the thread as ended, unless there is work. Returns true if the thread has to end.
    private func stopIfIdle() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty, state.actions.isEmpty, state.timers.isEmpty else { return false }
            state.isRunning = false
            state.identifier = 0
            return true
        }
    }
}
