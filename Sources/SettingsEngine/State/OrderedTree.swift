/// What has a name to be found by.
package protocol Named: Sendable {
    /// The name; compared by its UTF-8 bytes.
    var name: String { get }
}

/// Elements ordered by the bytes of their names, in small arrays that are copied one at a time.
///
/// A copy of the whole costs nothing; whoever changes one of two copies copies the arrays on the way to what changes,
/// each of at most ``capacity`` elements, however many there are in all. So a reader may hold a tree for as long as it
/// likes (to answer with a large suite, to write a snapshot) and neither waits for the writer nor makes it wait.
///
/// What a look-up among many costs is waiting for memory, once for each place that it touches; so leaves and branches
/// are made for touching few.
package struct OrderedTree<Element: Named>: Sendable {
    /// How many elements an array holds before it is split; a leaf has as many marks.
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
        root.with(name) { copy $0 }
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
        if let split = root.set(element, replacing: &replaced) { root = Node(root, split) }
        if replaced == nil { count += 1 }
        return replaced
    }

    /// Puts an element behind all others; does nothing and says so if its name does not come after theirs.
    package mutating func append(_ element: Element) -> Bool {
        switch root.append(element) {
        case .refused: return false
        case .taken: break
        case .split(let split): root = Node(root, split)
        }
        count += 1
        return true
    }

    /// Takes the element of this name out; nil if there is none.
    @discardableResult
    package mutating func remove(_ name: String) -> Element? {
        guard let removed = root.remove(name.utf8Span.span) else { return nil }
        count -= 1
        while let child = root.onlyChild { root = child }
        return removed
    }

    /// Changes the element of this name where it stands; nil if there is none. Its name must stay.
    package mutating func update<Result>(_ name: String, _ body: (inout Element) throws -> Result) rethrows -> Result? {
        try root.update(name.utf8Span.span, body)
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
