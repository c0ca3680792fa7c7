import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

@Suite("Bounds between names")
struct NameBoundsTests {
    /// Names that share beginnings of any length, also more than is held as one number, and some that end within them.
    private static func name(_ random: inout SeededGenerator) -> String {
        var name = random.pick(["", "a", "settings.of.the.", "settings.of.the.player.volume."])
        for _ in 0..<random.below(12) { name += random.pick(["\u{0}", "a", "a", "a", "b", "\u{E9}"]) }
        return name
    }

    private static func place(of name: String, in names: [String]) -> Int {
        names.firstIndex { name.precedesInBytes($0) } ?? names.count
    }

    @Test("The place of a name is where it belongs among them, whatever was put in, taken out and split off")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.01) {
            var bounds = NameBounds()
            var names: [String] = []
            for _ in 0..<400 {
                let name = Self.name(&random)
                let index = Self.place(of: name, in: names)
                try #require(bounds.index(of: name.utf8Span.span) == index, "seed \(random.seed): \(name), \(names)")
                if names.count > 20 && random.chance(oneIn: 10) {
                    let middle = random.below(names.count)
                    let split = bounds.split(at: middle)
                    #expect(split.name.hasSameBytes(as: names[middle]))
                    if random.chance(oneIn: 2) {
                        names.removeSubrange(middle...)
                    } else {
                        bounds = split.behind
                        names.removeSubrange(...middle)
                    }
                } else if !names.isEmpty && random.chance(oneIn: 4) {
                    let index = random.below(names.count)
                    bounds.remove(at: index)
                    names.remove(at: index)
                } else if index == 0 || !names[index - 1].hasSameBytes(as: name) {
                    bounds.insert(name, at: index)
                    names.insert(name, at: index)
                }
                #expect(bounds.isEmpty == names.isEmpty)
            }
        }
    }

    @Test(
        "Names are told apart at the ends of what they share",
        arguments: [
            ["abcdefgh1", "abcdefgh2", "abcdefgh3"], ["a", "ab", "abc"], ["a", "a\u{0}", "a\u{0}\u{0}"], ["x"],
            ["12345678abcdefgh", "12345678abcdefgh0", "12345678abcdefgi"],
        ])
    func edges(names: [String]) {
        var bounds = NameBounds()
        for (index, name) in names.enumerated() { bounds.insert(name, at: index) }
        let near = names.flatMap { [$0, $0 + "\u{0}", $0 + "z", String($0.dropLast())] } + ["", "zzzz"]
        for name in near {
            #expect(bounds.index(of: name.utf8Span.span) == Self.place(of: name, in: names), "\(name.debugDescription)")
        }
    }
}
