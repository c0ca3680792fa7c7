internal import Glibc

extension OrderedTree {
    /// Elements in order, with their marks.
    struct Leaf: Sendable {
        var elements: [Element] = []
        /// `marks[i]` is the mark of `elements[i]`. Inline: a branch that is copied retains one object a leaf.
        private var marks = InlineArray<32, UInt8>(repeating: 0)

        /// The first key of a leaf that is not empty.
        var firstKey: Key { elements[0].treeKey }

        func index<P: TreeProbe & ~Escapable>(of probe: P) -> Int? where P.Key == Key {
            let mark = Int32(probe.mark)
            var start = 0
            while let index = firstIndex(ofMark: mark, from: start) {
                if probe.order(against: elements[index].treeKey) == 0 { return index }
                start = index + 1
            }
            return nil
        }

        private func firstIndex(ofMark mark: Int32, from start: Int) -> Int? {
            marks.span.withUnsafeBytes { marks in
                marks.baseAddress.flatMap { base in
                    memchr(base + start, mark, elements.count - start).map { UnsafeRawPointer($0) - base }
                }
            }
        }

        /// The index of the first element whose key is not before this one.
        func place(of key: Key) -> Int {
            var (low, high) = (0, elements.count)
            while low < high {
                let middle = (low + high) / 2
                if key.order(against: elements[middle].treeKey) > 0 { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Inserts or replaces an element. Returns the second half of the leaf if it was full.
        mutating func set(_ element: Element, replacing replaced: inout Element?) -> Self? {
            let key = element.treeKey
            if let index = index(of: key) {
                replaced = elements[index]
                elements[index] = element
                return nil
            }
            let index = place(of: key)
            if index == elements.count { return append(element) }
            guard elements.count == OrderedTree.capacity else {
                insert(element, at: index)
                return nil
            }
            var right = split(at: elements.count / 2)
            if index <= elements.count {
                insert(element, at: index)
            } else {
                right.insert(element, at: index - elements.count)
            }
            return right
        }

        /// Appends an element. Returns it in a leaf of its own if this one is full, so that keys that come in order leave
        /// full leaves behind them.
        mutating func append(_ element: Element) -> Self? {
            guard elements.count == OrderedTree.capacity else {
                insert(element, at: elements.count)
                return nil
            }
            var right = Self()
            right.elements.reserveCapacity(OrderedTree.capacity)
            right.insert(element, at: 0)
            return right
        }

        mutating func remove(at index: Int) -> Element {
            for later in (index + 1)..<elements.count { marks[later - 1] = marks[later] }
            return elements.remove(at: index)
        }

        /// Appends the elements of the next leaf.
        mutating func join(_ next: Self) {
            for index in next.elements.indices { marks[elements.count + index] = next.marks[index] }
            elements += next.elements
        }

        private mutating func insert(_ element: Element, at index: Int) {
            var later = elements.count
            while later > index {
                marks[later] = marks[later - 1]
                later -= 1
            }
            marks[index] = element.treeKey.mark
            elements.insert(element, at: index)
        }

        /// Removes the elements from an index on and returns them. This leaf keeps its room: it is likely to fill again.
        private mutating func split(at index: Int) -> Self {
            var right = Self()
            right.elements = Array(elements[index...])
            for place in right.elements.indices { right.marks[place] = marks[index + place] }
            elements.removeSubrange(index...)
            return right
        }
    }
}

/// The bounds between the children of a branch: each is after every key in the child before it, and not after any in the
/// child behind it.
///
/// Neighbouring names often begin alike. So what all bounds have in common is compared once, then the eight bytes behind
/// it as one number; the texts themselves are touched only where those are equal.
struct Bounds<Key: TreeKey>: Sendable {
    private var bounds: [(key: Key, head: UInt64)] = []
    /// The length of the prefix that all keys have in common.
    private var prefix = 0

    var isEmpty: Bool { bounds.isEmpty }

    /// The number of bounds that are not after a key, which is the index of the child that may have it.
    func index<P: TreeProbe & ~Escapable>(of probe: P) -> Int where P.Key == Key {
        let bounds = bounds.span
        guard !bounds.isEmpty else { return 0 }
        if prefix > 0, probe.sharedPrefix(with: bounds[0].key, atMost: prefix) < prefix {
            return probe.order(against: bounds[0].key) > 0 ? bounds.count : 0
        }
        let head = probe.head(behind: prefix)
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            let other = bounds[middle].head
            let isAfter = other > head || (other == head && probe.order(against: bounds[middle].key) < 0)
            if isAfter { high = middle } else { low = middle + 1 }
        }
        return low
    }

    mutating func insert(_ key: Key, at index: Int) {
        bounds.insert((key, key.head(behind: prefix)), at: index)
        let other = bounds[index == 0 ? bounds.count - 1 : 0].key
        if bounds.count == 1 || key.sharedPrefix(with: other, atMost: prefix) < prefix { measure() }
    }

    mutating func remove(at index: Int) {
        bounds.remove(at: index)
    }

    /// Keeps the bounds before an index. Returns the one there and those behind it.
    mutating func split(at index: Int) -> (key: Key, behind: Self) {
        var behind = Self()
        behind.bounds = Array(bounds[(index + 1)...])
        behind.measure()
        let key = bounds[index].key
        bounds.removeSubrange(index...)
        measure()
        return (key, behind)
    }

    /// Computes the common prefix, which is that of the first and the last key, and the heads behind it.
    private mutating func measure() {
        guard let first = bounds.first, let last = bounds.last else { return }
        prefix = first.key.sharedPrefix(with: last.key, atMost: .max)
        for index in bounds.indices { bounds[index].head = bounds[index].key.head(behind: prefix) }
    }
}
