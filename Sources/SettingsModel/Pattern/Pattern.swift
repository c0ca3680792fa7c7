/// A regular expression that matches text in ECMA-262 syntax and Unicode mode (the `u` flag): the `pattern` of JSON Schema.
///
/// Matches anywhere in the text, by a nondeterministic automaton, which takes linear time without captures and priorities.
/// Refuses look-around and back-references, which an automaton cannot match.
struct Pattern: Sendable {
    let source: String
    private let program: PatternProgram

    /// - Parameter allowsAnyProperty: true if an unsupported Unicode property matches every scalar.
    init(_ source: String, allowsAnyProperty: Bool = false) throws(PatternError) {
        let syntax = try PatternParser.parse(source, allowsAnyProperty: allowsAnyProperty)
        if let unsupported = syntax.unsupported {
            throw unsupported
        }
        guard syntax.root.size <= PatternLimits.states else {
            throw .tooLarge("the pattern needs more than \(PatternLimits.states) states; use smaller counts", at: 0)
        }
        self.source = source
        self.program = PatternCompiler.compile(syntax)
    }

    /// Throws if the text is no pattern of ECMA-262, or exceeds the limits on length and nesting. Unsupported patterns pass.
    static func checkSyntax(_ source: String) throws(PatternError) {
        _ = try PatternParser.parse(source)
    }

    /// The number of states, which bounds the memory of the pattern and the work for a scalar of text.
    var stateCount: Int {
        program.states.count
    }

    /// Returns nil if the budget of steps is spent before the answer is known; the budget is then zero.
    ///
    /// A step follows one edge. The same pattern and text always take the same number of steps: at least one for each scalar,
    /// and at most a number that the size of the pattern bounds.
    func matches(_ text: String, budget: inout Int) -> Bool? {
        var search = PatternSearch(program)
        return search.run(text, budget: &budget)
    }
}

/// An error that says why a pattern is refused, and at which offset in Unicode scalars.
struct PatternError: Error, Equatable, Sendable, CustomStringConvertible {
    enum Kind: Equatable, Sendable {
        /// The text is no pattern of ECMA-262.
        case syntax
        /// The pattern is valid, but cannot be matched in linear time or needs Unicode data that is not supported.
        case unsupported
        /// The pattern is valid, but exceeds one of the limits in `PatternLimits`.
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

/// The limits that keep a hostile pattern cheap.
enum PatternLimits {
    /// The longest pattern, which bounds the time and memory of reading it.
    static let sourceBytes = 65_536
    /// The deepest syntax tree, as freeing it recurses. Nothing else does.
    static let nesting = 200
    /// The largest automaton, which bounds the work for one scalar of text. Checked before repetitions are written out.
    static let states = 4_000
}
