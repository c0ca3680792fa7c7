import TestSupport
import Testing

@testable import SettingsModel

@Suite(.ownThread)
struct PatternFuzzTests {
    @Test(arguments: UInt64(1)...24)
    func `Random patterns match the same texts as plain backtracking`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var compared = 0
        for round in 0..<600 {
            let sample = SamplePattern.random(depth: 4, using: &generator)
            let context = "seed \(seed), round \(round): \(sample.source)"
            let pattern: Pattern
            do {
                pattern = try Pattern(sample.source)
            } catch {
                Issue.record("\(context) was refused: \(error)")
                continue
            }
            for _ in 0..<6 {
                let text = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                    "aab-".randomElement(using: &generator) ?? "a"
                }
                guard let expected = BacktrackingOracle.matches(sample, text) else { continue }
                var budget = 1_000_000
                #expect(pattern.matches(String(text), budget: &budget) == expected, "\(context) on \(String(text))")
                compared += 1
            }
        }
        #expect(compared > 3_000, "seed \(seed): the oracle gave up too often")
    }

    @Test(
        "Random strings of pattern characters are compiled and searched or refused, in agreement with the syntax check")
    func randomSources() {
        let seed: UInt64 = 2026
        let pieces = [
            "(", ")", "(?:", "(?<n>", "(?<", "(?=", "(?!", "(?<=", "(?i:", "(?", "[", "]", "[^", "-", "{", "}", "{2}",
            "{,",
            "{2,}", "{1,3}", "{9999999999999999999999}", ",", "*", "+", "?", "|", "^", "$", ".", "\\", "\\b", "\\B",
            "\\d",
            "\\k<n>", "\\1", "\\u", "\\uD83D", "\\uDE00", "\\u{", "\\u{1F600}", "\\x", "\\x4", "\\c", "\\cA", "\\0",
            "\\p{L}",
            "\\P{", "\\p{Script=Greek}", "a", "b", "0", "9", "é", "e\u{301}", "😀", "\n", "\u{0}", "<", ">", "=", "!",
            ":", "n",
        ]
        var generator = SeededGenerator(seed: seed)
        var compiled = 0
        for round in 0..<8_000 {
            let length = Int.random(in: 0...14, using: &generator)
            let source = (0..<length).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let isValidSyntax = (try? Pattern.checkSyntax(source)) != nil
            do {
                let pattern = try Pattern(source)
                compiled += 1
                #expect(isValidSyntax, "seed \(seed), round \(round): \(source)")
                var budget = Int.max
                #expect(pattern.matches("aab9 é😀\n", budget: &budget) != nil)
            } catch {
                let scalars = source.unicodeScalars.count
                #expect((0...scalars).contains(error.offset), "seed \(seed), round \(round): \(source)")
                #expect(!error.reason.isEmpty)
                #expect(isValidSyntax == (error.kind != .syntax), "seed \(seed), round \(round): \(source)")
            }
        }
        #expect(compiled > 500, "seed \(seed): too few of the random patterns were valid")
    }
}

/// A random pattern. It can be written in ECMA-262 syntax, and matched by simple backtracking that shares no code with
/// the tested search.
indirect enum SamplePattern {
    case literal(Character)
    case any
    case oneOf([Character], inverted: Bool)
    case start
    case end
    case wordBoundary
    case notWordBoundary
    case sequence([SamplePattern])
    case choice([SamplePattern])
    /// The suffix is `?` for a lazy quantifier, which matches the same texts.
    case repeated(SamplePattern, minimum: Int, maximum: Int?, suffix: String)

    var source: String {
        switch self {
        case .literal(let character): String(character)
        case .any: "."
        case .oneOf(let characters, let inverted): "[" + (inverted ? "^" : "") + String(characters) + "]"
        case .start: "^"
        case .end: "$"
        case .wordBoundary: #"\b"#
        case .notWordBoundary: #"\B"#
        case .sequence(let terms): terms.map(\.source).joined()
        case .choice(let alternatives): "(" + alternatives.map(\.source).joined(separator: "|") + ")"
        case .repeated(let body, let minimum, let maximum, let suffix):
            "(?:\(body.source))\(Self.quantifier(minimum, maximum))\(suffix)"
        }
    }

    private static func quantifier(_ minimum: Int, _ maximum: Int?) -> String {
        switch (minimum, maximum) {
        case (0, nil): "*"
        case (1, nil): "+"
        case (0, 1): "?"
        case (_, nil): "{\(minimum),}"
        case (_, let maximum?): minimum == maximum ? "{\(minimum)}" : "{\(minimum),\(maximum)}"
        }
    }
}

extension SamplePattern {
    /// A random pattern of the letters a and b, so that about half of all random texts match.
    static func random(depth: Int, using generator: inout SeededGenerator) -> SamplePattern {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 6), using: &generator) {
        case 0...2: return .literal("ab".randomElement(using: &generator) ?? "a")
        case 3:
            return .oneOf(
                [["a"], ["b"], ["a", "b"], ["-", "a"]].randomElement(using: &generator) ?? [],
                inverted: Bool.random(using: &generator))
        case 4: return .any
        case 5: return [.start, .end, .wordBoundary, .notWordBoundary].randomElement(using: &generator) ?? .start
        case 6...7: return .sequence(several(0...3, depth: depth - 1, using: &generator))
        case 8...9: return .choice(several(1...3, depth: depth - 1, using: &generator))
        default:
            let minimum = Int.random(in: 0...2, using: &generator)
            let spread = [0, 1, 2, nil].randomElement(using: &generator) ?? nil
            return .repeated(
                random(depth: depth - 1, using: &generator), minimum: minimum, maximum: spread.map { minimum + $0 },
                suffix: Bool.random(using: &generator) ? "?" : "")
        }
    }

    private static func several(
        _ counts: ClosedRange<Int>, depth: Int, using generator: inout SeededGenerator
    ) -> [SamplePattern] {
        var samples: [SamplePattern] = []
        for _ in 0..<Int.random(in: counts, using: &generator) {
            samples.append(random(depth: depth, using: &generator))
        }
        return samples
    }
}

/// Matches by backtracking, as ECMA-262 describes matching: tries one alternative after the other, until an alternative
/// reaches the end of the pattern.
struct BacktrackingOracle {
    private let text: [Character]
    /// The number of steps that are left.
    private var remainingSteps: Int

    /// Returns nil if backtracking takes `remainingSteps` steps or more. The tested code does not use backtracking,
    /// because backtracking can take exponential time.
    static func matches(_ pattern: SamplePattern, _ text: [Character], remainingSteps: Int = 20_000) -> Bool? {
        var oracle = BacktrackingOracle(text: text, remainingSteps: remainingSteps)
        let isMatch = (0...text.count).contains { start in
            oracle.match(pattern, at: start) { _, _ in true }
        }
        return oracle.remainingSteps > 0 ? isMatch : nil
    }

    private typealias Continuation = (inout BacktrackingOracle, Int) -> Bool

    private mutating func match(_ pattern: SamplePattern, at index: Int, then next: Continuation) -> Bool {
        remainingSteps -= 1
        guard remainingSteps > 0 else { return false }
        switch pattern {
        case .literal(let character):
            return index < text.count && text[index] == character && next(&self, index + 1)
        case .any:
            return index < text.count && text[index] != "\n" && next(&self, index + 1)
        case .oneOf(let characters, let inverted):
            return index < text.count && characters.contains(text[index]) != inverted && next(&self, index + 1)
        case .start: return index == 0 && next(&self, index)
        case .end: return index == text.count && next(&self, index)
        case .wordBoundary: return isWord(index - 1) != isWord(index) && next(&self, index)
        case .notWordBoundary: return isWord(index - 1) == isWord(index) && next(&self, index)
        case .sequence(let terms): return match(terms[...], at: index, then: next)
        case .choice(let alternatives):
            return alternatives.contains { match($0, at: index, then: next) }
        case .repeated(let body, let minimum, let maximum, _):
            return repeated(body, minimum, maximum, at: index, then: next)
        }
    }

    private mutating func match(_ terms: ArraySlice<SamplePattern>, at index: Int, then next: Continuation) -> Bool {
        guard let first = terms.first else { return next(&self, index) }
        return match(first, at: index) { oracle, end in oracle.match(terms.dropFirst(), at: end, then: next) }
    }

    private mutating func repeated(
        _ body: SamplePattern, _ minimum: Int, _ maximum: Int?, at index: Int, then next: Continuation
    ) -> Bool {
        if minimum == 0, next(&self, index) { return true }
        if maximum == 0 { return false }
        return match(body, at: index) { oracle, end in
            // An optional repetition that consumes nothing gives no new result.
            if minimum == 0, end == index { return false }
            return oracle.repeated(body, max(0, minimum - 1), maximum.map { $0 - 1 }, at: end, then: next)
        }
    }

    private func isWord(_ index: Int) -> Bool {
        text.indices.contains(index) && text[index].isLetter
    }
}
