extension OrderedTree {
    /// A part of the tree: a leaf, or a branch with children and the bounds between them.
    struct Node: Sendable {
        private var leaf = Leaf()
        private var children: [Node] = []
        private var bounds = Bounds<Key>()

        /// The second half of a node that was full, and the bound before it.
        struct Split {
            let bound: Key
            let node: Node
        }

        /// The end of an attempt to append.
        enum Appended {
            /// The key does not come after the others.
            case refused
            case done
            case split(Split)

            init(_ split: Split?) {
                self = split.map { .split($0) } ?? .done
            }
        }

        init() {}

        private init(_ leaf: Leaf) {
            self.leaf = leaf
        }

        /// A branch of a node and what was split from it.
        init(_ left: Node, _ split: Split) {
            children = [left, split.node]
            bounds.insert(split.bound, at: 0)
        }

        /// The only child of a branch.
        var onlyChild: Node? { children.count == 1 ? children[0] : nil }

        private var isEmpty: Bool { leaf.elements.isEmpty && children.isEmpty }

        func with<P: TreeProbe & ~Escapable, Result>(
            _ probe: P, _ body: (borrowing Element) -> Result
        ) -> Result? where P.Key == Key {
            // By spans: an element of an array would be copied out first, which retains all that it refers to.
            if children.isEmpty { return leaf.index(of: probe).map { body(leaf.elements.span[$0]) } }
            return children.span[bounds.index(of: probe)].with(probe, body)
        }

        func first(from start: Key) -> Element? {
            if children.isEmpty {
                let index = leaf.place(of: start)
                return index < leaf.elements.count ? leaf.elements[index] : nil
            }
            // A child may end before the place that its bounds say.
            for index in bounds.index(of: start)..<children.count {
                if let found = children.span[index].first(from: start) { return found }
            }
            return nil
        }

        func forEach(startingAt start: Key?, _ body: (Element) -> Bool) -> Bool {
            if children.isEmpty {
                let first = start.map { leaf.place(of: $0) } ?? 0
                for index in first..<leaf.elements.count where !body(leaf.elements[index]) { return false }
                return true
            }
            let first = start.map { bounds.index(of: $0) } ?? 0
            for index in first..<children.count
            where !children.span[index].forEach(startingAt: index == first ? start : nil, body) {
                return false
            }
            return true
        }

        func forEachReversed(before end: Key?, _ body: (Element) -> Bool) -> Bool {
            if children.isEmpty {
                let count = end.map { leaf.place(of: $0) } ?? leaf.elements.count
                return leaf.elements[..<count].reversed().allSatisfy(body)
            }
            let last = end.map { bounds.index(of: $0) } ?? children.count - 1
            return (0...last).reversed().allSatisfy { index in
                children.span[index].forEachReversed(before: index == last ? end : nil, body)
            }
        }

        mutating func set(_ element: Element, replacing replaced: inout Element?) -> Split? {
            if children.isEmpty {
                return leaf.set(element, replacing: &replaced).map { Split(bound: $0.firstKey, node: Self($0)) }
            }
            let index = bounds.index(of: element.treeKey)
            return children[index].set(element, replacing: &replaced).flatMap { insert($0, behind: index) }
        }

        mutating func append(_ element: Element) -> Appended {
            if children.isEmpty {
                guard leaf.elements.isEmpty || leaf.elements[leaf.elements.count - 1].treeKey < element.treeKey else {
                    return .refused
                }
                return Appended(leaf.append(element).map { Split(bound: $0.firstKey, node: Self($0)) })
            }
            let last = children.count - 1
            let appended = children[last].append(element)
            guard case .split(let split) = appended else { return appended }
            return Appended(insert(split, behind: last))
        }

        mutating func update<P: TreeProbe & ~Escapable, Result>(
            _ probe: P, _ body: (inout Element) -> Result
        ) -> Result? where P.Key == Key {
            if children.isEmpty {
                guard let index = leaf.index(of: probe) else { return nil }
                return body(&leaf.elements[index])
            }
            return children[bounds.index(of: probe)].update(probe, body)
        }

        mutating func remove<P: TreeProbe & ~Escapable>(_ probe: P) -> Element? where P.Key == Key {
            if children.isEmpty { return leaf.index(of: probe).map { leaf.remove(at: $0) } }
            let index = bounds.index(of: probe)
            guard let removed = children[index].remove(probe) else { return nil }
            if children[index].isEmpty {
                children.remove(at: index)
                if !bounds.isEmpty { bounds.remove(at: max(0, index - 1)) }
            } else if index + 1 < children.count {
                joinChild(index)
            } else if index > 0 {
                joinChild(index - 1)
            }
            return removed
        }

        /// Inserts what was split from a child. Splits this branch if it is full.
        private mutating func insert(_ split: Split, behind index: Int) -> Split? {
            children.insert(split.node, at: index + 1)
            bounds.insert(split.bound, at: index)
            guard children.count > OrderedTree.capacity else { return nil }
            let middle = children.count / 2
            var right = Self()
            right.children = Array(children[middle...])
            children = Array(children[..<middle])
            let bound: Key
            (bound, right.bounds) = bounds.split(at: middle - 1)
            return Split(bound: bound, node: right)
        }

        /// Joins a leaf with the next one if both together are less than half full.
        private mutating func joinChild(_ index: Int) {
            guard children[index].children.isEmpty, children[index + 1].children.isEmpty,
                children[index].leaf.elements.count + children[index + 1].leaf.elements.count < OrderedTree.capacity / 2
            else { return }
            let next = children.remove(at: index + 1)
            bounds.remove(at: index)
            children[index].leaf.join(next.leaf)
        }
    }
}
