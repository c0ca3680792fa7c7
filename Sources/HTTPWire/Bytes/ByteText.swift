extension [UInt8] {
    /// Adds all bytes of a span at once.
    @inline(__always)
    package mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Adds text that stands in the program, without making a `String` of it.
    @inline(__always)
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Adds a number in decimal digits.
    package mutating func append(decimal number: Int) {
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var first = 20
        var rest = number.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while rest > 0
        if number < 0 { append(UInt8(ascii: "-")) }
        append(copying: digits.span.extracting(first..<20))
    }
}

extension Span<UInt8> {
    /// Whether exactly this text stands in the range.
    package func holds(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { wanted in
            var index = 0
            while index < wanted.count {
                if self[range.lowerBound + index] != wanted[index] { return false }
                index += 1
            }
            return true
        }
    }

    /// Whether this text stands in the range, ASCII letters taken without their case. The text is given in lower case.
    package func holds(ignoringCase text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { wanted in
            var index = 0
            while index < wanted.count {
                let byte = self[range.lowerBound + index]
                let folded = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
                if folded != wanted[index] { return false }
                index += 1
            }
            return true
        }
    }

    /// What stands in the range as text, for values of fields; what is no UTF-8 shows as U+FFFD.
    package func text(in range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The range without spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (lower, upper) = (range.lowerBound, range.upperBound)
        while lower < upper, self[lower].isBlank { lower += 1 }
        while lower < upper, self[upper - 1].isBlank { upper -= 1 }
        return lower..<upper
    }
}

extension UInt8 {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")

    /// A space or a tab.
    @inline(__always)
    var isBlank: Bool { self == .space || self == UInt8(ascii: "\t") }

    /// The byte as it can be named in a sentence: `'a'` or `byte 0x0B`.
    var named: String {
        if self > 0x20 && self < 0x7F { return "'\(Character(Unicode.Scalar(self)))'" }
        let digits = String(self, radix: 16, uppercase: true)
        return "byte 0x" + (digits.utf8.count == 1 ? "0" : "") + digits
    }

    /// What a hexadecimal digit of either case stands for; nil if the byte is none.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
