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
        append(upTo: Room.longestNumber) { $0.append(decimal: number) }
    }

    /// Adds at most so many bytes, piece by piece: the array makes room once for all of them.
    @inline(__always)
    mutating func append(upTo length: Int, _ write: (inout Room) -> Void) {
        append(addingCapacity: length) { output in
            output.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = buffer.baseAddress else { return }
                var room = Room(end: start + count, limit: start + buffer.count)
                write(&room)
                count = room.end - start
            }
        }
    }
}

/// Room behind the bytes of an array, which is filled from left to right. Adding more than fits traps.
///
/// `JSONWriter` has one like it, as neither module may import the other.
struct Room {
    /// The bytes of the longest number.
    static let longestNumber = 20

    fileprivate var end: UnsafeMutablePointer<UInt8>
    fileprivate let limit: UnsafeMutablePointer<UInt8>

    /// Returns the place of the next bytes, which the caller fills.
    @inline(__always)
    private mutating func take(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count <= limit - end)
        defer { end += count }
        return end
    }

    /// Adds text that stands in the program.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        take(text.utf8CodeUnitCount).initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// Adds all bytes of a span at once.
    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { bytes in
            guard let source = bytes.baseAddress else { return }
            take(bytes.count).initialize(from: source, count: bytes.count)
        }
    }

    /// Adds text from anywhere, with a space for each control character.
    @inline(__always)
    mutating func append(onOneLine text: Span<UInt8>) {
        let start = take(text.count)
        for index in text.indices {
            let byte = text[index]
            start[index] = byte < 0x20 || byte == 0x7F ? .space : byte
        }
    }

    /// Adds a number in decimal digits.
    mutating func append(decimal number: Int) {
        if number < 0 { append("-") }
        var (count, bound) = (1, UInt(10))
        while number.magnitude >= bound { (count, bound) = (count + 1, bound * 10) }
        let start = take(count)
        var rest = number.magnitude
        repeat {
            count -= 1
            start[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
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
