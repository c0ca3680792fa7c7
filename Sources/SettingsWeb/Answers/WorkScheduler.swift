internal import Dispatch
internal import HTTPServer
internal import Platform
internal import Synchronization

/// Runs work that costs more than an event loop may spend on one request: parsing large bodies, rendering large answers, searching the history.
///
/// Each client has a queue of its own, and the scheduler serves clients round-robin, so that no client starves another. Work starts once the
/// memory budget has enough left for it. Work whose memory is not available waits at the front of all queues: work that is started later must not
/// take the memory that is released meanwhile.
///
/// Thread-safe.
final class WorkScheduler: Sendable {
    struct Work: Sendable {
        /// The client that waits for the result.
        var client: ClientKey?
        /// Estimates the memory that the work takes, including its input. Runs on a thread of the scheduler.
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
        /// The work that is started next. Another thread may be deciding about it.
        var next: Queued?
        var isDeciding = false
        var isWaitingForMemory = false
        /// True if a timer is to check whether there is memory for the next work.
        var hasTimer = false
        var runningThreads = 0

        var isEmpty: Bool { next == nil && queued.isEmpty }
        var count: Int { queued.count + (next == nil ? 0 : 1) }
    }

    /// How often the scheduler checks whether the budget has memory for the next work.
    private static let memoryCheckInterval = DispatchTimeInterval.milliseconds(20)

    private let queue: DispatchQueue
    private let threads: Int
    private let budget: MemoryBudget
    private let maximumPerClient: Int
    private let timeout: UInt64
    private let clock: MonotonicClock
    private let queues = Mutex(Queues())

    /// - Parameters:
    ///   - threads: how much work runs at a time.
    ///   - maximumPerClient: how much work of one client waits.
    ///   - timeout: the nanoseconds after which waiting work is refused.
    init(
        label: String, threads: Int, budget: MemoryBudget, maximumPerClient: Int = 1024,
        timeout: UInt64 = 10_000_000_000, clock: MonotonicClock = .system
    ) {
        queue = DispatchQueue(label: label, qos: .utility, attributes: .concurrent)
        self.threads = threads
        self.budget = budget
        self.maximumPerClient = maximumPerClient
        self.timeout = timeout
        self.clock = clock
    }

    /// The work that waits.
    var count: Int { queues.withLock(\.count) }

    /// True if no more work of a client should be queued. The client then gets 503.
    func isFull(for client: ClientKey?) -> Bool {
        queues.withLock { $0.queued.count(of: client) >= maximumPerClient }
    }

    /// Queues work.
    func submit(_ work: Work) {
        let queued = Queued(work: work, since: clock.now())
        let waits = queues.withLock { queues in
            queues.queued.append(queued, for: work.client)
            return queues.isWaitingForMemory
        }
        if !waits { startThread() }
    }

    /// Starts a thread if there is work for one more.
    private func startThread() {
        let starts = queues.withLock { queues in
            guard queues.runningThreads < threads, !queues.isEmpty, !queues.isDeciding else { return false }
            queues.runningThreads += 1
            return true
        }
        if starts { queue.async { self.runThread() } }
    }

    /// Runs on a thread of the scheduler until there is no work, or the next work has to wait.
    private func runThread() {
        while let next = takeNext() {
            switch decide(next) {
            case .drop: finishDecision()
            case .refuse(let refusal):
                finishDecision()
                next.work.refuse?(refusal)
            case .wait(let bytes): return waitForMemory(bytes)
            case .run(let reservation):
                finishDecision()
                startThread()
                // The reservation lasts at least until the work has returned and freed what it does not hand on.
                withExtendedLifetime(reservation) { next.work.run(reservation) }
            }
        }
    }

    /// Takes the next work to decide about it, which one thread does at a time. Ends the thread if there is none.
    private func takeNext() -> Queued? {
        queues.withLock { queues in
            if !queues.isDeciding {
                queues.next = queues.next ?? queues.queued.popFirst()
                queues.isDeciding = queues.next != nil
                if let next = queues.next { return next }
            }
            queues.runningThreads -= 1
            return nil
        }
    }

    private enum Decision {
        case drop
        case refuse(Refusal)
        case wait(bytes: Int)
        case run(MemoryBudget.Reservation)
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
    private func finishDecision() {
        // The work is deallocated outside of the lock.
        let (_, wasWaiting) = queues.withLock { queues in
            defer { queues.isWaitingForMemory = false }
            queues.isDeciding = false
            return (queues.next.take(), queues.isWaitingForMemory)
        }
        if wasWaiting { budget.endWaiting() }
    }

    /// Ends the thread, and has another one try again.
    private func waitForMemory(_ bytes: Int) {
        let (wasWaiting, hadTimer) = queues.withLock { queues in
            defer { (queues.isWaitingForMemory, queues.hasTimer) = (true, true) }
            queues.next?.bytes = bytes
            queues.isDeciding = false
            queues.runningThreads -= 1
            return (queues.isWaitingForMemory, queues.hasTimer)
        }
        if !wasWaiting { budget.beginWaiting() }
        guard !hadTimer else { return }
        queue.asyncAfter(deadline: .now() + Self.memoryCheckInterval) {
            self.queues.withLock { $0.hasTimer = false }
            self.startThread()
        }
    }
}
