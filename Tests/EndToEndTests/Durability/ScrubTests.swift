import Foundation
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// The scrub, which reads the stored files again while the daemon runs.
@Suite(.ownThread)
struct ScrubTests {
    @Test("The scrub reports a damaged file in /readyz, metrics and the log, and writes succeed")
    func damage() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("c.json", #"{"scrubSeconds":1,"snapshot":{"journalBytes":1024}}"#)
        let data = directory.path + "/data"
        let daemon = try TestDaemon(ownProcessIn: directory, data: data, options: ["--config", file])
        func condition() throws -> JSONValue? { try daemon.sendOK("GET /readyz").json?["conditions"]?["files"] }
        func scrubMetrics() throws -> [Substring] {
            try daemon.send("GET /metrics").text.split(separator: "\n").filter { $0.hasPrefix("settingsd_scrub_") }
        }
        #expect(try condition() == "ok")
        var snapshot: String?
        try eventually {
            for number in 0..<10 {
                try daemon.sendOK(Request("PUT app/keys/key\(number) \(UInt32.random(in: .min ... .max))"))
            }
            // The names of journals end with `.jsonl`.
            snapshot = try FileManager.default.contentsOfDirectory(atPath: data).first { $0.hasSuffix(".json") }
            return snapshot != nil
        }
        let name = try #require(snapshot)
        let path = URL(filePath: "\(data)/\(name)")
        let undamaged = try Data(contentsOf: path)
        var damaged = undamaged
        damaged[undamaged.count / 2] ^= 0x04
        try damaged.write(to: path)
        try eventually { try condition() == "damaged" }
        let line = try #require(daemon.process).line(containing: "the scrub of the stored files found a problem: ")
        #expect(line.contains(path.path) && line.contains("GET /v1/backup"), "\(line)")
        #expect(try scrubMetrics().contains("settingsd_scrub_damaged_files 1"))
        try daemon.sendOK("PUT app/keys/a 1")
        try undamaged.write(to: path)
        try eventually { try condition() == "ok" }
        #expect(try scrubMetrics().contains("settingsd_scrub_damaged_files 0"))
    }

    @Test(
        "The scrub reports no damage while journals are written, created and removed",
        arguments: ["always", "interval"])
    func rotation(durability: String) throws {
        let daemon = try TestDaemon {
            $0.durability = durability == "always" ? .always : .interval
            // A snapshot, and with it a new journal, starts when the journal has 4 KiB.
            $0.snapshotJournalBytes = 4096
            // A long history would delay the next snapshot until the journal is as large as the history.
            ($0.history.commits, $0.history.suiteCommits) = (4, 0)
        }
        let lines = Mutex<[String]>([])
        let log = Log(level: .warning, clock: { Timestamp.now() }) { line in
            lines.withLock { $0.append(line) }
        }
        let writer = try daemon.connect()
        let reader = try daemon.connect()
        let published = Mutex(Revision.zero)
        let data = DataDirectory(daemon.directory.path)
        // This scrub, in addition to the scrub of the daemon, runs after the test has sent each group of writes, while
        // the daemon may still carry the writes out.
        let scrub = Scrub(data, pace: ReadPace(bytesPerSecond: .max), StorageMetrics(), log) {
            published.withLock { $0 }
        }
        var journals: Set<String> = []
        var round = 0
        let end = ContinuousClock.now + .seconds(Deadline.patience)
        // The daemon starts a snapshot at most about once a second.
        while round < 100 || journals.count <= 5 && .now < end {
            round += 1
            let writes = (0..<20).map {
                Request("PUT app/keys/key\($0) \"\(String(repeating: "x", count: 150 + round % 50))\"")
            }
            try writer.send(writes.flatMap(\.bytes))
            let revision = try reader.ask("GET /v1").revision ?? .zero
            published.withLock { $0 = revision }
            scrub.run()
            for _ in writes { #expect(try writer.readResponse().status < 300) }
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.directory.path)
            journals.formUnion(names.filter { $0.hasPrefix("journal-") })
        }
        #expect(lines.withLock { $0 } == [])
        #expect(journals.count > 5)
    }
}
