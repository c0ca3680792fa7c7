/// A queue that serves callers, such as clients, round-robin. The elements of one caller keep their order.
package struct FairQueue<Caller: Hashable, Element> {
    private var elements: [Caller: Deque<Element>] = [:]
    /// The callers that have elements, in the order in which the queue serves them.
    private var callers = Deque<Caller>()
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    package func count(of caller: Caller) -> Int { elements[caller]?.count ?? 0 }

    package mutating func append(_ element: Element, for caller: Caller) {
        if elements[caller] == nil { callers.append(caller) }
        elements[caller, default: Deque()].append(element)
        count += 1
    }

    /// Removes and returns the first element of the caller that is served next. Returns nil if the queue is empty.
    package mutating func popFirst() -> Element? {
        guard let caller = callers.first else { return nil }
        return popFirst(of: caller)
    }

    /// Returns the caller that is served next, with its first element. Skips callers with an ineligible first element.
    package func first(
        where isEligible: (_ caller: Caller, _ element: Element) -> Bool
    ) -> (caller: Caller, element: Element)? {
        for caller in callers {
            if let element = elements[caller]?.first, isEligible(caller, element) { return (caller, element) }
        }
        return nil
    }

    /// Removes and returns the first element of a caller. The queue then serves all other callers before this caller.
    package mutating func popFirst(of caller: Caller) -> Element? {
        guard let element = elements[caller]?.popFirst() else { return nil }
        let isLast = elements[caller]?.isEmpty ?? true
        if isLast { elements[caller] = nil }
        if callers.first == caller {
            _ = callers.popFirst()
        } else {
            callers.removeAll { $0 == caller }
        }
        if !isLast { callers.append(caller) }
        count -= 1
        return element
    }

    /// Removes all elements of a caller that meet a condition.
    package mutating func remove(of caller: Caller, where condition: (Element) -> Bool) {
        let before = count(of: caller)
        elements[caller]?.removeAll(where: condition)
        count -= before - count(of: caller)
        guard elements[caller]?.isEmpty ?? false else { return }
        elements[caller] = nil
        callers.removeAll { $0 == caller }
    }
}

extension FairQueue: Sendable where Caller: Sendable, Element: Sendable {}
