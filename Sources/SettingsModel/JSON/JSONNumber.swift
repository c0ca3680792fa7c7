/// A number that is compared exactly. A comparison that converts the Int64 to a Double would treat 9007199254740993 and
/// 9007199254740992.0 as equal.
package enum JSONNumber: Hashable, Sendable {
    case integer(Int64)
    case double(Double)

    /// 2⁶³, the smallest double that is larger than every Int64.
    private static let beyondInt64 = 9_223_372_036_854_775_808.0

    /// Makes an integer if the double equals an Int64, so that equal numbers have the same representation.
    init(reduced value: Double) {
        if let exact = Int64(exactly: value) { self = .integer(exact) } else { self = .double(value) }
    }

    package init?(_ value: JSONValue) {
        switch value {
        case .integer(let integer): self = .integer(integer)
        case .double(let double): self = JSONNumber(reduced: double)
        default: return nil
        }
    }

    package var json: JSONValue {
        switch self {
        case .integer(let integer): .integer(integer)
        case .double(let double): .double(double)
        }
    }

    /// True if this number is less than the other number. Comparisons with NaN return false.
    package func isLess(than other: JSONNumber) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        case (.integer(let left), .double(let right)): Self.isLess(left, than: right)
        case (.double(let left), .integer(let right)): !left.isNaN && !Self.isEqualOrLess(right, than: left)
        }
    }

    private static func isLess(_ integer: Int64, than double: Double) -> Bool {
        if double.isNaN { return false }
        if double >= beyondInt64 { return true }
        if double <= -beyondInt64 { return false }
        let floor = double.rounded(.down)
        return integer < Int64(floor) || (integer == Int64(floor) && double > floor)
    }

    private static func isEqualOrLess(_ integer: Int64, than double: Double) -> Bool {
        isLess(integer, than: double) || Double(exactly: integer) == double
    }
}

extension JSONValue {
    /// True if every number in the value is finite.
    package var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .object(let object): object.members.allSatisfy(\.value.isFinite)
        default: true
        }
    }
}

/// A number as a decimal: digits times a power of ten. A double becomes the decimal that JSON writes for it, not the
/// binary fraction that it stores.
package struct DecimalDigits {
    /// The digits without the sign; at most 19.
    package let digits: UInt64
    package let exponent: Int

    /// Makes the shortest decimal that converts back to the same double. Returns nil if the value is not a number.
    package init?(_ value: JSONValue) {
        switch value {
        case .integer(let integer):
            digits = integer.magnitude
            exponent = 0
        case .double(let double):
            var cursor = ByteCursor(double.magnitude.description)
            let whole = cursor.consume(while: .digits)
            let fraction = cursor.consume(".") ? cursor.consume(while: .digits) : []
            let writtenExponent = cursor.consume("e") ? Int(String(decoding: cursor.rest, as: UTF8.self)) ?? 0 : 0
            // At most 17 digits. The last digit can be zero, because the fraction always has a digit.
            digits = (whole + fraction).reduce(0) { $0 &* 10 &+ UInt64($1 &- UInt8(ascii: "0")) }
            exponent = writtenExponent - fraction.count
        default:
            return nil
        }
    }

    /// True if this number is an integer times the step. The method computes with the decimal digits, so 0.3 is a
    /// multiple of 0.1.
    func isMultiple(of step: DecimalDigits) -> Bool {
        if digits == 0 { return true }
        if step.digits == 0 { return false }
        let shift = exponent - step.exponent
        let modulus = UInt128(step.digits)
        if shift >= 0 {
            return UInt128(digits) % modulus * Self.powerOfTen(shift, modulo: modulus) % modulus == 0
        }
        // If the difference of the exponents is greater than 19, the power of ten is larger than `digits`, which
        // therefore are not a multiple of it.
        guard shift >= -19 else { return false }
        return UInt128(digits).isMultiple(of: modulus * Self.powerOfTen(-shift, modulo: .max))
    }

    /// Returns a power of ten modulo a number, by repeated squaring. The modulus has at most 64 bits, or the power is
    /// at most 19, so no product exceeds 128 bits.
    private static func powerOfTen(_ power: Int, modulo modulus: UInt128) -> UInt128 {
        var result: UInt128 = 1 % modulus
        var square: UInt128 = 10 % modulus
        var rest = power
        while rest > 0 {
            if rest & 1 == 1 { result = result * square % modulus }
            rest >>= 1
            if rest > 0 { square = square * square % modulus }
        }
        return result
    }
}

extension JSONValue {
    /// True if this number is an integer times the step. The method compares the decimals that JSON writes for both
    /// numbers.
    func isMultiple(of step: JSONValue) -> Bool {
        guard let digits = DecimalDigits(self), let step = DecimalDigits(step) else { return false }
        return digits.isMultiple(of: step)
    }
}

extension JSONValue {
    /// The integer that is mathematically equal to this number: `1` for `1.0`. Nil for any other value, and for a
    /// double beyond 2⁵³ (see `Double.exactInteger`).
    package var exactInteger: Int64? {
        if case .double(let double) = self { double.exactInteger } else { integer }
    }
}

extension Double {
    /// The integer that is mathematically equal to this double: `1` for `1.0`. Nil beyond 2⁵³, where one double
    /// represents several integers.
    package var exactInteger: Int64? {
        magnitude <= 0x1p53 ? Int64(exactly: self) : nil
    }
}
