extension Sequence {
    /// Returns the elements in order. Equal elements keep their order.
    ///
    /// The compiler specialises the sort of the standard library for each element type and each comparison. Each
    /// specialisation adds a tenth of a second to the build. This method sorts indices instead of elements, so its sort
    /// is compiled only once.
    package func ordered(by precedes: (Element, Element) -> Bool) -> [Element] {
        let elements = Array(self)
        return positions(elements.count) { precedes(elements[$0], elements[$1]) }.map { elements[$0] }
    }
}

/// Returns the positions from 0 up to but excluding `count`, sorted by a comparison of two positions.
@inline(never)
private func positions(_ count: Int, by precedes: (Int, Int) -> Bool) -> [Int] {
    (0..<count).sorted(by: precedes)
}
