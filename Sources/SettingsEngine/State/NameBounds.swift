/// Names in order, among which the place of another one is found mostly without touching their texts.
///
/// Names that stand together often begin alike: what all of them begin with is compared once, and the eight bytes
/// behind it, as one number, tell most of them apart.
struct NameBounds: Sendable {
    private var bounds: [Bound] = []
    /// All names have this many bytes in common from their first on.
    private var shared = 0

    private struct Bound {
        let name: String
        /// Its bytes behind those in common.
        var head: UInt64
    }

    init() {}

    private init(_ bounds: ArraySlice<Bound>) {
        self.bounds = Array(bounds)
        recount()
    }

    var isEmpty: Bool { bounds.isEmpty }

    /// How many of the names are not after this one: the place of the child to look in.
    func index(of name: Span<UInt8>) -> Int {
        guard let first = bounds.first else { return 0 }
        if shared > 0 {
            let first = first.name.utf8Span.span
            let alike = Self.shared(first, name, atMost: shared)
            if alike < shared { return alike < name.count && name[alike] > first[alike] ? bounds.count : 0 }
        }
        let head = Self.head(name, behind: shared)
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            let other = bounds[middle].head
            let isAfter = other > head || (other == head && bounds[middle].name.isOrderedAfter(name))
            if isAfter { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Puts a name where it belongs.
    mutating func insert(_ name: String, at index: Int) {
        let bytes = name.utf8Span.span
        bounds.insert(Bound(name: name, head: Self.head(bytes, behind: shared)), at: index)
        let others = bounds[index == 0 ? bounds.count - 1 : 0].name.utf8Span.span
        if bounds.count == 1 || Self.shared(others, bytes, atMost: shared) < shared { recount() }
    }

    mutating func remove(at index: Int) {
        bounds.remove(at: index)
    }

    /// Keeps the names before an index and gives up the one there and those behind it.
    mutating func split(at index: Int) -> (name: String, behind: Self) {
        let (name, behind) = (bounds[index].name, Self(bounds[(index + 1)...]))
        self = Self(bounds[..<index])
        return (name, behind)
    }

    /// Finds anew what all names have in common.
    private mutating func recount() {
        guard let first = bounds.first, let last = bounds.last else { return }
        // Names in order have in common what the first and the last have.
        shared = Self.shared(first.name.utf8Span.span, last.name.utf8Span.span)
        for index in bounds.indices { bounds[index].head = Self.head(bounds[index].name.utf8Span.span, behind: shared) }
    }

    /// The bytes of a name behind the first ones, at most eight, as a number. Numbers are ordered as the names are, but
    /// may be the same though the names are not.
    private static func head(_ name: Span<UInt8>, behind start: Int) -> UInt64 {
        var head: UInt64 = 0
        let end = min(name.count, start + 8)
        var index = start
        while index < end {
            head = head << 8 | UInt64(name[index])
            index += 1
        }
        let missing = start + 8 - max(start, end)
        return missing == 8 ? 0 : head << UInt64(missing * 8)
    }

    /// How many bytes two names have in common from their first on.
    private static func shared(_ left: Span<UInt8>, _ right: Span<UInt8>, atMost limit: Int = .max) -> Int {
        let end = min(left.count, right.count, limit)
        var index = 0
        while index < end, left[index] == right[index] { index += 1 }
        return index
    }
}
