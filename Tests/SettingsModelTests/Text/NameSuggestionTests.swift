import SettingsModel
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
}
