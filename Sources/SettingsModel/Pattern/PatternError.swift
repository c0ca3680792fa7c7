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
