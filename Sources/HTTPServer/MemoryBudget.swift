internal import Synchronization

/// Limits the memory of request bodies, of unsent answers, and of background work such as rendering and snapshots.
/// The budget does not cover stored data, the history or idle connections.
///
/// Work that can wait or be refused reserves its memory before it allocates the memory (``reserve(_:within:)``). Memory
/// that must be allocated in any case is charged (``charge(_:)``), so that less of the budget can be reserved. While
/// memory is short, the event loops end transfers that are slower than ``MinimumRate``, so that a slow peer cannot hold
/// memory for long. Thread-safe.
package final class MemoryBudget: Sendable {
    private let limit: Atomic<Int>
    private let used = Atomic(0)
    private let waitingCount = Atomic(0)

    /// - Parameter limit: the maximum bytes of all request bodies, unsent answers and background work.
    package init(limit: Int) {
        self.limit = Atomic(limit)
    }

    /// Replaces the limit. Existing reservations stay.
    package func update(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// The bytes that can be reserved. An eighth of the limit is kept for the overhead of the allocator.
    package var capacity: Int {
        let limit = limit.load(ordering: .relaxed)
        return limit - limit / 8
    }

    /// The bytes that are reserved or charged.
    package var usedBytes: Int { used.load(ordering: .relaxed) }

    /// True if work waits for memory, or if the reserved and charged bytes exceed the capacity.
    var isShort: Bool { waitingCount.load(ordering: .relaxed) > 0 || usedBytes > capacity }

    /// Reserves memory. Returns nil if too little of the budget is free.
    ///
    /// The budget can never admit work that needs more than ``capacity``: the calling code must refuse the request
    /// with 413 instead of trying again.
    ///
    /// - Parameter maximumUse: the maximum of ``usedBytes`` after the reservation; nil for the whole capacity. With a
    ///   smaller value, less important work leaves memory for other work.
    package func reserve(_ bytes: Int, within maximumUse: Int? = nil) -> Reservation? {
        let before = used.add(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= maximumUse ?? capacity else {
            used.subtract(bytes, ordering: .relaxed)
            return nil
        }
        return Reservation(charged: bytes, to: self)
    }

    /// Charges memory that is allocated in any case, even if too little of the budget is free.
    package func charge(_ bytes: Int = 0) -> Reservation {
        used.add(bytes, ordering: .relaxed)
        return Reservation(charged: bytes, to: self)
    }

    /// Declares that work waits for memory, until ``endWaiting()`` is called. While work waits, ``isShort`` is true.
    package func beginWaiting() { waitingCount.add(1, ordering: .relaxed) }

    package func endWaiting() { waitingCount.subtract(1, ordering: .relaxed) }

    /// A reserved or charged part of the budget. `deinit` returns it. Only the owner of the memory may resize it.
    package final class Reservation: Sendable {
        private let budget: MemoryBudget
        private let amount: Atomic<Int>

        fileprivate init(charged bytes: Int, to budget: MemoryBudget) {
            self.budget = budget
            amount = Atomic(bytes)
        }

        package var bytes: Int { amount.load(ordering: .relaxed) }

        /// Adapts the reservation to the size of the allocated memory.
        package func resize(to bytes: Int) {
            let change = bytes - amount.exchange(bytes, ordering: .relaxed)
            if change != 0 { budget.used.add(change, ordering: .relaxed) }
        }

        deinit {
            budget.used.subtract(bytes, ordering: .relaxed)
        }
    }
}
