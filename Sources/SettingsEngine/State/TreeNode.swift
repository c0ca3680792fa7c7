extension OrderedTree {
    /// A part of the tree: a leaf or a branch.
    struct Node: Sendable {
        private(set) var leaf = Leaf()
        /// The branch, in an array of one; nil in a leaf. So a branch that is copied retains one object a child.
        private(set) var branch: [Branch]?

        /// The second half of a node that was full, and the bound before it.
        struct Split {
            let bound: Key
            let node: Node

            init(bound: Key, node: Node) {
                self.bound = bound
                self.node = node
            }

            init(_ leaf: Leaf) {
                self.init(bound: leaf.elements[0].treeKey, node: Node(leaf))
            }
        }

        init() {}

        private init(_ leaf: Leaf) {
            self.leaf = leaf
        }

        fileprivate init(_ branch: Branch) {
            self.branch = [branch]
        }

        /// Becomes a branch of itself and what was split from it.
        mutating func grow(_ split: Split) {
            self = Self(Branch(self, split))
        }

        /// The only child of a branch.
        var onlyChild: Node? { branch?.span[0].onlyChild }

        fileprivate var firstKey: Key? { branch?[0].children.first?.firstKey ?? leaf.elements.first?.treeKey }
        fileprivate var lastKey: Key? { branch?[0].children.last?.lastKey ?? leaf.elements.last?.treeKey }
        fileprivate var isEmpty: Bool { branch?.span[0].children.isEmpty ?? leaf.elements.isEmpty }

        /// The elements of a leaf from the first whose key is not before `start`; none if there are no such keys.
        ///
        /// - Parameter orAt: false if the key has to come after `start`.
        func elements(from start: Key?, orAt isInclusive: Bool) -> ArraySlice<Element> {
            if let branch { return branch.span[0].elements(from: start, orAt: isInclusive) }
            let elements = leaf.elements
            guard let start else { return elements[...] }
            let index = leaf.place(of: start)
            let isAt = index < elements.count && start.isSame(as: elements.span[index].treeKey)
            return elements[(isAt && !isInclusive ? index + 1 : index)...]
        }

        /// The elements of a leaf up to the last whose key is before `end`; none if there are no such keys.
        func elements(before end: Key) -> ArraySlice<Element> {
            if let branch { return branch.span[0].elements(before: end) }
            return leaf.elements[..<leaf.place(of: end)]
        }

        /// Inserts an element whose key is not there yet.
        mutating func insert<P: TreeProbe & ~Escapable>(_ element: Element, under key: P) -> Split? where P.Key == Key {
            if branch == nil { return leaf.insert(element, under: key).map(Split.init) }
            return branch?[0].insert(element, under: key)
        }

        mutating func update<P: TreeProbe & ~Escapable, Result>(
            _ probe: P, _ body: (inout Element) -> Result
        ) -> Result? where P.Key == Key {
            if branch == nil { return leaf.index(of: probe).map { body(&leaf.elements[$0]) } }
            return branch?[0].update(probe, body)
        }

        mutating func remove<P: TreeProbe & ~Escapable>(_ probe: P) -> Element? where P.Key == Key {
            if branch == nil { return leaf.index(of: probe).map { leaf.remove(at: $0) } }
            return branch?[0].remove(probe)
        }

        /// Joins two leaves if both together are less than half full. Returns true if so.
        fileprivate mutating func join(_ next: Self) -> Bool {
            guard branch == nil, next.branch == nil,
                leaf.elements.count + next.leaf.elements.count < OrderedTree.leafCapacity / 2
            else { return false }
            leaf.join(next.leaf)
            return true
        }
    }

    /// Nodes in order, with the bounds between them.
    struct Branch: Sendable {
        private(set) var children: [Node] = []
        private var bounds = Bounds<Key>()

        private init() {}

        fileprivate init(_ left: Node, _ split: Node.Split) {
            children = [left, split.node]
            bounds.insert(split.bound, at: 0)
            measure()
        }

        fileprivate var onlyChild: Node? { children.count == 1 ? children[0] : nil }

        /// The index of the child that has a key, if any has it.
        @inline(__always)
        func index<P: TreeProbe & ~Escapable>(ofChildWith probe: P) -> Int where P.Key == Key {
            bounds.index(ofPresent: probe)
        }

        fileprivate func elements(from start: Key?, orAt isInclusive: Bool) -> ArraySlice<Element> {
            // A child may end before the place that its bounds say.
            for index in (start.map { bounds.index(of: $0) } ?? 0)..<children.count {
                let found = children.span[index].elements(from: start, orAt: isInclusive)
                if !found.isEmpty { return found }
            }
            return []
        }

        fileprivate func elements(before end: Key) -> ArraySlice<Element> {
            for index in (0...bounds.index(of: end)).reversed() {
                let found = children.span[index].elements(before: end)
                if !found.isEmpty { return found }
            }
            return []
        }

        fileprivate mutating func insert<P: TreeProbe & ~Escapable>(
            _ element: Element, under key: P
        ) -> Node.Split? where P.Key == Key {
            bounds.admit(key)
            let index = bounds.index(ofPresent: key)
            return children[index].insert(element, under: key).flatMap { insert($0, behind: index) }
        }

        fileprivate mutating func update<P: TreeProbe & ~Escapable, Result>(
            _ probe: P, _ body: (inout Element) -> Result
        ) -> Result? where P.Key == Key {
            children[bounds.index(ofPresent: probe)].update(probe, body)
        }

        fileprivate mutating func remove<P: TreeProbe & ~Escapable>(_ probe: P) -> Element? where P.Key == Key {
            let index = bounds.index(ofPresent: probe)
            guard let removed = children[index].remove(probe) else { return nil }
            if children[index].isEmpty {
                children.remove(at: index)
                if !bounds.isEmpty { bounds.remove(at: max(0, index - 1)) }
            } else if children.count > 1 {
                joinChild(min(index, children.count - 2))
            }
            return removed
        }

        /// Inserts what was split from a child. Splits this branch if it is full.
        private mutating func insert(_ split: Node.Split, behind index: Int) -> Node.Split? {
            children.insert(split.node, at: index + 1)
            bounds.insert(split.bound, at: index)
            guard children.count > OrderedTree.branchCapacity else { return nil }
            let middle = children.count / 2
            var right = Self()
            right.children = Array(children[middle...])
            children = Array(children[..<middle])
            let bound: Key
            (bound, right.bounds) = bounds.split(at: middle - 1)
            measure()
            right.measure()
            return Node.Split(bound: bound, node: Node(right))
        }

        /// Measures what all keys have in common: what the first and the last one have.
        private mutating func measure() {
            guard let first = children.first?.firstKey, let last = children.last?.lastKey else { return }
            bounds.measure(first.sharedPrefix(with: last, atMost: .max))
        }

        /// Joins a leaf with the next one if both together are less than half full.
        private mutating func joinChild(_ index: Int) {
            guard children[index].join(children[index + 1]) else { return }
            children.remove(at: index + 1)
            bounds.remove(at: index)
        }
    }
}
