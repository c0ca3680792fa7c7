import TestSupport
import Testing

@testable import SettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

struct InstantRoundTripTests {
    private func expectRoundTrip(_ seconds: Double, _ context: String) throws {
        let text = try #require(InstantText.text(for: Date(timeIntervalSinceReferenceDate: seconds)), "\(context)")
        let result = InstantText.date(from: text)?.timeIntervalSinceReferenceDate
        try #require(result == seconds, "\(text) for \(seconds), \(context)")
        if !text.hasSuffix("s") {
            try #require(StringFormat.dateTime.accepts(text), "\(text) for \(seconds), \(context)")
        }
    }

    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        var count = 6_000
        let make: @Sendable (inout SeededGenerator) -> Double

        var testDescription: String { name }
    }

    private static let fourDigitYears = -63_145_526_400.0..<252_423_993_600

    static let kinds: [Kind] = [
        Kind(name: "any bits") { Double(bitPattern: $0.next()) },
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

    @Test(arguments: kinds) func `Every finite instant survives its text`(_ kind: Kind) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<kind.count {
            let seconds = kind.make(&generator)
            if seconds.isFinite { try expectRoundTrip(seconds, "seed \(seed)") }
        }
    }

    @Test func `Instants at the edges survive their texts`() throws {
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

    @Test func `No fraction could be shorter`() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let seconds = Double.random(in: -1e9...1e9, using: &generator)
            let text = try #require(InstantText.text(for: Date(timeIntervalSinceReferenceDate: seconds)))
            let digits = try #require(text.split(separator: ".").last).dropLast()
            let stem = text.dropLast(digits.count + 1)
            for shorter in [Int(digits.dropLast()), Int(digits.dropLast()).map { $0 + 1 }] {
                guard let shorter, String(shorter).count == digits.count - 1 else { continue }
                let other = InstantText.date(from: "\(stem)\(shorter)Z")
                try #require(other?.timeIntervalSinceReferenceDate != seconds, "\(text)")
            }
        }
    }
}
