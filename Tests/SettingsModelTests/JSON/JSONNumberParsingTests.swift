import SettingsModel
import TestSupport
import Testing

struct JSONNumberParsingTests {
    @Test(
        "A number without fraction and exponent is parsed as an exact integer",
        arguments: [
            ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("10", 10), ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("-9223372036854775807", -.max),
            ("1000000000000000000", 1_000_000_000_000_000_000),
        ] as [(String, Int64)])
    func integers(text: String, value: Int64) throws {
        #expect(try JSONValue(parsing: text) == .integer(value))
        #expect(try JSONValue(parsing: "[\(text)]") == [.integer(value)])
    }

    @Test(
        "A number with a fraction or an exponent is parsed as the nearest double",
        arguments: [
            ("0.0", 0), ("-0.0", 0x8000_0000_0000_0000), ("0e0", 0), ("-0e5", 0x8000_0000_0000_0000),
            ("0e999999999999999999999", 0), ("-0.000e-99", 0x8000_0000_0000_0000),
            ("1.0", 0x3FF0_0000_0000_0000), ("1e0", 0x3FF0_0000_0000_0000), ("10e-1", 0x3FF0_0000_0000_0000),
            ("1E+2", 0x4059_0000_0000_0000), ("1e2", 0x4059_0000_0000_0000), ("1E002", 0x4059_0000_0000_0000),
            ("0.1", 0x3FB9_9999_9999_999A), ("-0.1", 0xBFB9_9999_9999_999A),
            ("0.1000000000000000055511151231257827021181583404541015625", 0x3FB9_9999_9999_999A),
            ("1e-400", 0), ("-1e-400", 0x8000_0000_0000_0000), ("1e-99999999999999999999", 0),
            ("5e-324", 1), ("4.9406564584124654e-324", 1),
            ("2.4703282292062328e-324", 1), ("2.4703282292062327e-324", 0),
            ("2.2250738585072011e-308", 0x000F_FFFF_FFFF_FFFF), ("2.2250738585072012e-308", 0x0010_0000_0000_0000),
            ("2.2250738585072014e-308", 0x0010_0000_0000_0000),
            ("1.7976931348623157e308", 0x7FEF_FFFF_FFFF_FFFF), ("1.7976931348623158e308", 0x7FEF_FFFF_FFFF_FFFF),
            ("-1.7976931348623157E+308", 0xFFEF_FFFF_FFFF_FFFF),
            ("9007199254740992.0", 0x4340_0000_0000_0000),
            // A number exactly between two doubles is rounded to the even double, and a slightly larger number is
            // rounded up.
            ("9007199254740993.0", 0x4340_0000_0000_0000), ("9007199254740995.0", 0x4340_0000_0000_0002),
            ("9007199254740993.00000000000000000000000000001", 0x4340_0000_0000_0001),
            ("9223372036854775807.0", 0x43E0_0000_0000_0000), ("18446744073709551616.0", 0x43F0_0000_0000_0000),
            ("1e22", 0x4480_F0CF_064D_D592), ("1e23", 0x44B5_2D02_C7E1_4AF6), ("100e21", 0x44B5_2D02_C7E1_4AF6),
            ("9007199254740991e0", 0x433F_FFFF_FFFF_FFFF),
            ("3.14159265358979323846264338327950288", 0x4009_21FB_5444_2D18),
        ] as [(String, UInt64)])
    func doubles(text: String, bitPattern: UInt64) throws {
        let double = try #require(Self.double(in: JSONValue(parsing: text)))
        #expect(double.bitPattern == bitPattern, "\(double)")
    }

    @Test("A random decimal text is read as the nearest double, bit by bit, or refused if that double is infinite")
    func decimalTexts() throws {
        var generator = SeededGenerator(seed: FuzzBudget.firstSeed)
        for _ in 0..<50_000 {
            let text = Self.decimalText(&generator)
            let nearest = try #require(Double(text))
            let parsed = try? JSONValue(parsing: text)
            let expected: JSONValue? = nearest.isFinite ? .double(nearest) : .none
            guard parsed == expected else {
                Issue.record(
                    "seed \(generator.seed): \(text) was read as \(String(describing: parsed)), not \(nearest)")
                return
            }
        }
    }

    @Test("Finite doubles of random bits have the same bits after writing and reading")
    func doubleBits() throws {
        var random = RandomJSON(SeededGenerator(seed: FuzzBudget.firstSeed))
        for _ in 0..<50_000 {
            let double = random.finiteDouble()
            let text = JSONValue.double(double).text()
            guard try Self.double(in: JSONValue(parsing: text))?.bitPattern == double.bitPattern else {
                Issue.record("seed \(random.generator.seed): \(double) with bits \(double.bitPattern) as \(text)")
                return
            }
        }
    }

    @Test("Doubles next to powers of two and of ten are equal after writing and reading")
    func doubleNeighbours() throws {
        let powersOfTwo = (-1074...1023).map { Double(sign: .plus, exponent: $0, significand: 1) }
        let powersOfTen = (-323...308).compactMap { Double("1e\($0)") }
        for power in powersOfTwo + powersOfTen {
            for double in [power, power.nextUp, power.nextDown, -power] where double.isFinite {
                let value = JSONValue.double(double)
                guard try JSONValue(parsing: value.bytes()) == value else {
                    Issue.record("\(double) is not equal after writing and reading")
                    return
                }
            }
        }
    }

    private static func double(in value: JSONValue) -> Double? {
        if case .double(let double) = value { double } else { nil }
    }

    /// Returns a random number with a fraction, an exponent or both. The number is often near 2⁵³ or has many digits,
    /// because the parser has a fast method for numbers with few digits and small exponents.
    private static func decimalText(_ generator: inout SeededGenerator) -> String {
        var text = generator.chance(oneIn: 4) ? "-" : ""
        switch generator.below(4) {
        case 0: text += String(UInt64(1) << 53 - UInt64(3) + UInt64(generator.below(6)))
        case 1: text += String(generator.below(1_000))
        default: text += String(1 + generator.below(9)) + digits(generator.below(25), &generator)
        }
        let hasFraction = Bool.random(using: &generator)
        if hasFraction { text += "." + digits(1 + generator.below(25), &generator) }
        if !hasFraction || Bool.random(using: &generator) {
            let range = generator.chance(oneIn: 3) ? 340 : 25
            text += generator.pick(["e", "E", "e+", "e-", "E-"]) + String(generator.below(range))
        }
        return text
    }

    private static func digits(_ count: Int, _ generator: inout SeededGenerator) -> String {
        let areZeros = generator.chance(oneIn: 4)
        return (0..<count).map { _ in areZeros ? "0" : String(generator.below(10)) }.joined()
    }
}
