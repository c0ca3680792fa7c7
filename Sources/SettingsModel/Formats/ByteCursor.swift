/// A cursor over the unread bytes of a text. A copy of it remembers a place to return to.
///
/// The grammars of the formats are ASCII. No byte of a longer UTF-8 sequence equals an ASCII byte, so reading bytes refuses
/// all other characters.
struct ByteCursor {
    private(set) var rest: Substring.UTF8View

    init(_ bytes: Substring.UTF8View) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    var next: UInt8? { rest.first }

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
    /// Leaves a further digit unread.
    mutating func takeNumber(digits count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let byte = rest.first, ASCII.isDigit(byte) else { return nil }
            rest.removeFirst()
            number = number * 10 + Int(byte - 0x30)
        }
        return number
    }

    /// Returns the result of `read`, or nil if it leaves bytes unread.
    static func readAll<Value>(
        of bytes: Substring.UTF8View, as read: (inout ByteCursor) -> Value?
    ) -> Value? {
        var cursor = ByteCursor(bytes)
        guard let value = read(&cursor), cursor.isAtEnd else { return nil }
        return value
    }
}
