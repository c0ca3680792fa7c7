import SettingsModel
import Testing

struct NameTests {
    static let longestSuite = String(repeating: "a", count: 128)
    /// 256 bytes, because é has two bytes.
    static let longestKey = String(repeating: "é", count: 128)

    @Test(
        "A valid suite name is accepted",
        arguments: ["a", "app", "com.my.app", "A-Z_0.9", "-", "_", "a.", "a..b", longestSuite])
    func goodSuites(text: String) throws {
        let name = try SuiteName(text)
        #expect(name.text == text)
        #expect(name.description == text)
    }

    @Test(
        "An invalid suite name is refused with the reason",
        arguments: [
            ("", "a suite name must not be empty"),
            (".", "a suite name must not start with '.'"),
            (".hidden", "a suite name must not start with '.'"),
            ("my app", "a suite name must consist of A-Z a-z 0-9 . _ -, but character 3 is ' '"),
            ("app/x", "a suite name must consist of A-Z a-z 0-9 . _ -, but character 4 is '/'"),
            ("caf\u{E9}", "a suite name must consist of A-Z a-z 0-9 . _ -, but character 4 is 'é'"),
            ("a\u{0}", "a suite name must consist of A-Z a-z 0-9 . _ -, but character 2 is U+0000"),
            (longestSuite + "a", "a suite name must have at most 128 bytes, but this name has 129"),
        ])
    func badSuites(text: String, reason: String) {
        let error = #expect(throws: NameError.self) { try SuiteName(text) }
        #expect(error?.description == reason)
    }

    @Test(
        "A valid key name is accepted",
        arguments: ["a", "player.volume", ".a", "...", "a/b", "a b", "a+b%", "\u{A0}", "日本", "🎛", longestKey])
    func goodKeys(text: String) throws {
        #expect(try KeyName(text).text == text)
    }

    @Test(
        "An invalid key name is refused with the reason",
        arguments: [
            ("", "a key must not be empty"),
            (".", "a key must not be '.' or '..'"),
            ("..", "a key must not be '.' or '..'"),
            ("a\nb", "a key must not contain control characters, but character 2 is U+000A"),
            ("\u{7F}", "a key must not contain control characters, but character 1 is U+007F"),
            ("ab\u{85}", "a key must not contain control characters, but character 3 is U+0085"),
            (longestKey + "a", "a key must have at most 256 bytes, but this key has 257"),
        ])
    func badKeys(text: String, reason: String) {
        let error = #expect(throws: NameError.self) { try KeyName(text) }
        #expect(error?.description == reason)
    }

    @Test("Two Unicode forms of one letter are two keys")
    func unicodeForms() throws {
        let composed = try KeyName("\u{E9}")
        let decomposed = try KeyName("e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test("Names are ordered by their bytes")
    func order() throws {
        let texts = ["b", "a", "Z", "é", "e\u{301}", "aa", "z"]
        let sorted = try texts.map { try KeyName($0) }.sorted().map(\.text)
        #expect(sorted.map { Array($0.utf8) } == ["Z", "a", "aa", "b", "e\u{301}", "z", "é"].map { Array($0.utf8) })
        #expect(try SuiteName("app-x") < SuiteName("app.x"))
    }
}
