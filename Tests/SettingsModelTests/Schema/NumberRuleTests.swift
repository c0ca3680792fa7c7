import TestSupport
import Testing

@testable import SettingsModel

struct NumberRuleTests {
    @Test(
        "Limits, const, enum and type treat integers and doubles without rounding",
        arguments: [
            (#"{"maximum": 9007199254740992.0}"#, "9007199254740993", false),
            (#"{"maximum": 9007199254740992.0}"#, "9007199254740992", true),
            (#"{"exclusiveMaximum": 9007199254740992.0}"#, "9007199254740992", false),
            (#"{"exclusiveMaximum": 9007199254740992.0}"#, "9007199254740991", true),
            (#"{"minimum": 9007199254740993}"#, "9007199254740992.0", false),
            (#"{"minimum": 9007199254740993}"#, "9007199254740994.0", true),
            (#"{"maximum": 9007199254740993}"#, "9007199254740992.0", true),
            (#"{"exclusiveMinimum": 9007199254740992.0}"#, "9007199254740993", true),
            (#"{"maximum": 9.3e18}"#, "9223372036854775807", true),
            (#"{"minimum": 9.3e18}"#, "9223372036854775807", false),
            (#"{"maximum": 9223372036854775807}"#, "9.3e18", false),
            (#"{"maximum": 9223372036854775807}"#, "9223372036854775808.0", false),
            (#"{"exclusiveMaximum": 9223372036854775808.0}"#, "9223372036854775807", true),
            (#"{"minimum": -9223372036854775808}"#, "-9223372036854775808.0", true),
            (#"{"exclusiveMinimum": -9223372036854775808}"#, "-9223372036854775808.0", false),
            (#"{"minimum": -9.3e18}"#, "-9223372036854775808", true),
            (#"{"maximum": -9.3e18}"#, "-9223372036854775808", false),
            (#"{"minimum": 0}"#, "-0.0", true),
            (#"{"exclusiveMinimum": 0}"#, "-0.0", false),
            (#"{"exclusiveMinimum": 0}"#, "5e-324", true),
            (#"{"minimum": 0}"#, "-5e-324", false),
            (#"{"maximum": 0.5}"#, "0", true),
            (#"{"minimum": 0.5}"#, "0", false),
            (#"{"minimum": -0.5}"#, "-1", false),
            (#"{"maximum": 1.7976931348623157e308}"#, "1.7976931348623157e308", true),
            (#"{"const": 9007199254740992.0}"#, "9007199254740993", false),
            (#"{"const": 9007199254740992.0}"#, "9007199254740992", true),
            (#"{"enum": [1, 2.0]}"#, "2", true),
            (#"{"enum": [1, 2.0]}"#, "1.0", true),
            (#"{"const": 0}"#, "-0.0", true),
            (#"{"type": "integer"}"#, "9007199254740992.0", true),
            // Beyond 2⁵³, a double does not count as an integer, because one double represents several integers.
            (#"{"type": "integer"}"#, "9007199254740994.0", false),
            (#"{"type": "integer"}"#, "-0.0", true),
            (#"{"type": "number"}"#, "1", true),
        ])
    func limit(schema: String, value: String, isValid: Bool) throws {
        #expect(try KeySchema(JSONValue(parsing: schema)).allows(JSONValue(parsing: value)) == isValid)
    }

    // A double counts as the decimal number that JSON writes for it: 3e-324 as 5e-324, and the double 2⁶³ as
    // 9.223372036854776e18.
    @Test(
        "multipleOf compares the decimal numbers that JSON writes for doubles, not their binary fractions",
        arguments: [
            ("0.3", "0.1", true), ("0.35", "0.1", false), ("19.99", "0.01", true), ("19.999", "0.01", false),
            ("1e308", "0.123456789", false), ("12391239123", "1e-8", true), ("1e308", "1e-308", true),
            ("1e308", "5e307", true), ("1.5e308", "1e308", false), ("5e-324", "5e-324", true),
            ("1.5e-323", "5e-324", true), ("1", "5e-324", true), ("1", "3e-324", true), ("5e-324", "1e308", false),
            ("0", "0.7", true), ("0.0", "1e308", true), ("-0.0", "3", true), ("-0.3", "0.1", true),
            ("-9223372036854775808", "2", true), ("-9223372036854775808", "3", false),
            ("-9223372036854775808", "9223372036854775808.0", false), ("9223372036854775807", "7", true),
            ("9223372036854775807", "9223372036854775807", true), ("9223372036854775807", "0.5", true),
            ("9223372036854775806", "9223372036854775807", false), ("4.0", "2", true), ("4", "2.0", true),
            ("4.5", "2", false), ("1e20", "3", false), ("3e20", "3", true), ("0.1", "0.3", false),
            ("1000000000000000000", "1e18", true), ("1e18", "1000000000000000000", true), ("100", "1e2", true),
            ("123456789.1234567", "1e-6", false), ("0.0001", "1e-4", true), ("1e-7", "0.0000001", true),
            ("6.32011826842e18", "4e5", true), ("6.32011826842e18", "400000", true),
        ])
    func multiple(value: String, step: String, isMultiple: Bool) throws {
        let schema = try KeySchema(["multipleOf": JSONValue(parsing: step)])
        #expect(schema.allows(try JSONValue(parsing: value)) == isMultiple)
    }

    @Test(arguments: UInt64(1)...6)
    func `multipleOf agrees with long division of the written digits`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var multiples = 0
        for round in 0..<150 {
            let step = Decimal.random(using: &generator)
            let value =
                round.isMultiple(of: 2) ? step.timesSmallFactor(using: &generator) : Decimal.random(using: &generator)
            let expected = value.isMultiple(of: step)
            let schema = try KeySchema(["multipleOf": JSONValue(parsing: step.text)])
            let context = "seed \(seed), round \(round): \(value.text) of \(step.text)"
            #expect(schema.allows(try JSONValue(parsing: value.text)) == expected, "\(context)")
            #expect(schema.allows(try JSONValue(parsing: "-" + value.text)) == expected, "\(context)")
            if expected { multiples += 1 }
        }
        #expect(multiples > 50, "seed \(seed)")
    }

    @Test("Limits agree with the comparison of exact numbers", arguments: UInt64(1)...6)
    func limitsAgree(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            let integer =
                Int64.random(in: 0...Int64.max, using: &generator) >> Int64.random(in: 0...62, using: &generator)
            var double = Double(integer)
            switch generator.below(4) {
            case 0: double = double.nextUp
            case 1: double = max(0, double.nextDown)
            case 2: double = double * Double.random(in: 0...2, using: &generator)
            default: break
            }
            // Both numbers, multiplied by 2 to the power of 60, are natural numbers. Other doubles are skipped.
            let left = BigNatural(integer.magnitude).timesPowerOfTwo(60)
            let right = BigNatural(double.significandBits).timesPowerOfTwo(max(0, double.unitExponent + 60))
            guard double == 0 || double.unitExponent >= -60 else { continue }
            let isLess = left.isLess(than: right)
            let context = "seed \(seed), round \(round): \(integer) and \(double)"
            let limit = try KeySchema(["exclusiveMaximum": .double(double)])
            #expect(limit.allows(.integer(integer)) == isLess, "\(context)")
            #expect(try KeySchema(["maximum": .integer(integer)]).allows(.double(double)) == !isLess, "\(context)")
            let negative = try KeySchema(["exclusiveMinimum": .double(-double)])
            #expect(negative.allows(.integer(-integer)) == isLess, "\(context)")
            #expect(
                try KeySchema(["const": .integer(integer)]).allows(.double(double)) == (left == right), "\(context)")
        }
    }
}

/// A decimal number: an integer of digits times a power of ten. A double can represent the integer exactly.
private struct Decimal {
    let digits: UInt64
    let exponent: Int

    var text: String {
        exponent == 0 ? String(digits) : "\(digits)e\(exponent)"
    }

    static func random(using generator: inout SeededGenerator) -> Decimal {
        let largestDigits: UInt64 = generator.pick([9, 99, 9_999, 999_999_999, 999_999_999_999])
        let exponent = generator.chance(oneIn: 4) ? generator.below(540) - 270 : generator.below(40) - 20
        return Decimal(digits: UInt64.random(in: 1...largestDigits, using: &generator), exponent: exponent)
    }

    /// Returns this number times a random factor below 1,000, and sometimes times 100,000 as well.
    func timesSmallFactor(using generator: inout SeededGenerator) -> Decimal {
        let product = Decimal(digits: digits * UInt64.random(in: 1...999, using: &generator), exponent: exponent)
        return generator.chance(oneIn: 3) ? Decimal(digits: product.digits, exponent: min(280, exponent + 5)) : product
    }

    func isMultiple(of step: Decimal) -> Bool {
        let smallerExponent = min(exponent, step.exponent)
        return BigNatural(digits).timesPowerOfTen(exponent - smallerExponent)
            .isMultiple(of: BigNatural(step.digits).timesPowerOfTen(step.exponent - smallerExponent))
    }
}

extension Double {
    /// The 53 bits of a normal number. The number is these bits times two to the power of `unitExponent`.
    fileprivate var significandBits: UInt64 {
        self == 0 ? 0 : significandBitPattern | 1 << 52
    }

    fileprivate var unitExponent: Int {
        self == 0 ? 0 : Int(exponent) - 52
    }
}

/// A natural number of any size, stored as decimal digits, the last digit first.
struct BigNatural: Equatable {
    private var digits: [Int]

    init(_ text: some StringProtocol) {
        digits = text.compactMap(\.wholeNumberValue).reversed()
        trim()
    }

    init(_ value: UInt64) {
        self.init(String(value))
    }

    var isZero: Bool {
        digits.isEmpty
    }

    func timesPowerOfTen(_ power: Int) -> BigNatural {
        var product = self
        if !isZero { product.digits = Array(repeating: 0, count: power) + digits }
        return product
    }

    func timesPowerOfTwo(_ power: Int) -> BigNatural {
        var product = self
        for _ in 0..<power {
            var carry = 0
            for index in product.digits.indices {
                let doubled = product.digits[index] * 2 + carry
                product.digits[index] = doubled % 10
                carry = doubled / 10
            }
            if carry > 0 { product.digits.append(carry) }
        }
        return product
    }

    /// True if this number is a multiple of the divisor, by long division.
    func isMultiple(of divisor: BigNatural) -> Bool {
        var remainder = BigNatural(0)
        for digit in digits.reversed() {
            remainder.digits.insert(digit, at: 0)
            remainder.trim()
            while !remainder.isLess(than: divisor) { remainder.subtract(divisor) }
        }
        return remainder.isZero
    }

    func isLess(than other: BigNatural) -> Bool {
        if digits.count != other.digits.count { return digits.count < other.digits.count }
        for (left, right) in zip(digits.reversed(), other.digits.reversed()) where left != right { return left < right }
        return false
    }

    private mutating func subtract(_ other: BigNatural) {
        var borrow = 0
        for index in digits.indices {
            var difference = digits[index] - borrow - (index < other.digits.count ? other.digits[index] : 0)
            borrow = difference < 0 ? 1 : 0
            if difference < 0 { difference += 10 }
            digits[index] = difference
        }
        trim()
    }

    private mutating func trim() {
        while digits.last == 0 { digits.removeLast() }
    }
}
