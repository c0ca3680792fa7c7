/// The part of a text that has not been read yet.
///
/// The grammars of the formats are ASCII, so they are read as bytes: no byte of a longer UTF-8 sequence equals an ASCII
/// byte, which makes every non-ASCII character, digits of other scripts included, simply a character nobody asked for.
/// A cursor is a value; copying it remembers a place to come back to.
struct ByteCursor {
    private(set) var rest: Substring.UTF8View

    init(_ bytes: Substring.UTF8View) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    var next: UInt8? { rest.first }

    /// Moves past one byte if it satisfies `belongs`.
    mutating func take(if belongs: (UInt8) -> Bool) -> Bool {
        guard let byte = rest.first, belongs(byte) else { return false }
        rest.removeFirst()
        return true
    }

    /// Moves past `character` if it comes next; `character` is ASCII.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        take(if: { Unicode.Scalar($0) == character })
    }

    /// Moves past `letter`, an ASCII letter in lower case, if it comes next in either case.
    mutating func take(ignoringCase letter: Unicode.Scalar) -> Bool {
        take(if: { Unicode.Scalar(ASCII.lowercased($0)) == letter })
    }

    /// Moves past the longest run of bytes that satisfy `belongs`, which may be empty.
    mutating func take(while belongs: (UInt8) -> Bool) -> Substring.UTF8View {
        let run = rest.prefix(while: belongs)
        rest = rest[run.endIndex...]
        return run
    }

    /// Reads a decimal number of exactly `count` digits, few enough for an `Int`.
    ///
    /// A further digit is left for the caller to stumble over.
    mutating func takeNumber(digits count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let byte = rest.first, ASCII.isDigit(byte) else { return nil }
            rest.removeFirst()
            number = number * 10 + Int(byte - 0x30)
        }
        return number
    }

    /// What `read` makes of `bytes`, or nil if it leaves any of them over.
    static func readAll<Value>(
        of bytes: Substring.UTF8View, as read: (inout ByteCursor) -> Value?
    ) -> Value? {
        var cursor = ByteCursor(bytes)
        guard let value = read(&cursor), cursor.isAtEnd else { return nil }
        return value
    }
}

/// The character classes that the grammars share; bytes from 0x80 upwards belong to none.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= lowercased(byte)
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte)
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || 0x61...0x66 ~= lowercased(byte)
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        0x41...0x5A ~= byte ? byte + 0x20 : byte
    }
}
