internal import Dispatch
internal import HTTPServer
internal import Platform
internal import Synchronization

/// Runs work that takes longer than an event loop may spend on one request, on a separate thread, one item at a time.
///
/// Each client has its own queue, and the scheduler serves clients round-robin, so that no client starves another. Work
/// starts when the ``MemoryBudget``, which limits the memory of all requests and answers in transit, has enough memory.
/// While work waits for memory, the scheduler starts no other work, because that work could use up the freed memory.
/// Thread-safe.
final class WorkScheduler: Sendable {
    struct Work: Sendable {
        /// The client that waits for the result; nil for work of the daemon itself, which has its own queue.
        var client: ClientKey?
        /// Estimates the bytes of memory that the work takes, including its input. Runs on the thread of the scheduler.
        var bytes: @Sendable () -> Int = { 0 }
        /// The reservation of the memory of the input; nil if no memory is reserved for the input.
        var input: MemoryBudget.Reservation?
        /// Returns false if no client waits for the result any more. The scheduler then drops the work.
        var isWanted: @Sendable () -> Bool = { true }
        /// Called instead of `run` if the scheduler refuses the work; nil if the work must not be refused.
        var refuse: (@Sendable (Refusal) -> Void)?
        /// Does the work. Gets the reservation of its memory without the input, and resizes it to the size of the
        /// result.
        let run: @Sendable (MemoryBudget.Reservation) -> Void
    }

    enum Refusal: Equatable, Sendable {
        /// The work has waited longer than the timeout.
        case timedOut
        /// The work takes more memory than the whole budget has.
        case tooLarge(bytes: Int, capacity: Int)
    }

    private struct Queued: Sendable {
        let work: Work
        /// When the work was queued, in nanoseconds of the monotonic clock.
        let queueTime: UInt64
        /// The estimate of the memory; nil before the work first waits for memory.
        var bytes: Int?
    }

    private struct Queues: Sendable {
        var queued = FairQueue<ClientKey?, Queued>()
        /// The work that starts next; it may be waiting for memory.
        var next: Queued?
        var waitsForMemory = false
        /// True while `runQueued` runs, or is scheduled to run.
        var isRunning = false
    }

    private enum Step {
        case drop
        case refuse(Refusal)
        case wait(bytes: Int)
        case run(MemoryBudget.Reservation)
    }

    /// The interval at which waiting work tries to reserve its memory again.
    private static let memoryCheckInterval = DispatchTimeInterval.milliseconds(20)

    private let queue: DispatchQueue
    private let budget: MemoryBudget
    private let maximumPerClient: Int
    private let timeout: UInt64
    private let clock: MonotonicClock
    private let queues = Mutex(Queues())

    /// - Parameters:
    ///   - maximumPerClient: how many items of one client may be queued, see ``isFull(for:)``.
    ///   - timeout: the nanoseconds after which the scheduler refuses queued work.
    init(
        label: String, budget: MemoryBudget, maximumPerClient: Int = 1024, timeout: UInt64 = 10_000_000_000,
        clock: MonotonicClock = .system
    ) {
        queue = DispatchQueue(label: label, qos: .utility)
        (self.budget, self.maximumPerClient, self.timeout, self.clock) = (budget, maximumPerClient, timeout, clock)
    }

    /// The number of items that have not started.
    var count: Int { queues.withLock { $0.queued.count + ($0.next == nil ? 0 : 1) } }

    /// True if the queue of a client is full. The calling code should then answer with 503 instead
    /// of submitting work.
    func isFull(for client: ClientKey?) -> Bool {
        queues.withLock { $0.queued.count(of: client) >= maximumPerClient }
    }

    func submit(_ work: Work) {
        let queued = Queued(work: work, queueTime: clock.now())
        let mustStart = queues.withLock { queues in
            queues.queued.append(queued, for: work.client)
            defer { queues.isRunning = true }
            return !queues.isRunning
        }
        if mustStart { queue.async { self.runQueued() } }
    }

    /// Runs queued work until no work is left or the next work waits for memory. Runs on the scheduler thread.
    private func runQueued() {
        while let next = nextWork() {
            switch step(for: next) {
            case .drop: removeNext()
            case .refuse(let refusal):
                removeNext()
                next.work.refuse?(refusal)
            case .wait(let bytes):
                wait(for: bytes)
                return queue.asyncAfter(deadline: .now() + Self.memoryCheckInterval) { self.runQueued() }
            case .run(let reservation):
                removeNext()
                // The work frees its temporary memory when it returns, so the reservation must not end earlier.
                withExtendedLifetime(reservation) { next.work.run(reservation) }
            }
        }
    }

    private func nextWork() -> Queued? {
        queues.withLock { queues in
            queues.next = queues.next ?? queues.queued.popFirst()
            queues.isRunning = queues.next != nil
            return queues.next
        }
    }

    private func step(for next: Queued) -> Step {
        let work = next.work
        guard work.isWanted() else { return .drop }
        let isLate = clock.now() &- next.queueTime > timeout
        if isLate, work.refuse != nil { return .refuse(.timedOut) }
        let bytes = next.bytes ?? work.bytes()
        let capacity = budget.capacity
        if bytes > capacity, work.refuse != nil { return .refuse(.tooLarge(bytes: bytes, capacity: capacity)) }
        let missing = max(0, min(bytes, capacity) - (work.input?.bytes ?? 0))
        if let reservation = budget.reserve(missing) { return .run(reservation) }
        // Work that must not be refused starts after the timeout, even if the budget is exceeded.
        return isLate ? .run(budget.charge(missing)) : .wait(bytes: bytes)
    }

    /// Removes the next work, because it will be run, refused or dropped now.
    private func removeNext() {
        // Returning the work from the closure deallocates it after the lock is released.
        let (_, wasWaiting) = queues.withLock { queues in
            defer { queues.waitsForMemory = false }
            return (queues.next.take(), queues.waitsForMemory)
        }
        if wasWaiting { budget.endWaiting() }
    }

    /// Lets the next work wait for memory. While work waits, the event loops end slow transfers, which frees memory.
    private func wait(for bytes: Int) {
        let wasWaiting = queues.withLock { queues in
            defer { queues.waitsForMemory = true }
            queues.next?.bytes = bytes
            return queues.waitsForMemory
        }
        if !wasWaiting { budget.beginWaiting() }
    }
}
