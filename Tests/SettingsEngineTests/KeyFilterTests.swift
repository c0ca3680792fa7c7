import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

@Suite(.ownThread)
struct KeyFilterTests {
    @Test(
        "Names and beginnings are taken together, and none of them means all",
        arguments: [
            ([], [], ["a", "é", "é"], []),
            (["a"], [], ["a"], ["ab", "A", "b"]),
            ([], ["a."], ["a.", "a.b"], ["a", "ab", "b.a"]),
            (["b", "a"], ["c"], ["a", "b", "c", "cd"], ["ab", "bc", "d"]),
            ([], [""], ["a", "z"], []),
            (["\u{e9}"], [], ["\u{e9}"], ["e\u{301}"]),
            ([], ["\u{e9}"], ["\u{e9}x"], ["e\u{301}x"]),
        ] as [([String], [String], [String], [String])])
    func admits(_ keys: [String], _ prefixes: [String], _ admitted: [String], _ others: [String]) throws {
        let filter = KeyFilter(keys: try keys.map { try KeyName($0) }, prefixes: prefixes)
        for key in admitted { #expect(filter.admits(try KeyName(key)), "\(key)") }
        for key in others { #expect(!filter.admits(try KeyName(key)), "\(key)") }
    }

    @Test("Filters that let the same pass in other words are one, two spellings of é are two")
    func equality() throws {
        let (a, b) = (try KeyName("a"), try KeyName("b"))
        #expect(
            KeyFilter(keys: [b, a, b], prefixes: ["y", "x"]) == KeyFilter(keys: [a, b], prefixes: ["x", "y", "x"]))
        #expect(KeyFilter(keys: [], prefixes: ["\u{e9}"]) != KeyFilter(keys: [], prefixes: ["e\u{301}"]))
    }
}
