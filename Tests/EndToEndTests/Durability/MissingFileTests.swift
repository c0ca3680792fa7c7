import Foundation
import Glibc
import SettingsAPI
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// Data directories in which files are missing, damaged, or replaced by something that is not a regular file: no
/// acknowledged commit disappears silently. The file NEWEST names the newest journal. Exit code 65: the data is
/// damaged. 73: the directory cannot be read or written. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct MissingFileTests {
    /// The files of three runs: two with a clean stop and a snapshot, and a run whose files are copied as after a
    /// crash. `app/keys/n` is 6.
    private static func dataOfThreeRuns(_ durability: Durability) throws -> StoredData {
        let directory = try TemporaryDirectory()
        var value = 0
        for round in 0..<3 {
            let daemon = try TestDaemon(in: directory) { $0.durability = durability }
            for _ in 0..<2 {
                value += 1
                try daemon.sendOK(Request("PUT app/keys/n \(value)"))
            }
            if round == 2 {
                let data = try StoredData(in: directory.path)
                daemon.stop()
                return data
            }
            daemon.stop()
        }
        preconditionFailure("the third round returns")
    }

    @Test(
        "With any journals and snapshots missing, a start has the last commit, or fails and names a journal or snapshot",
        arguments: [Durability.always, .interval])
    func missing(_ durability: Durability) throws {
        let data = try Self.dataOfThreeRuns(durability)
        let names = data.files.keys.filter { $0.hasPrefix("journal-") || $0.hasPrefix("snapshot-") }.sorted()
        try #require(names.count >= 4, "\(names)")
        var started = 0
        // Each bit of `missing` stands for a file.
        for missing in 0..<(1 << names.count) {
            var remaining = data
            for (number, name) in names.enumerated() where missing >> number & 1 == 1 { remaining.files[name] = nil }
            let context: Comment = "remaining files: \(remaining.files.keys.sorted())"
            do {
                let daemon = try TestDaemon(in: try remaining.write())
                started += 1
                #expect(try daemon.send("GET app/keys/n?raw").text == "6", context)
            } catch let error as StartError {
                #expect(names.contains { error.description.contains("/\($0)") }, "\(error.description)")
            }
        }
        #expect(started > 1, "a start must succeed if other files have the data of a missing file")
    }

    @Test("A start and a check report a missing newest journal; a repair continues without it")
    func newest() throws {
        var data = try Self.dataOfThreeRuns(.always)
        let newest = data.newestJournal
        data.files[newest] = nil
        let directory = try data.write()
        let start = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", directory.path, "--log", "error"])
        #expect(start.code == 65 && start.errors.contains("/\(newest): the file is missing"), "\(start)")
        let check = try ChildProcess.run(["check", directory.path])
        #expect(
            check.code == 65 && check.output.contains("NEWEST: DAMAGED: \(newest): the file is missing"), "\(check)")
        let repair = try ChildProcess.run(["repair", directory.path, "--yes"])
        #expect(repair.code == 0, "\(repair)")
        // The newest journal had the last two commits.
        #expect(try TestDaemon(in: directory).send("GET app/keys/n?raw").text == "4")
        #expect(try ChildProcess.run(["check", directory.path]).code != 65)
    }

    @Test("A changed byte in the NEWEST file is reported")
    func changed() throws {
        let data = try Self.dataOfThreeRuns(.always)
        let content = try #require(data.files["NEWEST"])
        // The last byte is the line feed, which the checksum does not cover.
        for index in content.indices.dropLast() {
            var changed = data
            changed.files["NEWEST"]?[index] ^= 1
            let error = #expect(throws: StartError.self, "byte \(index)") { _ = try TestDaemon(in: changed.write()) }
            #expect(error?.description.contains("/NEWEST") == true, "\(error?.description ?? "")")
        }
    }

    @Test("A start with only a snapshot continues from it in a new epoch")
    func loneSnapshot() throws {
        var data = try Self.dataOfThreeRuns(.always)
        let snapshot = try #require(data.files.keys.filter { $0.hasPrefix("snapshot-") }.max())
        data.files = data.files.filter { $0.key == snapshot }
        let daemon = try TestDaemon(in: try data.write())
        // The second run stopped with four commits.
        #expect(try daemon.send("GET app/keys/n?raw").text == "4")
        // A new epoch skips a billion revisions, so that no revision is assigned twice.
        #expect(try #require(try daemon.send("GET /v1").revision).number >= 1_000_000_000)
    }

    @Test(
        "A start and a check refuse anything that is not a regular file; a repair refuses it or does not need it",
        arguments: ["FIFO", "folder", "socket"])
    func notRegularFile(_ kind: String) throws {
        // The kernel refuses to open a socket, so a check of a socket reports the error of `open`.
        try expectRefusal(because: kind == "socket" ? "error \(ENXIO)" : "not a regular file") { path in
            switch kind {
            case "FIFO": mkfifo(path, 0o600) == 0
            case "socket": mknod(path, S_IFSOCK | 0o600, 0) == 0
            default: mkdir(path, 0o700) == 0
            }
        }
    }

    @Test(
        "A start and a check refuse a device; a repair refuses it or does not need it",
        .enabled(if: geteuid() == 0, "Only root may create a device."))
    func device() throws {
        // 0x103 is the device number of /dev/null: major 1, minor 3.
        try expectRefusal(because: "not a regular file") { path in mknod(path, S_IFCHR | 0o600, 0x103) == 0 }
    }

    /// Replaces each file of a data directory, one at a time. Expects a start and a check to refuse the replacement,
    /// which `create` makes at a path. The error of the check must contain the cause.
    private func expectRefusal(because cause: String, of create: (String) -> Bool) throws {
        let data = try Self.dataOfThreeRuns(.always)
        for name in data.files.keys.sorted() {
            var remaining = data
            remaining.files[name] = nil
            let directory = try remaining.write()
            try #require(create("\(directory.path)/\(name)"), "error \(errno)")
            let start = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", directory.path, "--log", "error"])
            #expect([65, 73].contains(start.code) && start.errors.contains("/\(name): "), "\(name): \(start)")
            // A check does not lock the directory and ignores LOCK.
            guard name != "LOCK" else { continue }
            let check = try ChildProcess.run(["check", directory.path])
            #expect(check.code == 73 && check.errors.contains("/\(name): "), "\(name): \(check)")
            #expect(check.errors.contains(cause), "\(name): \(check)")
            let repair = try ChildProcess.run(["repair", directory.path, "--yes"])
            // A repair succeeds if no start needs the file.
            #expect([0, 73].contains(repair.code), "\(name): \(repair)")
        }
    }

    @Test(
        "A repair keeps all commits if a first line is damaged, and reports the commits after a damaged commit as lost")
    func repairedHead() throws {
        // The data directory of a daemon of version 0.3. See `StoredData.init(version:)`.
        let data = try StoredData(version: "0.3")
        for name in ["journal-5.jsonl", "journal-7.jsonl"] {
            let head = try #require(data.files[name]?.firstIndex(of: UInt8(ascii: "\n")))
            for offset in stride(from: 0, to: head, by: 5) {
                var damaged = data
                damaged.files[name]?[offset] ^= 1
                let directory = try damaged.write()
                let plan = try ChildProcess.run(["repair", directory.path])
                #expect(plan.output.contains("\(name) is damaged: line 1"), "\(plan)")
                #expect(
                    plan.output.contains("would be kept: all commits up to revision 8") && !plan.output.contains("lost")
                )
                #expect(try ChildProcess.run(["repair", directory.path, "--yes"]).code == 0)
                let daemon = try TestDaemon(in: directory)
                #expect(try daemon.send("GET player/keys/volume?raw").text == "0.25", "\(name), byte \(offset)")
                #expect(try daemon.send("GET editor/keys/fontSize?raw").text == "14", "\(name), byte \(offset)")
            }
        }
        var damaged = data
        // The damaged commit is followed by another commit and another journal.
        let commit = try #require(data.files["journal-5.jsonl"]?.firstIndex(of: UInt8(ascii: "\n"))) + 30
        damaged.files["journal-5.jsonl"]?[commit] ^= 1
        let directory = try damaged.write()
        let plan = try ChildProcess.run(["repair", directory.path])
        #expect(plan.output.contains("would be kept: all commits up to revision 5"), "\(plan.output)")
        // The report counts the commits 7 and 8, which can be read, and not the damaged commit 6.
        #expect(plan.output.contains("would be lost: 2 commits up to revision 8"), "\(plan.output)")
    }
}
