/// A regular expression in ECMA-262 syntax and Unicode mode (the `u` flag), the `pattern` of JSON Schema.
///
/// It finds out if the text matches anywhere. Without captures and priorities the search follows all ways through the pattern
/// at once and takes linear time. Look-around and back-references, which cannot be matched so, are refused.
struct Pattern: Sendable {
    let source: String
    private let program: PatternProgram

    /// - Parameter allowsAnyProperty: takes a Unicode property that is not supported as every scalar.
    init(_ source: String, allowsAnyProperty: Bool = false) throws(PatternError) {
        let syntax = try PatternParser.parse(source, allowsAnyProperty: allowsAnyProperty)
        if let unsupported = syntax.unsupported {
            throw unsupported
        }
        guard syntax.root.size <= PatternLimits.states else {
            throw .tooLarge("the pattern needs more than \(PatternLimits.states) states once counted out", at: 0)
        }
        self.source = source
        self.program = PatternCompiler.compile(syntax)
    }

    /// Accepts every pattern of ECMA-262 within the limits on length and nesting, also one that cannot be run here.
    static func checkSyntax(_ source: String) throws(PatternError) {
        _ = try PatternParser.parse(source)
    }

    /// Bounds the memory of the compiled pattern and the work for a scalar of text.
    var stateCount: Int {
        program.states.count
    }

    /// Returns nil when the budget is spent before the answer is known; the budget is then zero.
    ///
    /// A step follows one way out of one state. The same pattern and text always cost the same number of steps: at least
    /// one for each scalar, and at most a number that the size of the pattern bounds.
    func matches(_ text: String, budget: inout Int) -> Bool? {
        var search = PatternSearch(program)
        return search.run(text, budget: &budget)
    }
}

/// An error that names why a pattern is refused, and the place as an offset in Unicode scalars.
struct PatternError: Error, Equatable, Sendable, CustomStringConvertible {
    enum Kind: Equatable, Sendable {
        /// ECMA-262 has no such pattern.
        case syntax
        /// A valid pattern that cannot be run in linear time, or needs Unicode data that is not supported.
        case unsupported
        /// A valid pattern that exceeds one of the limits in `PatternLimits`.
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
    /// Bounds the time and memory of reading a pattern.
    static let sourceBytes = 65_536
    /// Bounds the depth of the syntax tree, which takes stack to free. Nothing else recurses.
    static let nesting = 200
    /// Bounds the work for one scalar of text; counted repetitions are counted out, not written out, to check it.
    static let states = 4_000
}
