/// Decides whether a group name may be used again: ECMA-262 allows it in alternatives of which only one can match.
///
/// A name is taken while a group with that name could take part in the same match as a group declared here. Names
/// are given up at each | and taken again when the group around it closes.
struct GroupNames {
    /// Code points, because equality of strings would take two spellings of a name for one.
    typealias Name = [UInt32]

    /// What a group has declared so far, to be kept with the group while it is open.
    struct Scope {
        fileprivate var alternativeStart = 0
        fileprivate var givenUp: [Int] = []
    }

    /// Each name once, numbered in order. A deeply nested name is given up and taken again many times over, which
    /// is done with the number alone.
    private var numbers: [Name: Int] = [:]
    private var isTaken: [Bool] = []
    /// The taken names in the order they were taken, so that those of one alternative are at the end.
    private var order: [Int] = []

    /// Answers false when the name is taken.
    mutating func declare(_ name: Name) -> Bool {
        if let number = numbers[name] { return take(number) }
        numbers[name] = isTaken.count
        isTaken.append(false)
        return take(isTaken.count - 1)
    }

    func isDeclared(_ name: Name) -> Bool {
        numbers[name] != nil
    }

    /// The name of the group itself belongs outside of the scope.
    func openScope() -> Scope {
        Scope(alternativeStart: order.count)
    }

    mutating func beginAlternative(in scope: inout Scope) {
        for number in order[scope.alternativeStart...] {
            isTaken[number] = false
            scope.givenUp.append(number)
        }
        order.removeSubrange(scope.alternativeStart...)
    }

    mutating func close(_ scope: Scope) {
        for number in scope.givenUp {
            _ = take(number)
        }
    }

    private mutating func take(_ number: Int) -> Bool {
        guard !isTaken[number] else { return false }
        isTaken[number] = true
        order.append(number)
        return true
    }
}
