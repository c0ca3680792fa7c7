/// A compiled pattern: a graph of states in flat arrays, which a search reads without touching the heap.
struct PatternProgram: Sendable {
    enum State: UInt8, Sendable {
        /// Consumes the one scalar in `operands`.
        case scalar
        /// Consumes a scalar of the class whose index is in `operands`.
        case oneOf
        /// Passed without consuming anything.
        case junction
        /// Passed where the assertion holds.
        case start
        case end
        case wordBoundary
        case notWordBoundary
        case accept
    }

    let states: [State]
    let operands: [UInt32]
    /// The states that can follow state `i` are `ways[wayOffsets[i]..<wayOffsets[i + 1]]`.
    let ways: [Int32]
    let wayOffsets: [Int32]
    let classes: [ScalarClass]
    /// A junction where every match begins.
    let entry: Int
    /// Whether a match can only begin at the start of the text.
    let isAnchored: Bool
}
