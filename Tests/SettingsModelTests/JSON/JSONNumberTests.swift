import TestSupport
import Testing

@testable import SettingsModel

@Suite("The order of numbers of two kinds")
struct JSONNumberTests {
    /// Each less than the next.
    private static let ascending: [JSONNumber] = [
        .double(-Double.infinity), .double(-Double.greatestFiniteMagnitude), .double(-9_223_372_036_854_777_856),
        .integer(Int64.min), .integer(-9_223_372_036_854_775_807), .integer(-9_223_372_036_854_774_785),
        .double(-9_223_372_036_854_774_784), .integer(-9_223_372_036_854_774_783), .integer(-9_007_199_254_740_993),
        .double(-9_007_199_254_740_992), .integer(-2), .double(-1.5), .integer(-1), .double(-0.5),
        .double(-Double.leastNonzeroMagnitude),
        .integer(0), .double(Double.leastNonzeroMagnitude), .double(0.5), .integer(1), .double(1.0000000000000002),
        .double(1.5), .integer(2),
        .double(9_007_199_254_740_992), .integer(9_007_199_254_740_993), .double(9_007_199_254_740_994),
        .integer(9_007_199_254_740_995), .integer(9_223_372_036_854_774_783), .double(9_223_372_036_854_774_784),
        .integer(9_223_372_036_854_774_785), .integer(Int64.max), .double(9_223_372_036_854_775_808),
        .double(Double.greatestFiniteMagnitude), .double(Double.infinity),
    ]

    @Test("Each of an ascending list is less than all that follow, none the other way round")
    func order() {
        for (leftPosition, left) in Self.ascending.enumerated() {
            for (rightPosition, right) in Self.ascending.enumerated() {
                #expect(left.isLess(than: right) == (leftPosition < rightPosition), "\(left) and \(right)")
                #expect((left == right) == (leftPosition == rightPosition), "\(left) and \(right)")
            }
        }
    }

    @Test("The order is the same once doubles that are integers are taken as such")
    func reducedOrder() {
        let reduced = Self.ascending.map { number in
            if case .double(let double) = number { JSONNumber(reduced: double) } else { number }
        }
        for (leftPosition, left) in reduced.enumerated() {
            for (rightPosition, right) in reduced.enumerated() {
                #expect(left.isLess(than: right) == (leftPosition < rightPosition), "\(left) and \(right)")
            }
        }
    }

    @Test(
        "A double that is an integer is less than neither the integer nor the other way round",
        arguments: [
            (0, 0.0), (0, -0.0), (1, 1.0), (-1, -1.0), (9_007_199_254_740_992, 9_007_199_254_740_992),
            (.min, -9_223_372_036_854_775_808),
            (9_223_372_036_854_774_784, 9_223_372_036_854_774_784),
        ] as [(Int64, Double)])
    func equal(integer: Int64, double: Double) {
        for form in [JSONNumber.double(double), JSONNumber(reduced: double)] {
            #expect(!JSONNumber.integer(integer).isLess(than: form))
            #expect(!form.isLess(than: .integer(integer)))
        }
        #expect(JSONNumber(reduced: double) == .integer(integer))
    }

    @Test(
        "A double that no Int64 equals stays a double",
        arguments: [0.5, -1.5, 9_223_372_036_854_775_808, 1e300, -9_223_372_036_854_777_856, .leastNonzeroMagnitude])
    func notReduced(double: Double) {
        #expect(JSONNumber(reduced: double) == .double(double))
    }

    @Test("Only numbers have a number")
    func kinds() {
        #expect(JSONNumber(2 as JSONValue) == .integer(2))
        #expect(JSONNumber(2.0 as JSONValue) == .integer(2))
        #expect(JSONNumber(2.5 as JSONValue) == .double(2.5))
        for value: JSONValue in [.null, true, "2", [2], ["a": 2]] { #expect(JSONNumber(value) == nil) }
    }

    @Test("Integers and doubles near each other are ordered as exact arithmetic orders them")
    func neighbours() {
        for var generator in FuzzBudget.generators() {
            let integer = Int64(bitPattern: generator.next()) >> Int64(generator.below(63))
            let nearest = Double(integer)
            let double = generator.pick([nearest, nearest.nextUp, nearest.nextDown, nearest + 0.5])
            guard abs(double) < 0x1p63 else { continue }
            // The integral part is exact; what is left of the double decides between equal integers.
            let floor = Int64(double.rounded(.down))
            let isLess = integer < floor || (integer == floor && double != double.rounded(.down))
            let isGreater = integer > floor
            let (left, right) = (JSONNumber.integer(integer), JSONNumber.double(double))
            guard left.isLess(than: right) == isLess, right.isLess(than: left) == isGreater else {
                Issue.record("seed \(generator.seed): \(integer) and \(double)")
                return
            }
        }
    }
}
