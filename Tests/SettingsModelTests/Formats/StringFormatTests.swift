import Testing

@testable import SettingsModel

struct StringFormatTests {
    @Test func `The raw values are the names that JSON Schema gives`() {
        let names = [
            "date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference",
            "uuid", "json-pointer", "regex",
        ]
        #expect(StringFormat.allCases.map(\.rawValue) == names)
        #expect(StringFormat(rawValue: "idn-email") == nil)
    }

    @Test(arguments: StringFormat.allCases)
    func `The example in an expectation is accepted by its own format`(_ format: StringFormat) throws {
        let words = format.expectation.split(separator: " ")
        let example = try #require(words.last)
        #expect(format.accepts(String(example)))
    }

    @Test(arguments: StringFormat.allCases.filter { $0 != .regex })
    func `Odd texts are refused without harm`(_ format: StringFormat) {
        let texts = [
            "\0", " ", "\u{FEFF}", "\u{10FFFF}", "é", "٠", "👨‍👩‍👧", "\r\n", "%", "[", "]", ":", "-", ".", "@", "T", "P",
            "xn--", "~",
        ]
        let accepted = texts.filter(format.accepts)
        let isFine: [StringFormat: [String]] = [
            .hostname: ["T", "P"], .uriReference: ["-", ".", "@", "T", "P", "xn--", "~"],
        ]
        #expect(accepted == isFine[format, default: []])
    }

    /// A quadratic reader would need hours for texts of this size.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "0", "9:", "a", "a.", "-", "1Y", "%41", "~0", "/", ":", "::", "\\\"", "xn--", "é", "@", "[", "1.", "?",
        ])
    func `Every format deals with a huge text in linear time`(_ unit: String) {
        let body = String(repeating: unit, count: 20_000)
        for format in StringFormat.allCases where format != .regex {
            for start in ["", "P", "/", "\"", "a:", "//", "a@[", "2026-11-20T10:00:00.", "[::"] {
                _ = format.accepts(start + body)
            }
        }
    }

    @Test func `A format cuts every sample short without harm`() {
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
