import TestSupport
import Testing

@testable import SettingsModel

@Suite("Patterns held against chance")
struct PatternFuzzTests {
    @Test("Random patterns match exactly where plain backtracking finds a match", arguments: UInt64(1)...24)
    func agreesWithBacktracking(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var compared = 0
        for round in 0..<600 {
            let sample = SamplePattern.random(depth: 4, using: &generator)
            let place = "seed \(seed), round \(round): \(sample.source)"
            let pattern: Pattern
            do {
                pattern = try Pattern(sample.source)
            } catch {
                Issue.record("\(place) was refused \(error)")
                continue
            }
            for _ in 0..<6 {
                let text = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                    "aab-".randomElement(using: &generator) ?? "a"
                }
                guard let expected = BacktrackingOracle.matches(sample, text) else { continue }
                var budget = 1_000_000
                #expect(pattern.matches(String(text), budget: &budget) == expected, "\(place) on \(String(text))")
                compared += 1
            }
        }
        #expect(compared > 3_000, "seed \(seed): the oracle gave up too often")
    }

    @Test("Random strings of pattern characters are compiled or refused, and never cost more than their size allows")
    func survivesGarbage() {
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
            let isSyntax = (try? Pattern.checkSyntax(source)) != nil
            do {
                let pattern = try Pattern(source)
                compiled += 1
                #expect(isSyntax, "seed \(seed), round \(round): \(source)")
                var budget = Int.max
                #expect(pattern.matches("aab9 é😀\n", budget: &budget) != nil)
            } catch {
                let scalars = source.unicodeScalars.count
                #expect((0...scalars).contains(error.offset), "seed \(seed), round \(round): \(source)")
                #expect(!error.reason.isEmpty)
                #expect(isSyntax == (error.kind != .syntax), "seed \(seed), round \(round): \(source)")
            }
        }
        #expect(compiled > 500, "seed \(seed): too few patterns were right")
    }
}
