/// Escapes and character classes. Reading advances `position`, an index into the scalars of the pattern.
extension PatternParser {
    /// Reads an escape outside of a class. The position must be at the backslash.
    mutating func readEscapedTerm() throws(PatternError) {
        let start = position
        position += 1
        switch peek() {
        case "b":
            position += 1
            try append(.assertion(.wordBoundary), repeatable: false)
        case "B":
            position += 1
            try append(.assertion(.notWordBoundary), repeatable: false)
        case "k":
            position += 1
            guard consume("<") else {
                throw .syntax(#"\k must be followed by the name of a group, as in \k<name>"#, at: start)
            }
            try appendReference(.name(readGroupName()), at: start)
        case .some("1"..."9"):
            try appendReference(.number(readNumber() ?? 0), at: start)
        default:
            if let contents = try readClassEscape(from: start) {
                try append(node(for: contents))
            } else {
                try append(.scalar(readCharacterEscape(from: start)))
            }
        }
    }

    private mutating func appendReference(_ target: Reference, at start: Int) throws(PatternError) {
        references.append((target, start))
        noteUnsupported("back-references cannot be matched in linear time and are not supported", at: start)
        try append(.empty)
    }

    /// Reads an escape that denotes a class, such as `\d`. The position must be after the backslash, whose position is
    /// `start`. Returns nil for any other escape.
    mutating func readClassEscape(from start: Int) throws(PatternError) -> ClassContents? {
        let set: ScalarSet
        switch peek() {
        case "d": set = .digits
        case "D": set = .digits.inverted
        case "w": set = .word
        case "W": set = .word.inverted
        case "s": set = .space
        case "S": set = .space.inverted
        case "p": return try readProperty(negated: false, from: start)
        case "P": return try readProperty(negated: true, from: start)
        default: return nil
        }
        position += 1
        return ClassContents(ranges: set.ranges)
    }

    private mutating func readProperty(negated: Bool, from start: Int) throws(PatternError) -> ClassContents {
        position += 1
        guard consume("{") else {
            throw .syntax(#"\p and \P must be followed by a property in braces, as in \p{L}"#, at: start)
        }
        let name = readPropertyWord()
        let value = consume("=") ? readPropertyWord() : nil
        guard consume("}"), !name.isEmpty, value != "" else {
            throw .syntax("the braces must hold the name of a property and be closed", at: start)
        }
        switch (name, value) {
        case ("Any", nil): return ClassContents(ranges: negated ? [] : ScalarSet.all.ranges)
        case ("ASCII", nil):
            return ClassContents(ranges: negated ? ScalarSet.ascii.inverted.ranges : ScalarSet.ascii.ranges)
        case ("General_Category", let category?), ("gc", let category?):
            guard let categories = GeneralCategories(named: category) else {
                throw .syntax("\(category) is not a general category; names are case-sensitive", at: start)
            }
            return ClassContents(categories: negated ? categories.complement : categories)
        default:
            if value == nil, let categories = GeneralCategories(named: name) {
                return ClassContents(categories: negated ? categories.complement : categories)
            }
            let property = value.map { "\(name)=\($0)" } ?? name
            // With `allowsAnyProperty`, the property is not an error, and matches all scalars.
            if !allowsAnyProperty {
                let reason = "the Unicode property \(property) is not supported; use a general category such as \\p{L}"
                noteUnsupported(reason, at: start)
            }
            return ClassContents(ranges: ScalarSet.all.ranges)
        }
    }

    private mutating func readPropertyWord() -> String {
        var word = ""
        while let scalar = peek(), scalar.isASCII, scalar == "_" || scalar.properties.isAlphabetic || isDigit(scalar) {
            word.unicodeScalars.append(scalar)
            position += 1
        }
        return word
    }

    private func isDigit(_ scalar: Unicode.Scalar?) -> Bool {
        scalar?.decimalValue != nil
    }

    /// Reads an escape that denotes one code point, inside or outside of a class. The position must be after the
    /// backslash, whose position is `start`.
    mutating func readCharacterEscape(from start: Int) throws(PatternError) -> UInt32 {
        guard let scalar = peek() else {
            throw .syntax("the pattern ends with a single backslash", at: start)
        }
        position += 1
        switch scalar {
        case "t": return 0x09
        case "n": return 0x0A
        case "v": return 0x0B
        case "f": return 0x0C
        case "r": return 0x0D
        case "^", "$", "\\", ".", "*", "+", "?", "(", ")", "[", "]", "{", "}", "|", "/": return scalar.value
        case "0" where !isDigit(peek()): return 0
        case "0"..."9":
            throw .syntax(#"ECMA-262 has no octal escapes in Unicode mode; write \xHH"#, at: start)
        case "c":
            guard let letter = peek(), letter.isASCII, letter.properties.isAlphabetic else {
                throw .syntax(#"\c must be followed by a letter from A to Z"#, at: start)
            }
            position += 1
            return letter.value % 32
        case "x":
            guard let value = readHexadecimal(digits: 2) else {
                throw .syntax(#"\x must be followed by two hexadecimal digits"#, at: start)
            }
            return value
        case "u": return try readUnicodeEscape(from: start)
        default: throw .syntax(Self.unknownEscapeMessage(for: scalar), at: start)
        }
    }

    /// Reads the digits after `\u`. Two escapes that form a surrogate pair denote one code point.
    mutating func readUnicodeEscape(from start: Int) throws(PatternError) -> UInt32 {
        if consume("{") {
            return try readBracedCodePoint(from: start)
        }
        guard let high = readHexadecimal(digits: 4) else {
            throw .syntax(#"\u must be followed by four hexadecimal digits or a code point in braces"#, at: start)
        }
        let afterHigh = position
        guard (0xD800...0xDBFF).contains(high), consume(all: "\\u"), let low = readHexadecimal(digits: 4),
            (0xDC00...0xDFFF).contains(low)
        else {
            position = afterHigh
            return high
        }
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    }

    private mutating func readBracedCodePoint(from start: Int) throws(PatternError) -> UInt32 {
        var value: UInt32?
        while let digit = peek()?.hexadecimalValue {
            // Replace every number that is larger than the last code point by the last code point plus one, so that the
            // product cannot overflow.
            value = min((value ?? 0) * 16 + digit, ScalarSet.maximum + 1)
            position += 1
        }
        guard let value, consume("}") else {
            throw .syntax(#"the braces of \u{…} must hold hexadecimal digits and be closed"#, at: start)
        }
        guard value <= ScalarSet.maximum else {
            throw .syntax("the code point is greater than U+10FFFF, the last code point", at: start)
        }
        return value
    }

    /// Reads exactly `digits` hexadecimal digits. If there are fewer, returns nil and consumes nothing.
    private mutating func readHexadecimal(digits: Int) -> UInt32? {
        var value: UInt32 = 0
        for distance in 0..<digits {
            guard let digit = peek(distance)?.hexadecimalValue else { return nil }
            value = value * 16 + digit
        }
        position += digits
        return value
    }

    /// Returns the error message for a backslash before a character that has no escape.
    private static func unknownEscapeMessage(for scalar: Unicode.Scalar) -> String {
        let remedy =
            switch scalar {
            case "A": "use ^ for the start of the text"
            case "Z", "z": "use $ for the end of the text"
            case "a": #"use \x07 for the bell"#
            case "e": #"use \x1B for escape"#
            case "h": #"use [\t\p{Zs}] for horizontal space"#
            case "R": #"use (?:\r\n|[\n\r]) for the end of a line"#
            case "Q", "E": "put a backslash before each character"
            case "-": "outside of a class, - stands for itself"
            case "B", "k": "a class cannot contain assertions or references"
            case _ where scalar.isASCII && scalar.properties.isAlphabetic: "letters stand for themselves"
            default: "the character stands for itself"
            }
        return #"\\#(scalar.escaped(asASCII: false)) is not an escape in ECMA-262; \#(remedy)"#
    }
}

extension PatternParser {
    /// A member of a class, or one end of a range.
    private enum ClassAtom {
        case scalar(UInt32)
        case contents(ClassContents)
    }

    /// Reads a class. The position must be at the opening bracket.
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
        throw .syntax("the class that begins here has no closing ]", at: start)
    }

    /// Reads one character, one escape or one range.
    private mutating func readClassMember(into contents: inout ClassContents) throws(PatternError) {
        let start = position
        let first = try readClassAtom()
        // A hyphen before the closing bracket is an ordinary character. A hyphen at the end of the pattern is handled
        // in the same way, and `readClass` reports the missing bracket.
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
            throw .syntax("the first character of the range is greater than the last", at: start)
        }
        contents.ranges.append(lower...upper)
    }

    private mutating func readClassAtom() throws(PatternError) -> ClassAtom {
        let start = position
        guard let scalar = peek() else {
            throw .syntax("the class has no closing ]", at: start)
        }
        position += 1
        guard scalar == "\\" else { return .scalar(scalar.value) }
        if consume("b") { return .scalar(0x08) }
        if consume("-") { return .scalar(0x2D) }
        if let contents = try readClassEscape(from: start) { return .contents(contents) }
        return .scalar(try readCharacterEscape(from: start))
    }
}
