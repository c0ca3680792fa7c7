import SettingsModel
import TestSupport
import Testing

struct NameSuggestionTests {
    static let names = ["launchCount", "launchDate", "player.volume", "theme", "username", "e\u{301}t\u{E9}"]

    // A misspelt name without a dot is also compared with the last part of each name, so `Volme` has a suggestion, and
    // `audio.volume` has none.
    @Test(
        "The suggestion for a misspelt name is the intended name, and a different name gets no suggestion",
        arguments: [
            ("lanchCount", ["launchCount"]),
            ("LAUNCHCOUNT", ["launchCount"]),
            ("laucnhCount", ["launchCount"]),
            ("player.volum", ["player.volume"]),
            ("teme", ["theme"]),
            ("volume", ["player.volume"]),
            ("Volme", ["player.volume"]),
            ("audio.volume", []),
            ("wholly.different", []),
            ("", []),
        ])
    func typo(name: String, expected: [String]) {
        #expect(NameSuggestion.nearest(to: name, among: Self.names) == expected)
    }

    @Test("Suggestions with the same distance are ordered by bytes, and the default limit is three suggestions")
    func order() {
        let names = ["abcf", "abc", "abcd1", "abcde", "abce"]
        #expect(NameSuggestion.nearest(to: "abcd", among: names) == ["abc", "abcd1", "abcde"])
    }

    @Test("Names whose last part is similar come after names that are similar as a whole")
    func lastPart() {
        let names = ["a.volumes", "b.volume", "volumf", "c.volume", "a.volume.b", "x.volumes.volumes"]
        #expect(NameSuggestion.nearest(to: "volume", among: names) == ["volumf", "b.volume", "c.volume"])
        #expect(NameSuggestion.nearest(to: "volume", among: names, limit: 1) == ["volumf"])
        #expect(NameSuggestion.nearest(to: "on", among: ["a.of", "b.on"]) == ["b.on"])
    }

    @Test("A misspelt name that is too long gets no suggestion")
    func longName() {
        let long = String(repeating: "a", count: 100_000)
        #expect(NameSuggestion.nearest(to: long, among: [long]) == [])
    }

    static let manyNames = (0..<100_000).map { "player.key\(100_000 + $0).volume" }

    @Test(
        "The intended name is found among 100,000 names with fewer than 3,000 comparisons",
        arguments: [
            "player.key150000.volum", "player.key150000.vloume", "player.kye150000.volume", "plaayer.key150000.volume",
            "player.key150000.volumes", "xplayer.key150000.volume",
            "lpayer.key150000.volume", "Player.key150000.volume", "player.key150000volume",
        ])
    func many(name: String) {
        var count = 0
        let counted = Self.manyNames.lazy.map { name in
            count += 1
            return name
        }
        #expect(NameSuggestion.nearest(to: name, amongOrdered: counted).first == "player.key150000.volume")
        #expect(count < 3_000)
    }

    @Test("The search among 400 ordered names finds the same names as the comparison with all names")
    func orderedSearch() {
        let names = (100..<500).map { "\($0 * 7 % 1000).section.setting\($0)" }.sorted { $0.precedesInBytes($1) }
        for name in names {
            let typo = "x" + name.dropFirst()
            #expect(
                NameSuggestion.nearest(to: typo, amongOrdered: names) == NameSuggestion.nearest(to: typo, among: names))
            #expect(NameSuggestion.nearest(to: typo, amongOrdered: names).contains(name))
        }
    }

    @Test("A search among a million long and similar names compares fewer than 1,500 names")
    func bound() {
        var count = 0
        let names = (0..<1_000_000).lazy.map { number in
            count += 1
            return String(repeating: "a", count: 57) + "\(1_000_000 + number)"
        }
        #expect(!NameSuggestion.nearest(to: String(repeating: "a", count: 64), among: names).isEmpty)
        #expect(count < 1_500)
    }

    /// Computes the optimal string alignment distance with the complete table, for comparison.
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

    private static func mistyped(_ name: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var name = name
        for _ in 0..<generator.below(2 + name.count * 2 / 3) {
            let position = generator.below(name.count + 1)
            switch generator.below(4) {
            case 0: name.insert(UInt8(97 + generator.below(3)), at: position)
            case 1 where position < name.count: name.remove(at: position)
            case 2 where position < name.count: name[position] = UInt8(97 + generator.below(3))
            case 3 where position + 1 < name.count: name.swapAt(position, position + 1)
            default: break
            }
        }
        return name
    }

    @Test("A name is suggested if and only if its distance is at most 1, or at most a third of the misspelt length")
    func distance() {
        // A share of 0 gives one seed, which is another seed in each run. The letters of the names are a, b and c (97
        // to 99).
        var generator = SeededGenerator(seed: FuzzBudget.randomSeeds(roundsFactor: 0)[0])
        for round in 0..<3_000 {
            // A name of more than 64 bytes gets no suggestion.
            let lengthLimit = round % 30 == 0 ? 65 : 14
            var names = (0..<2).map { _ in
                (0..<generator.below(lengthLimit)).map { _ in UInt8(97 + generator.below(3)) }
            }
            // Names that differ in a few positions, about as many as the tolerance allows.
            if generator.chance(oneIn: 2) { names[1] = Self.mistyped(names[0], &generator) }
            let tolerance = max(1, names[0].count / 3)
            let isNear = Self.plainDistance(names[0], names[1]) <= tolerance
            let texts = names.map { String(decoding: $0, as: UTF8.self) }
            let found = !NameSuggestion.nearest(to: texts[0], among: [texts[1]]).isEmpty
            #expect(found == isNear, "\(texts), seed \(generator.seed)")
        }
    }
}
