/// The character classes of ASCII. No class contains a byte from 0x80 on.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= lowercased(byte)
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        0x41...0x5A ~= byte ? byte + 0x20 : byte
    }

    /// Returns the value of a hexadecimal digit of either case; nil for any other byte.
    static func hexadecimalValue(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the lower-case hexadecimal digit for a value below 16.
    static func hexadecimalDigit(for value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

/// A set of bytes. It has one bit for each ASCII byte, and one bit for all other bytes together.
package struct ByteSet: Sendable, ExpressibleByStringLiteral {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private var hasBytesBeyondASCII = false

    package static let digits: ByteSet = "0123456789"
    package static let hexDigits: ByteSet = "0123456789ABCDEFabcdef"
    package static let lettersAndDigits: ByteSet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    /// Makes a set of ASCII characters.
    package init(_ characters: String) {
        for byte in characters.utf8 { insert(byte) }
    }

    /// Makes a set of a range of ASCII characters.
    package init(_ range: ClosedRange<UInt8>) {
        for byte in range { insert(byte) }
    }

    package init(stringLiteral characters: String) {
        self.init(characters)
    }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }

    /// Returns the set of all bytes that are not in this set.
    package var inverted: ByteSet {
        var set = self
        set.low = ~low
        set.high = ~high
        set.hasBytesBeyondASCII = !hasBytesBeyondASCII
        return set
    }

    package func union(_ other: ByteSet) -> ByteSet {
        var set = self
        set.low |= other.low
        set.high |= other.high
        set.hasBytesBeyondASCII = hasBytesBeyondASCII || other.hasBytesBeyondASCII
        return set
    }

    package func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<64: low & (1 << UInt64(byte)) != 0
        case 64..<128: high & (1 << UInt64(byte & 63)) != 0
        default: hasBytesBeyondASCII
        }
    }
}

/// Reads the bytes of a text one after another. To return to a position later, the calling code keeps a copy of the
/// cursor.
///
/// The cursor is for grammars that contain only ASCII characters. No byte of a multi-byte UTF-8 character equals an
/// ASCII byte, so these grammars refuse every other character.
package struct ByteCursor {
    /// The bytes that the cursor has not read yet.
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    package init(_ text: String) {
        rest = Array(text.utf8)[...]
    }

    package var isAtEnd: Bool { rest.isEmpty }

    package var next: UInt8? { rest.first }

    /// Advances past a byte of the set. Returns false if the next byte is not in the set.
    package mutating func consume(oneOf set: ByteSet) -> Bool {
        guard let byte = rest.first, set.contains(byte) else { return false }
        rest.removeFirst()
        return true
    }

    /// Advances past `character`, an ASCII character. Returns false if another byte comes next.
    package mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard let byte = rest.first, byte == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Advances past `letter`, a lower-case ASCII letter, in either case. Returns false if another byte comes next.
    package mutating func consume(ignoringCase letter: Unicode.Scalar) -> Bool {
        guard let byte = rest.first, ASCII.lowercased(byte) == UInt8(ascii: letter) else { return false }
        rest.removeFirst()
        return true
    }

    /// Advances past all bytes up to the first byte that is not in the set. Returns these bytes; there may be none.
    package mutating func consume(while set: ByteSet) -> ArraySlice<UInt8> {
        var end = rest.startIndex
        while end < rest.endIndex, set.contains(rest[end]) { end += 1 }
        let run = rest[..<end]
        rest = rest[end...]
        return run
    }

    /// Reads a decimal number of exactly `count` digits. The number must fit an `Int`. Does not read digits after the
    /// number. Returns nil if there are fewer digits; the cursor has then advanced past these digits.
    package mutating func consumeNumber(digits count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let byte = rest.first, ASCII.isDigit(byte) else { return nil }
            rest.removeFirst()
            number = number * 10 + Int(byte - 0x30)
        }
        return number
    }
}
