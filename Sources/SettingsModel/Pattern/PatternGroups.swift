/// Groups and back-references. Reading advances `position`, an index into the scalars of the pattern.
extension PatternParser {
    /// A group that is not closed yet.
    struct OpenGroup {
        /// The position of the opening parenthesis.
        let offset: Int
        /// False for look-around, because an assertion cannot be repeated.
        var isRepeatable = true
        /// The alternatives before the last `|`.
        var alternatives: [PatternNode] = []
        /// The terms after the last `|`.
        var terms: [PatternNode] = []
        /// The names that the groups inside this group have declared.
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
            throw .syntax(#") has no opening counterpart; write \) for the character itself"#, at: position)
        }
        position += 1
        let closed = group
        group = outer
        names.close(closed.names)
        // A pattern with look-around is parsed only to find syntax errors, so the contents are not needed.
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

    /// Reads the modifiers `ims-ims:`. If they are syntax of another dialect, throws an error that names the ECMA-262
    /// syntax.
    private mutating func readModifiers() throws(PatternError) {
        var seen: [Unicode.Scalar] = []
        while let flag = peek(), "ims-".unicodeScalars.contains(flag) {
            guard !seen.contains(flag) else {
                throw .syntax("\(flag) occurs twice in the modifiers of a group", at: position)
            }
            seen.append(flag)
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
            throw .syntax(
                "ECMA-262 has no modifiers without a group, such as (?i); write both cases, as in [aA]",
                at: offset)
        case "P":
            throw .syntax("(?P is not in ECMA-262; a named group is written (?<name>…)", at: offset)
        case ">":
            throw .syntax("(?> is not in ECMA-262, which has no atomic groups", at: offset)
        case "#":
            throw .syntax("(?# is not in ECMA-262, which has no comments", at: offset)
        default:
            throw .syntax("(? must be followed by :, =, !, <=, <!, <name> or modifiers", at: offset)
        }
    }

    mutating func checkReferences() throws(PatternError) {
        for (target, offset) in references {
            switch target {
            case .number(let number) where number > captures:
                throw .syntax(
                    "the back-reference is to group \(number), but the pattern has \(Plural.count(captures, "capturing group"))",
                    at: offset)
            case .name(let name) where !names.isDeclared(name):
                throw .syntax("the back-reference is to a group that does not exist", at: offset)
            case .number, .name:
                continue
            }
        }
    }
}

/// The names of the groups of a pattern. Several alternatives may use the same name, because only one alternative
/// matches.
///
/// A name is reserved while a group with this name can take part in the same match as the group that is being read.
/// Each `|` releases the names of the alternative before it. The end of the enclosing group reserves these names again.
struct GroupNames {
    /// The names that were declared inside an open group up to the present position.
    struct Scope {
        /// The index in `order` of the first name of the present alternative.
        fileprivate var alternativeStart = 0
        /// The names of earlier alternatives.
        fileprivate var released: [Int] = []
    }

    /// A number for each name, which is the index of the name in `isReserved`. Nested groups release and reserve names
    /// often, and numbers are cheaper to compare than names.
    private var numbers: [UTF8Text: Int] = [:]
    private var isReserved: [Bool] = []
    /// The reserved names in the order of their reservation. The names of the present alternative are therefore at the
    /// end.
    private var order: [Int] = []

    /// Reserves a name. Returns false if the name is reserved already.
    mutating func declare(_ name: UTF8Text) -> Bool {
        if let number = numbers[name] { return reserve(number) }
        numbers[name] = isReserved.count
        isReserved.append(false)
        return reserve(isReserved.count - 1)
    }

    func isDeclared(_ name: UTF8Text) -> Bool {
        numbers[name] != nil
    }

    /// Opens the scope of a group. The name of the group itself belongs to the enclosing scope.
    func openScope() -> Scope {
        Scope(alternativeStart: order.count)
    }

    mutating func beginAlternative(in scope: inout Scope) {
        for number in order[scope.alternativeStart...] {
            isReserved[number] = false
            scope.released.append(number)
        }
        order.removeSubrange(scope.alternativeStart...)
    }

    mutating func close(_ scope: Scope) {
        for number in scope.released {
            _ = reserve(number)
        }
    }

    private mutating func reserve(_ number: Int) -> Bool {
        guard !isReserved[number] else { return false }
        isReserved[number] = true
        order.append(number)
        return true
    }
}

extension PatternParser {
    /// Reads the name of a group and the closing `>`. The position must be after the `<`.
    mutating func readGroupName() throws(PatternError) -> UTF8Text {
        let start = position
        var name = String.UnicodeScalarView()
        while let scalar = peek() {
            if scalar == ">" {
                guard !name.isEmpty else { break }
                position += 1
                return UTF8Text(String(name))
            }
            let offset = position
            position += 1
            var value = scalar.value
            if scalar == "\\" {
                guard consume("u") else {
                    throw .syntax(#"the only escape in the name of a group is \u"#, at: offset)
                }
                value = try readUnicodeEscape(from: offset)
            }
            guard let part = Unicode.Scalar(value), isNamePart(part, isFirst: name.isEmpty) else {
                throw .syntax("the name of a group must be an identifier", at: offset)
            }
            name.append(part)
        }
        throw .syntax(
            name.isEmpty ? "the name of the group is missing" : "the name of the group is not closed with >", at: start)
    }

    private func isNamePart(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        switch scalar {
        case "$", "_": true
        case "\u{200C}", "\u{200D}": !isFirst
        default: isFirst ? scalar.properties.isIDStart : scalar.properties.isIDContinue
        }
    }
}
