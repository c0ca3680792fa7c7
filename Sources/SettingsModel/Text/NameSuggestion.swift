/// Finds the names that somebody may have meant.
public enum NameSuggestion {
    /// The names nearest to `name`, nearest first, then in byte order; none that differ in more than a third of it.
    ///
    /// Distance counts insertions, deletions, substitutions and swaps of neighbours (optimal string alignment) over
    /// letters without case. The work is bounded: names over 64 letters get no suggestion, and of very many
    /// candidates only the first ten thousand are looked at.
    public static func nearest(to name: String, among candidates: some Sequence<String>, limit: Int = 3) -> [String] {
        let wanted = folded(name)
        guard wanted.count <= longestName else { return [] }
        let tolerance = max(1, wanted.count / 3)
        var matches: [(distance: Int, name: String)] = []
        for candidate in candidates.prefix(mostCandidates)
        where abs(candidate.utf8.count - name.utf8.count) <= tolerance * 4 {
            let letters = folded(candidate)
            guard abs(letters.count - wanted.count) <= tolerance else { continue }
            let distance = distance(wanted, letters)
            if distance <= tolerance { matches.append((distance, candidate)) }
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

    private static func folded(_ name: String) -> [Unicode.Scalar] {
        Array(name.lowercased().unicodeScalars)
    }

    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let substitution = previous[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(substitution, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
