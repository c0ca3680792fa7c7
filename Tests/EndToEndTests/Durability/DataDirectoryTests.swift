import Foundation
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// The modes and the lock of a data directory, and a daemon whose directory or journal is removed or moved while the
/// daemon runs. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct DirectoryTests {
    private let directory: TemporaryDirectory
    private let data: String
    private let files = FileManager.default

    init() throws {
        directory = try TemporaryDirectory()
        data = directory.path + "/data"
    }

    private func move(_ path: String, to other: String) throws {
        try files.moveItem(atPath: path, toPath: other)
    }

    /// Polls `/readyz` until it has this status and reason. The daemon checks its directory once a second.
    private func waitUntil(_ daemon: TestDaemon, answers status: Int, with reason: String) throws {
        let end = ContinuousClock.now + .seconds(180)
        while true {
            let answer = try daemon.send("GET /readyz")
            if answer.status == status && answer.text.contains(reason) { return }
            try #require(ContinuousClock.now < end, "\(answer.text)")
        }
    }

    /// Expects that the daemon refuses writes with this reason and serves reads.
    private func expectRefusedWrites(_ daemon: TestDaemon, _ reason: String, _ context: Comment) throws {
        try waitUntil(daemon, answers: 503, with: reason)
        for request: Request in ["PUT app/keys/n 2", "PUT other/keys/n 1"] {
            let answer = try daemon.send(request)
            #expect(answer.status == 503, context)
            #expect(answer.json?["code"] == "storage_failed", context)
            #expect(answer.json?["outcome"] == "not_done", context)
            #expect(answer.text.contains(reason), "\(context): \(answer.text)")
        }
        #expect(try daemon.send("GET app/keys/n?raw").text == "1", context)
        #expect(try daemon.send("GET /metrics").text.contains("settingsd_ready 0"), context)
    }

    @Test("Only the owner may enter a data directory that a daemon creates and read its files")
    func modes() throws {
        let data = data + "/deep/down"
        let daemon = try TestDaemon(in: directory, data: data)
        for (name, mode) in [("", 0o700), ("/LOCK", 0o600), ("/journal-0.jsonl", 0o600)] {
            #expect(try files.attributesOfItem(atPath: data + name)[.posixPermissions] as? Int == mode, "\(name)")
        }
        daemon.stop()
    }

    @Test("Writes are refused while the data directory is moved away")
    func moved() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.sendOK("PUT app/keys/n 1")
        try move(data, to: data + "-moved")
        #expect(try daemon.send("PUT app/keys/n 2").status == 503, "the daemon checks its directory before each flush")
        try expectRefusedWrites(daemon, "was moved or removed", "moved away")
        try files.createDirectory(atPath: data, withIntermediateDirectories: false)
        try expectRefusedWrites(daemon, "another directory is in its place", "another directory in its place")
        #expect(try files.contentsOfDirectory(atPath: data).isEmpty, "the daemon must not write into another directory")
        try files.removeItem(atPath: data)
        try move(data + "-moved", to: data)
        try waitUntil(daemon, answers: 200, with: "ready")
        try daemon.sendOK("PUT app/keys/n 2")
        daemon.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET app/keys/n?raw").text == "2")
    }

    @Test("Writes are refused after the data directory was removed, also if another daemon creates a new directory")
    func removed() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.sendOK("PUT app/keys/n 1")
        try files.removeItem(atPath: data)
        #expect(try daemon.send("PUT app/keys/n 2").status == 503, "the daemon checks its directory before each flush")
        try expectRefusedWrites(daemon, "was moved or removed", "removed")
        let other = try TestDaemon(in: directory, data: data)
        try other.sendOK("PUT app/keys/n 3")
        try expectRefusedWrites(daemon, "another directory is in its place", "created by another daemon")
        daemon.stop()
        try other.sendOK("PUT app/keys/n 4")
        other.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET app/keys/n?raw").text == "4")
    }

    @Test("Writes are refused after the journal was removed; a stop saves all data")
    func withoutJournal() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.sendOK("PUT app/keys/n 1")
        let cursor = try daemon.send("GET /v1").field("Settings-Cursor")
        try files.removeItem(atPath: data + "/journal-0.jsonl")
        try expectRefusedWrites(daemon, "the journal was moved, removed or replaced", "without its journal")
        daemon.stop()
        let again = try TestDaemon(in: directory, data: data)
        #expect(try again.send("GET app/keys/n?raw").text == "1")
        #expect(try again.send("GET /v1").field("Settings-Cursor") == cursor)
    }

    @Test("A second daemon refuses a directory in use, even if its LOCK file is removed, and the epoch stays the same")
    func locked() throws {
        let daemon = try TestDaemon(ownProcessIn: directory, data: data)
        // LOCK is removed before the first and the second attempt, and not before the third attempt.
        for name in ["LOCK", "LOCK", "nothing"] {
            try? files.removeItem(atPath: data + "/" + name)
            let second = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", data, "--log", "error"])
            // 75: another daemon uses the data directory.
            #expect(second.code == 75)
            #expect(second.errors.hasPrefix("settingsd: \(data) is in use by another settingsd"), "\(second.errors)")
        }
        let cursor = try daemon.sendOK("PUT app/keys/n 1").field("Settings-Cursor")
        daemon.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET /v1").field("Settings-Cursor") == cursor)
    }
}

/// The identity of a data directory: the daemon must not continue the epoch of the original in a copy.
@Suite(.ownThread)
struct CopyTests {
    /// A way to copy a directory that no daemon uses: completely, without its LOCK file, or over the files of another
    /// directory, whose LOCK file remains.
    enum CopyMethod: String, CaseIterable, CustomTestStringConvertible {
        case whole, withoutLock, overAnother

        var testDescription: String { rawValue }

        func copy(_ original: TemporaryDirectory) throws -> TemporaryDirectory {
            guard self == .overAnother else {
                let copy = try TemporaryDirectory(copyOf: original)
                if self == .withoutLock { try FileManager.default.removeItem(atPath: copy.path + "/LOCK") }
                return copy
            }
            let copy = try TemporaryDirectory()
            try TestDaemon(in: copy).stop()
            let files = FileManager.default
            for name in try files.contentsOfDirectory(atPath: copy.path) where name != "LOCK" {
                try files.removeItem(atPath: copy.path + "/" + name)
            }
            for name in try files.contentsOfDirectory(atPath: original.path) where name != "LOCK" {
                try files.copyItem(atPath: original.path + "/" + name, toPath: copy.path + "/" + name)
            }
            return copy
        }
    }

    private func cursor(_ daemon: TestDaemon) throws -> Cursor {
        try #require(try daemon.send("GET /v1").field("Settings-Cursor").flatMap { Cursor($0) })
    }

    /// Writes until the daemon has this revision.
    private func write(_ daemon: TestDaemon, upTo revision: Int64) throws {
        while try cursor(daemon).revision.number < revision {
            try daemon.sendOK(Request("PUT app/keys/n \(try cursor(daemon).revision.number)"))
        }
    }

    @Test(
        "A copy starts a new epoch, so tags and cursors of the original are not valid for the copy",
        arguments: CopyMethod.allCases)
    func copied(_ method: CopyMethod) throws {
        let original = try TemporaryDirectory()
        let first = try TestDaemon(in: original)
        try write(first, upTo: 10)
        first.stop()
        let copy = try method.copy(original)
        let second = try TestDaemon(in: original)
        try write(second, upTo: 20)
        let cursorOfOriginal = try cursor(second)
        second.stop()

        let copied = try TestDaemon(in: copy)
        let cursorOfCopy = try cursor(copied)
        #expect(cursorOfCopy.epoch != cursorOfOriginal.epoch)
        // A new epoch skips 1,000,000,000 revisions.
        #expect(cursorOfCopy.revision.number == 1_000_000_010)
        for _ in 0..<10 { try copied.sendOK(Request("PUT app/keys/n \(Int.random(in: 100...999_999))")) }
        let observed = try copied.send(Request("GET app/observe?since=\(cursorOfOriginal)&wait=0"))
        #expect(observed.json?["reset"] == true, "\(observed.text)")
        // The setting has the tag "20" in the original.
        #expect(try copied.send(Request("PUT app/keys/n 1", "If-Match: \"20\"")).status == 412)
        let later = try cursor(copied)
        copied.stop()
        #expect(try cursor(TestDaemon(in: copy)) == later, "the copy keeps its own epoch after its first start")
        #expect(try cursor(TestDaemon(in: original)) == cursorOfOriginal, "the copy does not change the original")
    }

    @Test("A data directory that is moved keeps its epoch")
    func moved() throws {
        let directory = try TemporaryDirectory()
        let first = try TestDaemon(in: directory, data: directory.path + "/here")
        try write(first, upTo: 3)
        let before = try cursor(first)
        first.stop()
        try FileManager.default.moveItem(atPath: directory.path + "/here", toPath: directory.path + "/there")
        #expect(try cursor(TestDaemon(in: directory, data: directory.path + "/there")) == before)
    }

    @Test("A data directory of an older version, without an identifier, keeps its epoch; a later copy does not")
    func withoutIdentifier() throws {
        let directory = try TemporaryDirectory()
        // An older version wrote only its process identifier to `LOCK`.
        _ = try directory.file("LOCK", "19034\n")
        _ = try directory.file("journal-0.jsonl", Self.journalWithoutIdentifier)
        let first = try TestDaemon(in: directory)
        #expect(try cursor(first).description == "rurxp5gq.1")
        #expect(try first.send("GET app/keys/n?raw").text == "1")
        first.stop()
        let copy = try TemporaryDirectory(copyOf: directory)
        #expect(try cursor(TestDaemon(in: directory)).description == "rurxp5gq.1")
        #expect(try cursor(TestDaemon(in: copy)).revision.number == 1_000_000_001)
    }

    static let journalWithoutIdentifier = """
        {"crc":"9faba649","journal":1,"epoch":"rurxp5gq","revision":0,"after":0,"durability":"always"}
        {"crc":"758111be","after":0,"synced":true,"commit":{"revision":1,"time":"2026-11-22T00:40:03.966Z",\
        "suites":[{"op":"create","suite":"app"}],"changes":[{"suite":"app","key":"n","old":null,"new":1,\
        "oldSource":"unset","source":"stored"}]}}

        """
}
