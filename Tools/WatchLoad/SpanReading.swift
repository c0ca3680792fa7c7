extension Span<UInt8> {
    func position(of byte: UInt8, from start: Int) -> Int? {
        var position = start
        while position < count {
            if self[position] == byte { return position }
            position += 1
        }
        return nil
    }

    /// Returns the index after the first occurrence of `text`; nil if it does not occur.
    func end(of text: [UInt8]) -> Int? {
        let text = text.span
        var position = 0
        while position + text.count <= count {
            var length = 0
            while length < text.count, self[position + length] == text[length] { length += 1 }
            if length == text.count { return position + length }
            position += 1
        }
        return nil
    }

    /// True if the bytes at `start`, where a header field must begin, are `name`. `name` includes the colon.
    /// Ignores case.
    func hasName(_ name: StaticString, at start: Int) -> Bool {
        name.withUTF8Buffer { name in
            guard start + name.count <= count else { return false }
            for offset in name.indices where self[start + offset] | 0x20 != name[offset] | 0x20 { return false }
            return true
        }
    }

    /// Parses the decimal number at `start`, after optional spaces; nil if there is no digit.
    func decimal(from start: Int) -> Int? {
        number(from: start, radix: 10)
    }

    func hexadecimal(from start: Int) -> Int? {
        number(from: start, radix: 16)
    }

    private func number(from start: Int, radix: Int) -> Int? {
        var position = start
        while position < count, self[position] == UInt8(ascii: " ") { position += 1 }
        let first = position
        var value = 0
        // Fifteen digits never overflow.
        while position < count, position - first < 15 {
            let byte = self[position]
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, digit < radix else { break }
            value = value * radix + digit
            position += 1
        }
        return position > first ? value : nil
    }
}
