internal import SettingsModel

extension OrderedTree {
    /// A node of the B+ tree: a leaf with elements, or a branch with child nodes.
    struct Node: Sendable {
        /// The number of elements in a full leaf. A write copies the leaves that it changes if readers share them, so a
        /// leaf should be fast to allocate. A leaf of 15 `KeyRecord` values takes less than 1,032 bytes, the maximum
        /// size of an allocation from the allocator's fast cache for each thread.
        static var leafCapacity: Int { 15 }
        /// The number of children of a full branch.
        static var branchCapacity: Int { 32 }

        /// The elements of a leaf in order; empty in a branch.
        private(set) var elements: [Element] = []
        /// The children of a branch in order; empty in a leaf.
        private(set) var children: [Node] = []
        /// Bound `i` comes after every name in `children[i]`, and not after any name in `children[i + 1]`.
        private var bounds = NameBounds()

        /// The right half of a node that was split because it was full, and the bound between both halves.
        struct Split {
            let bound: String
            let right: Node
        }

        init() {}

        /// Makes a branch whose children are the two halves of a split node.
        init(left: Node, split: Split) { self.init(children: [left, split.right], bounds: NameBounds(split.bound)) }

        private init(elements: [Element]) { self.elements = elements }

        private init(children: [Node], bounds: NameBounds) {
            self.children = children
            self.bounds = bounds
            rebuildBoundsIndex()
        }

        /// Computes the common prefix of all names under this branch again, and the index of the bounds, which depends
        /// on the prefix. Because the names are in order, all names share the prefix that the first name and the last
        /// name share. Must be called after the bounds were made or split, because `NameBounds` then has no valid
        /// index.
        private mutating func rebuildBoundsIndex() {
            guard let firstName, let lastName else { return }
            bounds.rebuildIndex(firstName: firstName, lastName: lastName)
        }

        /// The only child of a branch that has one child.
        var onlyChild: Node? { children.count == 1 ? children[0] : nil }
        private var firstName: String? { children.first?.firstName ?? elements.first?.name }
        var lastName: String? { children.last?.lastName ?? elements.last?.name }
        private var isEmpty: Bool { elements.isEmpty && children.isEmpty }
    }
}

// Methods that search the tree.
//
// `NameBounds.childIndex(forNameWithCommonPrefix:)` assumes that a name begins with the common prefix of the names
// under the branch. Exact lookups may call it without a check, because no child contains a name without this prefix,
// so the lookup finds nothing in any child.
extension OrderedTree.Node {
    /// Returns the elements of the leaf that contains a name, and the index of the element with this name; nil if no
    /// leaf contains the name.
    func leaf(of name: Span<UInt8>) -> (elements: [Element], index: Int)? {
        if !children.isEmpty { return children[bounds.childIndex(forNameWithCommonPrefix: name)].leaf(of: name) }
        let (index, isFound) = self.index(of: name)
        return isFound ? (elements, index) : nil
    }

    /// The index in this leaf of the first element whose name is not before the given name, and whether both names are
    /// equal.
    private func index(of name: Span<UInt8>) -> (index: Int, isFound: Bool) {
        let elements = elements.span
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            let order = name.order(against: elements[middle].name)
            if order == 0 { return (middle, true) }
            if order < 0 { high = middle } else { low = middle + 1 }
        }
        return (low, false)
    }

    /// Visits the elements with names not before `start`, in order. Stops and returns false if the body returns false.
    func forEach(startingAt start: String?, _ body: (Element) -> Bool) -> Bool {
        if children.isEmpty {
            let index = start.map { self.index(of: $0.utf8Span.span).index } ?? 0
            return elements[index...].allSatisfy(body)
        }
        let first = start.map { bounds.childIndex(for: $0.utf8Span.span) } ?? 0
        guard children[first].forEach(startingAt: start, body) else { return false }
        return children[(first + 1)...].allSatisfy { $0.forEach(startingAt: nil, body) }
    }

    /// Visits the elements with names before `end`, in reverse. Stops and returns false if the body returns false.
    func forEachReversed(before end: String?, _ body: (Element) -> Bool) -> Bool {
        if children.isEmpty {
            let index = end.map { self.index(of: $0.utf8Span.span).index } ?? elements.count
            return elements[..<index].reversed().allSatisfy(body)
        }
        let last = end.map { bounds.childIndex(for: $0.utf8Span.span) } ?? children.count - 1
        guard children[last].forEachReversed(before: end, body) else { return false }
        return children[..<last].reversed().allSatisfy { $0.forEachReversed(before: nil, body) }
    }
}

// Methods that change the tree.
extension OrderedTree.Node {
    /// Inserts an element, or replaces the element with the same name.
    ///
    /// - Returns: the replaced element, and the right half of this node if this node was full and was split.
    mutating func set(_ element: Element) -> (replaced: Element?, split: Split?) {
        let name = element.name
        if children.isEmpty {
            let (index, isFound) = self.index(of: name.utf8Span.span)
            if isFound {
                var replaced = element
                swap(&elements[index], &replaced)
                return (replaced, nil)
            }
            return (nil, insert(element, at: index))
        }
        let index = bounds.childIndex(forInserting: name.utf8Span.span)
        let (replaced, split) = children[index].set(element)
        return (replaced, split.flatMap { insert($0, after: index) })
    }

    mutating func update<Result>(_ name: Span<UInt8>, _ body: (inout Element) -> Result) -> Result? {
        if !children.isEmpty { return children[bounds.childIndex(forNameWithCommonPrefix: name)].update(name, body) }
        let (index, isFound) = self.index(of: name)
        return isFound ? body(&elements[index]) : nil
    }

    mutating func remove(_ name: Span<UInt8>) -> Element? {
        if children.isEmpty {
            let (index, isFound) = self.index(of: name)
            return isFound ? elements.remove(at: index) : nil
        }
        let index = bounds.childIndex(forNameWithCommonPrefix: name)
        guard let removed = children[index].remove(name) else { return nil }
        if children[index].isEmpty {
            children.remove(at: index)
            // Removes the bound before the child. The first child has no bound before it, but a bound after it.
            if !bounds.isEmpty { bounds.remove(at: max(0, index - 1)) }
        } else if children.count > 1 {
            // The last child has no next child, so the child before it is joined with it.
            joinSmallLeaves(at: min(index, children.count - 2))
        }
        return removed
    }

    /// Inserts an element into this leaf. If the leaf is full, splits the leaf and returns the right half.
    private mutating func insert(_ element: Element, at index: Int) -> Split? {
        guard elements.count == Self.leafCapacity else {
            // Without a reservation, the array would grow to twice the capacity of a leaf.
            if elements.count == elements.capacity {
                elements.reserveCapacity(min(max(1, 2 * elements.count), Self.leafCapacity))
            }
            elements.insert(element, at: index)
            return nil
        }
        // An element after the last element of a full leaf begins a new leaf, so that insertions in the order of names
        // produce full leaves.
        let middle = index == elements.count ? index : elements.count / 2
        var right = Self(elements: Array(elements[middle...]))
        elements.removeSubrange(middle...)
        if index < middle {
            elements.insert(element, at: index)
        } else {
            right.elements.reserveCapacity(Self.leafCapacity)
            right.elements.insert(element, at: index - middle)
        }
        return Split(bound: right.elements[0].name, right: right)
    }

    /// Inserts the right half of a split child. If this branch is full, splits it and returns the right half.
    private mutating func insert(_ split: Split, after index: Int) -> Split? {
        children.insert(split.right, at: index + 1)
        bounds.insert(split.bound, at: index)
        guard children.count > Self.branchCapacity else { return nil }
        let middle = children.count / 2
        let (bound, rightBounds) = bounds.split(at: middle - 1)
        let right = Self(children: Array(children[middle...]), bounds: rightBounds)
        children.removeSubrange(middle...)
        rebuildBoundsIndex()
        return Split(bound: bound, right: right)
    }

    /// Joins the leaf at an index with the next leaf if both together fill less than half a leaf.
    private mutating func joinSmallLeaves(at index: Int) {
        let (left, right) = (children[index], children[index + 1])
        guard left.children.isEmpty, right.children.isEmpty,
            left.elements.count + right.elements.count < Self.leafCapacity / 2
        else { return }
        children[index].elements += right.elements
        children.remove(at: index + 1)
        bounds.remove(at: index)
    }
}
