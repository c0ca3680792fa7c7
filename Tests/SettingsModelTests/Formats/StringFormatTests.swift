import Testing

@testable import SettingsModel

struct StringFormatTests {
    @Test("The raw values of StringFormat are the names of the formats in JSON Schema")
    func names() {
        let names = [
            "date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference",
            "uuid", "json-pointer", "regex",
        ]
        #expect(StringFormat.allCases.map(\.rawValue) == names)
        #expect(StringFormat(rawValue: "idn-email") == nil)
    }

    @Test("Each format accepts the example in the text of its expectation", arguments: StringFormat.allCases)
    func examples(_ format: StringFormat) throws {
        // An expectation ends with an example, for instance "an RFC 3339 date such as 2026-11-20".
        let words = format.expectation.split(separator: " ")
        let example = try #require(words.last)
        #expect(format.accepts(String(example)))
    }

    // The format `regex` is left out, because many of these texts are valid regular expressions.
    @Test(
        "Each format refuses each unusual text that is not valid in the format",
        arguments: StringFormat.allCases.filter { $0 != .regex })
    func oddTexts(_ format: StringFormat) {
        let texts = [
            "\0", " ", "\u{FEFF}", "\u{10FFFF}", "é", "٠", "👨‍👩‍👧", "\r\n", "%", "[", "]", ":", "-", ".", "@", "T", "P",
            "xn--", "~",
        ]
        let accepted = texts.filter(format.accepts)
        let validTexts: [StringFormat: [String]] = [
            .hostname: ["T", "P"], .uriReference: ["-", ".", "@", "T", "P", "xn--", "~"],
        ]
        #expect(accepted == validTexts[format, default: []])
    }

    /// A validator that takes quadratic time would need billions of steps for texts of this size. The format `regex` is
    /// left out: `PatternSyntaxTests` has long regular expressions.
    @Test(
        "Each format checks a long text in linear time", .timeLimit(.minutes(1)),
        arguments: [
            "0", "9:", "a", "a.", "-", "1Y", "%41", "~0", "/", ":", "::", "\\\"", "xn--", "é", "@", "[", "1.", "?",
        ])
    func hugeTexts(_ repeatedText: String) {
        let body = String(repeating: repeatedText, count: 20_000)
        for format in StringFormat.allCases where format != .regex {
            for start in ["", "P", "/", "\"", "a:", "//", "a@[", "2026-11-20T10:00:00.", "[::"] {
                _ = format.accepts(start + body)
            }
        }
    }

    @Test("Each prefix and suffix of a sample is accepted or refused without a trap")
    func truncated() {
        let samples = [
            "2026-11-20T10:00:00.5+01:00", "P1Y2M3DT4H5M6S", "\"a\\\"b\"@[IPv6:1::192.0.2.1]", "www.xn--mnchen-3ya.de",
            "http://u:p@[v1.x]:80/%41?q#f", "123e4567-e89b-12d3-a456-426614174000", "/a~0b~1c",
        ]
        for sample in samples {
            for length in 0...sample.count {
                for format in StringFormat.allCases {
                    _ = format.accepts(String(sample.prefix(length)))
                    _ = format.accepts(String(sample.suffix(length)))
                }
            }
        }
    }
}

/// A text with its description, and whether a format accepts it.
struct FormatCase: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let isValid: Bool

    var testDescription: String { name }

    static func good(_ name: String, _ text: String) -> FormatCase {
        FormatCase(name: name, text: text, isValid: true)
    }

    static func bad(_ name: String, _ text: String) -> FormatCase {
        FormatCase(name: name, text: text, isValid: false)
    }

    func check(by format: StringFormat, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(format.accepts(text) == isValid, "\(name)", sourceLocation: sourceLocation)
    }
}

struct UUIDTests {
    static let cases: [FormatCase] = [
        .good("lower case", "123e4567-e89b-12d3-a456-426614174000"),
        .good("upper case", "123E4567-E89B-12D3-A456-426614174000"),
        .good("the nil UUID, which has no version", "00000000-0000-0000-0000-000000000000"),
        .good("all ones", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        .bad("a digit missing at the end", "123e4567-e89b-12d3-a456-42661417400"),
        .bad("a digit too many at the end", "123e4567-e89b-12d3-a456-4266141740000"),
        .bad("a hyphen moved", "123e456-7e89b-12d3-a456-426614174000"),
        .bad("no hyphens", "123e4567e89b12d3a456426614174000"),
        .bad("braces", "{123e4567-e89b-12d3-a456-426614174000}"),
        .bad("a URN", "urn:uuid:123e4567-e89b-12d3-a456-426614174000"),
        .bad("a letter beyond f", "123g4567-e89b-12d3-a456-426614174000"),
        .bad("a Gujarati digit", "૧23e4567-e89b-12d3-a456-426614174000"),
        .bad("an empty text", ""),
        .bad("a newline at the end", "123e4567-e89b-12d3-a456-426614174000\n"),
    ]

    @Test("A UUID has five groups of hexadecimal digits", arguments: cases)
    func uuid(_ testCase: FormatCase) {
        testCase.check(by: .uuid)
    }
}

struct JSONPointerSyntaxTests {
    static let cases: [FormatCase] = [
        .good("the whole document", ""),
        .good("an empty name", "/"),
        .good("two names", "/server/port"),
        .good("an index", "/list/0"),
        .good("an escaped slash", "/a~1b"),
        .good("an escaped tilde", "/a~0b"),
        .good("an escaped tilde before a digit", "/~01"),
        .good("a name beyond ASCII", "/größe/😀"),
        .good("a control character", "/\u{1}"),
        .good("an accent that combines with the slash", "/\u{301}"),
        .bad("no slash in front", "a"),
        .bad("a fragment", "#/a"),
        .bad("a tilde at the end", "/a~"),
        .bad("a tilde before another digit", "/a~2"),
        .bad("a tilde before a slash", "/a~/b"),
        .bad("two tildes", "/~~0"),
        .bad("a tilde before an Arabic-Indic zero", "/~٠"),
        .bad("a space in front", " /a"),
    ]

    @Test("A JSON pointer follows RFC 6901", arguments: cases)
    func jsonPointer(_ testCase: FormatCase) {
        testCase.check(by: .jsonPointer)
    }
}

/// The grammar of RFC 3339 appendix A has no gap between units: a duration with years and days also has months.
struct DurationTests {
    static let cases: [FormatCase] = [
        .good("all units", "P1Y2M3DT4H5M6S"),
        .good("years alone", "P3Y"),
        .good("months alone", "P3M"),
        .good("days alone", "P3D"),
        .good("weeks alone", "P3W"),
        .good("hours alone", "PT3H"),
        .good("minutes alone", "PT3M"),
        .good("seconds alone", "PT3S"),
        .good("years and months", "P1Y1M"),
        .good("months and days", "P1M1D"),
        .good("minutes and seconds", "PT1M1S"),
        .good("a date part and seconds", "P1YT1S"),
        .good("zero", "PT0S"),
        .good("leading zeros", "P007D"),
        .good("lower-case letters", "p1dt2h"),
        .bad("an empty text", ""),
        .bad("a P alone", "P"),
        .bad("a T without P", "T1H"),
        .bad("P and T alone", "PT"),
        .bad("a T with nothing after it", "P1DT"),
        .bad("days directly after years", "P1Y1D"),
        .bad("seconds directly after hours", "PT1H1S"),
        .bad("days before months", "P1D1M"),
        .bad("seconds before hours", "PT1S1H"),
        .bad("years twice", "P1Y1Y"),
        .bad("weeks with days", "P1W1D"),
        .bad("weeks with hours", "P1WT1H"),
        .bad("weeks after years", "P1Y1W"),
        .bad("weeks after T", "PT1W"),
        .bad("hours without T", "P1H"),
        .bad("days after T", "PT1D"),
        .bad("a second T", "PT1HT1M"),
        .bad("a fraction", "PT1.5S"),
        .bad("a negative duration", "-P1D"),
        .bad("a unit without number", "PD"),
        .bad("a number without unit", "P1"),
        .bad("Thai digits", "P๑D"),
        .bad("the alternative form of ISO 8601", "P0001-01-01T00:00:00"),
        .bad("a space in front", " P1D"),
        .bad("a newline at the end", "P1D\n"),
    ]

    @Test("A duration follows RFC 3339", arguments: cases)
    func duration(_ testCase: FormatCase) {
        testCase.check(by: .duration)
    }
}
