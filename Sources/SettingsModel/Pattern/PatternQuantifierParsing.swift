extension PatternParser {
    /// Answers nil, and consumes nothing, when no quantifier follows.
    mutating func readQuantifier() throws(PatternError) -> Quantifier? {
        let quantifier: Quantifier
        switch peek() {
        case "*":
            position += 1
            quantifier = Quantifier(minimum: 0, maximum: nil)
        case "+":
            position += 1
            quantifier = Quantifier(minimum: 1, maximum: nil)
        case "?":
            position += 1
            quantifier = Quantifier(minimum: 0, maximum: 1)
        case "{":
            quantifier = try readCounts()
        default:
            return nil
        }
        // Laziness decides which match is found first, never whether there is one.
        _ = consume("?")
        return quantifier
    }

    private mutating func readCounts() throws(PatternError) -> Quantifier {
        let start = position
        position += 1
        let malformed = PatternError.syntax(
            #"{ here must begin a count such as {2}, {2,} or {2,5}; write \{ for the character itself"#, at: start)
        guard let minimum = readNumber() else { throw malformed }
        var maximum: Int? = minimum
        if consume(",") {
            maximum = readNumber()
        }
        guard consume("}") else { throw malformed }
        if let maximum, maximum < minimum {
            throw .syntax("the counts are out of order: \(minimum) is more than \(maximum)", at: start)
        }
        return Quantifier(minimum: minimum, maximum: maximum)
    }

    /// Stops at Int.max instead of overflowing. Answers nil when no digit follows.
    mutating func readNumber() -> Int? {
        var number: Int?
        while let digit = peek()?.decimalValue {
            let (product, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            number = overflow || carry ? Int.max : sum
            position += 1
        }
        return number
    }
}

extension Unicode.Scalar {
    /// Nil for anything but the ASCII digits, which are the only ones in the grammar.
    var decimalValue: Int? {
        ("0"..."9").contains(self) ? Int(value - 0x30) : nil
    }

    var hexadecimalValue: UInt32? {
        switch self {
        case "0"..."9": value - 0x30
        case "a"..."f": value - 0x61 + 10
        case "A"..."F": value - 0x41 + 10
        default: nil
        }
    }
}
