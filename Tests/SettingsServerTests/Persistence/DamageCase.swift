import Glibc
import Platform
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// A damaged data directory, with the expected results of a start, of `check` and of `repair`.
///
/// Before the damage, the directory has the commits 1 to 12, snapshots at revisions 4 and 8, and the journals
/// `journal-4.jsonl` (commits 5 to 8) and `journal-8.jsonl` (commits 9 to 12). Line 1 of a journal is its head. The
/// file `NEWEST` has the name of the newest journal. A directory of a former version lacks this file.
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
    /// `torn`: the newest journal ends with incomplete lines, which a start removes.
    var check: DirectoryCheck.Verdict
    /// The last revision that `repair` keeps; nil if `repair` has nothing to do, because the daemon starts without a
    /// repair, or if `repair` refuses the directory of a newer version.
    var keptRevision: Int64?
    /// Damages the directory.
    var edit: @Sendable (DataFolder) throws -> Void

    var testDescription: String { name }

    /// A case in which the daemon starts.
    private static func starting(
        _ name: String, at revision: Int64 = 12, newEpoch: Bool = false, notes: [String] = [],
        check: DirectoryCheck.Verdict = .sound, durability: Durability = .always,
        _ edit: @escaping @Sendable (DataFolder) throws -> Void
    ) -> DamageCase {
        DamageCase(
            name: name, durability: durability, start: .starts(at: revision, isNewEpoch: newEpoch, notes: notes),
            check: check, edit: edit)
    }

    /// A case in which the start is refused as damaged, with these words in the error, and in which `repair` helps.
    private static func refused(
        _ name: String, _ words: [String], keptRevision: Int64, durability: Durability = .always,
        _ edit: @escaping @Sendable (DataFolder) throws -> Void
    ) -> DamageCase {
        DamageCase(
            name: name, durability: durability,
            start: .refuses(.damaged, words + ["settingsd check", "settingsd repair"]), check: .damaged,
            keptRevision: keptRevision,
            edit: edit)
    }

    static let all: [DamageCase] = harmless + snapshots + journals + flippedBits

    private static let harmless: [DamageCase] = [
        .starting("an undamaged directory") { _ in },
        .starting("zeros at the end of the newest journal") { folder in
            try folder.edit("journal-8.jsonl") { $0 += [UInt8](repeating: 0, count: 700) }
        },
        .starting(
            "a lost sector in the last batch, which was not synced", at: 12, notes: ["ends in the middle"], check: .torn
        ) { folder in
            // The zeros end at the end of a sector of 512 bytes. The end of a line follows.
            try folder.edit("journal-8.jsonl") { bytes in
                bytes += [UInt8](repeating: 0, count: 1024 - bytes.count % 512) + Array("\"x\":1}}\n".utf8)
            }
        },
        .starting("temporary files and a foreign file") { folder in
            folder.write("journal-8.jsonl.tmp", "x".utf8)
            folder.write("snapshot-9.json.tmp", [])
            folder.write("notes.txt", "hello".utf8)
        },
        .starting("a journal whose last sync failed, followed by the journal that replaced it") { folder in
            // The older journal gets the lines of failed flushes: twice the commit 9, which the newer journal also has,
            // and the beginning of another line.
            let line = try folder.line(2, of: "journal-8.jsonl")
            try folder.edit("journal-4.jsonl") { $0 += line + line + Array("{\"crc\":\"0".utf8) + [0, 0, 7] }
        },
        .starting(
            "durability interval without a clean stop", newEpoch: true, notes: ["a new epoch begins"],
            durability: .interval
        ) { _ in },
        .starting(
            "durability snapshot without a clean stop", at: 8, newEpoch: true, notes: ["a new epoch"],
            durability: .snapshot
        ) { _ in },
    ]

    private static let snapshots: [DamageCase] = [
        .starting(
            "the newest snapshot cut", notes: ["snapshot-8.json is damaged", "recovered from snapshot-4.json"],
            check: .damaged
        ) {
            try $0.edit("snapshot-8.json") { $0.removeLast($0.count / 2) }
        },
        .starting("the newest snapshot missing") { $0.remove("snapshot-8.json") },
        .starting("the newest snapshot empty", notes: ["snapshot-8.json is damaged"], check: .damaged) {
            $0.write("snapshot-8.json", [])
        },
        .starting("the newest snapshot with another checksum", notes: ["the checksum does not match"], check: .damaged)
        {
            // The file ends with the checksum, `"}` and a line feed.
            try $0.edit("snapshot-8.json") { $0[$0.count - 5] ^= 1 }
        },
        .starting(
            "the newest snapshot with commits out of order", notes: ["the commits are not in order"], check: .damaged
        ) {
            folder in
            try folder.editLines("snapshot-8.json") { lines in
                let history = lines.firstIndex(of: Array("],\"history\":[\n".utf8)) ?? 0
                lines.swapAt(history + 2, history + 3)
                // The last line, `,"check":"crc32c:1a2b3c4d"}`, has the checksum of all other lines at byte 17.
                let digits = CRC32C(of: Array(lines.dropLast().joined()).span).hexDigits
                for index in digits.indices { lines[lines.count - 1][17 + index] = digits[index] }
            }
        },
        .starting("the older snapshot cut", check: .damaged) { try $0.edit("snapshot-4.json") { $0.removeLast(9) } },
        .refused("both snapshots cut", ["snapshot-8.json, line", "at byte"], keptRevision: 0) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            try folder.edit("snapshot-4.json") { $0.removeLast(9) }
        },
        .refused("both snapshots missing", ["no snapshot that the journals continue"], keptRevision: 0) { folder in
            folder.remove("snapshot-8.json")
            folder.remove("snapshot-4.json")
        },
        .refused("the newest snapshot cut, the older missing", ["snapshot-8.json, line"], keptRevision: 0) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            folder.remove("snapshot-4.json")
        },
        .refused(
            "the newest snapshot cut, a journal missing", ["snapshot-8.json, line", "missing"], keptRevision: 4
        ) { folder in
            try folder.edit("snapshot-8.json") { $0.removeLast(9) }
            folder.remove("journal-4.jsonl")
        },
        .refused(
            "the newest snapshot cut, with durability snapshot", ["snapshot-8.json"], keptRevision: 4,
            durability: .snapshot
        ) {
            try $0.edit("snapshot-8.json") { $0.removeLast(9) }
        },
        .refused("all files empty", ["NEWEST, line 1"], keptRevision: 0) { folder in
            for name in folder.names { folder.write(name, []) }
        },
        DamageCase(
            name: "a snapshot of a newer version", start: .refuses(.newerFormat, ["snapshot-8.json", "format 9"]),
            check: .damaged
        ) {
            // The file begins with `{"snapshot":`, and then the version of the format.
            try $0.edit("snapshot-8.json") { $0[12] = UInt8(ascii: "9") }
        },
    ]

    private static let journals: [DamageCase] = [
        .refused("the newest journal missing", ["journal-8.jsonl: the file is missing"], keptRevision: 8) {
            $0.remove("journal-8.jsonl")
        },
        .starting(
            "the newest journal of a former version missing", at: 8, newEpoch: true,
            notes: ["journal-8.jsonl, which continues"], check: .damaged
        ) { folder in
            folder.remove("journal-8.jsonl")
            folder.remove("NEWEST")
        },
        .starting(
            "all files except the newest snapshot missing", at: 8, newEpoch: true,
            notes: ["journal-8.jsonl, which continues"], check: .damaged
        ) {
            for name in $0.names where name != "snapshot-8.json" { $0.remove(name) }
        },
        .refused("an empty newest journal", ["journal-8.jsonl, line 1", "the file is empty"], keptRevision: 8) {
            $0.write("journal-8.jsonl", [])
        },
        .refused("a newest journal of zeros", ["journal-8.jsonl, line 1", "check"], keptRevision: 8) {
            $0.write("journal-8.jsonl", [UInt8](repeating: 0, count: 4096))
        },
        .starting("the last line without its line feed") { try $0.edit("journal-8.jsonl") { $0.removeLast() } },
        .refused("zeros that do not fill a sector", ["journal-8.jsonl, line 6, at byte ", "check"], keptRevision: 12) {
            folder in
            // One zero less than in the case "a lost sector in the last batch".
            try folder.edit("journal-8.jsonl") { bytes in
                bytes += [UInt8](repeating: 0, count: 1023 - bytes.count % 512) + Array("\"x\":1}}\n".utf8)
            }
        },
        .refused(
            "a missing line", ["journal-8.jsonl, line 3, at byte ", "follows revision 10, not 9"], keptRevision: 9
        ) { folder in
            try folder.editLines("journal-8.jsonl") { $0.remove(at: 2) }
        },
        .refused("a line twice", ["journal-8.jsonl, line 4, at byte ", "follows revision 9, not 10"], keptRevision: 10)
        { folder in
            try folder.editLines("journal-8.jsonl") { $0.insert($0[2], at: 3) }
        },
        .refused("a line that is not JSON", ["journal-8.jsonl, line 3, at byte "], keptRevision: 9) { folder in
            try folder.editLines("journal-8.jsonl") { $0[2] = Array("hello\n".utf8) }
        },
        .refused(
            "a journal with the name of another revision", ["journal-9.jsonl", "journal-8.jsonl"], keptRevision: 8
        ) { folder in
            folder.write("journal-9.jsonl", try folder.read("journal-8.jsonl"))
            folder.remove("journal-8.jsonl")
        },
        DamageCase(
            name: "a journal of a newer version", start: .refuses(.newerFormat, ["journal-8.jsonl", "format 9"]),
            check: .damaged
        ) { folder in
            // A line begins with `{"crc":"0badcafe",`. Its checksum covers the bytes after this comma. In a head, these
            // bytes begin with `"journal":2`, the version of the format.
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
    private static let flippedBits: [DamageCase] = (1...5).map { line in
        // Line 2 has commit 9, and the repair keeps the commits before the damaged line. If only the head of a journal
        // is damaged, the lines after it still contain the revisions of their predecessors, so the repair keeps all
        // commits.
        let keptRevision = Int64(line == 1 ? 12 : line + 6)
        return .refused(
            "a flipped bit in line \(line)", ["journal-8.jsonl, line \(line), at byte ", "check"],
            keptRevision: keptRevision
        ) {
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
