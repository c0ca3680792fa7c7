/// A sorted collection whose copies share what they have in common.
///
/// The elements stand in arrays of at most ``capacity``. A change copies the arrays on its way that another copy of the
/// tree holds, so a reader can hold a tree for as long as it likes: to answer with a large suite, to write a snapshot.
///
/// Among a million elements a search waits for memory, once for each place that it touches. So leaves have a byte of
/// each key side by side, and branches eight bytes of each bound: a GET among a million takes 10.9 µs instead of 13.5.
package struct OrderedTree<Element: TreeElement>: Sendable {
    package typealias Key = Element.Key

    /// The number of elements that an array has before it is split; a leaf has as many marks.
    static var capacity: Int { 32 }

    /// The root, in an array so that a copy of the tree retains one object; no element in a tree that never had any.
    private var root: [Node] = []
    /// The number of elements.
    package private(set) var count = 0

    package init() {}

    /// True if there are no elements.
    package var isEmpty: Bool { count == 0 }

    /// Finds the element with a key.
    package func find<P: TreeProbe & ~Escapable>(_ probe: P) -> Element? where P.Key == Key {
        with(probe) { copy $0 }
    }

    /// Calls the body with the element that has a key, without copying it. Returns nil if there is none.
    package func with<P: TreeProbe & ~Escapable, Result>(
        _ probe: P, _ body: (borrowing Element) -> Result
    ) -> Result? where P.Key == Key {
        root.isEmpty ? nil : root.span[0].with(probe, body)
    }

    /// Inserts an element. Replaces the one with the same key and returns it.
    @discardableResult
    package mutating func set(_ element: Element) -> Element? {
        if root.isEmpty { root.append(Node()) }
        var replaced: Element?
        if let split = root[0].set(element, replacing: &replaced) { root[0] = Node(root[0], split) }
        if replaced == nil { count += 1 }
        return replaced
    }

    /// Inserts an element behind all others. Returns false, and does nothing, if its key does not come after theirs.
    package mutating func append(_ element: Element) -> Bool {
        if root.isEmpty { root.append(Node()) }
        switch root[0].append(element) {
        case .refused: return false
        case .done: break
        case .split(let split): root[0] = Node(root[0], split)
        }
        count += 1
        return true
    }

    /// Removes the element with a key and returns it.
    @discardableResult
    package mutating func remove<P: TreeProbe & ~Escapable>(_ probe: P) -> Element? where P.Key == Key {
        guard !root.isEmpty, let removed = root[0].remove(probe) else { return nil }
        count -= 1
        while let child = root[0].onlyChild { root[0] = child }
        return removed
    }

    /// Changes the element with a key in place. Returns nil if there is none.
    @discardableResult
    package mutating func update<P: TreeProbe & ~Escapable, Result>(
        _ probe: P, _ body: (inout Element) -> Result
    ) -> Result? where P.Key == Key {
        root.isEmpty ? nil : root[0].update(probe, body)
    }

    /// Visits the elements in order, from the first whose key is not before `start`, until `body` returns false.
    package func forEach(startingAt start: Key? = nil, _ body: (Element) -> Bool) {
        if !root.isEmpty { _ = root.span[0].forEach(startingAt: start, body) }
    }

    /// Returns the first element whose key is not before `start`.
    func first(from start: Key) -> Element? {
        root.isEmpty ? nil : root.span[0].first(from: start)
    }

    /// Visits the elements backwards, from the last whose key is before `end`, until `body` returns false.
    func forEachReversed(before end: Key, _ body: (Element) -> Bool) {
        if !root.isEmpty { _ = root.span[0].forEachReversed(before: end, body) }
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

    /// Returns up to `count` keys around a place in the order, the nearest first, alternating between both sides.
    func neighbours(of place: Key, _ count: Int, while isMeant: (Key) -> Bool = { _ in true }) -> [Key] {
        var (before, after): ([Key], [Key]) = ([], [])
        func take(_ key: Key, into keys: inout [Key]) -> Bool {
            guard isMeant(key) else { return false }
            keys.append(key)
            return keys.count < count
        }
        forEach(startingAt: place) { take($0.treeKey, into: &after) }
        forEachReversed(before: place) { take($0.treeKey, into: &before) }
        let pairs = (0..<max(before.count, after.count)).lazy.flatMap { index in
            [after, before].compactMap { index < $0.count ? $0[index] : nil }
        }
        return Array(pairs.prefix(count))
    }
}
