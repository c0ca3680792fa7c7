/// Strings: the part of the parser between two quotation marks.
extension JSONParser {
    /// Reads a string, standing on its opening quotation mark. Most have no escape and are taken as one slice.
    mutating func string(_ bytes: Span<UInt8>) throws(JSONParseError) -> String {
        position += 1
        let start = position
        try skipPlain(bytes)
        if bytes[position] == UInt8(ascii: "\"") {
            let end = position
            position += 1
            return Self.text(bytes.extracting(start..<end))
        }
        return try escapedString(from: start, bytes)
    }

    /// Moves to the next quotation mark or backslash.
    private mutating func skipPlain(_ bytes: Span<UInt8>) throws(JSONParseError) {
        var index = position
        while index + 8 <= bytes.count,
            Self.isPlain(bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
        {
            index += 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            index += 1
        }
        position = index
        if index == bytes.count { throw fail(bytes, "expected '\"' at the end of the string, found the end") }
        if bytes[index] < 0x20 {
            throw fail(bytes, "expected an escape such as \\n in the string, found \(found(bytes))")
        }
    }

    /// Whether none of eight bytes is a quotation mark, a backslash or a control character.
    ///
    /// Subtracting one from each byte borrows into its highest bit if it was zero, as it is after an exclusive or with
    /// the byte looked for; subtracting a space does if it was less. A borrow from a neighbour can only raise a false
    /// alarm, after which the bytes are looked at one by one.
    private static func isPlain(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let found =
            ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes) | ((word &- (ones &* 0x20)) & ~word)
        return found & (ones &* 0x80) == 0
    }

    private mutating func escapedString(from start: Int, _ bytes: Span<UInt8>) throws(JSONParseError) -> String {
        var text: [UInt8] = []
        var plainStart = start
        while true {
            text.append(copying: bytes.extracting(plainStart..<position))
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                return Self.text(text.span)
            }
            try escape(into: &text, bytes)
            plainStart = position
            try skipPlain(bytes)
        }
    }

    /// Reads one escape, standing on its backslash.
    private mutating func escape(into text: inout [UInt8], _ bytes: Span<UInt8>) throws(JSONParseError) {
        guard position + 1 < bytes.count else {
            position = bytes.count
            throw fail(bytes, "expected '\"' at the end of the string, found the end")
        }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            text.append(contentsOf: try unicodeEscape(bytes).utf8)
            return
        default:
            position += 1
            throw fail(bytes, "expected one of \" \\ / b f n r t u after the backslash, found \(found(bytes))")
        }
        position += 2
    }

    /// Reads `\uXXXX`, or two of them that make a surrogate pair.
    private mutating func unicodeEscape(_ bytes: Span<UInt8>) throws(JSONParseError) -> Unicode.Scalar {
        let start = position
        let first = try codeUnit(bytes)
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        {
            let second = try codeUnit(bytes)
            if second >= 0xDC00, second < 0xE000,
                let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
            {
                return scalar
            }
        }
        throw JSONParseError(at: start, in: bytes, "this escape is one half of a surrogate pair without the other")
    }

    /// Reads `\uXXXX`, standing on the backslash, whose `u` has been seen.
    private mutating func codeUnit(_ bytes: Span<UInt8>) throws(JSONParseError) -> UInt16 {
        position += 2
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard position < bytes.count, let digit = HexadecimalDigit.value(of: bytes[position]) else {
                throw fail(bytes, "expected four hexadecimal digits after \\u, found \(found(bytes))")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

}
