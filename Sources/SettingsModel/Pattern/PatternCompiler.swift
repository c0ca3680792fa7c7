/// A nondeterministic automaton in flat arrays, so that a search does not allocate memory.
struct PatternProgram: Sendable {
    enum State: UInt8, Sendable {
        /// Consumes the scalar in `operands`.
        case scalar
        /// Consumes a scalar of the class whose index is in `operands`.
        case oneOf
        /// Consumes nothing.
        case epsilon
        /// The assertion `^`. Like the three assertions after it, this state consumes nothing, and the search enters it
        /// only at a position where the assertion holds.
        case start
        case end
        case wordBoundary
        case notWordBoundary
        case accept
    }

    let states: [State]
    let operands: [UInt32]
    /// The states that can follow state `i` are `edges[edgeOffsets[i]..<edgeOffsets[i + 1]]`.
    let edges: [Int32]
    let edgeOffsets: [Int32]
    let classes: [ScalarClass]
    /// An epsilon state where every match begins.
    let entry: Int
    /// True if a match can only begin at the start of the text.
    let isAnchored: Bool
}

/// Compiles the syntax tree of a `PatternParser` into an automaton (Thompson's construction).
///
/// The compiler keeps a list of pending nodes instead of recursing. The parser has checked the size of the expanded
/// tree, which bounds the number of copies of a counted repetition.
struct PatternCompiler {
    private var states: [PatternProgram.State] = []
    private var operands: [UInt32] = []
    private var edges: [[Int32]] = []
    /// The nodes to compile, each with its first state and the state after it.
    private var pending: [(node: PatternNode, first: Int32, next: Int32)] = []

    static func compile(_ syntax: PatternSyntax) -> PatternProgram {
        var compiler = PatternCompiler()
        let entry = compiler.reserveState()
        let first = compiler.reserveState()
        let accept = compiler.reserveState()
        compiler.setState(entry, .epsilon, edges: [first])
        compiler.setState(accept, .accept, edges: [])
        compiler.pending.append((syntax.root, first, accept))
        while let (node, first, next) = compiler.pending.popLast() {
            compiler.emit(node, from: first, to: next)
        }
        return compiler.program(entry: Int(entry), classes: syntax.classes)
    }

    /// Appends a state, whose kind and edges are set later.
    private mutating func reserveState() -> Int32 {
        states.append(.epsilon)
        operands.append(0)
        edges.append([])
        return Int32(states.count - 1)
    }

    private mutating func setState(
        _ index: Int32, _ state: PatternProgram.State, operand: UInt32 = 0, edges targets: [Int32]
    ) {
        states[Int(index)] = state
        operands[Int(index)] = operand
        edges[Int(index)] = targets
    }

    /// Sets the states of a node. The node begins at the state `first`, and leads to the state `next`.
    private mutating func emit(_ node: PatternNode, from first: Int32, to next: Int32) {
        switch node.shape {
        case .scalar(let value):
            setState(first, .scalar, operand: value, edges: [next])
        case .oneOf(let index):
            setState(first, .oneOf, operand: UInt32(index), edges: [next])
        case .assertion(let assertion):
            setState(first, assertion, edges: [next])
        case .sequence(let terms):
            emit(terms, from: first, to: next)
        case .alternation(let alternatives):
            var beginnings: [Int32] = []
            for alternative in alternatives {
                beginnings.append(reserveState())
                pending.append((alternative, beginnings[beginnings.count - 1], next))
            }
            setState(first, .epsilon, edges: beginnings)
        case .repetition(let body, let quantifier):
            if let maximum = quantifier.maximum {
                emit(body, atLeast: quantifier.minimum, atMost: maximum, from: first, to: next)
            } else {
                emit(body, atLeast: quantifier.minimum, from: first, to: next)
            }
        }
    }

    /// Emits the terms of a sequence.
    private mutating func emit(_ terms: [PatternNode], from first: Int32, to next: Int32) {
        guard let last = terms.last else {
            setState(first, .epsilon, edges: [next])
            return
        }
        var state = first
        for term in terms.dropLast() {
            let following = reserveState()
            pending.append((term, state, following))
            state = following
        }
        pending.append((last, state, next))
    }

    /// Emits the copies of a repetition with a maximum. The maximum is not 0, because the parser replaces a repetition
    /// with the maximum 0 by an empty node. Each optional copy begins with a state that can skip this copy and the
    /// copies after it.
    private mutating func emit(
        _ body: PatternNode, atLeast minimum: Int, atMost maximum: Int, from first: Int32, to next: Int32
    ) {
        var state = first
        for copy in 1...max(1, maximum) {
            let following = copy < maximum ? reserveState() : next
            if copy <= minimum {
                pending.append((body, state, following))
            } else {
                let inside = reserveState()
                setState(state, .epsilon, edges: [inside, next])
                pending.append((body, inside, following))
            }
            state = following
        }
    }

    /// Emits the copies of a repetition without a maximum. The last copy is in a loop.
    private mutating func emit(_ body: PatternNode, atLeast minimum: Int, from first: Int32, to next: Int32) {
        var state = first
        for _ in 1..<max(1, minimum) {
            let following = reserveState()
            pending.append((body, state, following))
            state = following
        }
        // If the minimum is 0, the loop state precedes the body, so that the search can skip the body.
        let added = reserveState()
        let (loop, inside) = minimum == 0 ? (state, added) : (added, state)
        setState(loop, .epsilon, edges: [inside, next])
        pending.append((body, inside, loop))
    }
}

extension PatternCompiler {
    private func program(entry: Int, classes: [ClassContents]) -> PatternProgram {
        var flatEdges: [Int32] = []
        var offsets: [Int32] = [0]
        for state in states.indices {
            flatEdges += bypassingEpsilonStates(edges[state])
            offsets.append(Int32(flatEdges.count))
        }
        return PatternProgram(
            states: states, operands: operands, edges: flatEdges, edgeOffsets: offsets,
            classes: classes.map { ScalarClass($0) }, entry: entry, isAnchored: isAnchored(entry))
    }

    /// Replaces each edge to an epsilon state by the edges that leave the epsilon state, if the result has few edges. A
    /// loop over a class then visits no epsilon state between two scalars.
    ///
    /// If the result would have many edges, returns the edges unchanged. Without its epsilon states, (a?){1000} would
    /// have half a million edges.
    private func bypassingEpsilonStates(_ direct: [Int32]) -> [Int32] {
        let limit = 8
        guard direct.count <= limit else { return direct }
        var bypassed: [Int32] = []
        var targets: [Int32] = []
        var pending = direct
        while let state = pending.popLast() {
            if states[Int(state)] != .epsilon {
                if !targets.contains(state) { targets.append(state) }
            } else if !bypassed.contains(state) {
                bypassed.append(state)
                pending += edges[Int(state)]
            }
            guard targets.count <= limit, bypassed.count <= limit, pending.count <= limit else { return direct }
        }
        return targets
    }

    /// True if every path from the entry to a consuming or accepting state passes `^`. The method assumes that all
    /// other assertions hold. A wrong assumption makes the search slower, but does not change its result.
    private func isAnchored(_ entry: Int) -> Bool {
        var seen = [Bool](repeating: false, count: states.count)
        var pending = [entry]
        while let state = pending.popLast() {
            guard !seen[state] else { continue }
            seen[state] = true
            switch states[state] {
            case .scalar, .oneOf, .accept: return false
            case .start: continue
            case .epsilon, .end, .wordBoundary, .notWordBoundary: pending += edges[state].map { Int($0) }
            }
        }
        return true
    }
}
