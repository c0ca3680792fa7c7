/// Timers: functions with the moments at which they have to be called, in a binary heap. Adding and removing a timer
/// take logarithmic time.
struct TimerQueue: Sendable {
    typealias Action = @Sendable () -> Void

    private struct Entry: Sendable {
        let moment: ContinuousClock.Instant
        let id: UInt64

        /// Timers of the same moment keep the order in which they were added.
        func precedes(_ other: Entry) -> Bool { (moment, id) < (other.moment, other.id) }
    }

    /// The parent of the entry at an index is at `(index - 1) / 2`, and precedes the entry. A removed timer stays in
    /// the heap until its entry is the first, or until most entries belong to removed timers.
    private var heap: [Entry] = []
    private var actions: [UInt64: Action] = [:]
    private var lastID: UInt64 = 0

    var isEmpty: Bool { actions.isEmpty }

    var nextMoment: ContinuousClock.Instant? { heap.first?.moment }

    /// Adds a timer. Returns the number of the timer for ``remove(_:)``.
    mutating func add(at moment: ContinuousClock.Instant, _ action: @escaping Action) -> UInt64 {
        lastID += 1
        actions[lastID] = action
        heap.append(Entry(moment: moment, id: lastID))
        moveUp(from: heap.count - 1)
        return lastID
    }

    /// Removes a timer and returns its function. Returns nil if the timer has fired or was removed before.
    mutating func remove(_ id: UInt64) -> Action? {
        guard let action = actions.removeValue(forKey: id) else { return nil }
        if heap.count > 2 * actions.count + 64 {
            // A sorted array is a heap. The addend 64 prevents that a short heap is sorted often.
            heap = heap.filter { actions[$0.id] != nil }.sorted { $0.precedes($1) }
        }
        dropRemovedTimers()
        return action
    }

    /// Removes the timers whose moments have come. Returns their functions in the order of the moments.
    mutating func removeDue(at now: ContinuousClock.Instant) -> [Action] {
        var due: [Action] = []
        while let first = heap.first, first.moment <= now {
            if let action = actions.removeValue(forKey: first.id) { due.append(action) }
            removeFirstEntry()
        }
        dropRemovedTimers()
        return due
    }

    private mutating func dropRemovedTimers() {
        while let first = heap.first, actions[first.id] == nil { removeFirstEntry() }
    }

    private mutating func removeFirstEntry() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        moveDown(from: 0)
    }

    private mutating func moveUp(from index: Int) {
        var index = index
        while index > 0, heap[index].precedes(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func moveDown(from index: Int) {
        var index = index
        while 2 * index + 1 < heap.count {
            var child = 2 * index + 1
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(heap[index]) else { return }
            heap.swapAt(child, index)
            index = child
        }
    }
}
