/// A double-ended queue in a ring buffer. `append(_:)`, `prepend(_:)`, `popFirst()` and `popLast()` take constant time.
/// If the storage is full, adding an element first doubles the storage, which takes linear time. The inherited methods
/// that remove or insert elements, such as `removeFirst()`, use ``replaceSubrange(_:with:)`` and take linear time.
///
/// A removed element is released immediately. A new deque has no storage.
@usableFromInline
package struct Deque<Element> {
    /// The ring buffer. The elements occupy `used` slots, which begin at the index `head` and wrap around the end. All
    /// other slots are nil.
    @usableFromInline
    internal var slots: [Element?] = []
    @usableFromInline
    internal var head = 0
    @usableFromInline
    internal var used = 0

    @inlinable
    package init() {}

    /// The number of elements for which the storage has room.
    @inlinable package var capacity: Int { slots.count }

    @inlinable
    package mutating func append(_ element: Element) {
        if used == slots.count { grow() }
        slots[slot(of: used)] = element
        used += 1
    }

    @inlinable
    package mutating func prepend(_ element: Element) {
        if used == slots.count { grow() }
        head = head == 0 ? slots.count - 1 : head - 1
        slots[head] = element
        used += 1
    }

    @inlinable
    package mutating func popFirst() -> Element? {
        guard used > 0 else { return nil }
        let element = slots[head].take()
        head = slot(of: 1)
        used -= 1
        return element
    }

    @inlinable
    package mutating func popLast() -> Element? {
        guard used > 0 else { return nil }
        used -= 1
        return slots[slot(of: used)].take()
    }

    /// Changes the element at the index `position`. Moves the element out of the storage during the change, so the
    /// change does not copy arrays in the element.
    @inlinable
    package mutating func update<Result>(_ position: Int, _ body: (inout Element) -> Result) -> Result {
        guard position >= 0, position < used, var element = slots[slot(of: position)].take() else {
            preconditionFailure("the deque has no element \(position)")
        }
        defer { slots[slot(of: position)] = element }
        return body(&element)
    }

    @inlinable
    internal func slot(of position: Int) -> Int {
        let index = head + position
        return index < slots.count ? index : index - slots.count
    }

    @inlinable
    internal mutating func grow() {
        var grown: [Element?] = []
        grown.reserveCapacity(Swift.max(1, slots.count * 2))
        for position in 0..<used { grown.append(slots[slot(of: position)]) }
        while grown.count < Swift.max(1, slots.count * 2) { grown.append(nil) }
        slots = grown
        head = 0
    }
}

extension Deque: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { used }

    @inlinable
    package subscript(position: Int) -> Element {
        get {
            guard position >= 0, position < used, let element = slots[slot(of: position)] else {
                preconditionFailure("the deque has no element \(position)")
            }
            return element
        }
        set {
            precondition(position >= 0 && position < used, "the deque has no element \(position)")
            slots[slot(of: position)] = newValue
        }
    }

    /// Replaces a range of elements. Takes linear time, because it copies all elements of the deque.
    @inlinable
    package mutating func replaceSubrange(_ range: Range<Int>, with elements: some Collection<Element>) {
        var all = Array(self)
        all.replaceSubrange(range, with: elements)
        slots = all
        head = 0
        used = slots.count
    }
}

extension Deque: Sendable where Element: Sendable {}

extension Deque: ExpressibleByArrayLiteral {
    @inlinable
    package init(arrayLiteral elements: Element...) {
        slots = elements
        used = elements.count
    }
}
