/// Numbers: exact integers, and doubles rounded once and correctly.
extension JSONParser {
    /// Reads a number, standing on its sign or first digit.
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
            throw JSONParseError(at: integerStart, in: bytes, "a number may not start with a superfluous zero")
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

    /// Reads an exponent, standing on its `e`. One beyond 10¹⁷ is as good as any larger one: no text has so many digits
    /// that they make up for it.
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
                    + "write a fraction or an exponent for a floating-point number")
        }
        // The magnitude of the smallest Int64 is one more than the largest, hence the detour over the bit pattern.
        return .integer(isNegative ? Int64(bitPattern: 0 &- digits.value) : Int64(digits.value))
    }

    private func double(
        _ digits: Significand, _ exponent: Int, _ isNegative: Bool, from start: Int, _ bytes: Span<UInt8>
    ) throws(JSONParseError) -> Double {
        if let magnitude = digits.exactDouble(exponent: exponent) { return isNegative ? -magnitude : magnitude }
        guard let value = Double(Self.text(bytes.extracting(start..<position))), value.isFinite else {
            throw JSONParseError(
                at: start, in: bytes, "a number must be between ±\(Double.greatestFiniteMagnitude)")
        }
        return value
    }
}

/// The digits of a number as an integer, as far as they fit.
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

    /// The double nearest to `value` times ten to the exponent where two exact doubles make it in one operation,
    /// which IEEE 754 rounds correctly; nil where it takes the general way.
    func exactDouble(exponent: Int) -> Double? {
        guard !overflowed, value <= 1 << 53, abs(exponent) < Self.powersOfTen.count else { return nil }
        let power = Self.powersOfTen[abs(exponent)]
        return exponent < 0 ? Double(value) / power : Double(value) * power
    }

    /// The powers of ten that a double holds exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]
}
