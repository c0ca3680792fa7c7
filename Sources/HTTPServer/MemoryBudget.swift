internal import Synchronization

/// Limits the memory of requests and answers in transit.
///
/// The budget covers request bodies, work in the background, and answers that wait to be sent. It does not cover stored data, history, or idle
/// connections.
///
/// Work that can wait or be refused reserves its memory before it allocates it (``reserve(_:)``). Memory that is allocated in any case is charged
/// (``charge(_:)``), so that less of the budget can be reserved. A slow peer cannot hold memory for long: while memory is short, the event loops
/// close connections whose transfers are slower than ``MinimumRate``.
///
/// Thread-safe.
package final class MemoryBudget: Sendable {
    private let limit: Atomic<Int>
    private let used = Atomic(0)
    private let waiting = Atomic(0)

    /// - Parameter limit: the bytes that everything in transit may take.
    package init(limit: Int) {
        self.limit = Atomic(limit)
    }

    /// Replaces the limit. Existing reservations stay.
    package func renew(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// The bytes that can be reserved. An eighth of the limit is left for memory that is not counted, such as the allocator's overhead.
    package var capacity: Int {
        let limit = limit.load(ordering: .relaxed)
        return limit - limit / 8
    }

    /// The bytes that are reserved or charged.
    package var usedBytes: Int { used.load(ordering: .relaxed) }

    /// True if work waits for memory, or more is charged than the budget has.
    var isShort: Bool { waiting.load(ordering: .relaxed) > 0 || usedBytes > capacity }

    /// Reserves memory, or returns nil if the budget has not enough left.
    ///
    /// Work that takes more than ``capacity`` can never be admitted: reject it with 413 instead of calling this method again.
    ///
    /// - Parameter share: the most bytes of the budget that may be in use afterwards; nil for the whole capacity.
    package func reserve(_ bytes: Int, within share: Int? = nil) -> Reservation? {
        let before = used.add(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= share ?? capacity else {
            used.subtract(bytes, ordering: .relaxed)
            return nil
        }
        return Reservation(charged: bytes, to: self)
    }

    /// Charges memory that is allocated in any case, even if the budget has not enough left.
    package func charge(_ bytes: Int = 0) -> Reservation {
        used.add(bytes, ordering: .relaxed)
        return Reservation(charged: bytes, to: self)
    }

    /// Declares that work waits for memory, until ``endWaiting()``.
    package func beginWaiting() { waiting.add(1, ordering: .relaxed) }

    package func endWaiting() { waiting.subtract(1, ordering: .relaxed) }

    /// A part of the budget, which is returned when the reservation is deallocated. Only its owner resizes it.
    package final class Reservation: Sendable {
        private let budget: MemoryBudget
        private let amount: Atomic<Int>

        fileprivate init(charged bytes: Int, to budget: MemoryBudget) {
            self.budget = budget
            amount = Atomic(bytes)
        }

        package var bytes: Int { amount.load(ordering: .relaxed) }

        /// Adapts the reservation to what is allocated.
        package func resize(to bytes: Int) {
            let change = bytes - amount.exchange(bytes, ordering: .relaxed)
            if change != 0 { budget.used.add(change, ordering: .relaxed) }
        }

        deinit {
            budget.used.subtract(bytes, ordering: .relaxed)
        }
    }
}
