internal import SettingsModel

/// An element of an ordered tree.
package protocol TreeElement: Sendable {
    /// The name that the tree sorts by. The name stays the same while the element is in a tree.
    var name: String { get }
}

/// A collection of named elements, sorted by the bytes of their names. Copies share storage.
///
/// The collection is a B+ tree of arrays. If another copy of the tree refers to the arrays on the path to a changed
/// element, a change copies these arrays. Otherwise the change modifies the arrays in place. A reader can therefore
/// keep a copy for as long as necessary, for example to render a large suite (a named set of settings), or to write a
/// state to a file.
package struct OrderedTree<Element: TreeElement>: Sendable {
    private var root = Node()
    /// The number of elements.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Finds the element with a name, given as UTF-8 bytes.
    package func find(_ name: Span<UInt8>) -> Element? { root.leaf(of: name).map { $0.elements[$0.index] } }

    /// Finds the element with a name.
    package func find(_ name: String) -> Element? { find(name.utf8Span.span) }

    /// Calls the body with the element that has a name. Returns nil if the tree has no such element.
    ///
    /// Inlined, because otherwise the compiler copies the element, which retains every object that it refers to.
    @inline(__always)
    package func with<Result>(_ name: Span<UInt8>, _ body: (borrowing Element) -> Result) -> Result? {
        guard let (elements, index) = root.leaf(of: name) else { return nil }
        return body(elements.span[index])
    }

    /// Inserts an element. Replaces the element with the same name and returns it.
    @discardableResult
    package mutating func set(_ element: Element) -> Element? {
        let (replaced, split) = root.set(element)
        if let split { root = Node(left: root, split: split) }
        if replaced == nil { count += 1 }
        return replaced
    }

    /// Appends an element. Returns false, and changes nothing, if its name does not come after the last name.
    mutating func append(_ element: Element) -> Bool {
        if let last = root.lastName, last.utf8Span.span.order(against: element.name) >= 0 { return false }
        set(element)
        return true
    }

    /// Removes the element with a name and returns it.
    @discardableResult
    package mutating func remove(_ name: Span<UInt8>) -> Element? {
        guard let removed = root.remove(name) else { return nil }
        count -= 1
        while let child = root.onlyChild { root = child }
        return removed
    }

    /// Calls the body to change the element with a name in place. Returns nil if the tree has no such element.
    @discardableResult
    package mutating func update<Result>(_ name: Span<UInt8>, _ body: (inout Element) -> Result) -> Result? {
        root.update(name, body)
    }

    /// Visits the elements in order, from the first whose name is not before `start`, until the body returns false.
    package func forEach(startingAt start: String? = nil, _ body: (Element) -> Bool) {
        _ = root.forEach(startingAt: start, body)
    }

    /// Visits the elements whose names begin with a prefix, in order, until the body returns false.
    func forEach(prefix: String, _ body: (Element) -> Bool) {
        forEach(startingAt: prefix) { $0.name.hasBytePrefix(prefix) && body($0) }
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

    /// Returns up to `count` names next to the position of `name` in the order, the nearest first. The result
    /// alternates between names that are not before `name` and names that are before `name`. On each side, the search
    /// ends at the first name that `isIncluded` rejects.
    func neighbours(of name: String, _ count: Int, while isIncluded: (String) -> Bool = { _ in true }) -> [String] {
        var (before, after): ([String], [String]) = ([], [])
        func collect(_ name: String, into names: inout [String]) -> Bool {
            guard isIncluded(name) else { return false }
            names.append(name)
            return names.count < count
        }
        forEach(startingAt: name) { collect($0.name, into: &after) }
        _ = root.forEachReversed(before: name) { collect($0.name, into: &before) }
        let pairs = (0..<max(before.count, after.count)).lazy.flatMap { index in
            [after, before].compactMap { index < $0.count ? $0[index] : nil }
        }
        return Array(pairs.prefix(count))
    }
}

// These methods do the same as `append(_:)`, but are not generic. When the daemon starts, another module restores every
// element from a file. The compiler does not specialise generic code for other modules, so `append(_:)` would be slow.

extension OrderedTree<KeyRecord> {
    package mutating func restore(_ record: KeyRecord) -> Bool { append(record) }
}

extension OrderedTree<Suite> {
    package mutating func restore(_ suite: Suite) -> Bool { append(suite) }
}

extension OrderedTree<SuiteLog> {
    package mutating func restore(_ log: SuiteLog) -> Bool { append(log) }
}
