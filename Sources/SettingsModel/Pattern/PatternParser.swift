/// Reads the pattern grammar of ECMA-262 in Unicode mode, which has none of the leniency of the web's Annex B.
///
/// Open groups are kept on a stack of its own rather than on the call stack. The nesting is limited all the same:
/// a tree is freed recursively.
struct PatternParser {
    let scalars: [Unicode.Scalar]
    var position = 0
    /// The group being read. The pattern itself counts as one.
    var group = OpenGroup(offset: 0)
    /// The groups around it, outermost first.
    var enclosing: [OpenGroup] = []
    var names = GroupNames()
    var captures = 0
    /// Checked at the end: a reference may come before its group.
    var references: [(target: Reference, offset: Int)] = []
    var unsupported: PatternError?
    private var classes: [ScalarClass] = []
    private var classIndexes: [ClassContents: Int] = [:]

    enum Reference {
        case number(Int)
        case name(GroupNames.Name)
    }

    static func parse(_ source: String) throws(PatternError) -> PatternSyntax {
        guard source.utf8.count <= PatternLimits.sourceBytes else {
            throw .tooLarge("the pattern is longer than \(PatternLimits.sourceBytes) bytes", at: 0)
        }
        var parser = PatternParser(scalars: Array(source.unicodeScalars))
        return try parser.parsePattern()
    }

    private init(scalars: [Unicode.Scalar]) {
        self.scalars = scalars
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
            throw .syntax("the group opened here is never closed", at: group.offset)
        }
        try checkReferences()
        return PatternSyntax(root: group.contents, classes: classes, unsupported: unsupported)
    }

    private mutating func readTerm(_ scalar: Unicode.Scalar) throws(PatternError) {
        switch scalar {
        case "*", "+", "?", "{":
            let hint = scalar == "{" ? #"; write \{ for the character itself"# : ""
            throw .syntax("\(scalar) has nothing before it to repeat\(hint)", at: position)
        case "]", "}":
            throw .syntax(#"\#(scalar) closes nothing; write \\#(scalar) for the character itself"#, at: position)
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

    /// Adds a term together with the quantifier that follows it.
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

    /// A class that occurs again is made ready and kept once.
    mutating func node(for contents: ClassContents) -> PatternNode {
        if let index = classIndexes[contents] { return .oneOf(index) }
        classes.append(ScalarClass(contents))
        classIndexes[contents] = classes.count - 1
        return .oneOf(classes.count - 1)
    }

    /// Keeps only the first, and reads on: a syntax error further on counts for more.
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

    /// Consumes nothing when not all of it follows.
    mutating func consume(all expected: String) -> Bool {
        guard scalars[position...].starts(with: expected.unicodeScalars) else { return false }
        position += expected.unicodeScalars.count
        return true
    }
}
