internal import Glibc

extension OrderedTree {
    /// Elements in order, with their marks.
    struct Leaf: Sendable {
        var elements: [Element] = []
        /// `marks[i]` is the mark of `elements[i]`. Inline: a branch that is copied retains one object a leaf. One more than a
        /// leaf has elements, as that takes whole words.
        private(set) var marks = InlineArray<16, UInt8>(repeating: 0)

        func index<P: TreeProbe & ~Escapable>(of probe: P) -> Int? where P.Key == Key {
            Self.index(of: probe, in: elements, marks)
        }

        /// The index of the element with a key. Inlined, and without the leaf, so that a search need not copy that.
        @inline(__always)
        static func index<P: TreeProbe & ~Escapable>(
            of probe: P, in elements: [Element], _ marks: InlineArray<16, UInt8>
        ) -> Int? where P.Key == Key {
            let mark = Int32(probe.mark)
            var start = 0
            while let index = firstIndex(of: mark, in: marks, start..<elements.count) {
                if probe.isSame(as: elements.span[index].treeKey) { return index }
                start = index + 1
            }
            return nil
        }

        @inline(__always)
        private static func firstIndex(
            of mark: Int32, in marks: InlineArray<16, UInt8>, _ range: Range<Int>
        ) -> Int? {
            marks.span.withUnsafeBytes { marks in
                marks.baseAddress.flatMap { base in
                    memchr(base + range.lowerBound, mark, range.count).map { UnsafeRawPointer($0) - base }
                }
            }
        }

        /// The index of the first element whose key is not before this one.
        func place<P: TreeProbe & ~Escapable>(of key: P) -> Int where P.Key == Key {
            var (low, high) = (0, elements.count)
            while low < high {
                let middle = (low + high) / 2
                if key.order(against: elements[middle].treeKey) > 0 { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Inserts an element whose key is not there yet. Returns the second half of the leaf if it was full.
        mutating func insert<P: TreeProbe & ~Escapable>(_ element: Element, under key: P) -> Self? where P.Key == Key {
            let isLast = elements.isEmpty || key.order(against: elements.span[elements.count - 1].treeKey) > 0
            let index = isLast ? elements.count : place(of: key)
            guard elements.count == OrderedTree.leafCapacity else {
                insert(element, key.mark, at: index)
                return nil
            }
            // Keys that come in order leave full leaves behind them.
            var right = split(at: isLast ? elements.count : elements.count / 2)
            if isLast { right.elements.reserveCapacity(OrderedTree.leafCapacity) }
            if index <= elements.count, !isLast {
                insert(element, key.mark, at: index)
            } else {
                right.insert(element, key.mark, at: index - elements.count)
            }
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

        private mutating func insert(_ element: Element, _ mark: UInt8, at index: Int) {
            var later = elements.count
            while later > index {
                marks[later] = marks[later - 1]
                later -= 1
            }
            marks[index] = mark
            // By itself an array would take room for twice as many.
            if elements.count == elements.capacity {
                elements.reserveCapacity(min(max(1, 2 * elements.count), OrderedTree.leafCapacity))
            }
            if index == elements.count { elements.append(element) } else { elements.insert(element, at: index) }
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
/// Neighbouring names often begin alike. So what all keys of the branch have in common is skipped, and the eight bytes
/// behind it are compared as one number; the texts themselves are touched only where those are equal.
struct Bounds<Key: TreeKey>: Sendable {
    private var keys: [Key] = []
    /// `heads[i]` is the head of `keys[i]` behind the prefix.
    private var heads: [UInt64] = []
    /// The length of a prefix that all keys in the branch have in common, these and those in its leaves.
    private var prefix = 0

    var isEmpty: Bool { keys.isEmpty }

    /// The number of bounds that are not after a key, which is the index of the child where it belongs.
    func index<P: TreeProbe & ~Escapable>(of probe: P) -> Int where P.Key == Key {
        if let first = keys.first, probe.sharedPrefix(with: first, atMost: prefix) < prefix {
            return probe.order(against: first) > 0 ? keys.count : 0
        }
        return index(ofPresent: probe)
    }

    /// The index of the child that has a key, if any child has it: a key that is there begins as all others do.
    @inline(__always)
    func index<P: TreeProbe & ~Escapable>(ofPresent probe: P) -> Int where P.Key == Key {
        let heads = heads.span
        let head = probe.head(behind: prefix)
        var (low, high) = (0, heads.count)
        while low < high {
            let middle = (low + high) / 2
            if heads[middle] > head { high = middle } else { low = middle + 1 }
        }
        return low > 0 && heads[low - 1] == head ? index(ofPresent: probe, upTo: low) : low
    }

    /// Compares the keys whose heads are the same. Not inlined, as the other searches need not retain the keys.
    @inline(never)
    private func index<P: TreeProbe & ~Escapable>(ofPresent probe: P, upTo end: Int) -> Int where P.Key == Key {
        let head = heads[end - 1]
        var index = end
        while index > 0, heads[index - 1] == head, probe.order(against: keys[index - 1]) < 0 { index -= 1 }
        return index
    }

    /// Shortens the prefix to what a new key of the branch has in common with the others.
    mutating func admit<P: TreeProbe & ~Escapable>(_ key: P) where P.Key == Key {
        guard prefix > 0, let first = keys.first else { return }
        let shared = key.sharedPrefix(with: first, atMost: prefix)
        if shared < prefix { measure(shared) }
    }

    mutating func insert(_ key: Key, at index: Int) {
        keys.insert(key, at: index)
        heads.insert(key.head(behind: prefix), at: index)
    }

    mutating func remove(at index: Int) {
        keys.remove(at: index)
        heads.remove(at: index)
    }

    /// Keeps the bounds before an index. Returns the one there and those behind it. Both are still to be measured.
    mutating func split(at index: Int) -> (key: Key, behind: Self) {
        var behind = Self()
        behind.keys = Array(keys[(index + 1)...])
        let key = keys[index]
        keys.removeSubrange(index...)
        return (key, behind)
    }

    /// Sets the prefix, and computes the heads behind it.
    mutating func measure(_ prefix: Int) {
        self.prefix = prefix
        heads = keys.map { $0.head(behind: prefix) }
    }
}
