import Foundation
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Which data directory it is: a copy must not be taken for the one that it was copied from.
@Suite(.ownThread)
struct CopyTests {
    /// A way to copy a directory that no daemon uses.
    enum Way: String, CaseIterable, CustomTestStringConvertible {
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

    /// Writes until the newest revision is this one.
    private func write(_ daemon: TestDaemon, upTo revision: Int64) throws {
        while try cursor(daemon).revision.number < revision {
            try daemon.done(Request("PUT app/keys/n \(try cursor(daemon).revision.number)"))
        }
    }

    @Test("A copy begins a new epoch, so that nothing of the original is taken for its own", arguments: Way.allCases)
    func copied(_ way: Way) throws {
        let original = try TemporaryDirectory()
        let first = try TestDaemon(in: original)
        try write(first, upTo: 10)
        first.stop()
        let copy = try way.copy(original)
        let second = try TestDaemon(in: original)
        try write(second, upTo: 20)
        let there = try cursor(second)
        second.stop()

        let copied = try TestDaemon(in: copy)
        let here = try cursor(copied)
        #expect(here.epoch != there.epoch)
        #expect(here.revision.number == 1_000_000_010)
        for _ in 0..<10 { try copied.done(Request("PUT app/keys/n \(Int.random(in: 100...999_999))")) }
        let observed = try copied.send(Request("GET app/observe?since=\(there)&wait=0"))
        #expect(observed.json?["reset"] == true, "\(observed.text)")
        #expect(try copied.send(Request("PUT app/keys/n 1", "If-Match: \"20\"")).status == 412)
        let later = try cursor(copied)
        copied.stop()
        #expect(try cursor(TestDaemon(in: copy)) == later, "a copy is itself from its first start on")
        #expect(try cursor(TestDaemon(in: original)) == there, "the original is not touched by it")
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

    @Test("A data directory without marks, of an older version, keeps its epoch; a later copy of it does not")
    func unmarked() throws {
        let directory = try TemporaryDirectory()
        _ = try directory.file("LOCK", "19034\n")
        _ = try directory.file("journal-0.jsonl", Self.unmarkedJournal)
        let first = try TestDaemon(in: directory)
        #expect(try cursor(first).description == "rurxp5gq.1")
        #expect(try first.send("GET app/keys/n?raw").text == "1")
        first.stop()
        let copy = try TemporaryDirectory(copyOf: directory)
        #expect(try cursor(TestDaemon(in: directory)).description == "rurxp5gq.1")
        #expect(try cursor(TestDaemon(in: copy)).revision.number == 1_000_000_001)
    }

    static let unmarkedJournal = """
        {"crc":"9faba649","journal":1,"epoch":"rurxp5gq","revision":0,"after":0,"durability":"always"}
        {"crc":"758111be","after":0,"synced":true,"commit":{"revision":1,"time":"2026-11-22T00:40:03.966Z",\
        "suites":[{"op":"create","suite":"app"}],"changes":[{"suite":"app","key":"n","old":null,"new":1,\
        "oldSource":"unset","source":"stored"}]}}

        """
}
