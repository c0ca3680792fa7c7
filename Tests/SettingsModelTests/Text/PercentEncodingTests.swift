import Testing

@testable import SettingsModel

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "Decoding",
        arguments: [
            ("", ""), ("abc", "abc"), ("a%2Fb", "a/b"), ("%25", "%"), ("%c3%A9", "é"), ("a+b", "a+b"), ("%", nil),
            ("%2", nil), ("%2G", nil), ("%+1", nil), ("%FF", nil), ("%00", "\u{0}"),
        ] as [(String, String?)])
    func decoding(encoded: String, expected: String?) {
        #expect(PercentEncoding.decoded(encoded[...].utf8) == expected)
    }
}
