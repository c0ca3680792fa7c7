internal import Platform

/// A queue that serves callers round-robin. The elements of one caller keep their order.
package struct FairQueue<Caller: Hashable, Element> {
    private var elements: [Caller: Deque<Element>] = [:]
    /// The callers that have elements. The queue serves the first caller next.
    private var callers = Deque<Caller>()
    package private(set) var count = 0

    package init() {}

    var isEmpty: Bool { count == 0 }

    package func contains(_ caller: Caller) -> Bool { elements[caller] != nil }

    package mutating func append(_ element: Element, for caller: Caller) {
        if !contains(caller) { callers.append(caller) }
        elements[caller, default: Deque()].append(element)
        count += 1
    }

    /// Removes the first element of the caller that is served next, and returns the element. Returns nil if the queue is empty.
    package mutating func popFirst() -> Element? {
        guard let caller = callers.popFirst(), let element = elements[caller]?.popFirst() else { return nil }
        if elements[caller]?.isEmpty ?? true { elements[caller] = nil } else { callers.append(caller) }
        count -= 1
        return element
    }
}

extension FairQueue: Sendable where Caller: Sendable, Element: Sendable {}
