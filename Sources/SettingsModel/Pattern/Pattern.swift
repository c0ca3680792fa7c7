/// A regular expression in ECMA-262 syntax and Unicode mode (the `u` flag), the `pattern` of JSON Schema.
///
/// It answers one question: does the text match anywhere. That is all a schema asks, and it is what makes a linear
/// search possible: with neither captures nor priorities to keep, all ways through the pattern are followed at once
/// and none is ever tried again. What cannot be decided so, look-around and back-references, is refused.
struct Pattern: Sendable {
    let source: String
    private let program: PatternProgram

    init(_ source: String) throws(PatternError) {
        let syntax = try PatternParser.parse(source)
        if let unsupported = syntax.unsupported {
            throw unsupported
        }
        guard syntax.root.size <= PatternLimits.states else {
            throw .tooLarge("the pattern needs more than \(PatternLimits.states) states once counted out", at: 0)
        }
        self.source = source
        self.program = PatternCompiler.compile(syntax)
    }

    /// Accepts every pattern of ECMA-262 within the limits on length and nesting, whether it can be run here or not.
    static func checkSyntax(_ source: String) throws(PatternError) {
        _ = try PatternParser.parse(source)
    }

    /// How much memory the compiled pattern takes, and how much work a scalar of text at most.
    var stateCount: Int {
        program.states.count
    }

    /// Answers nil when the budget is spent before the answer is known; the budget is then zero.
    ///
    /// A step is one way followed out of one state, or one binary property asked for. The same pattern and text always
    /// cost the same number of them: for each scalar read at least one, and at most what the size of the pattern bounds.
    func matches(_ text: String, budget: inout Int) -> Bool? {
        var search = PatternSearch(program)
        return search.run(text, budget: &budget)
    }
}

/// Patterns are the same when their bytes are: `==` of strings would take é and e + U+0301 for one, which match
/// different texts.
extension Pattern: Hashable {
    static func == (one: Pattern, other: Pattern) -> Bool {
        one.source.utf8.elementsEqual(other.source.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in source.utf8 {
            hasher.combine(byte)
        }
    }
}

/// Why a pattern was refused, and where.
///
/// The offset counts Unicode scalars, as ECMA-262 does in Unicode mode, so an editor can point at the place.
struct PatternError: Error, Equatable, Sendable, CustomStringConvertible {
    enum Kind: Equatable, Sendable {
        /// ECMA-262 does not know such a pattern.
        case syntax
        /// A right pattern that cannot be run in linear time, or not with the Unicode data at hand.
        case unsupported
        /// A right pattern that is past one of the limits in `PatternLimits`.
        case tooLarge
    }

    let kind: Kind
    let offset: Int
    let reason: String

    var description: String { "at offset \(offset): \(reason)" }
}

extension PatternError {
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

/// What keeps a hostile pattern from costing more than its sender paid for.
enum PatternLimits {
    /// Bounds the time and memory of reading a pattern.
    static let sourceBytes = 65_536
    /// Bounds the depth of the syntax tree, which takes stack to free. Nothing else recurses.
    static let nesting = 200
    /// Bounds the work for one scalar of text; counted repetitions are counted out, not written out, to check it.
    static let states = 4_000
}
