internal import Glibc

extension OrderedTree {
    /// Elements in order, with a byte of each name beside them by which one is found without touching the others.
    ///
    /// Among many, every name that is looked at costs waiting for memory, twice: for the element, and for its text. To
    /// find one of sixty-four by halving takes six of them; by the bytes, which lie together, little more than one.
    struct Leaf: Sendable {
        /// The elements. Whoever changes one leaves its name as it is.
        var elements: [Element] = []
        /// `marks[i]` is the mark of `elements[i].name`. They stand in the leaf, and it in its branch: a branch that is
        /// copied retains whatever its leaves refer to, and each of those costs waiting for memory.
        private var marks = Marks(repeating: 0)

        private typealias Marks = InlineArray<64, UInt8>

        /// The first of the elements' names; there must be one.
        var firstName: String { elements[0].name }
    }
}

extension OrderedTree.Leaf {
    /// Where the element of this name is.
    func index(of name: Span<UInt8>) -> Int? {
        let mark = Int32(Self.mark(name))
        return marks.span.withUnsafeBytes { marks in
            guard let base = marks.baseAddress else { return nil }
            var start = 0
            while let match = memchr(base + start, mark, elements.count - start) {
                let index = UnsafeRawPointer(match) - base
                if elements[index].name.ordered(against: name) == 0 { return index }
                start = index + 1
            }
            return nil
        }
    }

    /// Where the first element is whose name is not before this one.
    func place(of name: Span<UInt8>) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].name.ordered(against: name) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the name comes after all that are here.
    func comesLast(_ name: String) -> Bool {
        elements.last.map { $0.name.ordered(against: name.utf8Span.span) < 0 } ?? true
    }

    /// A byte that depends on all of a name, since neighbours may differ anywhere. Who chooses names so that their
    /// marks are the same makes a look-up compare with each in a leaf, no more.
    static func mark(_ name: Span<UInt8>) -> UInt8 {
        name.withUnsafeBytes { bytes in
            var mixed = UInt64(truncatingIfNeeded: bytes.count)
            var offset = 0
            while offset + 8 <= bytes.count {
                mixed = mix(mixed, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < bytes.count {
                rest = rest << 8 | UInt64(bytes[offset])
                offset += 1
            }
            return UInt8(truncatingIfNeeded: mix(mixed, rest) >> 56)
        }
    }

    /// Both halves of a product, so that each bit of a word reaches the highest ones.
    private static func mix(_ mixed: UInt64, _ word: UInt64) -> UInt64 {
        let product = (mixed ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

/// Changing.
extension OrderedTree.Leaf {
    /// Puts an element in, in place of one of the same name; returns what the leaf gave up if it was full.
    mutating func set(_ element: Element, replacing replaced: inout Element?) -> Self? {
        let name = element.name
        if let index = index(of: name.utf8Span.span) {
            replaced = elements[index]
            elements[index] = element
            return nil
        }
        let index = place(of: name.utf8Span.span)
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

    /// Puts an element behind all others; returns it in a leaf of its own if there is no room. So names that come in
    /// order leave full leaves behind them, others half full ones.
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

    /// Takes in what another one holds, which comes behind it.
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
        marks[index] = Self.mark(element.name.utf8Span.span)
        elements.insert(element, at: index)
    }

    /// Gives up what is from an index on. What is gone on with keeps its room, since it is likely to be filled again.
    private mutating func split(at index: Int) -> Self {
        var right = Self()
        right.elements = Array(elements[index...])
        for place in right.elements.indices { right.marks[place] = marks[index + place] }
        elements.removeSubrange(index...)
        return right
    }
}
