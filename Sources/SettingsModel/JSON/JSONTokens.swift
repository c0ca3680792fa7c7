/// Numbers: exact integers, and correctly rounded doubles.
extension JSONParser {
    /// Reads a number. The position must be at its sign or its first digit.
    mutating func number(_ bytes: Span<UInt8>) throws(JSONParseError) -> JSONValue {
        let start = position
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }

        var digits = Significand()
        let integerStart = position
        readDigits(into: &digits, bytes)
        guard position > integerStart else {
            throw fail(bytes, "expected a digit after '-', found \(found(bytes))")
        }
        if bytes[integerStart] == UInt8(ascii: "0"), position > integerStart + 1 {
            throw JSONParseError(at: integerStart, in: bytes, "a number must not have leading zeros")
        }

        guard position < bytes.count else { return try integer(digits, isNegative, from: start, bytes) }
        var exponent = 0
        var isDouble = false
        if bytes[position] == UInt8(ascii: ".") {
            isDouble = true
            position += 1
            let fractionStart = position
            readDigits(into: &digits, bytes)
            guard position > fractionStart else {
                throw fail(bytes, "expected a digit after the decimal point, found \(found(bytes))")
            }
            exponent = fractionStart - position
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isDouble = true
            exponent += try readExponent(bytes)
        }
        guard isDouble else { return try integer(digits, isNegative, from: start, bytes) }
        return .double(try double(digits, exponent, isNegative, from: start, bytes))
    }

    private mutating func readDigits(into digits: inout Significand, _ bytes: Span<UInt8>) {
        while position < bytes.count {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return }
            digits.append(digit)
            position += 1
        }
    }

    /// Reads an exponent. The position must be at its `e`. Returns 10¹⁷ for every larger exponent, because no text has
    /// enough digits to compensate for an exponent of this size.
    private mutating func readExponent(_ bytes: Span<UInt8>) throws(JSONParseError) -> Int {
        position += 1
        var isNegative = false
        if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
            isNegative = bytes[position] == UInt8(ascii: "-")
            position += 1
        }
        let start = position
        var exponent = 0
        while position < bytes.count {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            exponent = min(exponent * 10 + Int(digit), 100_000_000_000_000_000)
            position += 1
        }
        guard position > start else { throw fail(bytes, "expected a digit in the exponent, found \(found(bytes))") }
        return isNegative ? -exponent : exponent
    }

    private func integer(
        _ digits: Significand, _ isNegative: Bool, from start: Int, _ bytes: Span<UInt8>
    ) throws(JSONParseError) -> JSONValue {
        let limit = UInt64(Int64.max) + (isNegative ? 1 : 0)
        guard !digits.overflowed, digits.value <= limit else {
            throw JSONParseError(
                at: start, in: bytes,
                "an integer must be between \(Int64.min) and \(Int64.max); "
                    + "write a fraction or an exponent for a floating-point number", isUnrepresentable: true)
        }
        // The magnitude of Int64.min does not fit Int64, so the code negates the bit pattern.
        return .integer(isNegative ? Int64(bitPattern: 0 &- digits.value) : Int64(digits.value))
    }

    private func double(
        _ digits: Significand, _ exponent: Int, _ isNegative: Bool, from start: Int, _ bytes: Span<UInt8>
    ) throws(JSONParseError) -> Double {
        if let magnitude = digits.exactDouble(exponent: exponent) { return isNegative ? -magnitude : magnitude }
        guard let value = Double(Self.text(bytes.extracting(start..<position))), value.isFinite else {
            throw JSONParseError(
                at: start, in: bytes, "a number must be between ±\(Double.greatestFiniteMagnitude)",
                isUnrepresentable: true)
        }
        return value
    }
}

/// Accumulates the digits of a number as an integer.
private struct Significand {
    private(set) var value: UInt64 = 0
    private(set) var overflowed = false

    mutating func append(_ digit: UInt8) {
        if value < UInt64.max / 10 {
            value = value * 10 + UInt64(digit)
        } else {
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(UInt64(digit))
            overflowed = overflowed || tooLarge || carried
            value = sum
        }
    }

    /// Returns the nearest double if one operation on two exactly represented doubles computes it, because IEEE 754
    /// rounds such an operation correctly. Returns nil if the general conversion is needed.
    func exactDouble(exponent: Int) -> Double? {
        guard !overflowed, value <= 1 << 53, abs(exponent) < Self.powersOfTen.count else { return nil }
        let power = Self.powersOfTen[abs(exponent)]
        return exponent < 0 ? Double(value) / power : Double(value) * power
    }

    /// The powers of ten that a double represents exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]
}

/// Strings, with their escapes.
extension JSONParser {
    /// Reads a string. The position must be at its opening quotation mark. A string without escapes is copied in one
    /// step.
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

    /// Advances to the next quotation mark or backslash. Throws at a control character and at the end of the text.
    private mutating func skipPlain(_ bytes: Span<UInt8>) throws(JSONParseError) {
        position = Self.endOfPlain(bytes, from: position)
        if position == bytes.count {
            throw fail(bytes, "expected '\"' at the end of the string, found the end of the text")
        }
        if bytes[position] < 0x20 {
            throw fail(bytes, "expected an escape such as \\n in the string, found \(found(bytes))")
        }
    }

    /// Returns the position of the next quotation mark, backslash or control character; the end if there is none.
    @inline(__always)
    static func endOfPlain(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index + 8 <= bytes.count,
            isPlain(bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
        {
            index += 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            index += 1
        }
        return index
    }

    /// True if none of eight bytes is a quotation mark, a backslash or a control character.
    ///
    /// The function tests all bytes with a few operations on one word. An exclusive or makes a searched byte zero;
    /// subtracting one from a zero byte borrows into its highest bit. Subtracting a space from a byte borrows if the
    /// byte is less than a space. A borrow from a neighbouring byte can make the result false although all bytes are
    /// plain, but never makes it true by mistake. If the result is false, `endOfPlain` checks the bytes one by
    /// one.
    static func isPlain(_ word: UInt64) -> Bool {
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

    /// Reads one escape. The position must be at its backslash.
    private mutating func escape(into text: inout [UInt8], _ bytes: Span<UInt8>) throws(JSONParseError) {
        guard position + 1 < bytes.count else {
            position = bytes.count
            throw fail(bytes, "expected '\"' at the end of the string, found the end of the text")
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

    /// Reads an escape `\uXXXX`, or two such escapes that form a surrogate pair.
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
        throw JSONParseError(
            at: start, in: bytes, "the escape is half of a surrogate pair; write both halves",
            isUnrepresentable: true)
    }

    /// Reads an escape `\uXXXX` that begins at the position. The calling method has checked the
    /// backslash and the `u`.
    private mutating func codeUnit(_ bytes: Span<UInt8>) throws(JSONParseError) -> UInt16 {
        position += 2
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard position < bytes.count, let digit = ASCII.hexadecimalValue(of: bytes[position]) else {
                throw fail(bytes, "expected four hexadecimal digits after \\u, found \(found(bytes))")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
