/// What has a name to be found by.
package protocol Named: Sendable {
    /// The name; compared by its UTF-8 bytes.
    var name: String { get }
}

/// Elements ordered by the bytes of their names, in small arrays that are copied one at a time.
///
/// A copy of the whole costs nothing; whoever changes one of two copies copies the arrays on the way to what changes, each
/// of at most ``capacity`` elements, however many there are in all. So a reader may hold a tree for as long as it likes
/// (to answer with a large suite, to write a snapshot) and neither waits for the writer nor makes it wait.
package struct OrderedTree<Element: Named>: Sendable {
    /// How many elements an array holds before it is split.
    static var capacity: Int { 64 }

    private var root = Node()
    /// The number of elements.
    package private(set) var count = 0

    /// An empty tree.
    package init() {}

    /// Whether there is nothing in it.
    package var isEmpty: Bool { count == 0 }

    /// The element of this name.
    package func find(_ name: Span<UInt8>) -> Element? {
        var node = root
        while !node.children.isEmpty { node = node.children[node.childIndex(of: name)] }
        let (index, isFound) = node.leafIndex(of: name)
        return isFound ? node.elements[index] : nil
    }

    /// What a closure makes of the element of this name, which is not copied for it; nil if there is none.
    package func with<Result>(_ name: Span<UInt8>, _ body: (borrowing Element) -> Result) -> Result? {
        root.with(name, body)
    }

    /// The element of this name.
    package func find(_ name: String) -> Element? {
        find(name.utf8Span.span)
    }

    /// Puts an element in, in place of one of the same name, which is returned.
    @discardableResult
    package mutating func set(_ element: Element) -> Element? {
        var replaced: Element?
        if let split = root.set(element, replacing: &replaced) {
            var grown = Node()
            grown.children = [root, split.node]
            grown.bounds = [split.bound]
            root = grown
        }
        if replaced == nil { count += 1 }
        return replaced
    }

    /// Puts an element behind all others; does nothing and says so if its name does not come after theirs.
    package mutating func append(_ element: Element) -> Bool {
        switch root.append(element) {
        case .refused: return false
        case .taken: break
        case .split(let bound, let node):
            var grown = Node()
            grown.children = [root, node]
            grown.bounds = [bound]
            root = grown
        }
        count += 1
        return true
    }

    /// Takes the element of this name out; nil if there is none.
    @discardableResult
    package mutating func remove(_ name: String) -> Element? {
        guard let removed = root.remove(name) else { return nil }
        count -= 1
        while root.children.count == 1 { root = root.children[0] }
        return removed
    }

    /// Changes the element of this name where it stands; nil if there is none. Its name must stay.
    package mutating func update<Result>(_ name: String, _ body: (inout Element) throws -> Result) rethrows -> Result? {
        try root.update(name, body)
    }

    /// Goes through the elements in order, from the first whose name is not before `start`, until `body` returns false.
    package func forEach(
        startingAt start: String = "", _ body: (Element) throws -> Bool
    ) rethrows {
        _ = try root.forEach(startingAt: start, body)
    }

    /// Goes through the elements backwards, from the last whose name is before `end`, until `body` returns false.
    func forEachReversed(before end: String, _ body: (Element) -> Bool) {
        _ = root.forEachReversed(before: end, body)
    }

    /// All elements in order.
    package var elements: [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        forEach { element in
            all.append(element)
            return true
        }
        return all
    }
}

extension OrderedTree {
    /// What became of an element that was to go last.
    private enum Appended {
        case taken, refused
        case split(String, Node)
    }

    /// A leaf has elements, a branch has children with the bounds between them; never both.
    private struct Node: Sendable {
        var elements: [Element] = []
        var children: [Node] = []
        /// `bounds[i]` is not after any name in `children[i + 1]`, and after every name in `children[i]`.
        var bounds: [String] = []

        var isEmpty: Bool { elements.isEmpty && children.isEmpty }

        func childIndex(of name: Span<UInt8>) -> Int {
            var (low, high) = (0, bounds.count)
            while low < high {
                let middle = (low + high) / 2
                if bounds[middle].isOrderedAfter(name) { high = middle } else { low = middle + 1 }
            }
            return low
        }

        /// Where the element of this name is, or would be put.
        func leafIndex(of name: Span<UInt8>) -> (index: Int, isFound: Bool) {
            var (low, high) = (0, elements.count)
            while low < high {
                let middle = (low + high) / 2
                let order = elements[middle].name.ordered(against: name)
                if order == 0 { return (middle, true) }
                if order > 0 { high = middle } else { low = middle + 1 }
            }
            return (low, false)
        }

        mutating func set(_ element: Element, replacing replaced: inout Element?) -> (bound: String, node: Node)? {
            let name = element.name
            if children.isEmpty {
                let (index, isFound) = leafIndex(of: name.utf8Span.span)
                if isFound {
                    replaced = elements[index]
                    elements[index] = element
                    return nil
                }
                elements.insert(element, at: index)
                return elements.count > OrderedTree.capacity ? splitLeaf(insertedAt: index) : nil
            }
            let index = childIndex(of: name.utf8Span.span)
            guard let split = children[index].set(element, replacing: &replaced) else { return nil }
            children.insert(split.node, at: index + 1)
            bounds.insert(split.bound, at: index)
            return children.count > OrderedTree.capacity ? splitBranch() : nil
        }

        mutating func append(_ element: Element) -> Appended {
            guard let last = children.indices.last else { return appendToLeaf(element) }
            let appended = children[last].append(element)
            guard case .split(let bound, let node) = appended else { return appended }
            children.append(node)
            bounds.append(bound)
            guard children.count > OrderedTree.capacity else { return .taken }
            let split = splitBranch()
            return .split(split.bound, split.node)
        }

        private mutating func appendToLeaf(_ element: Element) -> Appended {
            if let last = elements.last, last.name.ordered(against: element.name.utf8Span.span) >= 0 { return .refused }
            if elements.count < OrderedTree.capacity {
                elements.append(element)
                return .taken
            }
            var right = Node()
            right.elements.reserveCapacity(OrderedTree.capacity)
            right.elements.append(element)
            return .split(element.name, right)
        }

        /// Names that come in order leave full leaves behind them, others half full ones.
        private mutating func splitLeaf(insertedAt index: Int) -> (bound: String, node: Node) {
            let middle = index == elements.count - 1 ? elements.count - 1 : elements.count / 2
            var right = Node()
            right.elements = Array(elements[middle...])
            elements = Array(elements[..<middle])
            return (right.elements[0].name, right)
        }

        private mutating func splitBranch() -> (bound: String, node: Node) {
            let middle = children.count / 2
            var right = Node()
            right.children = Array(children[middle...])
            right.bounds = Array(bounds[middle...])
            let bound = bounds[middle - 1]
            children = Array(children[..<middle])
            bounds = Array(bounds[..<(middle - 1)])
            return (bound, right)
        }

        mutating func remove(_ name: String) -> Element? {
            if children.isEmpty {
                let (index, isFound) = leafIndex(of: name.utf8Span.span)
                return isFound ? elements.remove(at: index) : nil
            }
            let index = childIndex(of: name.utf8Span.span)
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

        func with<Result>(_ name: Span<UInt8>, _ body: (borrowing Element) -> Result) -> Result? {
            if children.isEmpty {
                let (index, isFound) = leafIndex(of: name)
                return isFound ? body(elements[index]) : nil
            }
            return children[childIndex(of: name)].with(name, body)
        }

        mutating func update<Result>(_ name: String, _ body: (inout Element) throws -> Result) rethrows -> Result? {
            if children.isEmpty {
                let (index, isFound) = leafIndex(of: name.utf8Span.span)
                return isFound ? try body(&elements[index]) : nil
            }
            return try children[childIndex(of: name.utf8Span.span)].update(name, body)
        }

        private mutating func dropChild(_ index: Int) {
            children.remove(at: index)
            if !bounds.isEmpty { bounds.remove(at: max(0, index - 1)) }
        }

        /// Joins a leaf with the next one once both together are less than half full.
        private mutating func joinChild(_ index: Int) {
            guard children[index].children.isEmpty, children[index + 1].children.isEmpty,
                children[index].elements.count + children[index + 1].elements.count < OrderedTree.capacity / 2
            else { return }
            let next = children.remove(at: index + 1)
            bounds.remove(at: index)
            children[index].elements += next.elements
        }

        func forEachReversed(before end: String?, _ body: (Element) -> Bool) -> Bool {
            if children.isEmpty {
                let count = end.map { leafIndex(of: $0.utf8Span.span).index } ?? elements.count
                return elements[..<count].reversed().allSatisfy(body)
            }
            let last = end.map { childIndex(of: $0.utf8Span.span) } ?? children.count - 1
            return (0...last).reversed().allSatisfy { index in
                children[index].forEachReversed(before: index == last ? end : nil, body)
            }
        }

        func forEach(startingAt start: String, _ body: (Element) throws -> Bool) rethrows -> Bool {
            if children.isEmpty {
                let first = start.isEmpty ? 0 : leafIndex(of: start.utf8Span.span).index
                for index in first..<elements.count where try !body(elements[index]) { return false }
                return true
            }
            let first = start.isEmpty ? 0 : childIndex(of: start.utf8Span.span)
            for index in first..<children.count {
                let isFirst = index == first
                if try !children[index].forEach(startingAt: isFirst ? start : "", body) { return false }
            }
            return true
        }
    }
}
