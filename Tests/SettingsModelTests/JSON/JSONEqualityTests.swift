import TestSupport
import Testing

@testable import SettingsModel

/// In the random tests, the vocabulary `narrow` has few values and names, so that two random values are often equal.
/// The vocabulary `wide` has all values of Int64 and all finite doubles. The `==` of `MathematicalJSON`, which contains
/// a value, is mathematical equality.
struct JSONEqualityTests {
    /// Two values, and whether they are equal: exactly, and mathematically (the integer 1 equals the double 1.0).
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let left: JSONValue
        let right: JSONValue
        let isEqual: Bool
        let isMathematicallyEqual: Bool

        init(_ name: String, _ left: JSONValue, _ right: JSONValue, equal: Bool, mathematically: Bool) {
            testDescription = name
            self.left = left
            self.right = right
            isEqual = equal
            isMathematicallyEqual = mathematically
        }
    }

    static let numbers: [Pair] = [
        Pair("1 and 1", 1, 1, equal: true, mathematically: true),
        Pair("1 and 2", 1, 2, equal: false, mathematically: false),
        Pair("1 and 1.0", 1, 1.0, equal: false, mathematically: true),
        Pair("1 and 1.5", 1, 1.5, equal: false, mathematically: false),
        Pair("0.0 and -0.0", 0.0, -0.0, equal: false, mathematically: true),
        Pair("0 and -0.0", 0, -0.0, equal: false, mathematically: true),
        Pair("0 and the least double", 0, .double(.leastNonzeroMagnitude), equal: false, mathematically: false),
        Pair(
            "2⁵³ as an integer and as a double", 9_007_199_254_740_992, 9_007_199_254_740_992.0, equal: false,
            mathematically: true),
        Pair("2⁵³ + 1 and 2⁵³", 9_007_199_254_740_993, 9_007_199_254_740_992.0, equal: false, mathematically: false),
        Pair(
            "2⁵³ + 1 and 2⁵³ + 2", 9_007_199_254_740_993, 9_007_199_254_740_994.0, equal: false, mathematically: false),
        Pair("Int64.max and 2⁶³", .integer(.max), 9_223_372_036_854_775_808.0, equal: false, mathematically: false),
        Pair("Int64.min and -2⁶³", .integer(.min), -9_223_372_036_854_775_808.0, equal: false, mathematically: true),
        Pair("Int64.max and Int64.min", .integer(.max), .integer(.min), equal: false, mathematically: false),
        Pair("1e300 twice", 1e300, 1e300, equal: true, mathematically: true),
        Pair("neighbouring doubles", 0.1, .double(0.1.nextUp), equal: false, mathematically: false),
    ]

    static let kinds: [Pair] = [
        Pair("null and null", .null, .null, equal: true, mathematically: true),
        Pair("null and false", .null, false, equal: false, mathematically: false),
        Pair("null and 0", .null, 0, equal: false, mathematically: false),
        Pair("true and true", true, true, equal: true, mathematically: true),
        Pair("true and false", true, false, equal: false, mathematically: false),
        Pair("true and 1", true, 1, equal: false, mathematically: false),
        Pair("false and 0.0", false, 0.0, equal: false, mathematically: false),
        Pair("a number and the string of its digits", 1, "1", equal: false, mathematically: false),
        Pair("equal texts", "a", "a", equal: true, mathematically: true),
        Pair("two letter cases", "a", "A", equal: false, mathematically: false),
        Pair("a text and a longer text", "a", "ab", equal: false, mathematically: false),
        Pair("the empty text and null", "", .null, equal: false, mathematically: false),
        Pair("an empty array and an empty object", [], [:], equal: false, mathematically: false),
        Pair("a value and an array of it", 1, [1], equal: false, mathematically: false),
    ]

    static let containers: [Pair] = [
        Pair("empty arrays", [], [], equal: true, mathematically: true),
        Pair("empty objects", [:], [:], equal: true, mathematically: true),
        Pair("elements in another order", [1, 2], [2, 1], equal: false, mathematically: false),
        Pair("an element more", [1], [1, 1], equal: false, mathematically: false),
        Pair("an integer and an equal double as elements", [1, 2.0], [1.0, 2], equal: false, mathematically: true),
        Pair("members in another order", ["a": 1, "b": 2], ["b": 2, "a": 1], equal: true, mathematically: true),
        Pair("members exchanged", ["a": 1, "b": 2], ["a": 2, "b": 1], equal: false, mathematically: false),
        Pair("a member more", ["a": 1], ["a": 1, "b": 2], equal: false, mathematically: false),
        Pair("a null member and no member", ["a": .null], [:], equal: false, mathematically: false),
        Pair("another name", ["a": 1], ["b": 1], equal: false, mathematically: false),
        Pair(
            "some of the names", ["a": 1, "b": 1, "c": 1], ["b": 1, "a": 1, "d": 1], equal: false, mathematically: false
        ),
        Pair(
            "nested, in another order", [["a": ["x": 1, "y": 2], "b": []]], [["b": [], "a": ["y": 2, "x": 1]]],
            equal: true,
            mathematically: true),
        Pair(
            "nested, in another order, with an integer and an equal double", ["a": [["x": 0, "y": 2]]],
            ["a": [["y": 2.0, "x": -0.0]]],
            equal: false,
            mathematically: true),
        Pair("nested, another number", ["a": [["x": 1]]], ["a": [["x": 1.5]]], equal: false, mathematically: false),
    ]

    @Test(
        "Both kinds of equality have the expected result in both directions, and equal values have equal hashes",
        arguments: numbers + kinds + containers)
    func equality(_ pair: Pair) {
        #expect((pair.left == pair.right) == pair.isEqual)
        #expect((pair.right == pair.left) == pair.isEqual)
        #expect(pair.left.isMathematicallyEqual(to: pair.right) == pair.isMathematicallyEqual)
        #expect(pair.right.isMathematicallyEqual(to: pair.left) == pair.isMathematicallyEqual)
        #expect((MathematicalJSON(pair.left) == MathematicalJSON(pair.right)) == pair.isMathematicallyEqual)
        if pair.isEqual { #expect(pair.left.hashValue == pair.right.hashValue) }
        if pair.isMathematicallyEqual {
            #expect(MathematicalJSON(pair.left).hashValue == MathematicalJSON(pair.right).hashValue)
        }
    }

    @Test("A value with reordered members is equal and has the same hash")
    func reordered() {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for generator in FuzzBudget.generators(roundsFactor: 0.5) {
            var random = RandomJSON(generator)
            let value = random.value(levels: 4)
            let same = random.reordered(value)
            guard value == same, same == value, value.hashValue == same.hashValue, value.isMathematicallyEqual(to: same)
            else {
                Issue.record("seed \(generator.seed): \(value) and \(same)")
                return
            }
        }
    }

    @Test("A value stays mathematically equal, with the same hash, if integers become doubles or the reverse")
    func respelled() {
        for generator in FuzzBudget.generators(roundsFactor: 0.5) {
            for vocabulary in [RandomJSON.Vocabulary.wide, .narrow] {
                var random = RandomJSON(generator, vocabulary: vocabulary)
                let value = random.value(levels: 4)
                let same = random.respelled(value)
                let (left, right) = (MathematicalJSON(value), MathematicalJSON(same))
                guard left == right, right == left, left.hashValue == right.hashValue else {
                    Issue.record("seed \(generator.seed): \(value) and \(same)")
                    return
                }
            }
        }
    }

    @Test("Both kinds of equality are symmetric, equal values are equal mathematically, and their hashes are equal")
    func agreement() {
        for generator in FuzzBudget.generators() {
            var random = RandomJSON(generator, vocabulary: .narrow)
            let (left, right) = (random.value(levels: 2), random.value(levels: 2))
            let areEqual = left == right
            let areMathematicallyEqual = left.isMathematicallyEqual(to: right)
            let isConsistent =
                (right == left) == areEqual
                && right.isMathematicallyEqual(to: left) == areMathematicallyEqual
                && (!areEqual || (areMathematicallyEqual && left.hashValue == right.hashValue))
                && (!areMathematicallyEqual || MathematicalJSON(left).hashValue == MathematicalJSON(right).hashValue)
            guard isConsistent else {
                Issue.record("seed \(generator.seed): \(left) and \(right)")
                return
            }
        }
    }

    @Test("A set of MathematicalJSON values finds an integer by an equal double, and a double by an equal integer")
    func mathematicalSet() {
        let set: Set<MathematicalJSON> = [
            MathematicalJSON(1), MathematicalJSON([0, ["a": 2.0]]), MathematicalJSON(1.0),
        ]
        #expect(set.count == 2)
        #expect(set.contains(MathematicalJSON(1.0)))
        #expect(set.contains(MathematicalJSON([-0.0, ["a": 2]])))
        #expect(!set.contains(MathematicalJSON(1.5)))
    }
}

struct JSONOrderTests {
    /// Values in the canonical order, which `precedesCanonically` defines: first by kind, and then by value. An integer
    /// precedes an equal double. Objects are compared by their sorted members.
    private static let ascending: [JSONValue] = [
        .null, false, true, .double(-.greatestFiniteMagnitude), .integer(.min), -1.5, -1, 0, -0.0, 0.0,
        .double(.leastNonzeroMagnitude), 0.5, 1, 1.0, 1.5,
        9_007_199_254_740_992.0, 9_007_199_254_740_993, .integer(.max), 9_223_372_036_854_775_808.0, "", "A", "a",
        "a\u{0}", "aa", "e\u{301}", "f", "\u{E9}", "\u{FFFF}", "\u{10000}", [], [.null], [.null, .null], [0], [0, 5],
        [1],
        [[]],
        [["a": 1]], [:], ["": 0], ["a": 1], ["a": 1, "b": 1], ["b": 1, "a": 2], ["a": 2, "c": 0], ["b": 0],
    ]

    @Test("Each value of an ascending list precedes all later values, and no other value")
    func order() {
        for (leftPosition, left) in Self.ascending.enumerated() {
            for (rightPosition, right) in Self.ascending.enumerated() {
                #expect(left.precedesCanonically(right) == (leftPosition < rightPosition), "\(left) and \(right)")
            }
        }
    }

    @Test("The canonical order of values is total, strict and transitive")
    func triples() {
        for generator in FuzzBudget.generators(roundsFactor: 0.3) {
            for vocabulary in [RandomJSON.Vocabulary.narrow, .wide] {
                var random = RandomJSON(generator, vocabulary: vocabulary)
                let values = (0..<3).map { _ in random.value(levels: 2) }
                guard Self.isOrdered(values) else {
                    Issue.record("seed \(generator.seed): \(values)")
                    return
                }
            }
        }
    }

    private static func isOrdered(_ values: [JSONValue]) -> Bool {
        for left in values {
            if left.precedesCanonically(left) { return false }
            for right in values {
                let relations = [
                    left.precedesCanonically(right), right.precedesCanonically(left), left == right,
                ]
                guard relations.filter(\.self).count == 1 else { return false }
                for third in values where left.precedesCanonically(right) && !right.isPreceded(by: third) {
                    guard left.precedesCanonically(third) else { return false }
                }
            }
        }
        return true
    }
}

extension JSONValue {
    fileprivate func isPreceded(by other: JSONValue) -> Bool {
        other.precedesCanonically(self)
    }
}
