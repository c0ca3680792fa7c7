import SettingsModel
import TestSupport
import Testing

@Suite("Suggestions of names")
struct NameSuggestionTests {
    static let names = ["launchCount", "launchDate", "player.volume", "theme", "username", "e\u{301}t\u{E9}"]

    @Test(
        "A typo finds the name that was meant",
        arguments: [
            ("lanchCount", ["launchCount"]),
            ("LAUNCHCOUNT", ["launchCount"]),
            ("laucnhCount", ["launchCount"]),
            ("player.volum", ["player.volume"]),
            ("teme", ["theme"]),
            ("wholly.different", []),
            ("", []),
        ])
    func typo(name: String, expected: [String]) {
        #expect(NameSuggestion.nearest(to: name, among: Self.names) == expected)
    }

    @Test("The nearest comes first and names as near in the order of their bytes")
    func order() {
        let names = ["abcf", "abc", "abcd1", "abcde", "abce"]
        #expect(NameSuggestion.nearest(to: "abcd", among: names) == ["abc", "abcd1", "abcde"])
    }

    @Test("A name longer than any key is not compared with anything")
    func longName() {
        let long = String(repeating: "a", count: 100_000)
        #expect(NameSuggestion.nearest(to: long, among: [long]) == [])
    }

    /// The whole table, for comparison.
    private static func plainDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var table = (0...left.count).map { row in (0...right.count).map { row == 0 ? $0 : (($0 == 0) ? row : 0) } }
        for row in left.indices {
            for column in right.indices {
                var best = min(
                    table[row][column] + (left[row] == right[column] ? 0 : 1), table[row][column + 1] + 1,
                    table[row + 1][column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, table[row - 1][column - 1] + 1)
                }
                table[row + 1][column + 1] = best
            }
        }
        return table[left.count][right.count]
    }

    @Test("The band of the table finds what the whole table finds")
    func band() {
        var generator = SeededGenerator(seed: .random(in: 0 ... .max))
        for _ in 0..<3_000 {
            let names = (0..<2).map { _ in (0..<generator.below(14)).map { _ in UInt8(97 + generator.below(3)) } }
            let tolerance = max(1, names[0].count / 3)
            let isNear = Self.plainDistance(names[0], names[1]) <= tolerance
            let texts = names.map { String(decoding: $0, as: UTF8.self) }
            let found = !NameSuggestion.nearest(to: texts[0], among: [texts[1]]).isEmpty
            #expect(found == isNear, "\(texts), seed \(generator.seed)")
        }
    }
}
