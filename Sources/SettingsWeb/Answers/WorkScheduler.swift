internal import Dispatch
internal import HTTPServer
internal import Platform
internal import Synchronization

/// Does work that costs more than an event loop may spend on one request, one piece at a time.
///
/// Each client has a queue of its own, and the scheduler serves clients round-robin, so that no client starves another. Work starts once the
/// memory budget has enough left for it. Work that waits for memory stays at the front of all queues, so that work behind it does not take the
/// memory that is released meanwhile.
///
/// Thread-safe.
final class WorkScheduler: Sendable {
    struct Work: Sendable {
        /// The client that waits for the result. Work that looks after the daemon has none, and a queue of its own.
        var client: ClientKey?
        /// Estimates the memory that the work takes, including its input. Runs on the thread of the scheduler.
        var bytes: @Sendable () -> Int = { 0 }
        /// The memory that the input takes while the work waits.
        var input: MemoryBudget.Reservation?
        /// False once no client waits for the result. The scheduler then drops the work.
        var isWanted: @Sendable () -> Bool = { true }
        /// Called instead of the work if the work is refused. Nil if the work must be done.
        var refuse: (@Sendable (Refusal) -> Void)?
        /// Does the work. Gets the reservation of its memory, without that of the input, and resizes it to the memory of the result.
        let run: @Sendable (MemoryBudget.Reservation) -> Void
    }

    /// A reason why work is not done.
    enum Refusal: Equatable, Sendable {
        /// The work was not started within the queue timeout.
        case timedOut
        /// The work takes more memory than the whole budget has.
        case tooLarge(bytes: Int, capacity: Int)
    }

    private struct Queued: Sendable {
        let work: Work
        let since: UInt64
        /// Nil until the memory is estimated.
        var bytes: Int?
    }

    private struct Queues: Sendable {
        var queued = FairQueue<ClientKey?, Queued>()
        /// The work that starts next, and may wait for memory.
        var next: Queued?
        var waitsForMemory = false
        /// True while the thread has work, or a timer will give it work.
        var isRunning = false
    }

    private enum Decision {
        case drop
        case refuse(Refusal)
        case wait(bytes: Int)
        case run(MemoryBudget.Reservation)
    }

    /// How often the scheduler checks whether the budget has memory for the next work.
    private static let memoryCheckInterval = DispatchTimeInterval.milliseconds(20)

    private let queue: DispatchQueue
    private let budget: MemoryBudget
    private let maximumPerClient: Int
    private let timeout: UInt64
    private let clock: MonotonicClock
    private let queues = Mutex(Queues())

    /// - Parameters:
    ///   - maximumPerClient: how much work of one client waits.
    ///   - timeout: the nanoseconds after which waiting work is refused.
    init(
        label: String, budget: MemoryBudget, maximumPerClient: Int = 1024, timeout: UInt64 = 10_000_000_000,
        clock: MonotonicClock = .system
    ) {
        queue = DispatchQueue(label: label, qos: .utility)
        self.budget = budget
        self.maximumPerClient = maximumPerClient
        self.timeout = timeout
        self.clock = clock
    }

    /// The work that waits.
    var count: Int { queues.withLock { $0.queued.count + ($0.next == nil ? 0 : 1) } }

    /// True if no more work of a client should be queued. The client then gets 503.
    func isFull(for client: ClientKey?) -> Bool {
        queues.withLock { $0.queued.count(of: client) >= maximumPerClient }
    }

    /// Queues work.
    func submit(_ work: Work) {
        let queued = Queued(work: work, since: clock.now())
        let mustStart = queues.withLock { queues in
            queues.queued.append(queued, for: work.client)
            defer { queues.isRunning = true }
            return !queues.isRunning
        }
        if mustStart { queue.async { self.runQueued() } }
    }

    /// Runs on the thread of the scheduler until there is no work, or the next work has to wait.
    private func runQueued() {
        while let next = takeNext() {
            switch decide(next) {
            case .drop: removeNext()
            case .refuse(let refusal):
                removeNext()
                next.work.refuse?(refusal)
            case .wait(let bytes):
                wait(for: bytes)
                return queue.asyncAfter(deadline: .now() + Self.memoryCheckInterval) { self.runQueued() }
            case .run(let reservation):
                removeNext()
                // The reservation lasts at least until the work has returned and freed what it does not hand on.
                withExtendedLifetime(reservation) { next.work.run(reservation) }
            }
        }
    }

    private func takeNext() -> Queued? {
        queues.withLock { queues in
            queues.next = queues.next ?? queues.queued.popFirst()
            queues.isRunning = queues.next != nil
            return queues.next
        }
    }

    private func decide(_ next: Queued) -> Decision {
        let work = next.work
        guard work.isWanted() else { return .drop }
        let isLate = clock.now() &- next.since > timeout
        if isLate, work.refuse != nil { return .refuse(.timedOut) }
        let bytes = next.bytes ?? work.bytes()
        let capacity = budget.capacity
        if bytes > capacity, work.refuse != nil { return .refuse(.tooLarge(bytes: bytes, capacity: capacity)) }
        let missing = max(0, min(bytes, capacity) - (work.input?.bytes ?? 0))
        if let reservation = budget.reserve(missing) { return .run(reservation) }
        // Work that must be done does not wait for memory for ever.
        return isLate ? .run(budget.charge(missing)) : .wait(bytes: bytes)
    }

    /// Removes the work that was decided about.
    private func removeNext() {
        // The work is deallocated outside of the lock.
        let (_, waited) = queues.withLock { queues in
            defer { queues.waitsForMemory = false }
            return (queues.next.take(), queues.waitsForMemory)
        }
        if waited { budget.endWaiting() }
    }

    private func wait(for bytes: Int) {
        let waited = queues.withLock { queues in
            defer { queues.waitsForMemory = true }
            queues.next?.bytes = bytes
            return queues.waitsForMemory
        }
        if !waited { budget.beginWaiting() }
    }
}
