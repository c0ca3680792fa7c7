internal import Dispatch
internal import Synchronization

/// A serial queue that does long work beside the event loops, one piece at a time, up to a bound of work that waits.
final class BackgroundQueue: Sendable {
    private let queue: DispatchQueue
    private let limit: Int
    private let cost = Mutex(0)

    /// - Parameters:
    ///   - limit: the cost of the work that may wait or run.
    ///   - queue: a serial queue.
    init(limit: Int, queue: DispatchQueue) {
        self.limit = limit
        self.queue = queue
    }

    /// The cost of the work that waits or runs.
    var waiting: Int { cost.withLock { $0 } }

    /// True if no further work should be promised.
    var isFull: Bool { waiting >= limit }

    /// Queues work, unless that exceeds the bound; then it returns false.
    func tryRun(cost: Int, _ work: @escaping @Sendable () -> Void) -> Bool {
        let hasRoom = self.cost.withLock { waiting in
            guard waiting + cost <= limit else { return false }
            waiting += cost
            return true
        }
        if hasRoom { enqueue(cost, nil, work) }
        return hasRoom
    }

    /// Queues work whatever the bound. The work is skipped if it is cancelled before it begins.
    func run(_ cancellation: Cancellation? = nil, _ work: @escaping @Sendable () -> Void) {
        cost.withLock { $0 += 1 }
        enqueue(1, cancellation, work)
    }

    private func enqueue(_ cost: Int, _ cancellation: Cancellation?, _ work: @escaping @Sendable () -> Void) {
        queue.async {
            if !(cancellation?.isCancelled ?? false) { work() }
            self.cost.withLock { $0 -= cost }
        }
    }

    /// A flag that the caller of work sets when it no longer wants the result.
    final class Cancellation: Sendable {
        private let flag = Atomic(false)

        var isCancelled: Bool { flag.load(ordering: .relaxed) }

        func cancel() { flag.store(true, ordering: .relaxed) }
    }
}
