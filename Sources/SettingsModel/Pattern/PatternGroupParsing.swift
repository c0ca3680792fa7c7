extension PatternParser {
    /// A group whose closing parenthesis has not been reached.
    struct OpenGroup {
        let offset: Int
        /// False for look-around, which is an assertion though it looks like a group.
        var isRepeatable = true
        var alternatives: [PatternNode] = []
        var terms: [PatternNode] = []
        var names = GroupNames.Scope()

        init(offset: Int) {
            self.offset = offset
        }

        var contents: PatternNode {
            .choosing(alternatives + [.joining(terms)])
        }
    }

    mutating func beginAlternative() {
        position += 1
        group.alternatives.append(.joining(group.terms))
        group.terms = []
        names.beginAlternative(in: &group.names)
    }

    mutating func openGroup() throws(PatternError) {
        guard enclosing.count < PatternLimits.nesting else {
            throw .tooLarge("groups are nested more than \(PatternLimits.nesting) deep", at: position)
        }
        enclosing.append(group)
        group = OpenGroup(offset: position)
        position += 1
        if consume("?") {
            try readGroupKind()
        } else {
            captures += 1
        }
        group.names = names.openScope()
    }

    mutating func closeGroup() throws(PatternError) {
        guard let outer = enclosing.popLast() else {
            throw .syntax(#") closes nothing; write \) for the character itself"#, at: position)
        }
        position += 1
        let closed = group
        group = outer
        names.close(closed.names)
        try append(closed.isRepeatable ? closed.contents : .empty, repeatable: closed.isRepeatable)
    }

    private mutating func readGroupKind() throws(PatternError) {
        if consume(":") { return }
        if consume("=") || consume("!") || consume(all: "<=") || consume(all: "<!") {
            group.isRepeatable = false
            noteUnsupported("look-around cannot be matched in linear time and is not supported", at: group.offset)
        } else if consume("<") {
            let start = position
            let name = try readGroupName()
            guard names.declare(name) else {
                throw .syntax("another group that can take part in the same match has this name", at: start)
            }
            captures += 1
        } else {
            try readModifiers()
        }
    }

    /// Reads `ims-ims:`, or says what the writer of another dialect may have meant.
    private mutating func readModifiers() throws(PatternError) {
        var seen: Set<Unicode.Scalar> = []
        while let flag = peek(), "ims-".unicodeScalars.contains(flag) {
            guard seen.insert(flag).inserted else {
                throw .syntax("\(flag) occurs twice in the modifiers of a group", at: position)
            }
            position += 1
        }
        let offset = group.offset
        switch peek() {
        case ":" where seen == ["-"]:
            throw .syntax("the modifiers of this group neither add nor remove a flag", at: offset)
        case ":" where !seen.isEmpty:
            position += 1
            noteUnsupported("modifiers such as (?i:…) are not supported", at: offset)
        case ")" where !seen.isEmpty:
            throw .syntax("ECMA-262 has modifiers only with a group to apply to, as in (?i:…)", at: offset)
        case "P":
            throw .syntax("(?P is not in ECMA-262; a named group is written (?<name>…)", at: offset)
        case ">":
            throw .syntax("(?> is not in ECMA-262, which has no atomic groups", at: offset)
        case "#":
            throw .syntax("(?# is not in ECMA-262, which has no comments", at: offset)
        default:
            throw .syntax("(? must go on with :, =, !, <=, <!, <name> or modifiers", at: offset)
        }
    }

    mutating func checkReferences() throws(PatternError) {
        for (target, offset) in references {
            switch target {
            case .number(let number) where number > captures:
                throw .syntax("the back-reference is to group \(number) of \(captures)", at: offset)
            case .name(let name) where !names.isDeclared(name):
                throw .syntax("the back-reference is to a group that does not exist", at: offset)
            case .number, .name:
                continue
            }
        }
    }
}
