import Foundation
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// The audit file: a line for each commit, and never the reason why a write fails.
@Suite(.ownThread)
struct AuditTests {
    private static func lines(_ path: String) throws -> [JSONValue] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
    }

    @Test("Each commit is a line with its caller, peer, note and changes, secrets left out")
    func lines() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let guarded = try GuardedDaemon(["ci": ["*:write,schema"]]) { $0.auditFile = path }
        for request: Request in [
            Request("PUT app/keys/a 1", "Settings-Note: try it", "Idempotency-Key: k"),
            Request("PUT app/keys/a 1", "Settings-Note: try it", "Idempotency-Key: k"),
            "PUT app/keys/a 1", "PUT app/keys/a?dryRun 2", #"PATCH app {"a":2,"b":3}"#,
            #"PUT app/schema {"additionalProperties":{},"properties":{"s":{"writeOnly":true}}}"#,
            "PUT app/keys/s \"hunter2\"",
        ] { #expect(try guarded.send(request, as: "ci").status < 300) }
        #expect(try guarded.send("PUT app/keys/a [", as: "ci").status == 400)
        guarded.daemon.stop()
        let lines = try Self.lines(path)
        #expect(lines.count == 4)
        #expect(lines.allSatisfy { $0["by"] == "token:ci" && $0["peer"] == "127.0.0.1" && $0["time"] != nil })
        #expect(lines[0]["note"] == "try it" && lines[1]["note"] == nil)
        #expect(
            lines.map { $0["request"]?.string } == [
                "PUT /v1/suites/app/keys/a", "PATCH /v1/suites/app", "PUT /v1/suites/app/schema",
                "PUT /v1/suites/app/keys/s",
            ])
        let first = lines[0]["changes"]?.array?.first
        #expect(first?["suite"] == "app" && first?["key"] == "a" && first?["old"] == .null && first?["new"] == 1)
        #expect(lines[1]["changes"]?.array?.count == 2)
        let secret = lines[3]["changes"]?.array?.first
        #expect(secret?["secret"] == true && secret?["new"] == nil)
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("hunter2"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("The file is renamed at its size, and begun anew after a reload where it was moved")
    func rotation() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let daemon = try TestDaemon {
            $0.auditFile = path
            $0.auditBytes = 400
        }
        for value in 0..<4 { try daemon.done(Request("PUT app/keys/a \(value)")) }
        // Lines are written after the answers.
        func written() throws -> [Int64] {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            return try names.filter { $0.hasPrefix("audit") }.flatMap { try Self.lines("\(directory.path)/\($0)") }
                .compactMap { $0["revision"]?.integer }.sorted()
        }
        // While a line is written, a part of it may be there.
        try eventually { (try? written()) == [1, 2, 3, 4] }
        try FileManager.default.moveItem(atPath: path, toPath: path + ".mine")
        try daemon.done("POST /v1/reload")
        try daemon.done("PUT app/keys/a 9")
        daemon.stop()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count >= 3)
        #expect(try written() == [1, 2, 3, 4, 5])
        #expect(try Self.lines(path).map { $0["revision"] } == [5])
    }

    @Test("A file that cannot be renamed at its size grows on, and loses no line")
    func cannotRotate() throws {
        let directory = try TemporaryDirectory()
        // With the time behind it the name would be longer than names may be.
        let path = directory.path + "/" + String(repeating: "a", count: 245)
        let daemon = try TestDaemon {
            $0.auditFile = path
            $0.auditBytes = 400
        }
        for value in 0..<4 { try daemon.done(Request("PUT app/keys/a \(value)")) }
        daemon.stop()
        #expect(try Self.lines(path).map { $0["revision"] } == [1, 2, 3, 4])
    }

    @Test("Writes go on while the file cannot be written; readiness and a metric say so")
    func failing() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/gone/audit.jsonl"
        let daemon = try TestDaemon { $0.auditFile = path }
        try daemon.done("PUT app/keys/a 1")
        // Until its thread has tried.
        try eventually { try daemon.send("GET /metrics").text.contains("settingsd_audit_lost_lines_total 1\n") }
        let ready = try daemon.send("GET /readyz")
        #expect(ready.status == 200)
        #expect(ready.json?["audit"] == "failing")
        try FileManager.default.createDirectory(atPath: directory.path + "/gone", withIntermediateDirectories: false)
        try daemon.done("PUT app/keys/a 2")
        try eventually { try daemon.send("GET /readyz").json?["audit"] == nil }
        daemon.stop()
        #expect(try Self.lines(path).map { $0["revision"] } == [2])
    }
}
