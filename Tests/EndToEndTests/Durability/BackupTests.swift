import Dispatch
import Foundation
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// Online backups, and data directories restored from them. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct BackupTests {
    private static let writesBeforeBackup: [Request] = [
        Samples.schema, Request("PUT app/keys/volume 0.25", "Settings-Note: softer"), "PUT app/keys/count 3",
        "PUT b/keys/x [1,{\"y\":null}]", "DELETE b/keys/x", "PUT c/keys/z 1", "DELETE c?drop", Samples.narrowSchema,
    ]

    /// Restores the backup into the directory `data`, and returns the lines of the report.
    private func restore(_ backup: RawResponse, in directory: TemporaryDirectory) throws -> [String] {
        let file = directory.path + "/backup.json"
        try Self.write(backup.body, to: file)
        return try DirectoryRestore(
            of: file, into: DataDirectory(directory.path + "/data"), limits: History.Limits(),
            newEpoch: Epoch.random
        ).lines
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        try OpenFile(path, .replacing, in: POSIXFileSystem()).write(bytes.span, at: 0)
    }

    @Test("A restored backup has all stored data and its history, in a new epoch")
    func restored() throws {
        let daemon = try TestDaemon()
        for request in Self.writesBeforeBackup { try daemon.sendOK(request) }
        let backup = try daemon.sendOK("GET /v1/backup")
        #expect(backup.field("Content-Disposition")?.contains(".json") ?? false)
        let directory = try TemporaryDirectory()
        let lines = try restore(backup, in: directory)
        #expect(lines.first?.hasPrefix("restored: ") ?? false)
        let second = try TestDaemon(in: directory, data: directory.path + "/data")
        let members: [(target: String, member: String)] = [
            ("/v1/suites", "suites"), ("app", "values"), ("app", "invalid"), ("app/keys", "keys"), ("b/keys", "keys"),
            ("app/schema", "properties"), ("app/history", "commits"), ("c/history", "commits"), ("app?at=3", "values"),
        ]
        for (target, member) in members {
            let request = Request("GET \(target)")
            #expect(try second.sendOK(request).json?[member] == daemon.sendOK(request).json?[member], "\(target)")
        }
        let epochs = try [daemon, second].map { try $0.sendOK("GET /v1").json?["cursor"]?.string?.prefix { $0 != "." } }
        #expect(epochs[0] != epochs[1])
        // A restore refuses a directory that has data.
        #expect(throws: RecoveryError.self) { try restore(backup, in: directory) }
    }

    @Test("A backup that is truncated at any byte, or has a changed byte, is refused")
    func damaged() throws {
        let daemon = try TestDaemon()
        for request in Self.writesBeforeBackup { try daemon.sendOK(request) }
        let backup = try daemon.sendOK("GET /v1/backup").body
        let directory = try TemporaryDirectory()
        let (file, data) = (directory.path + "/backup.json", DataDirectory(directory.path + "/data"))
        func isRefused(_ bytes: [UInt8]) throws -> Bool {
            try Self.write(bytes, to: file)
            do throws(RecoveryError) {
                _ = try DirectoryRestore(of: file, into: data, limits: History.Limits(), newEpoch: Epoch.random)
                return false
            } catch {
                return error.kind == .damaged && error.description.contains("not a complete backup")
            }
        }
        for length in 0..<backup.count { try #require(try isRefused(Array(backup[..<length])), "cut at \(length)") }
        for index in stride(from: 0, to: backup.count, by: 7) {
            var bytes = backup
            bytes[index] ^= 1
            try #require(try isRefused(bytes), "changed at \(index)")
        }
        #expect(try !isRefused(backup))
    }

    @Test("A backup succeeds if the daemon cannot create the files backup-REVISION and backup-REVISION.tmp")
    func withoutFile() throws {
        let daemon = try TestDaemon()
        for request in Self.writesBeforeBackup { try daemon.sendOK(request) }
        let revision = try #require(try daemon.sendOK("GET /v1").revision)
        // `DataDirectory.temporarySnapshot` would create such a file. GET /v1/backup must not use this file, because
        // the disk may be full. Directories with these names prevent the daemon from creating files with these names.
        for name in ["backup-\(revision)", "backup-\(revision).tmp"] {
            try FileManager.default.createDirectory(
                atPath: "\(daemon.directory.path)/\(name)", withIntermediateDirectories: false)
        }
        let backup = try daemon.sendOK("GET /v1/backup")
        #expect(try JSONValue(parsing: backup.body)["revision"]?.integer == revision.number)
    }

    @Test(
        "A slow client gets the state at the time of its request; a second backup gets 503 until the first has ended")
    func slow() throws {
        let daemon = try TestDaemon()
        let large = String(repeating: "x", count: 1 << 20)
        let keys = (0..<16).map { "k\($0)" }
        for key in keys { try daemon.sendOK(Request("PUT app/keys/\(key) \"\(large)\"")) }
        func beginBackup() throws -> RawClient {
            let client = try RawClient(port: daemon.port, receiveBuffer: 64 << 10)
            try client.send(Request("GET /v1/backup").bytes)
            try #require(client.isReadable(withinMilliseconds: Deadline.patience * 1000))
            return client
        }
        let slowClient = try beginBackup()
        for key in keys { try daemon.sendOK(Request("PUT app/keys/\(key) 0")) }
        #expect(try daemon.send("GET /v1/backup").status == 503)
        let directory = try TemporaryDirectory()
        _ = try restore(slowClient.readResponse(), in: directory)
        let second = try TestDaemon(in: directory, data: directory.path + "/data")
        for key in keys { #expect(try second.sendOK(Request("GET app/keys/\(key)")).json?["value"] == .string(large)) }
        for key in keys { try daemon.sendOK(Request("PUT app/keys/\(key) \"\(large)\"")) }
        // A backup also ends when its client disconnects.
        try beginBackup().reset()
        try eventually { try daemon.send("GET /v1/backup").status == 200 }
    }

    @Test("A backup during writes has the state at its cursor")
    func underLoad() throws {
        let daemon = try TestDaemon { $0.history.commits = 200_000 }
        let writers = DispatchGroup()
        for writer in 0..<4 {
            let port = daemon.port
            DispatchQueue.global().async(group: writers) {
                for number in 0..<300 {
                    let map = Request(#"PATCH app {"a\#(writer)":\#(number),"b\#(writer)":\#(number)}"#)
                    do {
                        let answer = try RawClient(port: port).ask(map)
                        #expect(answer.status == 200, "\(answer.text)")
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        // This write creates the suite before the first backup, if no writer has created the suite yet.
        try daemon.sendOK(#"PATCH app {"begun":true}"#)
        for _ in 0..<5 {
            let backup = try daemon.sendOK("GET /v1/backup")
            let revision = try #require(backup.revision)
            let directory = try TemporaryDirectory()
            _ = try restore(backup, in: directory)
            let second = try TestDaemon(in: directory, data: directory.path + "/data")
            let restored = try second.sendOK("GET app?raw").json
            #expect(try daemon.sendOK(Request("GET app?at=\(revision)&raw")).json == restored)
            for writer in 0..<4 { #expect(restored?["a\(writer)"] == restored?["b\(writer)"]) }
            second.stop()
        }
        #expect(writers.wait(timeout: .now() + 60) == .success)
    }
}
