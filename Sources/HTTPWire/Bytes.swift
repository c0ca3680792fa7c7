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
    /// True if exactly this text stands in the range.
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

    /// True if this text, given in lower case, stands in the range; the case of ASCII letters is ignored.
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

    /// The range as text, for values of fields; invalid UTF-8 shows as U+FFFD.
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

    /// The value of a hexadecimal digit of either case; nil if the byte is none.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// A set of ASCII bytes, one bit each: asking it costs no table in memory and no branch for each kind of byte.
struct ByteSet: Sendable {
    /// The bytes below 64.
    let low: UInt64
    /// The bytes from 64 to 127.
    let high: UInt64

    /// The bytes of a token of RFC 9110: letters, digits and ``!#$%&'*+-.^_`|~``.
    static let token = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    /// The bytes of the name of a method: a token without lower-case letters. Methods are distinguished by
    /// case, and every registered one is in capitals, so `get` is a mistake rather than another method.
    static let method = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x5000_0001_C7FF_FFFE)
    /// The bytes of the name of a host: unreserved bytes and sub-delimiters of RFC 3986.
    static let hostName = ByteSet(low: 0x2BFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// The bytes that a URI needs not encode: the unreserved bytes of RFC 3986.
    static let unreserved = ByteSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// The bytes between the brackets of an IPv6 address.
    static let addressInBrackets = ByteSet(low: 0x07FF_4000_0000_0000, high: 0x0000_007E_0000_007E)

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word &>> UInt64(byte & 0x3F)) & 1 == 1
    }
}

/// A range of offsets into a message in half the room of a `Range<Int>`; heads are bounded far below 4 GiB.
///
/// All zero means that there is none: nothing that is ever noted ends before the first byte of a message.
struct ByteRange: Sendable, BitwiseCopyable {
    private var lower: UInt32
    private var upper: UInt32

    static let none = ByteRange(lower: 0, upper: 0)

    private init(lower: UInt32, upper: UInt32) {
        self.lower = lower
        self.upper = upper
    }

    init(_ range: Range<Int>) {
        lower = UInt32(truncatingIfNeeded: range.lowerBound)
        upper = UInt32(truncatingIfNeeded: range.upperBound)
    }

    var range: Range<Int>? {
        upper == 0 ? nil : Int(lower)..<Int(upper)
    }
}
