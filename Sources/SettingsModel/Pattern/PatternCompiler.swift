/// A nondeterministic automaton in flat arrays, which a search reads without touching the heap.
struct PatternProgram: Sendable {
    enum State: UInt8, Sendable {
        /// Consumes the scalar in `operands`.
        case scalar
        /// Consumes a scalar of the class whose index is in `operands`.
        case oneOf
        /// Consumes nothing.
        case epsilon
        /// Consumes nothing, and is entered only where the assertion holds.
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

/// A compiler that makes an automaton of a syntax tree (Thompson's construction).
///
/// Keeps a list of pending nodes, each with the states before and behind it, instead of recursing. The size that was checked
/// beforehand bounds the copies of counted repetitions.
struct PatternCompiler {
    private var states: [PatternProgram.State] = []
    private var operands: [UInt32] = []
    private var edges: [[Int32]] = []
    private var pending: [(node: PatternNode, first: Int32, next: Int32)] = []

    static func compile(_ syntax: PatternSyntax) -> PatternProgram {
        var compiler = PatternCompiler()
        let entry = compiler.reserve()
        let first = compiler.reserve()
        let accept = compiler.reserve()
        compiler.set(entry, .epsilon, edges: [first])
        compiler.set(accept, .accept, edges: [])
        compiler.pending.append((syntax.root, first, accept))
        while let (node, first, next) = compiler.pending.popLast() {
            compiler.emit(node, from: first, to: next)
        }
        return compiler.program(entry: Int(entry), classes: syntax.classes)
    }

    private mutating func reserve() -> Int32 {
        states.append(.epsilon)
        operands.append(0)
        edges.append([])
        return Int32(states.count - 1)
    }

    private mutating func set(
        _ index: Int32, _ state: PatternProgram.State, operand: UInt32 = 0, edges targets: [Int32]
    ) {
        states[Int(index)] = state
        operands[Int(index)] = operand
        edges[Int(index)] = targets
    }

    private mutating func emit(_ node: PatternNode, from first: Int32, to next: Int32) {
        switch node.shape {
        case .scalar(let value):
            set(first, .scalar, operand: value, edges: [next])
        case .oneOf(let index):
            set(first, .oneOf, operand: UInt32(index), edges: [next])
        case .assertion(let assertion):
            set(first, assertion, edges: [next])
        case .sequence(let terms):
            emit(terms, from: first, to: next)
        case .alternation(let alternatives):
            var beginnings: [Int32] = []
            for alternative in alternatives {
                beginnings.append(reserve())
                pending.append((alternative, beginnings[beginnings.count - 1], next))
            }
            set(first, .epsilon, edges: beginnings)
        case .repetition(let body, let quantifier):
            if let maximum = quantifier.maximum {
                emit(body, atLeast: quantifier.minimum, atMost: maximum, from: first, to: next)
            } else {
                emit(body, atLeast: quantifier.minimum, from: first, to: next)
            }
        }
    }

    private mutating func emit(_ terms: [PatternNode], from first: Int32, to next: Int32) {
        guard let last = terms.last else {
            set(first, .epsilon, edges: [next])
            return
        }
        var state = first
        for term in terms.dropLast() {
            let following = reserve()
            pending.append((term, state, following))
            state = following
        }
        pending.append((last, state, next))
    }

    private mutating func emit(
        _ body: PatternNode, atLeast minimum: Int, atMost maximum: Int, from first: Int32, to next: Int32
    ) {
        var state = first
        for copy in 1...max(1, maximum) {
            let following = copy < maximum ? reserve() : next
            if copy <= minimum {
                pending.append((body, state, following))
            } else {
                let inside = reserve()
                set(state, .epsilon, edges: [inside, next])
                pending.append((body, inside, following))
            }
            state = following
        }
    }

    /// Writes the copies of a repetition without a maximum, the last of which loops.
    private mutating func emit(_ body: PatternNode, atLeast minimum: Int, from first: Int32, to next: Int32) {
        var state = first
        for _ in 1..<max(1, minimum) {
            let following = reserve()
            pending.append((body, state, following))
            state = following
        }
        let other = reserve()
        let (loop, inside) = minimum == 0 ? (state, other) : (other, state)
        set(loop, .epsilon, edges: [inside, next])
        pending.append((body, inside, loop))
    }
}

extension PatternCompiler {
    private func program(entry: Int, classes: [ClassContents]) -> PatternProgram {
        var flatEdges: [Int32] = []
        var offsets: [Int32] = [0]
        for state in states.indices {
            flatEdges += shortened(edges[state])
            offsets.append(Int32(flatEdges.count))
        }
        return PatternProgram(
            states: states, operands: operands, edges: flatEdges, edgeOffsets: offsets,
            classes: classes.map { ScalarClass($0) }, entry: entry, isAnchored: isAnchored(entry))
    }

    /// Replaces edges to epsilon states by the edges out of them where few result. A loop over a class then follows one edge
    /// for each scalar.
    ///
    /// Where many would result the state stays: (a?){1000} has half a million edges without its epsilon states.
    private func shortened(_ direct: [Int32]) -> [Int32] {
        let limit = 8
        guard direct.count <= limit else { return direct }
        var passed: [Int32] = []
        var targets: [Int32] = []
        var pending = direct
        while let state = pending.popLast() {
            if states[Int(state)] != .epsilon {
                if !targets.contains(state) { targets.append(state) }
            } else if !passed.contains(state) {
                passed.append(state)
                pending += edges[Int(state)]
            }
            guard targets.count <= limit, passed.count <= limit, pending.count <= limit else { return direct }
        }
        return targets
    }

    /// True if every path from the entry to a state that consumes or accepts passes `^`. The function assumes that other assertions hold,
    /// which costs time but never changes a result.
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
