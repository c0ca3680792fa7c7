/// Parses patterns in the syntax of ECMA-262 with the `u` flag, without the additional syntax of Annex B, which web
/// browsers support.
///
/// The parser keeps the open groups in a list instead of recursing. The nesting has a limit nevertheless, because
/// freeing the tree recurses.
struct PatternParser {
    let scalars: [Unicode.Scalar]
    /// True to parse an unsupported Unicode property as a class of all scalars.
    let allowsAnyProperty: Bool
    var position = 0
    /// The innermost open group. The whole pattern counts as a group.
    var group = OpenGroup(offset: 0)
    /// The groups that enclose ``group``, outermost first.
    var enclosing: [OpenGroup] = []
    var names = GroupNames()
    /// The number of capturing groups.
    var captures = 0
    /// The back-references. The parser checks them at the end, because a back-reference may come before its group.
    var references: [(target: Reference, offset: Int)] = []
    /// The first construct that is valid but not supported.
    var unsupported: PatternError?
    private var classes: [ClassContents] = []

    enum Reference {
        case number(Int)
        case name(UTF8Text)
    }

    static func parse(_ source: String, allowsAnyProperty: Bool = false) throws(PatternError) -> PatternSyntax {
        guard source.utf8.count <= PatternLimits.sourceBytes else {
            throw .tooLarge("the pattern is longer than \(PatternLimits.sourceBytes) bytes", at: 0)
        }
        var parser = PatternParser(scalars: Array(source.unicodeScalars), allowsAnyProperty: allowsAnyProperty)
        return try parser.parsePattern()
    }

    private init(scalars: [Unicode.Scalar], allowsAnyProperty: Bool) {
        self.scalars = scalars
        self.allowsAnyProperty = allowsAnyProperty
    }

    private mutating func parsePattern() throws(PatternError) -> PatternSyntax {
        while let scalar = peek() {
            switch scalar {
            case "(": try openGroup()
            case ")": try closeGroup()
            case "|": beginAlternative()
            default: try readTerm(scalar)
            }
        }
        guard enclosing.isEmpty else {
            throw .syntax("the group that begins here has no closing )", at: group.offset)
        }
        try checkReferences()
        return PatternSyntax(root: group.contents, classes: classes, unsupported: unsupported)
    }

    private mutating func readTerm(_ scalar: Unicode.Scalar) throws(PatternError) {
        switch scalar {
        case "*", "+", "?", "{":
            let hint = scalar == "{" ? #"; write \{ for the character itself"# : ""
            throw .syntax("\(scalar) follows nothing that it could repeat\(hint)", at: position)
        case "]", "}":
            throw .syntax(
                #"\#(scalar) has no opening counterpart; write \\#(scalar) for the character itself"#, at: position)
        case "^":
            position += 1
            try append(.assertion(.start), repeatable: false)
        case "$":
            position += 1
            try append(.assertion(.end), repeatable: false)
        case ".":
            position += 1
            try append(node(for: ClassContents(ranges: ScalarSet.lineTerminators.inverted.ranges)))
        case "[":
            try append(node(for: readClass()))
        case "\\":
            try readEscapedTerm()
        default:
            position += 1
            try append(.scalar(scalar.value))
        }
    }

    /// Appends a term with the quantifier that follows the term.
    mutating func append(_ node: PatternNode, repeatable: Bool = true) throws(PatternError) {
        let start = position
        guard let quantifier = try readQuantifier() else {
            group.terms.append(node)
            return
        }
        guard repeatable else {
            throw .syntax("an assertion cannot be repeated", at: start)
        }
        group.terms.append(.repeating(node, quantifier))
    }

    /// Adds a class to the classes of the pattern, and returns the node that refers to it.
    mutating func node(for contents: ClassContents) -> PatternNode {
        classes.append(contents)
        return .oneOf(classes.count - 1)
    }

    /// Records the first unsupported construct. The parser continues, because a later syntax error takes precedence.
    mutating func noteUnsupported(_ reason: String, at offset: Int) {
        unsupported = unsupported ?? .unsupported(reason, at: offset)
    }

    func peek(_ distance: Int = 0) -> Unicode.Scalar? {
        position + distance < scalars.count ? scalars[position + distance] : nil
    }

    mutating func consume(_ expected: Unicode.Scalar) -> Bool {
        guard peek() == expected else { return false }
        position += 1
        return true
    }

    /// Consumes `expected` completely, or consumes nothing.
    mutating func consume(all expected: String) -> Bool {
        guard scalars[position...].starts(with: expected.unicodeScalars) else { return false }
        position += expected.unicodeScalars.count
        return true
    }
}

extension PatternParser {
    /// Reads a quantifier. If none follows, returns nil and consumes nothing.
    mutating func readQuantifier() throws(PatternError) -> Quantifier? {
        let quantifier: Quantifier
        switch peek() {
        case "*":
            position += 1
            quantifier = Quantifier(minimum: 0, maximum: nil)
        case "+":
            position += 1
            quantifier = Quantifier(minimum: 1, maximum: nil)
        case "?":
            position += 1
            quantifier = Quantifier(minimum: 0, maximum: 1)
        case "{":
            quantifier = try readCounts()
        default:
            return nil
        }
        // A lazy quantifier changes which match is found first, but not whether there is a match.
        _ = consume("?")
        return quantifier
    }

    private mutating func readCounts() throws(PatternError) -> Quantifier {
        let start = position
        position += 1
        let malformed = PatternError.syntax(
            #"{ here must begin a count such as {2}, {2,} or {2,5}; write \{ for the character itself"#, at: start)
        guard let minimum = readNumber() else { throw malformed }
        var maximum: Int? = minimum
        if consume(",") {
            maximum = readNumber()
        }
        guard consume("}") else { throw malformed }
        if let maximum, maximum < minimum {
            throw .syntax("the minimum \(minimum) of the repetition is greater than the maximum \(maximum)", at: start)
        }
        return Quantifier(minimum: minimum, maximum: maximum)
    }

    /// Reads a decimal number. Returns `Int.max` for a number that is too large, and nil if no digit follows.
    mutating func readNumber() -> Int? {
        var number: Int?
        while let digit = peek()?.decimalValue {
            let (product, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            number = overflow || carry ? Int.max : sum
            position += 1
        }
        return number
    }
}

extension Unicode.Scalar {
    /// The value of an ASCII digit. The grammar has no other digits.
    var decimalValue: Int? {
        ("0"..."9").contains(self) ? Int(value - 0x30) : nil
    }

    var hexadecimalValue: UInt32? {
        UInt8(exactly: value).flatMap(ASCII.hexadecimalValue).map { UInt32($0) }
    }
}

/// A node of the syntax tree. The tree represents only the parts of a pattern that decide whether a text matches: it
/// has no groups, and it treats a lazy quantifier as a greedy quantifier.
struct PatternNode: Sendable {
    indirect enum Shape: Sendable {
        /// A code point. It may be a surrogate, because a valid pattern can contain an escape of a surrogate, although
        /// no text contains a surrogate.
        case scalar(UInt32)
        /// An index into the classes of the pattern.
        case oneOf(Int)
        /// A position at which the assertion must hold.
        case assertion(PatternProgram.State)
        case sequence([PatternNode])
        case alternation([PatternNode])
        case repetition(PatternNode, Quantifier)
    }

    let shape: Shape
    /// The number of states of the node with expanded repetitions. Numbers above the limit are stored as the limit plus
    /// one, so that sums cannot overflow. Only the empty node has no state.
    let size: Int

    private init(_ shape: Shape, size: Int) {
        self.shape = shape
        self.size = size
    }
}

extension PatternNode {
    /// The maximum of `size`.
    private static let ceiling = PatternLimits.states + 1

    static let empty = PatternNode(.sequence([]), size: 0)

    static func scalar(_ value: UInt32) -> PatternNode {
        PatternNode(.scalar(value), size: 1)
    }

    static func oneOf(_ index: Int) -> PatternNode {
        PatternNode(.oneOf(index), size: 1)
    }

    static func assertion(_ assertion: PatternProgram.State) -> PatternNode {
        PatternNode(.assertion(assertion), size: 1)
    }

    /// Returns a node for a sequence of terms.
    static func joining(_ terms: [PatternNode]) -> PatternNode {
        let terms = terms.filter { $0.size > 0 }
        if let term = terms.first, terms.count == 1 { return term }
        return PatternNode(.sequence(terms), size: terms.reduce(0) { min(ceiling, $0 + $1.size) })
    }

    /// Returns a node for one of several alternatives. The size counts one more state for each alternative, because the
    /// search must also enter an empty alternative.
    static func choosing(_ alternatives: [PatternNode]) -> PatternNode {
        if let alternative = alternatives.first, alternatives.count == 1 { return alternative }
        return PatternNode(
            .alternation(alternatives), size: alternatives.reduce(0) { min(ceiling, $0 + $1.size + 1) })
    }

    /// Returns a node for a repetition. A repetition of an empty node is the empty node: (?:){1000000000} needs no
    /// state, but its expansion would not end in a reasonable time.
    static func repeating(_ body: PatternNode, _ quantifier: Quantifier) -> PatternNode {
        guard body.size > 0, quantifier.maximum != 0 else { return .empty }
        let copies = min(ceiling, quantifier.maximum ?? max(quantifier.minimum, 1))
        // Each optional copy, and a loop, needs a state in which the search can leave the repetition.
        let forks = min(ceiling, quantifier.maximum.map { $0 - quantifier.minimum } ?? 1)
        return PatternNode(.repetition(body, quantifier), size: min(ceiling, copies * body.size + forks))
    }
}

/// The minimum and maximum number of repetitions of a term.
struct Quantifier: Sendable {
    let minimum: Int
    /// The maximum, which is at least the minimum; nil if there is no maximum.
    let maximum: Int?
}

/// The result of parsing a pattern.
struct PatternSyntax: Sendable {
    let root: PatternNode
    let classes: [ClassContents]
    /// The first construct that is valid but not supported; nil if all constructs are supported. The tree does not
    /// represent an unsupported construct correctly.
    let unsupported: PatternError?
}
