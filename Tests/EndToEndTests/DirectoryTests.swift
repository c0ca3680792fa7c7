import Foundation
import SettingsModel
import TestSupport
import Testing

/// A daemon whose data directory is removed or moved while it runs.
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

    /// Asks until `/readyz` answers this: the daemon looks for its directory once a second.
    private func waitUntil(_ daemon: TestDaemon, answers status: Int, with reason: String) throws {
        let end = ContinuousClock.now + .seconds(180)
        while true {
            let answer = try daemon.send("GET /readyz")
            if answer.status == status && answer.text.contains(reason) { return }
            try #require(ContinuousClock.now < end, "\(answer.text)")
        }
    }

    private func expectRefused(_ daemon: TestDaemon, _ reason: String, _ name: Comment) throws {
        try waitUntil(daemon, answers: 503, with: reason)
        for request: Request in ["PUT app/keys/n 2", "PUT other/keys/n 1"] {
            let answer = try daemon.send(request)
            #expect(answer.status == 503, name)
            #expect(answer.json?["code"] == "storage_failed", name)
            #expect(answer.json?["outcome"] == "not_done", name)
            #expect(answer.text.contains(reason), "\(name): \(answer.text)")
        }
        #expect(try daemon.send("GET app/keys/n?raw").text == "1", name)
        #expect(try daemon.send("GET /metrics").text.contains("settingsd_ready 0"), name)
    }

    @Test("Of a directory that was moved away no write is taken, until it is back")
    func moved() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.done("PUT app/keys/n 1")
        try move(data, to: data + "-moved")
        try expectRefused(daemon, "was moved or removed", "moved away")
        try files.createDirectory(atPath: data, withIntermediateDirectories: false)
        try expectRefused(daemon, "another is in its place", "another directory in its place")
        #expect(try files.contentsOfDirectory(atPath: data).isEmpty, "nothing is written into another directory")
        try files.removeItem(atPath: data)
        try move(data + "-moved", to: data)
        try waitUntil(daemon, answers: 200, with: "ready")
        try daemon.done("PUT app/keys/n 2")
        daemon.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET app/keys/n?raw").text == "2")
    }

    @Test("Of a directory that was removed no write is taken, also if another daemon begins one of that name")
    func removed() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.done("PUT app/keys/n 1")
        try files.removeItem(atPath: data)
        try expectRefused(daemon, "was moved or removed", "removed")
        let other = try TestDaemon(in: directory, data: data)
        try other.done("PUT app/keys/n 3")
        try expectRefused(daemon, "another is in its place", "begun anew by another daemon")
        daemon.stop()
        try other.done("PUT app/keys/n 4")
        other.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET app/keys/n?raw").text == "4")
    }

    @Test("Without its journal no write is taken, and a stop keeps all that the daemon has")
    func withoutJournal() throws {
        let daemon = try TestDaemon(in: directory, data: data)
        try daemon.done("PUT app/keys/n 1")
        let cursor = try daemon.send("GET /v1").field("Settings-Cursor")
        try files.removeItem(atPath: data + "/journal-0.jsonl")
        try expectRefused(daemon, "the journal was moved, removed or replaced", "without its journal")
        daemon.stop()
        let again = try TestDaemon(in: directory, data: data)
        #expect(try again.send("GET app/keys/n?raw").text == "1")
        #expect(try again.send("GET /v1").field("Settings-Cursor") == cursor)
    }

    @Test("Two daemons never have one directory, whatever is removed from it, and it keeps its epoch")
    func locked() throws {
        let daemon = try TestDaemon(ofItsOwnIn: directory, data: data)
        for name in ["LOCK", "LOCK", "nothing"] {
            try? files.removeItem(atPath: data + "/" + name)
            let second = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", data, "--log", "error"])
            #expect(second.code == 75)
            #expect(second.errors.hasPrefix("settingsd: \(data) is in use by another settingsd"), "\(second.errors)")
        }
        let cursor = try daemon.done("PUT app/keys/n 1").field("Settings-Cursor")
        daemon.stop()
        #expect(try TestDaemon(in: directory, data: data).send("GET /v1").field("Settings-Cursor") == cursor)
    }
}
