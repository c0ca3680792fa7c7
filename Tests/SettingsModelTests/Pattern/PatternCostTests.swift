import TestSupport
import Testing

@testable import SettingsModel

/// The cost of a search is its number of steps. A step follows one edge of the automaton of the pattern.
@Suite(.ownThread)
struct PatternCostTests {
    /// A pattern, a text, whether they match, and the maximum number of steps for each scalar of the text.
    struct Case: Sendable, CustomTestStringConvertible {
        let source: String
        let text: @Sendable () -> String
        let isMatch: Bool
        let stepsPerScalar: Int

        init(_ source: String, _ isMatch: Bool, within stepsPerScalar: Int, _ text: @escaping @Sendable () -> String) {
            self.source = source
            self.text = text
            self.isMatch = isMatch
            self.stepsPerScalar = stepsPerScalar
        }

        var testDescription: String { source }
    }

    private static func check(_ sample: Case) throws {
        let pattern = try Pattern(sample.source)
        let text = sample.text()
        var budget = Int.max
        #expect(pattern.matches(text, budget: &budget) == sample.isMatch)
        let steps = Int.max - budget
        let scalars = text.unicodeScalars.count
        // A search may take 100 steps more, regardless of the length of the text.
        #expect(steps <= scalars * sample.stepsPerScalar + 100, "\(steps) steps for \(scalars) scalars")
    }

    static let ordinary: [Case] = [
        Case("^[a-z]+$", true, within: 2) { String(repeating: "q", count: 10_000) },
        Case(#"^\p{L}+$"#, true, within: 2) { String(repeating: "ж", count: 10_000) },
        Case("needle", false, within: 1) { String(repeating: "hay ", count: 2_500) },
        Case(#"^[\w.+-]+@[\w-]+(\.[\w-]+)+$"#, false, within: 2) { String(repeating: "a.b", count: 4_000) },
        Case(#"^\d{4}-\d{2}-\d{2}$"#, false, within: 1) { String(repeating: "2024-02-03", count: 1_000) },
        Case("x$", false, within: 1) { String(repeating: "y", count: 10_000) },
        Case("", true, within: 0) { String(repeating: "y", count: 10_000) },
    ]

    @Test("An ordinary pattern costs at most two steps for each scalar", arguments: ordinary)
    func ordinaryCost(sample: Case) throws {
        try Self.check(sample)
    }

    @Test(
        "A search ends when it finds a match or when no match is possible",
        arguments: [
            Case("^abc", false, within: 0) { "x" + String(repeating: "abc", count: 50_000) },
            Case("^(a|b)c$", false, within: 0) { String(repeating: "a", count: 100_000) },
            Case(#"(?:^|^\b)a*b"#, false, within: 0) { "c" + String(repeating: "ab", count: 50_000) },
            Case("b", true, within: 0) { "b" + String(repeating: "a", count: 100_000) },
        ])
    func earlyEnd(sample: Case) throws {
        try Self.check(sample)
    }

    /// The allowed steps for each scalar grow with the size of the pattern, but not with the length of the text.
    static let catastrophic: [Case] = [
        Case("(a+)+$", false, within: 6) { String(repeating: "a", count: 20_000) + "!" },
        Case("(a|aa)+$", false, within: 9) { String(repeating: "a", count: 20_000) + "!" },
        Case("^(a|a?)+$", false, within: 8) { String(repeating: "a", count: 20_000) + "!" },
        Case("^([a-zA-Z]+)*$", false, within: 6) { String(repeating: "a", count: 20_000) + "!" + "\n" },
        Case("^(([a-z])+.)+[A-Z]([a-z])+$", false, within: 8) { String(repeating: "a", count: 20_000) },
        Case("(x+x+)+y", false, within: 8) { String(repeating: "x", count: 20_000) },
        Case("^(a|b|ab)*c", false, within: 8) { String(repeating: "ab", count: 10_000) },
        Case("(.*a){20}c", false, within: 130) { String(repeating: "ab", count: 10_000) },
        Case("(.*a){20}", false, within: 130) {
            String(repeating: "a", count: 19) + String(repeating: "b", count: 20_000)
        },
        Case("(?:(?:a?){20}){20}c", false, within: 4_000) { String(repeating: "a", count: 300) },
        Case("^(?:a?){30}a{30}$", false, within: 600) { String(repeating: "a", count: 20_000) },
        Case("((a{0,10}){0,10}){0,10}b", false, within: 10_000) { String(repeating: "a", count: 100) },
        Case("(a*)*(a*)*(a*)*b", false, within: 20) { String(repeating: "a", count: 20_000) },
        Case("(|a)*(|a)*b", false, within: 20) { String(repeating: "a", count: 20_000) },
        Case(#"\s+$"#, false, within: 3) { String(repeating: " ", count: 20_000) + "x" },
        Case(#"<!--.*-->|<[^>]*>.*"[^"]*"$"#, false, within: 20) { String(repeating: "<!-- \"", count: 4_000) },
        Case(#"^((?:\d+-?)+)*\b$"#, false, within: 12) { String(repeating: "1-", count: 10_000) },
    ]

    @Test("A pattern for which backtracking takes more than linear time costs linear steps", arguments: catastrophic)
    func linearCost(sample: Case) throws {
        try Self.check(sample)
    }

    @Test
    func `An insufficient budget gives no result and is used up`() throws {
        let pattern = try Pattern("(a+)+$")
        let text = String(repeating: "a", count: 1_000) + "!"
        var budget = 500
        #expect(pattern.matches(text, budget: &budget) == nil)
        #expect(budget == 0)
        #expect(pattern.matches(text, budget: &budget) == nil)
        var negativeBudget = -5
        #expect(pattern.matches("", budget: &negativeBudget) == nil)
    }

    @Test
    func `A budget of exactly the cost suffices, and a budget of one step less does not`() throws {
        let pattern = try Pattern("^[a-z]+$")
        var ample = 1_000_000
        #expect(pattern.matches("abcdef", budget: &ample) == true)
        let cost = 1_000_000 - ample
        var exact = cost
        #expect(pattern.matches("abcdef", budget: &exact) == true)
        #expect(exact == 0)
        var short = cost - 1
        #expect(pattern.matches("abcdef", budget: &short) == nil)
    }

    @Test
    func `Alternatives that do not match also cost steps`() throws {
        var budget = Int.max
        let pattern = try Pattern(Array(repeating: #"\ba"#, count: 500).joined(separator: "|"))
        #expect(pattern.matches(String(repeating: "-", count: 100), budget: &budget) == false)
        #expect(Int.max - budget >= 500 * 100)
    }
}
