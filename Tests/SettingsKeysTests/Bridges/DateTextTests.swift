import SettingsModel
import TestSupport
import Testing

@testable import SettingsKeys

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tests of the text of a `Date`: RFC 3339 in UTC. A date outside of the years 0000 to 9999 is written as seconds
/// before or after 2001, such as `2001-01-01T00:00:00Z+1e+300s`.
struct DateTextTests {
    struct Instant: Sendable, CustomTestStringConvertible {
        /// The seconds since 2001-01-01T00:00:00Z.
        let seconds: Double
        let text: String

        var testDescription: String { text }
    }

    static let instants: [Instant] = [
        Instant(seconds: 0, text: "2001-01-01T00:00:00Z"),
        Instant(seconds: -0.0, text: "2001-01-01T00:00:00Z"),
        Instant(seconds: 1, text: "2001-01-01T00:00:01Z"),
        Instant(seconds: -1, text: "2000-12-31T23:59:59Z"),
        Instant(seconds: 0.5, text: "2001-01-01T00:00:00.5Z"),
        Instant(seconds: -0.25, text: "2000-12-31T23:59:59.75Z"),
        Instant(seconds: -0.01, text: "2000-12-31T23:59:59.99Z"),
        Instant(seconds: 1e-7, text: "2001-01-01T00:00:00.0000001Z"),
        Instant(seconds: -1e-7, text: "2000-12-31T23:59:59.9999999Z"),
        Instant(seconds: 1.25e-7, text: "2001-01-01T00:00:00.000000125Z"),
        Instant(seconds: -978_307_200, text: "1970-01-01T00:00:00Z"),
        Instant(seconds: 816_861_600.123, text: "2026-11-20T10:00:00.123Z"),
        Instant(seconds: -26_524_800, text: "2000-02-29T00:00:00Z"),
        Instant(seconds: -63_145_526_400, text: "0000-01-01T00:00:00Z"),
        Instant(seconds: -63_113_904_000, text: "0001-01-01T00:00:00Z"),
        Instant(seconds: 252_423_993_599, text: "9999-12-31T23:59:59Z"),
        Instant(seconds: 252_423_993_600, text: "2001-01-01T00:00:00Z+252423993600.0s"),
        Instant(seconds: -63_145_526_400.5, text: "2001-01-01T00:00:00Z-63145526400.5s"),
        Instant(seconds: 1e300, text: "2001-01-01T00:00:00Z+1e+300s"),
        Instant(
            seconds: -Double.greatestFiniteMagnitude, text: "2001-01-01T00:00:00Z-1.7976931348623157e+308s"),
    ]

    @Test("An instant is written as its text, and the text is read as the instant", arguments: instants)
    func knownInstant(_ instant: Instant) {
        let date = Date(timeIntervalSinceReferenceDate: instant.seconds)
        #expect(DateText.text(for: date) == instant.text)
        #expect(DateText.date(from: instant.text) == date)
    }

    @Test("An instant that is not finite has no text", arguments: [Double.nan, .signalingNaN, .infinity, -.infinity])
    func notFinite(_ seconds: Double) {
        #expect(DateText.text(for: Date(timeIntervalSinceReferenceDate: seconds)) == nil)
    }

    static let spellings: [Instant] = [
        Instant(seconds: 0, text: "2001-01-01t00:00:00z"),
        Instant(seconds: 0, text: "2001-01-01T00:00:00.000Z"),
        Instant(seconds: 0, text: "2001-01-01T00:00:00-00:00"),
        Instant(seconds: 0, text: "2001-01-01T05:45:00+05:45"),
        Instant(seconds: 0, text: "2000-12-31T19:00:00-05:00"),
        Instant(seconds: 0, text: "2000-12-31T23:59:60Z"),
        Instant(seconds: 0.5, text: "2001-01-01T08:59:60.500+09:00"),
        Instant(seconds: -0.5, text: "2000-12-31T23:59:59.50000Z"),
        Instant(seconds: -63_145_612_740, text: "0000-01-01T00:00:00+23:59"),
        Instant(seconds: 252_424_079_939, text: "9999-12-31T23:59:59-23:59"),
        Instant(seconds: 5, text: "2001-01-01T00:00:00Z+5s"),
        Instant(seconds: -5.5, text: "2001-01-01T00:00:00Z-5.5s"),
    ]

    @Test("Other spellings of an instant, in RFC 3339 or as seconds, are read as this instant", arguments: spellings)
    func otherSpellings(_ instant: Instant) {
        #expect(DateText.date(from: instant.text)?.timeIntervalSinceReferenceDate == instant.seconds)
    }

    // A leap second is only the last second of a day in UTC. A number of seconds has at most 17 digits before the point
    // and at most 17 digits after the point. An exponent, if the number has one, has a plus sign.
    @Test(
        "Text in any other form is not read as an instant",
        arguments: [
            "", "2001-01-01", "2001-01-01T00:00:00", "2001-01-01 00:00:00Z", "2001-02-29T00:00:00Z",
            " 2001-01-01T00:00:00Z",
            "2001-01-01T00:00:00Z ", "2001-01-01T00:00:60Z", "2001-01-01T00:00:00Z+", "2001-01-01T00:00:00Z+s",
            "2001-01-01T00:00:00Z+5", "2001-01-01T00:00:00Z5s", "2001-01-01T00:00:00Z+-5s", "2001-01-01T00:00:00Z+.5s",
            "2001-01-01T00:00:00Z+5.s", "2001-01-01T00:00:00Z+5es", "2001-01-01T00:00:00Z+5e5s",
            "2001-01-01T00:00:00Z+5e-5s", "2001-01-01T00:00:00Z+9e+999s", "2001-01-01T00:00:00Z+0x5s",
            "2001-01-01T00:00:00Z+infs", "2001-01-01T00:00:00Z+nans", "2001-01-01T00:00:00Z+5sé",
            "2001-01-01T00:00:00Z+é",
            "2001-01-01T00:00:00Z+123456789012345678s", "2002-01-01T00:00:00Z+5s", "2001-01-01t00:00:00z+5s", "5",
        ])
    func noInstant(_ text: String) {
        #expect(DateText.date(from: text) == nil)
    }

    @Test("The rounding of a fraction takes all digits into account, even after thousands of zeros")
    func rounding() {
        // The fraction digits of 0.5 + 2^-54, the midpoint between 0.5 and the next Double. A tie is rounded to 0.5.
        let half = "500000000000000055511151231257827021181583404541015625"
        func seconds(_ fraction: String) -> Double? {
            DateText.date(from: "2001-01-01T00:00:00.\(fraction)Z")?.timeIntervalSinceReferenceDate
        }
        let zeros = String(repeating: "0", count: 2_000)
        #expect(seconds(half) == 0.5)
        #expect(seconds(half + zeros) == 0.5)
        #expect(seconds(half + zeros + "1") == 0.5.nextUp)
        #expect(seconds(zeros + "1") == 0)
        #expect(seconds(String(repeating: "9", count: 2_000)) == 1)
    }

    @Test("A fraction of a million digits is read in less than a minute", .timeLimit(.minutes(1)))
    func longFraction() {
        let text = "2000-12-31T23:59:59.5" + String(repeating: "0", count: 1_000_000) + "Z"
        #expect(DateText.date(from: text)?.timeIntervalSinceReferenceDate == -0.5)
    }

    @Test("The extended pattern matches the text of an instant if and only if the year is not 0000 to 9999")
    func extendedPattern() throws {
        let pattern = try Regex(DateText.extendedPattern)
        // Only the text of an instant outside of these years ends with `s`.
        for text in Self.instants.map(\.text) {
            #expect((text.wholeMatch(of: pattern) != nil) == text.hasSuffix("s"), "\(text)")
        }
    }
}

struct InstantRoundTripTests {
    private func expectRoundTrip(_ seconds: Double, _ context: String) throws {
        let text = try #require(DateText.text(for: Date(timeIntervalSinceReferenceDate: seconds)), "\(context)")
        let result = DateText.date(from: text)?.timeIntervalSinceReferenceDate
        try #require(result == seconds, "\(text) for \(seconds), \(context)")
        if !text.hasSuffix("s") {
            try #require(StringFormat.dateTime.accepts(text), "\(text) for \(seconds), \(context)")
        }
    }

    /// A kind of random instants, in seconds since 2001.
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        var count = 6_000
        let make: @Sendable (inout SeededGenerator) -> Double

        var testDescription: String { name }
    }

    /// The years 0000 to 9999 in seconds since 2001.
    private static let fourDigitYears = -63_145_526_400.0..<252_423_993_600

    static let kinds: [Kind] = [
        Kind(name: "any bits") { Double(bitPattern: $0.next()) },
        // 816,861,600 seconds after 2001 is 2026-11-20T10:00:00Z.
        Kind(name: "about now") { 816_861_600 + Double.random(in: -1e8...1e8, using: &$0) },
        Kind(name: "years 0000 to 9999") { Double.random(in: fourDigitYears, using: &$0) },
        Kind(name: "milliseconds") { Double.random(in: -1e12...1e12, using: &$0).rounded() / 1_000 },
        Kind(name: "whole seconds") { Double.random(in: fourDigitYears, using: &$0).rounded() },
        Kind(name: "near zero") { Double.random(in: -2...2, using: &$0) },
        Kind(name: "tiny", count: 1_000) {
            Double(sign: .minus, exponent: Int.random(in: -1_022...0, using: &$0), significand: 1.1)
        },
        Kind(name: "subnormal", count: 1_000) { Double(bitPattern: $0.next() & 0x800F_FFFF_FFFF_FFFF) },
    ]

    @Test("Every finite instant is equal after writing and reading its text", arguments: kinds)
    func roundTrip(_ kind: Kind) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<kind.count {
            let seconds = kind.make(&generator)
            if seconds.isFinite { try expectRoundTrip(seconds, "seed \(seed)") }
        }
    }

    @Test("Instants near the limits of Double and of the text forms are equal after writing and reading their texts")
    func edges() throws {
        var edges: [Double] = [
            .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, .ulpOfOne, 0x1p52, 0x1p53, 0x1p54,
            1e15, 1e16, 86_400, 252_423_993_600, 63_145_526_400, Date.distantPast.timeIntervalSinceReferenceDate,
            Date.distantFuture.timeIntervalSinceReferenceDate,
        ]
        edges += edges.flatMap { [$0.nextUp, $0.nextDown] }
        for edge in edges where edge.isFinite {
            try expectRoundTrip(edge, "edge")
            try expectRoundTrip(-edge, "edge")
        }
    }

    @Test("The text of an instant has the shortest possible fraction")
    func shortest() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let seconds = Double.random(in: -1e9...1e9, using: &generator)
            let text = try #require(DateText.text(for: Date(timeIntervalSinceReferenceDate: seconds)))
            let digits = try #require(text.split(separator: ".").last).dropLast()
            let stem = text.dropLast(digits.count + 1)
            // The nearest fractions with one digit less, below and above. `Int` loses leading zeros, so the test skips
            // fractions with leading zeros.
            for shorter in [Int(digits.dropLast()), Int(digits.dropLast()).map { $0 + 1 }] {
                guard let shorter, String(shorter).count == digits.count - 1 else { continue }
                let other = DateText.date(from: "\(stem)\(shorter)Z")
                try #require(other?.timeIntervalSinceReferenceDate != seconds, "\(text)")
            }
        }
    }
}
