internal import Dispatch
internal import HTTPServer
internal import Platform
internal import SettingsAPI
internal import SettingsStorage
internal import Synchronization

/// A serial queue that does long work beside the event loops, one job at a time, each when the memory budget has room for it. It
/// serves callers round-robin.
final class BackgroundQueue: Sendable {
    /// A piece of work.
    struct Job: Sendable {
        /// The caller that waits for the result. Jobs without a caller share one place in the round.
        var caller: ClientKey?
        /// Measures the memory that the work takes, about.
        var bytes: @Sendable () -> Int = { 0 }
        /// The charge for what the job keeps while it waits. It is part of its memory.
        var held: MemoryBudget.Reservation?
        /// True if it goes before the others that wait, as what goes on with a job that has had its turn: until then that keeps
        /// the state that it was done on, with all that was replaced since.
        var goesFirst = false
        /// False once no caller waits for the result, so that the work is left out.
        var isWanted: @Sendable () -> Bool = { true }
        /// Called instead of the work: with the problem if the work needs more memory than the budget has, with nil if
        /// there was no room within `patience`. Nil if the work must be done.
        var refuse: (@Sendable (Problem?) -> Void)?
        /// The work. Gets the charge for its memory, to resize it to what is left of that.
        let work: @Sendable (MemoryBudget.Reservation) -> Void
    }

    private struct Waiting: Sendable {
        let job: Job
        let since: UInt64
        /// Nil until it was measured.
        var bytes: Int?
        /// The bytes that it holds while it waits.
        let held: Int
    }

    private struct Line: Sendable {
        var waiting = FairQueue<ClientKey?, Waiting>()
        /// Jobs with `goesFirst`, newest first.
        var urgent = Deque<Waiting>()
        /// The one whose turn it is, which may wait for memory.
        var current: Waiting?
        /// The bytes that all of them hold.
        var held = 0
        var isRunning = false
        var waitsForMemory = false

        var count: Int { waiting.count + urgent.count + (current == nil ? 0 : 1) }
    }

    /// How often a job that waits looks for room.
    private static let pause = DispatchTimeInterval.milliseconds(20)

    private let queue: DispatchQueue
    private let budget: MemoryBudget
    private let mostJobs: Int
    private let holdsLittle: Bool
    private let patience: UInt64
    private let line = Mutex(Line())

    /// - Parameters:
    ///   - mostJobs: how many jobs wait at most.
    ///   - holdsLittle: true if `isFull` limits the memory that waiting jobs hold: to a quarter of the budget for a
    ///     caller with a waiting job, to half for other callers.
    ///   - patience: how many nanoseconds a job waits before it is refused.
    init(
        _ label: String, _ budget: MemoryBudget, mostJobs: Int, holdsLittle: Bool = false,
        patience: UInt64 = 10_000_000_000
    ) {
        queue = DispatchQueue(label: label, qos: .utility)
        self.budget = budget
        self.mostJobs = mostJobs
        self.holdsLittle = holdsLittle
        self.patience = patience
    }

    /// The jobs that wait.
    var count: Int { line.withLock(\.count) }

    /// True if no further work should be promised: many jobs wait, or they hold much memory.
    func isFull(for caller: ClientKey? = nil) -> Bool {
        line.withLock { line in
            let part = line.waiting.count(of: caller) > 0 ? budget.capacity / 4 : budget.capacity / 2
            return line.count >= mostJobs || holdsLittle && line.held > part
        }
    }

    /// Queues a job.
    func run(_ job: Job) {
        let mustStart = line.withLock { line in
            let held = job.held?.bytes ?? 0
            let waiting = Waiting(job: job, since: MonotonicClock.system.now(), held: held)
            if job.goesFirst { line.urgent.prepend(waiting) } else { line.waiting.append(waiting, for: job.caller) }
            line.held += held
            defer { line.isRunning = true }
            return !line.isRunning
        }
        if mustStart { queue.async { self.work() } }
    }

    /// Does what waits until nothing does, or until there is no room for the next job.
    private func work() {
        while let first = next() {
            let isLate = MonotonicClock.system.now() &- first.since > patience
            guard first.job.isWanted() else {
                drop()
                continue
            }
            if isLate, let refuse = first.job.refuse {
                drop()
                refuse(nil)
                continue
            }
            let bytes = measured(first)
            if bytes > budget.capacity, let refuse = first.job.refuse {
                drop()
                refuse(Problem(memoryOfRequest: bytes, allowed: budget.capacity))
                continue
            }
            // A job that has to be done and is late does not wait for room.
            let missing = max(0, min(bytes, budget.capacity) - (first.job.held?.bytes ?? 0))
            let charge = isLate ? budget.charge(missing) : budget.reserve(missing)
            setWaiting(charge == nil)
            guard let charge else {
                return queue.asyncAfter(deadline: .now() + Self.pause) { self.work() }
            }
            drop()
            first.job.work(charge)
        }
    }

    private func setWaiting(_ waits: Bool) {
        let changes = line.withLock { line in
            defer { line.waitsForMemory = waits }
            return line.waitsForMemory != waits
        }
        guard changes else { return }
        if waits { budget.beginWaiting() } else { budget.endWaiting() }
    }

    private func next() -> Waiting? {
        line.withLock { line in
            if line.current == nil { line.current = line.urgent.popFirst() ?? line.waiting.popFirst() }
            if line.current == nil { line.isRunning = false }
            return line.current
        }
    }

    /// Measures a job, once.
    private func measured(_ first: Waiting) -> Int {
        if let bytes = first.bytes { return bytes }
        let bytes = first.job.bytes()
        line.withLock { $0.current?.bytes = bytes }
        return bytes
    }

    private func drop() {
        // Freed outside the lock.
        _ = line.withLock { line in
            let current = line.current.take()
            line.held -= current?.held ?? 0
            return current
        }
    }
}
