/// Searches one text for a match. The search follows all states of the automaton at the same time, one scalar after
/// another.
///
/// At each position, the search enters a state at most once, so the size of the automaton bounds the work for a
/// position. The search allocates all memory at its beginning.
struct PatternSearch {
    private let program: PatternProgram
    /// The states entered at the present position. The search also uses the array as the queue of the states whose
    /// edges it has not followed yet.
    private var reached: [Int32] = []
    /// The states entered at the previous position.
    private var previous: [Int32] = []
    /// The position at which each state was last entered; -1 if it was not entered. Unlike a set of the entered states,
    /// this array need not be cleared for each scalar.
    private var enteredAt: [Int]
    /// The number of scalars before the present position.
    private var position = 0
    /// The scalars before and after the present position. Nil at the start and at the end of the text.
    private var before: Unicode.Scalar?
    private var after: Unicode.Scalar?
    /// The number of edges that were followed at the present position.
    private var steps = 0

    init(_ program: PatternProgram) {
        self.program = program
        enteredAt = [Int](repeating: -1, count: program.states.count)
        reached.reserveCapacity(program.states.count)
        previous.reserveCapacity(program.states.count)
    }

    /// Returns whether the text matches; nil if the search needs more steps than the budget.
    mutating func run(_ text: String, budget: inout Int) -> Bool? {
        var scalars = text.unicodeScalars.makeIterator()
        after = scalars.next()
        while true {
            steps = 0
            let isMatch = enterReachableStates()
            steps = max(steps, 1)
            guard steps <= budget else {
                budget = 0
                return nil
            }
            budget -= steps
            if isMatch { return true }
            if after == nil || program.isAnchored && reached.isEmpty { return false }
            before = after
            after = scalars.next()
            position += 1
        }
    }

    /// Enters all states that are reachable at the present position. Returns true if an accepting state is reachable.
    private mutating func enterReachableStates() -> Bool {
        swap(&previous, &reached)
        reached.removeAll(keepingCapacity: true)
        if let scalar = before {
            for index in previous.indices {
                let state = Int(previous[index])
                if consumes(state, scalar), enterSuccessors(of: state) { return true }
            }
        }
        if position == 0 || !program.isAnchored, enterSuccessors(of: program.entry) { return true }
        var index = 0
        while index < reached.count {
            let state = Int(reached[index])
            index += 1
            switch program.states[state] {
            case .scalar, .oneOf: continue
            default: if enterSuccessors(of: state) { return true }
            }
        }
        return false
    }

    /// True if the state consumes this scalar.
    private func consumes(_ state: Int, _ scalar: Unicode.Scalar) -> Bool {
        switch program.states[state] {
        case .scalar:
            return program.operands[state] == scalar.value
        case .oneOf:
            return program.classes[Int(program.operands[state])].contains(scalar)
        default:
            return false
        }
    }

    /// Enters the states to which the edges of a state lead. Returns true if an edge leads to an accepting state.
    private mutating func enterSuccessors(of state: Int) -> Bool {
        for edge in Int(program.edgeOffsets[state])..<Int(program.edgeOffsets[state + 1]) {
            steps += 1
            let target = Int(program.edges[edge])
            guard enteredAt[target] != position else { continue }
            let isPassable =
                switch program.states[target] {
                case .scalar, .oneOf, .epsilon, .accept: true
                case .start: before == nil
                case .end: after == nil
                case .wordBoundary: isWord(before) != isWord(after)
                case .notWordBoundary: isWord(before) == isWord(after)
                }
            guard isPassable else { continue }
            if program.states[target] == .accept { return true }
            enteredAt[target] = position
            reached.append(Int32(target))
        }
        return false
    }

    /// True for the characters of `\w`.
    private func isWord(_ scalar: Unicode.Scalar?) -> Bool {
        switch scalar?.value {
        case .some(0x30...0x39), .some(0x41...0x5A), .some(0x5F), .some(0x61...0x7A): true
        default: false
        }
    }
}
