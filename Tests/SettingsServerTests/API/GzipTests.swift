import Foundation
import TestSupport
import Testing

@testable import SettingsWeb

/// What the compressor writes, read by the `gzip` of the system.
@Suite
struct GzipTests {
    @Test("The checksum of known bytes is the published one", arguments: [("", 0), ("123456789", 0xCBF4_3926)])
    func checksum(text: String, expected: UInt32) {
        #expect(Gzip.checksum(of: Array(text.utf8)) == expected)
    }

    private static func count(_ count: Int, _ byte: (Int) -> Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: byte($0)) }
    }

    /// Inputs at the limits of the format.
    private static let limits: [(name: String, bytes: [UInt8])] = [
        ("empty", []), ("a byte", [0]), ("two bytes", [7, 7]), ("three bytes", [7, 7, 7]),
        ("a copy of the longest length", count(259) { _ in 1 }),
        ("a copy one longer than that", count(260) { _ in 1 }),
        ("each byte once", count(256) { $0 }),
        ("a copy from the furthest place", count(32_768) { $0 &* $0 >> 7 ^ $0 } + count(300) { $0 &* $0 >> 7 ^ $0 }),
        (
            "a repetition from beyond it",
            count(300) { $0 * 7 } + count(32_800) { $0 &* $0 >> 3 } + count(300) { $0 * 7 }
        ),
        ("a long run", count(200_000) { _ in 0 }),
    ]

    /// Texts and noise in turn, with repetitions at random distances.
    private static func random(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        let symbols = 1 + generator.below(256)
        for _ in 0..<generator.below(60) {
            if bytes.isEmpty || generator.chance(oneIn: 2) {
                for _ in 0..<generator.below(1 << generator.below(10)) {
                    bytes.append(UInt8(truncatingIfNeeded: generator.below(symbols)))
                }
            } else {
                let start = generator.below(bytes.count)
                bytes += bytes[start..<min(bytes.count, start + generator.below(600))]
            }
        }
        return bytes
    }

    @Test("Bytes at the limits of the format, and random ones, come back as they were", .timeLimit(.minutes(1)))
    func roundTrip() throws {
        var inputs = Self.limits.map { (name: $0.name, bytes: $0.bytes) }
        for var generator in FuzzBudget.generators(share: 0.1) {
            inputs.append(("seed \(generator.seed)", Self.random(&generator)))
        }
        let directory = try TemporaryDirectory()
        for (number, input) in inputs.enumerated() {
            try Data(Gzip.compress(input.bytes)).write(to: URL(filePath: "\(directory.path)/\(number).gz"))
        }
        let end = try ChildProcess(["-dr", directory.path], of: "/usr/bin/gzip").end()
        #expect(end.code == 0, "\(end.errors)")
        for (number, input) in inputs.enumerated() {
            let bytes = try Data(contentsOf: URL(filePath: "\(directory.path)/\(number)"))
            #expect(Array(bytes) == input.bytes, "\(input.name)")
        }
    }

    @Test(
        "A code is complete and no longer than its limit, whatever the counts",
        arguments: [
            [], [5], [0, 9], [1, 1], [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144], [Int](repeating: 1, count: 19),
        ])
    func prefixCode(counts: [Int]) {
        let code = PrefixCode(counts: counts + [0, 0], longest: 7)
        let used = code.lengths.filter { $0 > 0 }
        #expect(used.allSatisfy { $0 <= 7 })
        #expect(used.reduce(0) { $0 + 1 << (7 - $1) } == 1 << 7)
        #expect(zip(counts, code.lengths).allSatisfy { $0 == 0 || $1 > 0 })
    }

    @Test("Text becomes at most a tenth larger than with the gzip of the system")
    func size() throws {
        let text = (0..<2_000).map { "setting number \($0 * $0 % 997) is \($0 % 7 == 0 ? "stored" : "a default")" }
        let directory = try TemporaryDirectory()
        let file = try directory.file("text", text.joined(separator: "\n"))
        #expect(try ChildProcess(["-9", "-k", file], of: "/usr/bin/gzip").end().code == 0)
        let theirs = try Data(contentsOf: URL(filePath: file + ".gz")).count
        #expect(Gzip.compress(Array(text.joined(separator: "\n").utf8)).count <= theirs * 11 / 10)
    }
}
