import Glibc
import Platform
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// A damaged data directory, with the expected results of a start, of `check` and of `repair`.
struct DamageCase: CustomTestStringConvertible, Sendable {
    enum Start: Sendable {
        /// The start restores the state of a revision. `notes` are words in its log messages.
        case starts(at: Int64, isNewEpoch: Bool, notes: [String])
        /// The start refuses the directory. The error message contains the words.
        case refuses(RecoveryError.Kind, [String])
    }

    var name: String
    var durability = Durability.always
    var start: Start
    var check: DirectoryCheck.Verdict
    /// The revision that `repair` keeps; nil if nothing needs repair.
    var kept: Int64?
    var edit: @Sendable (DataFolder) throws -> Void

    var testDescription: String { name }

    private static func fine(
        _ name: String, at revision: Int64 = 12, newEpoch: Bool = false, notes: [String] = [],
        _ check: DirectoryCheck.Verdict = .sound, durability: Durability = .always,
        _ edit: @escaping @Sendable (DataFolder) throws -> Void
    ) -> DamageCase {
        DamageCase(
            name: name, durability: durability, start: .starts(at: revision, isNewEpoch: newEpoch, notes: notes),
            check: check, edit: edit)
    }

    private static func bad(
        _ name: String, _ words: [String], kept: Int64, durability: Durability = .always,
        _ edit: @escaping @Sendable (DataFolder) throws -> Void
    ) -> DamageCase {
        DamageCase(
            name: name, durability: durability,
            start: .refuses(.damaged, words + ["settingsd check", "settingsd repair"]), check: .damaged, kept: kept,
            edit: edit)
    }

    static let all: [DamageCase] = harmless + snapshots + journals + flipped

    private static let harmless: [DamageCase] = [
        .fine("nothing") { _ in },
        .fine("zeros at the end") { folder in
            try folder.edit("journal-8.jsonl") { $0 += [UInt8](repeating: 0, count: 700) }
        },
        .fine("a page of a batch that was lost", at: 12, notes: ["ends in the middle"], .torn) { folder in
            try folder.edit("journal-8.jsonl") { bytes in
                bytes += [UInt8](repeating: 0, count: 1024 - bytes.count % 512) + Array("\"x\":1}}\n".utf8)
            }
        },
        .fine("files left behind") { folder in
            folder.write("journal-8.jsonl.tmp", "x".utf8)
            folder.write("snapshot-9.json.tmp", [])
            folder.write("notes.txt", "hello".utf8)
        },
        .fine("a journal whose sync failed, before the one in its place") { folder in
            // A batch whose outcome was unknown, followed by half of another batch.
            let line = try folder.line(2, of: "journal-8.jsonl")
            try folder.edit("journal-4.jsonl") { $0 += line + line + Array("{\"crc\":\"0".utf8) + [0, 0, 7] }
        },
        .fine("interval, not closed", newEpoch: true, notes: ["a new epoch begins"], durability: .interval) { _ in },
        .fine("snapshots alone, not closed", at: 8, newEpoch: true, notes: ["a new epoch"], durability: .snapshot) {
            _ in
        },
    ]

    private static let snapshots: [DamageCase] = [
        .fine(
            "the newest snapshot cut", notes: ["snapshot-8.json is damaged", "recovered from snapshot-4.json"], .damaged
        ) {
            try $0.edit("snapshot-8.json") { $0.removeLast($0.count / 2) }
        },
        .fine("the newest snapshot missing") { $0.remove("snapshot-8.json") },
        .fine("the newest snapshot empty", notes: ["snapshot-8.json is damaged"], .damaged) {
            $0.write("snapshot-8.json", [])
        },
        .fine("the newest snapshot with another check", notes: ["the checksum does not match"], .damaged) {
            try $0.edit("snapshot-8.json") { $0[$0.count - 5] ^= 1 }
        },
        .fine("the newest snapshot with commits out of order", notes: ["the commits are not in order"], .damaged) {
            folder in
            try folder.editLines("snapshot-8.json") { lines in
                let history = lines.firstIndex(of: Array("],\"history\":[\n".utf8)) ?? 0
                lines.swapAt(history + 2, history + 3)
                let digits = CRC32C(of: Array(lines.dropLast().joined()).span).hexDigits
                for index in digits.indices { lines[lines.count - 1][17 + index] = digits[index] }
            }
        },
        .fine("the older snapshot cut", .damaged) { try $0.edit("snapshot-4.json") { $0.removeLast(9) } },
        .bad("both snapshots cut", ["snapshot-8.json, line", "at byte"], kept: 0) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            try folder.edit("snapshot-4.json") { $0.removeLast(9) }
        },
        .bad("both snapshots missing", ["no snapshot that the journals continue"], kept: 0) { folder in
            folder.remove("snapshot-8.json")
            folder.remove("snapshot-4.json")
        },
        .bad("the newest snapshot cut, the older missing", ["snapshot-8.json, line"], kept: 0) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            folder.remove("snapshot-4.json")
        },
        .bad("the newest snapshot cut, a journal missing", ["snapshot-8.json, line", "is missing"], kept: 4) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            folder.remove("journal-4.jsonl")
        },
        .bad("the newest snapshot cut, and nothing but snapshots", ["snapshot-8.json"], kept: 4, durability: .snapshot)
        {
            try $0.edit("snapshot-8.json") { $0.removeLast(9) }
        },
        .bad("everything empty", ["NEWEST, line 1"], kept: 0) { folder in
            for name in folder.names { folder.write(name, []) }
        },
        DamageCase(
            name: "a snapshot of a newer version", start: .refuses(.newerFormat, ["snapshot-8.json", "format 9"]),
            check: .damaged
        ) { try $0.edit("snapshot-8.json") { $0[12] = UInt8(ascii: "9") } },
    ]

    private static let journals: [DamageCase] = [
        .bad("the newest journal missing", ["journal-8.jsonl: the file is missing"], kept: 8) {
            $0.remove("journal-8.jsonl")
        },
        .fine(
            "the newest journal of a former version missing", at: 8, newEpoch: true,
            notes: ["journal-8.jsonl, which continues"], .damaged
        ) { folder in
            folder.remove("journal-8.jsonl")
            folder.remove("NEWEST")
        },
        .fine("nothing but a snapshot", at: 8, newEpoch: true, notes: ["journal-8.jsonl, which continues"], .damaged) {
            for name in $0.names where name != "snapshot-8.json" { $0.remove(name) }
        },
        .bad("an empty newest journal", ["journal-8.jsonl, line 1", "the file is empty"], kept: 8) {
            $0.write("journal-8.jsonl", [])
        },
        .bad("a newest journal of zeros", ["journal-8.jsonl, line 1", "check"], kept: 8) {
            $0.write("journal-8.jsonl", [UInt8](repeating: 0, count: 4096))
        },
        .fine("the last line without its end") { try $0.edit("journal-8.jsonl") { $0.removeLast() } },
        .bad("zeros that are no sector", ["journal-8.jsonl, line 6, at byte ", "check"], kept: 12) { folder in
            try folder.edit("journal-8.jsonl") { bytes in
                bytes += [UInt8](repeating: 0, count: 1023 - bytes.count % 512) + Array("\"x\":1}}\n".utf8)
            }
        },
        .bad("a line missing", ["journal-8.jsonl, line 3, at byte ", "follows revision 10, not 9"], kept: 9) { folder in
            try folder.editLines("journal-8.jsonl") { $0.remove(at: 2) }
        },
        .bad("a line twice", ["journal-8.jsonl, line 4, at byte ", "follows revision 9, not 10"], kept: 10) { folder in
            try folder.editLines("journal-8.jsonl") { $0.insert($0[2], at: 3) }
        },
        .bad("a line of something else", ["journal-8.jsonl, line 3, at byte "], kept: 9) { folder in
            try folder.editLines("journal-8.jsonl") { $0[2] = Array("hello\n".utf8) }
        },
        .bad("a journal by another name", ["journal-9.jsonl", "journal-8.jsonl"], kept: 8) { folder in
            folder.write("journal-9.jsonl", try folder.read("journal-8.jsonl"))
            folder.remove("journal-8.jsonl")
        },
        DamageCase(
            name: "a journal of a newer version", start: .refuses(.newerFormat, ["journal-8.jsonl", "format 9"]),
            check: .damaged
        ) { folder in
            try folder.editLines("journal-8.jsonl") { lines in
                var line = Array(lines[0].dropLast())
                line[28] = UInt8(ascii: "9")
                let digits = CRC32C(of: line.span.extracting(18..<line.count)).hexDigits
                for index in digits.indices { line[8 + index] = digits[index] }
                lines[0] = line + [UInt8(ascii: "\n")]
            }
        },
    ]

    /// One flipped bit in the middle of each line of the newest journal, including the head and the last line.
    private static let flipped: [DamageCase] = (1...5).map { line in
        // If only the head of a journal is damaged, its lines still contain their predecessors.
        let kept = Int64(line == 1 ? 12 : line + 6)
        return .bad("a bit in line \(line)", ["journal-8.jsonl, line \(line), at byte ", "check"], kept: kept) {
            folder in
            try folder.editLines("journal-8.jsonl") { $0[line - 1][$0[line - 1].count / 2] ^= 4 }
        }
    }
}

extension DataFolder {
    /// Returns the line with a number, including its line feed.
    func line(_ number: Int, of name: String) throws -> [UInt8] {
        try lines(of: name)[number - 1]
    }

    func lines(of name: String) throws -> [[UInt8]] {
        try read(name).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            .map { $0 + [UInt8(ascii: "\n")] }
    }

    func editLines(_ name: String, _ body: (inout [[UInt8]]) throws -> Void) throws {
        var lines = try lines(of: name)
        try body(&lines)
        write(name, lines.joined())
    }
}
