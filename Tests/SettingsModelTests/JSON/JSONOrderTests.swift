import TestSupport
import Testing

@testable import SettingsModel

@Suite("The canonical order of JSON values")
struct JSONOrderTests {
    /// Each before the next.
    private static let ascending: [JSONValue] = [
        .null, false, true, .double(-.greatestFiniteMagnitude), .integer(.min), -1.5, -1, 0, -0.0, 0.0,
        .double(.leastNonzeroMagnitude), 0.5, 1, 1.0, 1.5,
        9_007_199_254_740_992.0, 9_007_199_254_740_993, .integer(.max), 9_223_372_036_854_775_808.0, "", "A", "a",
        "a\u{0}", "aa", "e\u{301}", "f", "\u{E9}", "\u{FFFF}", "\u{10000}", [], [.null], [.null, .null], [0], [0, 5],
        [1],
        [[]],
        [["a": 1]], [:], ["": 0], ["a": 1], ["a": 1, "b": 1], ["b": 1, "a": 2], ["a": 2, "c": 0], ["b": 0],
    ]

    @Test("Each of an ascending list comes before all that follow, none the other way round")
    func order() {
        for (leftPosition, left) in Self.ascending.enumerated() {
            for (rightPosition, right) in Self.ascending.enumerated() {
                #expect(left.precedesCanonically(right) == (leftPosition < rightPosition), "\(left) and \(right)")
            }
        }
    }

    @Test("Neither of two values that are equal comes first")
    func equal() {
        let pairs: [(JSONValue, JSONValue)] = [
            (1, 1), (-0.0, -0.0), (["a": 1, "b": [2.0]], ["b": [2.0], "a": 1]), ([], []), ("a", "a"),
        ]
        for (left, right) in pairs {
            #expect(!left.precedesCanonically(right) && !right.precedesCanonically(left), "\(left) and \(right)")
        }
    }

    @Test("Of any three values the order is total, strict and transitive")
    func triples() {
        for generator in FuzzBudget.generators(share: 0.3) {
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
                let ways = [
                    left.precedesCanonically(right), right.precedesCanonically(left), left == right,
                ]
                guard ways.filter(\.self).count == 1 else { return false }
                for third in values where left.precedesCanonically(right) && !right.isPreceded(by: third) {
                    guard left.precedesCanonically(third) else { return false }
                }
            }
        }
        return true
    }

    @Test("Sorting gives one text, whatever came first")
    func sorting() {
        for generator in FuzzBudget.generators(share: 0.1) {
            var random = RandomJSON(generator, vocabulary: .narrow)
            let values = Set((0..<8).map { _ in random.value(levels: 2) })
            let sorted = values.sorted { $0.precedesCanonically($1) }
            let again = values.shuffled(using: &random.generator).sorted { $0.precedesCanonically($1) }
            guard JSONValue.array(sorted).bytes(style: .canonical) == JSONValue.array(again).bytes(style: .canonical)
            else {
                Issue.record("seed \(generator.seed): \(sorted) and \(again)")
                return
            }
        }
    }
}

extension JSONValue {
    fileprivate func isPreceded(by other: JSONValue) -> Bool {
        other.precedesCanonically(self)
    }
}
