extension [UInt8] {
    @inline(__always)
    package mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends a string literal without allocating a `String`.
    @inline(__always)
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    package mutating func append(decimal number: Int) {
        append(atMost: BufferWriter.maximumNumberLength) { $0.append(decimal: number) }
    }

    /// Appends the bytes that `write` produces, at most `length` bytes. Reserves the capacity once, before the call.
    @inline(__always)
    package mutating func append(atMost length: Int, _ write: (inout BufferWriter) -> Void) {
        append(addingCapacity: length) { output in
            output.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = buffer.baseAddress else { return }
                var writer = BufferWriter(end: start + count, capacityEnd: start + buffer.count)
                write(&writer)
                count = writer.end - start
            }
        }
    }
}

/// A writer into the reserved capacity after the elements of an array. Writing more bytes than were reserved traps.
///
/// `JSONWriter` in the target SettingsModel contains a similar type, because neither target may import the other.
package struct BufferWriter {
    /// The length of the longest decimal `Int`, which is `Int.min`: a sign and 19 digits.
    package static let maximumNumberLength = 20

    /// The address of the next byte to write.
    fileprivate var end: UnsafeMutablePointer<UInt8>
    fileprivate let capacityEnd: UnsafeMutablePointer<UInt8>

    /// Returns a pointer to the next `count` bytes of the capacity, which the calling method must initialize.
    @inline(__always)
    private mutating func advance(by count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count <= capacityEnd - end)
        defer { end += count }
        return end
    }

    @inline(__always)
    package mutating func append(_ text: StaticString) {
        advance(by: text.utf8CodeUnitCount).initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    package mutating func append(byte: UInt8) {
        advance(by: 1).initialize(to: byte)
    }

    @inline(__always)
    package mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { bytes in
            guard let source = bytes.baseAddress else { return }
            advance(by: bytes.count).initialize(from: source, count: bytes.count)
        }
    }

    /// Appends text with each control character replaced by a space, so that the text cannot end its line.
    @inline(__always)
    mutating func append(replacingControlsIn text: Span<UInt8>) {
        let start = advance(by: text.count)
        for index in text.indices {
            let byte = text[index]
            start[index] = byte < 0x20 || byte == 0x7F ? .space : byte
        }
    }

    package mutating func append(decimal number: Int) {
        if number < 0 { append("-") }
        var (digitCount, bound) = (1, UInt(10))
        while number.magnitude >= bound { (digitCount, bound) = (digitCount + 1, bound * 10) }
        let start = advance(by: digitCount)
        var quotient = number.magnitude
        repeat {
            digitCount -= 1
            start[digitCount] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: quotient % 10)
            quotient /= 10
        } while quotient > 0
    }
}

extension Span<UInt8> {
    /// True if the bytes in the range equal `text`.
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

    /// True if the bytes in the range equal `text`, ignoring the case of ASCII letters. `text` must be in lower case.
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

    /// Returns the bytes in the range as text. Invalid UTF-8 sequences become U+FFFD.
    package func text(in range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the range without the spaces and tabs at its ends.
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

    /// True for a space and for a tab.
    @inline(__always)
    var isBlank: Bool { self == .space || self == UInt8(ascii: "\t") }

    /// A description of the byte for error messages, such as `'a'` or `byte 0x0B`.
    var displayName: String {
        if self > 0x20 && self < 0x7F { return "'\(Character(Unicode.Scalar(self)))'" }
        let digits = String(self, radix: 16, uppercase: true)
        return "byte 0x" + (digits.utf8.count == 1 ? "0" : "") + digits
    }

    /// The value of a hexadecimal digit of either case; nil if the byte is not a hexadecimal digit.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// A set of ASCII bytes as a 128-bit mask. Unlike a lookup table, the mask needs no memory access.
struct ByteSet: Sendable {
    /// One bit for each byte below 64.
    let low: UInt64
    /// One bit for each byte from 64 to 127.
    let high: UInt64

    /// The bytes of a token of RFC 9110: letters, digits and ``!#$%&'*+-.^_`|~``.
    static let token = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    /// The bytes of the name of a method: the bytes of a token except lower-case letters. Method names are
    /// case-sensitive, and every registered method is in upper case, so `get` is a mistake of the client.
    static let method = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x5000_0001_C7FF_FFFE)
    /// The bytes of a host name: the unreserved characters and the sub-delimiters of RFC 3986.
    static let hostName = ByteSet(low: 0x2BFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// The bytes that need no percent-encoding in a URI: the unreserved characters of RFC 3986.
    static let unreserved = ByteSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// The bytes that may occur between the brackets of an IPv6 address: hexadecimal digits, `:` and `.`.
    static let addressInBrackets = ByteSet(low: 0x07FF_4000_0000_0000, high: 0x0000_007E_0000_007E)

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word &>> UInt64(byte & 0x3F)) & 1 == 1
    }
}

/// A range of offsets into a message, in half the memory of a `Range<Int>`. 32 bits suffice, because a head is limited
/// to 1 GiB (see ``MessageLimits``). Both offsets are zero if there is no range (``none``). Every recorded range ends
/// after the first byte of the message, so its upper offset is not zero.
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
