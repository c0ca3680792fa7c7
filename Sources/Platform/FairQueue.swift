/// A queue that returns one element of each caller in turn (round-robin). The elements of one caller keep their order.
/// `Caller` is any value by which the queue groups elements, for example the ``ClientKey`` of an upload.
package struct FairQueue<Caller: Hashable, Element> {
    /// Identifies an element of the queue for ``remove(at:of:)``.
    package struct Position: Sendable {
        fileprivate let number: Int
    }

    private var queues: [Caller: CallerQueue<Element>] = [:]
    /// The callers that have elements, in the order in which the queue serves them.
    private var callers = Deque<Caller>()
    private var lastNumber = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Returns the number of elements of a caller.
    package func count(of caller: Caller) -> Int { queues[caller]?.count ?? 0 }

    @discardableResult
    package mutating func append(_ element: Element, for caller: Caller) -> Position {
        lastNumber += 1
        if queues[caller] == nil { callers.append(caller) }
        queues[caller, default: CallerQueue()].append(element, number: lastNumber)
        count += 1
        return Position(number: lastNumber)
    }

    /// Removes and returns the first element of the caller that is served next. Returns nil if the queue is empty.
    package mutating func popFirst() -> Element? {
        guard let caller = callers.first else { return nil }
        return popFirst(of: caller)
    }

    /// Returns the next caller in turn whose first element is eligible, with this element.
    package func first(
        where isEligible: (_ caller: Caller, _ element: Element) -> Bool
    ) -> (caller: Caller, element: Element)? {
        for caller in callers {
            if let element = queues[caller]?.entries.first?.element, isEligible(caller, element) {
                return (caller, element)
            }
        }
        return nil
    }

    /// Removes and returns the first element of a caller. The queue then serves all other callers before this caller.
    package mutating func popFirst(of caller: Caller) -> Element? {
        guard let element = queues[caller]?.popFirst() else { return nil }
        count -= 1
        removeFromOrder(caller)
        if count(of: caller) > 0 { callers.append(caller) } else { queues[caller] = nil }
        return element
    }

    /// Removes the element of a caller at a position, if the element is still in the queue.
    ///
    /// Takes amortized logarithmic time in the number of elements of the caller. If the caller then has no elements,
    /// also takes linear time in the number of callers.
    package mutating func remove(at position: Position, of caller: Caller) {
        guard queues[caller]?.remove(position.number) ?? false else { return }
        count -= 1
        guard count(of: caller) == 0 else { return }
        queues[caller] = nil
        removeFromOrder(caller)
    }

    /// Removes a caller from the order in which the queue serves callers.
    private mutating func removeFromOrder(_ caller: Caller) {
        if callers.first == caller {
            _ = callers.popFirst()
        } else {
            callers.removeAll { $0 == caller }
        }
    }
}

extension FairQueue: Sendable where Caller: Sendable, Element: Sendable {}

/// The elements of one caller. If there are entries, the first entry has an element.
private struct CallerQueue<Element> {
    struct Entry {
        let number: Int
        /// Nil after the element was removed.
        var element: Element?
    }

    private(set) var entries = Deque<Entry>()
    /// The number of entries with an element.
    private(set) var count = 0

    mutating func append(_ element: Element, number: Int) {
        entries.append(Entry(number: number, element: element))
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let element = entries.popFirst()?.element else { return nil }
        count -= 1
        removeEmptyEntries()
        return element
    }

    /// Removes the element with a number. Returns false if the queue does not contain it.
    mutating func remove(_ number: Int) -> Bool {
        guard let index = index(of: number),
            entries.update(index, { entry in entry.element.take() != nil })
        else { return false }
        count -= 1
        removeEmptyEntries()
        return true
    }

    /// Finds an entry by binary search: the numbers of the entries ascend.
    private func index(of number: Int) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == number ? low : nil
    }

    /// Removes the entries without an element at the front. If more than half of all entries have no element, removes
    /// all entries without an element, so that these entries never take most of the memory.
    private mutating func removeEmptyEntries() {
        while let first = entries.first, first.element == nil { _ = entries.popFirst() }
        if entries.count > 2 * count { entries.removeAll { $0.element == nil } }
    }
}

extension CallerQueue.Entry: Sendable where Element: Sendable {}
extension CallerQueue: Sendable where Element: Sendable {}
