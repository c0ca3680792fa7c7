extension PatternParser {
    private enum ClassAtom {
        case scalar(UInt32)
        case contents(ClassContents)
    }

    /// Reads a class from its opening bracket on.
    mutating func readClass() throws(PatternError) -> ClassContents {
        let start = position
        position += 1
        var contents = ClassContents(isInverted: consume("^"))
        while let scalar = peek() {
            if scalar == "]" {
                position += 1
                return contents
            }
            try readClassMember(into: &contents)
        }
        throw .syntax("the class opened here is never closed", at: start)
    }

    /// Reads one character, one escape or one range.
    private mutating func readClassMember(into contents: inout ClassContents) throws(PatternError) {
        let start = position
        let first = try readClassAtom()
        // A hyphen before the closing bracket stands for itself, and so does one at the end of an unclosed class,
        // which is an error soon enough.
        guard peek() == "-", let end = peek(1), end != "]" else {
            switch first {
            case .scalar(let value): contents.ranges.append(value...value)
            case .contents(let other): contents.formUnion(other)
            }
            return
        }
        position += 1
        let last = try readClassAtom()
        guard case .scalar(let lower) = first, case .scalar(let upper) = last else {
            throw .syntax(#"a range cannot begin or end with a class such as \d; write \- for a hyphen"#, at: start)
        }
        guard lower <= upper else {
            throw .syntax("the range is out of order", at: start)
        }
        contents.ranges.append(lower...upper)
    }

    private mutating func readClassAtom() throws(PatternError) -> ClassAtom {
        let start = position
        guard let scalar = peek() else {
            throw .syntax("the class is never closed", at: start)
        }
        position += 1
        guard scalar == "\\" else { return .scalar(scalar.value) }
        if consume("b") { return .scalar(0x08) }
        if consume("-") { return .scalar(0x2D) }
        if let contents = try readClassEscape(from: start) { return .contents(contents) }
        return .scalar(try readCharacterEscape(from: start))
    }
}
