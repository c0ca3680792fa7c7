import TestSupport
import Testing

@testable import SettingsModel

struct UTF8TextTests {
    /// Texts in the order of their UTF-8 bytes. In UTF-16, U+10000 would come before U+FFFF; with Unicode comparison,
    /// both forms of é would be equal.
    private static let ascending = [
        "", "\u{0}", "\u{0}\u{0}", "\n", " ", "A", "B", "a", "a\u{0}", "aa", "aaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaab", "ab",
        "b", "e", "e\u{301}", "f", "\u{7F}", "\u{80}", "\u{E9}", "\u{7FF}", "\u{800}", "\u{1100}\u{1161}", "\u{AC00}",
        "\u{FFFF}",
        "\u{10000}", "\u{10FFFF}",
    ]

    @Test("Each text of an ascending list is less than all later texts and equal only to itself")
    func order() {
        for (leftPosition, left) in Self.ascending.enumerated() {
            for (rightPosition, right) in Self.ascending.enumerated() {
                let isBefore = leftPosition < rightPosition
                let isSame = leftPosition == rightPosition
                #expect(left.precedesInBytes(right) == isBefore, "\(left.debugDescription), \(right.debugDescription)")
                #expect(left.hasSameBytes(as: right) == isSame, "\(left.debugDescription), \(right.debugDescription)")
                #expect((UTF8Text(left) < UTF8Text(right)) == isBefore)
                #expect((UTF8Text(left) == UTF8Text(right)) == isSame)
            }
        }
    }

    @Test("Random texts have the same order, equality and prefixes as their arrays of bytes")
    func random() {
        // By default, the test runs 1,000 rounds. Each round has its own random generator.
        for generator in FuzzBudget.generators() {
            var random = RandomJSON(generator)
            let (left, right) = (random.text(), random.text())
            let (leftBytes, rightBytes) = (Array(left.utf8), Array(right.utf8))
            guard left.hasSameBytes(as: right) == (leftBytes == rightBytes),
                left.precedesInBytes(right) == leftBytes.lexicographicallyPrecedes(rightBytes),
                left.hasBytePrefix(right) == leftBytes.starts(with: rightBytes), (left + right).hasBytePrefix(left)
            else {
                Issue.record("seed \(generator.seed): \(left.debugDescription), \(right.debugDescription)")
                return
            }
        }
    }

    @Test(
        "A text has a prefix if its bytes begin with the bytes of the prefix",
        arguments: [
            ("", "", true), ("a", "", true), ("", "a", false), ("abc", "ab", true), ("abc", "abc", true),
            ("abc", "abcd", false),
            ("abc", "b", false), ("e\u{301}", "e", true), ("\u{E9}", "e", false), ("\u{E9}", "e\u{301}", false),
            ("\u{E9}x", "\u{E9}", true), ("\r\n", "\r", true), ("player.volume", "player.", true),
        ])
    func prefixes(text: String, prefix: String, expected: Bool) {
        #expect(text.hasBytePrefix(prefix) == expected)
    }

    @Test(
        "As dictionary keys, two Unicode forms are different keys, and strings with the same bytes are one key"
    )
    func keys() {
        var dictionary: [UTF8Text: Int] = [UTF8Text("\u{E9}"): 1, UTF8Text("e\u{301}"): 2]
        #expect(dictionary.count == 2)
        dictionary[UTF8Text("e" + "\u{301}")] = 3
        dictionary[UTF8Text(String(decoding: [0xC3, 0xA9] as [UInt8], as: UTF8.self))] = 4
        #expect(dictionary.count == 2)
        #expect(dictionary[UTF8Text("\u{E9}")] == 4)
        #expect(dictionary[UTF8Text("e\u{301}")] == 3)
    }

    @Test("The hash of two texts depends on the boundary between the texts")
    func hashBoundaries() {
        func hash(_ texts: [String]) -> Int {
            var hasher = Hasher()
            for text in texts { text.hashBytes(into: &hasher) }
            return hasher.finalize()
        }
        #expect(hash(["ab", "c"]) != hash(["a", "bc"]))
        #expect(hash(["abc", ""]) != hash(["", "abc"]))
        #expect(hash(["ab", "c"]) == hash(["a" + "b", "c"]))
    }
}
