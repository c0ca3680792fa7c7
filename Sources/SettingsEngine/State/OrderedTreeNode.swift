extension OrderedTree {
    /// A part of the tree: a leaf, or a branch with children and the bounds between them; never both.
    struct Node: Sendable {
        private var leaf = Leaf()
        private var children: [Node] = []
        /// Each is not after any name in the child behind it, and after every name in the child before it.
        private var bounds = NameBounds()

        /// What a node that was full gave up: what comes behind it, from a bound on.
        struct Split {
            let bound: String
            let node: Node
        }

        /// What became of an element that was to go last.
        enum Appended {
            case taken, refused
            case split(Split)
        }

        init() {}

        private init(_ leaf: Leaf) {
            self.leaf = leaf
        }

        /// A branch of a node and of what it gave up.
        init(_ left: Node, _ split: Split) {
            children = [left, split.node]
            bounds.insert(split.bound, at: 0)
        }

        /// The one child of a branch that has no other.
        var onlyChild: Node? { children.count == 1 ? children[0] : nil }

        private var isEmpty: Bool { leaf.elements.isEmpty && children.isEmpty }
    }
}

/// Reading.
extension OrderedTree.Node {
    func with<Result>(_ name: Span<UInt8>, _ body: (borrowing Element) -> Result) -> Result? {
        if children.isEmpty { return leaf.index(of: name).map { body(leaf.elements[$0]) } }
        return children[bounds.index(of: name)].with(name, body)
    }

    func forEach(startingAt start: String, _ body: (Element) throws -> Bool) rethrows -> Bool {
        if children.isEmpty {
            let first = start.isEmpty ? 0 : leaf.place(of: start.utf8Span.span)
            for index in first..<leaf.elements.count where try !body(leaf.elements[index]) { return false }
            return true
        }
        let first = start.isEmpty ? 0 : bounds.index(of: start.utf8Span.span)
        for index in first..<children.count {
            let isFirst = index == first
            if try !children[index].forEach(startingAt: isFirst ? start : "", body) { return false }
        }
        return true
    }

    func forEachReversed(before end: String?, _ body: (Element) -> Bool) -> Bool {
        if children.isEmpty {
            let count = end.map { leaf.place(of: $0.utf8Span.span) } ?? leaf.elements.count
            return leaf.elements[..<count].reversed().allSatisfy(body)
        }
        let last = end.map { bounds.index(of: $0.utf8Span.span) } ?? children.count - 1
        return (0...last).reversed().allSatisfy { index in
            children[index].forEachReversed(before: index == last ? end : nil, body)
        }
    }
}

/// Changing.
extension OrderedTree.Node {
    mutating func set(_ element: Element, replacing replaced: inout Element?) -> Split? {
        if children.isEmpty {
            return leaf.set(element, replacing: &replaced).map { Split(bound: $0.firstName, node: Self($0)) }
        }
        let index = bounds.index(of: element.name.utf8Span.span)
        return children[index].set(element, replacing: &replaced).flatMap { take($0, behind: index) }
    }

    mutating func append(_ element: Element) -> Appended {
        guard let last = children.indices.last else {
            guard leaf.comesLast(element.name) else { return .refused }
            return leaf.append(element).map { .split(Split(bound: $0.firstName, node: Self($0))) } ?? .taken
        }
        let appended = children[last].append(element)
        guard case .split(let split) = appended else { return appended }
        return take(split, behind: last).map { .split($0) } ?? .taken
    }

    mutating func remove(_ name: Span<UInt8>) -> Element? {
        if children.isEmpty { return leaf.index(of: name).map { leaf.remove(at: $0) } }
        let index = bounds.index(of: name)
        guard let removed = children[index].remove(name) else { return nil }
        if children[index].isEmpty {
            dropChild(index)
        } else if index + 1 < children.count {
            joinChild(index)
        } else if index > 0 {
            joinChild(index - 1)
        }
        return removed
    }

    mutating func update<Result>(
        _ name: Span<UInt8>, _ body: (inout Element) throws -> Result
    ) rethrows -> Result? {
        if children.isEmpty {
            guard let index = leaf.index(of: name) else { return nil }
            return try body(&leaf.elements[index])
        }
        return try children[bounds.index(of: name)].update(name, body)
    }

    /// Takes in what a child gave up, and gives up half of itself if there is no room.
    private mutating func take(_ split: Split, behind index: Int) -> Split? {
        children.insert(split.node, at: index + 1)
        bounds.insert(split.bound, at: index)
        guard children.count > OrderedTree.capacity else { return nil }
        let middle = children.count / 2
        var right = Self()
        right.children = Array(children[middle...])
        children = Array(children[..<middle])
        let bound: String
        (bound, right.bounds) = bounds.split(at: middle - 1)
        return Split(bound: bound, node: right)
    }

    private mutating func dropChild(_ index: Int) {
        children.remove(at: index)
        if !bounds.isEmpty { bounds.remove(at: max(0, index - 1)) }
    }

    /// Joins a leaf with the next one once both together are less than half full.
    private mutating func joinChild(_ index: Int) {
        guard children[index].children.isEmpty, children[index + 1].children.isEmpty,
            children[index].leaf.elements.count + children[index + 1].leaf.elements.count < OrderedTree.capacity / 2
        else { return }
        let next = children.remove(at: index + 1)
        bounds.remove(at: index)
        children[index].leaf.join(next.leaf)
    }
}
