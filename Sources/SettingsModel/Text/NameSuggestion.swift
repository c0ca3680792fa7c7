/// Finds the names that somebody may have meant.
public enum NameSuggestion {
    /// The names nearest to `name`, nearest first, then in byte order; none that differ in more than a third of it.
    ///
    /// Distance counts insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) over
    /// the bytes of the names, ASCII letters without their case. The work is bounded: names over 64 bytes get no
    /// suggestion, and of very many candidates only the first ten thousand are looked at.
    public static func nearest(to name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
        guard name.utf8.count <= longestName else { return [] }
        var distances = EditDistance(from: name)
        var matches: [(distance: Int, name: String)] = []
        for candidate in candidates.prefix(mostCandidates) {
            if let distance = distances.distance(to: candidate) { matches.append((distance, candidate)) }
        }
        matches.sort { ($0.distance, UTF8Text($0.name)) < ($1.distance, UTF8Text($1.name)) }
        return matches.prefix(limit).map(\.name)
    }

    /// `"; did you mean …?"` for the nearest name, or nothing.
    static func phrase(for name: String, among candidates: some Sequence<String>) -> String {
        nearest(to: name, among: candidates, limit: 1).first.map { "; did you mean \($0)?" } ?? ""
    }

    private static let longestName = 64
    private static let mostCandidates = 10_000
}

/// The distance of one name from many, as long as it is small.
///
/// Only the band of the table is computed in which distances can be within the tolerance, in rows that are used again
/// for each candidate, and not further than to the first row that has none: most candidates cost a few dozen steps.
private struct EditDistance {
    private let wanted: [UInt8]
    private let tolerance: Int
    private var letters: [UInt8] = []
    private var beforePrevious: [Int] = []
    private var previous: [Int] = []
    private var current: [Int] = []

    init(from name: String) {
        wanted = name.utf8.map(Self.folded)
        tolerance = max(1, wanted.count / 3)
    }

    /// The distance, or nil if it is beyond the tolerance.
    mutating func distance(to candidate: String) -> Int? {
        guard abs(candidate.utf8.count - wanted.count) <= tolerance else { return nil }
        letters.removeAll(keepingCapacity: true)
        letters.append(contentsOf: candidate.utf8.lazy.map(Self.folded))
        let far = tolerance + 1
        previous = (0...letters.count).map { min($0, far) }
        beforePrevious = previous
        current = previous
        for row in wanted.indices {
            let columns = max(0, row - tolerance)..<min(letters.count, row + tolerance + 1)
            current[columns.lowerBound] = columns.lowerBound == 0 ? min(row + 1, far) : far
            var best = current[columns.lowerBound]
            for column in columns {
                let value = min(step(row, column), far)
                current[column + 1] = value
                best = min(best, value)
            }
            // The cell beyond the band is read by the next row.
            if columns.upperBound < letters.count { current[columns.upperBound + 1] = far }
            if best == far { return nil }
            (beforePrevious, previous, current) = (previous, current, beforePrevious)
        }
        return previous[letters.count] <= tolerance ? previous[letters.count] : nil
    }

    private func step(_ row: Int, _ column: Int) -> Int {
        let substitution = previous[column] + (wanted[row] == letters[column] ? 0 : 1)
        let best = min(substitution, previous[column + 1] + 1, current[column] + 1)
        guard row > 0, column > 0, wanted[row] == letters[column - 1], wanted[row - 1] == letters[column] else {
            return best
        }
        return min(best, beforePrevious[column - 1] + 1)
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
