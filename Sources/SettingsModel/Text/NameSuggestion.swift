/// Finds the names that are most similar to a misspelt name, for messages such as `did you mean volume?`.
///
/// The work is limited: a name of more than 64 bytes gets no suggestion, and if there are very many candidates, only
/// some of them are compared.
package enum NameSuggestion {
    /// Returns the names nearest to a misspelt name: the nearest first, and names at the same distance in byte order.
    /// Omits a name whose distance is more than a third of the length of the misspelt name. A distance of 1 is always
    /// allowed.
    ///
    /// The distance is the number of insertions, deletions, substitutions and transpositions of bytes that change one
    /// name into the other, ignoring the case of ASCII letters. For a misspelt name without dots, the result ends with
    /// the names whose part after the last dot is near: `player.volume` for `volume`.
    package static func nearest(to name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
        guard var search = Search(for: name, limit: limit) else { return [] }
        for candidate in candidates {
            guard search.compare(with: candidate) else { break }
        }
        return search.names
    }

    /// Returns the nearest names of a collection that is sorted by bytes. If there are very many names, compares only
    /// the names around the position of the misspelt name, and around the positions of likely corrections.
    package static func nearest(
        to name: String, amongOrdered names: some RandomAccessCollection<String>, limit: Int = 3
    ) -> [String] {
        nearest(to: name, limit: limit) { target, count in
            var after = names.position(of: target)
            var before = after
            var neighbours: [String] = []
            neighbours.reserveCapacity(min(count, names.count))
            while neighbours.count < count, before > names.startIndex || after < names.endIndex {
                if after < names.endIndex {
                    neighbours.append(names[after])
                    names.formIndex(after: &after)
                }
                if neighbours.count < count, before > names.startIndex {
                    names.formIndex(before: &before)
                    neighbours.append(names[before])
                }
            }
            return neighbours
        }
    }

    /// Returns the nearest of sorted names, which the closure `neighbours` looks up.
    ///
    /// - Parameter neighbours: returns up to `count` names around the position of `target` in the order, the nearest
    ///   first. `target` is the misspelt name or, if there are very many names, a likely correction of it.
    package static func nearest(
        to name: String, limit: Int = 3, neighbours: (_ target: String, _ count: Int) -> [String]
    ) -> [String] {
        guard var search = Search(for: name, limit: limit) else { return [] }
        let nearby = neighbours(name, maximumNeighbours)
        var hasStepsLeft = nearby.prefix(neighboursComparedFirst).allSatisfy { search.compare(with: $0) }
        // If there are very many names, the likely corrections are compared before the other neighbours.
        if nearby.count == maximumNeighbours {
            for correction in likelyCorrections(of: Array(name.utf8)) where hasStepsLeft {
                hasStepsLeft = neighbours(correction, neighboursPerCorrection).allSatisfy { search.compare(with: $0) }
            }
        }
        for name in nearby.dropFirst(neighboursComparedFirst) where hasStepsLeft {
            hasStepsLeft = search.compare(with: name)
        }
        return search.names
    }

    /// Returns `"; did you mean …?"` with the nearest name; an empty string if no name is near.
    package static func phrase(for name: String, among candidates: some Sequence<String>) -> String {
        phrase(nearest(to: name, among: candidates, limit: 1))
    }

    package static func phrase(for name: String, amongOrdered names: some RandomAccessCollection<String>) -> String {
        phrase(nearest(to: name, amongOrdered: names, limit: 1))
    }

    private static func phrase(_ nearest: [String]) -> String {
        nearest.first.map { "; did you mean \($0)?" } ?? ""
    }

    /// The maximum number of names around the misspelt name that are compared.
    private static let maximumNeighbours = 512
    /// The number of names around the misspelt name that are compared before the names around likely corrections.
    private static let neighboursComparedFirst = 64
    /// The number of names around each likely correction that are compared.
    private static let neighboursPerCorrection = 2
    /// The number of positions at which a byte is removed or transposed in order to get a likely correction.
    private static let maximumCorrectedPositions = 32

    /// Returns likely corrections of a misspelt name: the first letter in the other case, two adjacent bytes
    /// transposed, one byte removed.
    private static func likelyCorrections(of name: [UInt8]) -> [String] {
        var corrections: [[UInt8]] = []
        if let first = name.first, ASCII.isLetter(first) {
            corrections.append([first ^ 0x20] + name[1...])
        }
        for index in name.indices.prefix(maximumCorrectedPositions) {
            corrections.append(name)
            corrections[corrections.count - 1].remove(at: index)
            guard index > 0, name[index - 1] != name[index] else { continue }
            corrections.append(name)
            corrections[corrections.count - 1].swapAt(index - 1, index)
        }
        return corrections.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Compares candidates with a misspelt name and keeps the nearest candidates.
private struct Search {
    private static let longestName = 64
    /// The limit of ``EditDistance/steps``. This number of steps takes about 150 µs.
    private static let maximumSteps = 40_000

    /// The order of candidates. A candidate whose whole name is near comes before a candidate whose last part alone is
    /// near.
    private struct Rank: Comparable {
        let isLastPart: Bool
        let distance: Int

        static func < (left: Rank, right: Rank) -> Bool {
            left.isLastPart == right.isLastPart ? left.distance < right.distance : right.isLastPart
        }
    }

    private var distances: EditDistance
    private let limit: Int
    /// True if the name may be the last part of a candidate with dots.
    private let mayBeLastPart: Bool
    private var matches: [(rank: Rank, name: String)] = []

    init?(for name: String, limit: Int) {
        guard name.utf8.count <= Self.longestName, limit > 0 else { return nil }
        distances = EditDistance(from: name)
        self.limit = limit
        mayBeLastPart = !name.isEmpty && !name.utf8.contains(UInt8(ascii: "."))
    }

    var names: [String] { matches.map(\.name) }

    /// Compares a candidate with the name. Returns false when the limit of steps is reached.
    mutating func compare(with candidate: String) -> Bool {
        // If `limit` matches are known, a further match must be nearer than the last of them, or as near and before it
        // in byte order (see `insert`).
        let worst = matches.count == limit ? matches[limit - 1].rank : Rank(isLastPart: true, distance: .max)
        let letters = candidate.utf8Span.span
        let tolerance = worst.isLastPart ? distances.tolerance : worst.distance
        if let distance = distances.distance(to: letters, within: tolerance) {
            insert(candidate, Rank(isLastPart: false, distance: distance))
        } else if worst.isLastPart, mayBeLastPart, let dot = letters.lastDot,
            let distance = distances.distance(
                to: letters.extracting((dot + 1)...), within: min(worst.distance, distances.partTolerance))
        {
            insert(candidate, Rank(isLastPart: true, distance: distance))
        }
        return distances.steps < Self.maximumSteps
    }

    private mutating func insert(_ name: String, _ rank: Rank) {
        guard !matches.contains(where: { $0.name.hasSameBytes(as: name) }) else { return }
        let position =
            matches.firstIndex { match in
                match.rank > rank || (match.rank == rank && name.precedesInBytes(match.name))
            } ?? matches.count
        matches.insert((rank, name), at: position)
        if matches.count > limit { matches.removeLast() }
    }
}

extension Span<UInt8> {
    fileprivate var lastDot: Int? {
        for index in indices.reversed() where self[index] == UInt8(ascii: ".") { return index }
        return nil
    }
}

extension RandomAccessCollection<String> {
    /// Returns the first position whose name does not come before the given name.
    fileprivate func position(of name: String) -> Index {
        var (low, count) = (startIndex, self.count)
        while count > 0 {
            let middle = index(low, offsetBy: count / 2)
            if self[middle].precedesInBytes(name) {
                low = index(after: middle)
                count -= count / 2 + 1
            } else {
                count /= 2
            }
        }
        return low
    }
}

/// Computes optimal string alignment distances between one name of at most 64 bytes and many candidates.
///
/// A column of the table of distances is stored in the bits of a few 64-bit numbers (Hyyrö, "A bit-vector algorithm for
/// computing Levenshtein and Damerau edit distances", 2003). The cost of a candidate is therefore independent of the
/// length of the name.
struct EditDistance {
    /// The number of candidate bytes that were compared, plus a constant for each candidate.
    private(set) var steps = 0
    private let count: Int
    /// For each byte value, a bit mask of its positions in the name.
    private var positions = [UInt64](repeating: 0, count: 256)

    init(from name: String) {
        count = name.utf8.count
        for (position, byte) in name.utf8.enumerated() {
            positions[Int(ASCII.lowercased(byte))] |= 1 << UInt64(position)
        }
    }

    /// The maximum distance of a suggestion.
    var tolerance: Int { max(1, count / 3) }

    /// The maximum distance of the last part of a suggestion. A short name must be equal, because many names end in
    /// similar short words.
    var partTolerance: Int { count / 3 }

    /// Returns the distance; nil if it exceeds the tolerance.
    mutating func distance(to letters: Span<UInt8>, within tolerance: Int) -> Int? {
        steps += Self.overhead
        guard abs(letters.count - count) <= tolerance else { return nil }
        guard count > 0 else { return letters.count }
        steps += letters.count
        let last: UInt64 = 1 << UInt64(count - 1)
        var distance = count
        // Each mask has one bit for each row of the distance table. `grows` and `shrinks` have the rows at which the
        // previous column increases and decreases from one row to the next, and `increases` and `decreases` the rows at
        // which the value increases and decreases from the previous column to this column. `isDiagonal` has the rows
        // whose value equals the value one row above in the previous column. `equal` has the rows whose byte of the
        // name equals the byte of the candidate for this column, and `previousEqual` is `equal` of the previous column.
        var (grows, shrinks) = (UInt64.max, UInt64(0))
        var (isDiagonal, previousEqual) = (UInt64(0), UInt64(0))
        for index in letters.indices {
            let equal = positions[Int(ASCII.lowercased(letters[index]))]
            let swapped = ((~isDiagonal & equal) << 1) & previousEqual
            isDiagonal = (((equal & grows) &+ grows) ^ grows) | equal | shrinks | swapped
            var increases = shrinks | ~(isDiagonal | grows)
            var decreases = isDiagonal & grows
            if increases & last != 0 { distance += 1 }
            if decreases & last != 0 { distance -= 1 }
            // Each further byte decreases the distance by at most one.
            if distance - (letters.count - index - 1) > tolerance { return nil }
            increases = increases << 1 | 1
            decreases <<= 1
            grows = decreases | ~(isDiagonal | increases)
            shrinks = increases & isDiagonal
            previousEqual = equal
        }
        return distance <= tolerance ? distance : nil
    }

    /// The constant cost of a candidate in steps.
    private static let overhead = 8
}
