/// A compiled regular expression of the keyword `pattern` of JSON Schema. The syntax is ECMA-262 with the `u` flag.
///
/// A pattern matches if some part of the text matches. The search runs a nondeterministic automaton, so it takes linear
/// time. An automaton cannot match look-around and back-references, so the initializer refuses patterns with these
/// constructs.
struct Pattern: Sendable {
    let source: String
    private let program: PatternProgram

    /// - Parameter allowsAnyProperty: true to compile an unsupported Unicode property as a class of all scalars. Stored
    ///   schemas need it, because earlier versions supported more properties.
    init(_ source: String, allowsAnyProperty: Bool = false) throws(PatternError) {
        let syntax = try PatternParser.parse(source, allowsAnyProperty: allowsAnyProperty)
        if let unsupported = syntax.unsupported {
            throw unsupported
        }
        guard syntax.root.size <= PatternLimits.states else {
            throw .tooLarge(
                "the pattern is too large: it needs more than \(PatternLimits.states) states; shorten the pattern, "
                    + "or reduce the counts of its repetitions",
                at: 0)
        }
        self.source = source
        self.program = PatternCompiler.compile(syntax)
    }

    /// Throws if the text is not valid ECMA-262 syntax, or if it exceeds the limits on length and nesting. Does not
    /// throw for valid syntax that `init` cannot compile.
    static func checkSyntax(_ source: String) throws(PatternError) {
        _ = try PatternParser.parse(source)
    }

    /// The number of states of the automaton. It bounds the memory of the pattern and the work for each scalar of a
    /// text.
    var stateCount: Int {
        program.states.count
    }

    /// Returns whether the text matches; nil if the budget of steps reaches zero before the search ends.
    ///
    /// A step follows one edge of the automaton. The number of steps depends only on the pattern and the text. Each
    /// scalar that the search reads costs at least one step, and at most one step for each edge of the automaton.
    func matches(_ text: String, budget: inout Int) -> Bool? {
        var search = PatternSearch(program)
        return search.run(text, budget: &budget)
    }
}

/// The reason why a pattern is refused, and the offset of the error in Unicode scalars.
struct PatternError: Error, Equatable, Sendable, CustomStringConvertible {
    enum Kind: Equatable, Sendable {
        /// The text is not valid ECMA-262 syntax.
        case syntax
        /// The pattern is valid, but cannot be matched in linear time or needs Unicode data that is not supported.
        case unsupported
        /// The pattern exceeds one of the limits in `PatternLimits`. The parser may not have checked its whole syntax.
        case tooLarge
    }

    let kind: Kind
    let offset: Int
    let reason: String

    var description: String { "at offset \(offset): \(reason)" }

    static func syntax(_ reason: String, at offset: Int) -> PatternError {
        PatternError(kind: .syntax, offset: offset, reason: reason)
    }

    static func unsupported(_ reason: String, at offset: Int) -> PatternError {
        PatternError(kind: .unsupported, offset: offset, reason: reason)
    }

    static func tooLarge(_ reason: String, at offset: Int) -> PatternError {
        PatternError(kind: .tooLarge, offset: offset, reason: reason)
    }
}

/// The limits of a pattern. They bound the time and the memory that a hostile pattern can take.
enum PatternLimits {
    /// The maximum length of a pattern. It bounds the time and the memory of parsing.
    static let sourceBytes = 65_536
    /// The maximum depth of the syntax tree. Swift frees the nodes of the tree by recursion, so an unlimited depth
    /// could overflow the stack.
    static let nesting = 200
    /// The maximum number of states of an automaton. It bounds the work for one scalar of a text. The limit is checked
    /// before repetitions are expanded.
    static let states = 4_000
}
