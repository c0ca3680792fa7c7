/// A node of the syntax tree, reduced to what a yes-or-no search needs: no groups, and lazy quantifiers are greedy.
struct PatternNode: Sendable {
    indirect enum Shape: Sendable {
        /// A code point, which may be a surrogate: a valid pattern can name one, though no text contains it.
        case scalar(UInt32)
        /// An index into the classes of the pattern.
        case oneOf(Int)
        case assertion(Assertion)
        case sequence([PatternNode])
        case alternation([PatternNode])
        case repetition(PatternNode, Quantifier)
    }

    enum Assertion: Sendable {
        case start
        case end
        case wordBoundary
        case notWordBoundary
    }

    let shape: Shape
    /// The states that the node needs with its repetitions written out, at most one more than the limit so that it cannot
    /// overflow. Only the empty node needs none.
    let size: Int

    private init(_ shape: Shape, size: Int) {
        self.shape = shape
        self.size = size
    }
}

extension PatternNode {
    private static let ceiling = PatternLimits.states + 1

    static let empty = PatternNode(.sequence([]), size: 0)

    static func scalar(_ value: UInt32) -> PatternNode {
        PatternNode(.scalar(value), size: 1)
    }

    static func oneOf(_ index: Int) -> PatternNode {
        PatternNode(.oneOf(index), size: 1)
    }

    static func assertion(_ assertion: Assertion) -> PatternNode {
        PatternNode(.assertion(assertion), size: 1)
    }

    static func joining(_ terms: [PatternNode]) -> PatternNode {
        let terms = terms.filter { $0.size > 0 }
        if let term = terms.first, terms.count == 1 { return term }
        return PatternNode(.sequence(terms), size: terms.reduce(0) { min(ceiling, $0 + $1.size) })
    }

    /// Counts one more for each alternative, as it is a way to follow even when it is empty.
    static func choosing(_ alternatives: [PatternNode]) -> PatternNode {
        if let alternative = alternatives.first, alternatives.count == 1 { return alternative }
        return PatternNode(
            .alternation(alternatives), size: alternatives.reduce(0) { min(ceiling, $0 + $1.size + 1) })
    }

    /// Drops repetitions of nothing: (?:){1000000000} would need no states and still take forever to write out.
    static func repeating(_ body: PatternNode, _ quantifier: Quantifier) -> PatternNode {
        guard body.size > 0, quantifier.maximum != 0 else { return .empty }
        let copies = min(ceiling, quantifier.maximum ?? max(quantifier.minimum, 1))
        let junctions = min(ceiling, quantifier.maximum.map { $0 - quantifier.minimum } ?? 1)
        return PatternNode(.repetition(body, quantifier), size: min(ceiling, copies * body.size + junctions))
    }
}

/// A range for how often a term occurs. A number too large for Int is read as Int.max, far past every limit.
struct Quantifier: Sendable {
    let minimum: Int
    /// Nil when there is no upper bound, and never less than the minimum.
    let maximum: Int?
}

/// The result of parsing a pattern.
struct PatternSyntax: Sendable {
    let root: PatternNode
    let classes: [ScalarClass]
    /// The first construct that is valid but cannot be run. The tree has nothing in its place.
    let unsupported: PatternError?
}
