import Foundation
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// The audit file has one line for each commit. If the daemon cannot write to the audit file, writes of settings
/// succeed. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct AuditTests {
    private static func lines(_ path: String) throws -> [JSONValue] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
    }

    @Test("Each commit has an audit line with its caller, peer, note and changes, without the values of secrets")
    func lines() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let protected = try ProtectedDaemon(["ci": ["*:write,schema"]]) { $0.auditFile = path }
        for request: Request in [
            Request("PUT app/keys/a 1", "Settings-Note: try it", "Idempotency-Key: k"),
            Request("PUT app/keys/a 1", "Settings-Note: try it", "Idempotency-Key: k"),
            "PUT app/keys/a 1", "PUT app/keys/a?dryRun 2", #"PATCH app {"a":2,"b":3}"#,
            #"PUT app/schema {"additionalProperties":{},"properties":{"s":{"writeOnly":true}}}"#,
            "PUT app/keys/s \"hunter2\"",
        ] { #expect(try protected.send(request, as: "ci").status < 300) }
        #expect(try protected.send("PUT app/keys/a [", as: "ci").status == 400)
        protected.daemon.stop()
        let lines = try Self.lines(path)
        // The repeat, the equal value, the dry run and the refused request made no commit.
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

    @Test(
        "A reload after a rename of the audit file starts a new file; the daemon appends after lines of other programs")
    func rotation() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let daemon = try TestDaemon { $0.auditFile = path }
        try daemon.sendOK("PUT app/keys/a 1")
        // The daemon writes an audit line after it answers the request.
        try eventually { (try? Self.lines(path).count) == 1 }
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try daemon.sendOK("POST /v1/reload")
        try daemon.sendOK("PUT app/keys/a 2")
        try eventually { (try? Self.lines(path).count) == 1 }
        let otherProgram = try #require(FileHandle(forWritingAtPath: path))
        try otherProgram.seekToEnd()
        try otherProgram.write(contentsOf: Data("{\"rotated\":true}\n".utf8))
        try daemon.sendOK("PUT app/keys/a 3")
        daemon.stop()
        #expect(try Self.lines(path + ".1").map { $0["revision"] } == [1])
        #expect(try Self.lines(path).map { $0["revision"] } == [2, nil, 3])
    }

    @Test("A start adds the missing last lines to an audit file, also if the last line is truncated")
    func start() throws {
        let directory = try TemporaryDirectory()
        let (path, data) = (directory.path + "/audit.jsonl", directory.path + "/data")
        let first = try TestDaemon(in: directory, data: data) { $0.auditFile = path }
        for value in 0..<4 { try first.sendOK(Request("PUT app/keys/a \(value)", "Settings-Note: n\(value)")) }
        first.stop()
        let text = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        // The file has the state after a kill during the write of the third line.
        try "\(text[0])\n\(text[1])\n\(text[2].prefix(40))".write(toFile: path, atomically: false, encoding: .utf8)
        let second = try TestDaemon(in: directory, data: data) { $0.auditFile = path }
        try second.sendOK("PUT app/keys/a 9")
        second.stop()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let whole = lines.compactMap { try? JSONValue(parsing: String($0)) }
        // The truncated line stays in the file.
        #expect(lines.count == whole.count + 1)
        #expect(whole.map { $0["revision"] } == [1, 2, 3, 4, 5])
        #expect(
            whole[2]["note"] == "n2" && whole[2]["peer"] == nil,
            "a line that a start adds has no peer, because the journal does not contain the peer")
        #expect(whole[4]["peer"] == "127.0.0.1")
    }

    @Test(
        "If lines among the last lines of the audit file are missing or out of order, a start adds each missing line once"
    )
    func gaps() throws {
        let directory = try TemporaryDirectory()
        let (path, data) = (directory.path + "/audit.jsonl", directory.path + "/data")
        let first = try TestDaemon(in: directory, data: data) { $0.auditFile = path }
        for value in 1...6 { try first.sendOK(Request("PUT app/keys/a \(value)")) }
        first.stop()
        let text = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        // The lines of the commits 4 and 6 are missing.
        let remaining = [text[0], text[2], text[1], text[4]].joined(separator: "\n") + "\n"
        try remaining.write(toFile: path, atomically: false, encoding: .utf8)
        try TestDaemon(in: directory, data: data) { $0.auditFile = path }.stop()
        #expect(try Self.lines(path).map { $0["revision"] } == [1, 3, 2, 5, 4, 6])
    }

    private static func revisions(_ path: String) throws -> [Int64] {
        try lines(path).compactMap { $0["revision"]?.integer }
    }

    @Test("After a crash, a new or rotated audit file gets each missing line once")
    func missingLinesOfNewFile() throws {
        let directory = try TemporaryDirectory()
        let (path, data) = (directory.path + "/audit.jsonl", directory.path + "/data")
        /// Makes commits. A commit without the audit file stands for a kill before the daemon wrote the line.
        func commit(_ values: ClosedRange<Int>, isAudited: Bool) throws {
            let daemon = try TestDaemon(in: directory, data: data) { if isAudited { $0.auditFile = path } }
            for value in values { try daemon.sendOK(Request("PUT app/keys/a \(value)")) }
            daemon.stop()
        }
        func start() throws { try TestDaemon(in: directory, data: data) { $0.auditFile = path }.stop() }
        try commit(1...3, isAudited: false)
        try start()
        #expect(try Self.revisions(path) == [], "the first audit file has no lines of earlier commits")
        try commit(4...6, isAudited: false)
        try start()
        #expect(try Self.revisions(path) == [4, 5, 6])
        try commit(7...8, isAudited: true)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try commit(9...11, isAudited: false)
        try start()
        #expect(try Self.revisions(path) == [9, 10, 11])
        try FileManager.default.moveItem(atPath: path, toPath: path + ".2")
        // The file that was moved has all lines, so a start adds none.
        for _ in 0..<2 { try start() }
        #expect(try Self.revisions(path) == [])
    }

    @Test("Readiness and a metric report missing audit lines whose commits are no longer in the history")
    func missingCommits() throws {
        let directory = try TemporaryDirectory()
        let (path, data) = (directory.path + "/audit.jsonl", directory.path + "/data")
        func start(isAudited: Bool) throws -> TestDaemon {
            try TestDaemon(in: directory, data: data) {
                $0.history.commits = 8
                if isAudited { $0.auditFile = path }
            }
        }
        try start(isAudited: true).stop()
        let unaudited = try start(isAudited: false)
        for value in 1...40 { try unaudited.sendOK(Request("PUT app/keys/a \(value)")) }
        unaudited.stop()
        let daemon = try start(isAudited: true)
        try eventually { try daemon.send("GET /readyz").json?["conditions"]?["audit"] == "incomplete" }
        let lost = try daemon.send("GET /metrics").text.firstMatch(of: /settingsd_audit_lost_lines_total ([0-9]+)/)
        daemon.stop()
        let revisions = try Self.revisions(path)
        #expect(revisions.last == 40)
        #expect(try Int(#require(lost).output.1) == 40 - revisions.count)
    }

    @Test("After a rotation of the audit file and a kill, the next start adds the missing audit lines")
    func killedAfterRotation() throws {
        let directory = try TemporaryDirectory()
        let (path, data) = (directory.path + "/audit.jsonl", directory.path + "/data")
        let options = ["--config", try directory.file("c", #"{"auditFile":"\#(path)"}"#)]
        let daemon = try TestDaemon(ownProcessIn: directory, data: data, options: options)
        let client = try daemon.connect()
        func commit(_ values: ClosedRange<Int>) throws {
            for value in values { #expect(try client.ask(Request("PUT app/keys/a \(value)")).status < 300) }
        }
        try commit(1...40)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try commit(41...60)
        #expect(try client.ask("POST /v1/reload").status == 200)
        try commit(61...80)
        try daemon.kill()
        try TestDaemon(ownProcessIn: directory, data: data, options: options).stop()
        #expect(try Set(Self.revisions(path + ".1") + Self.revisions(path)) == Set(1...80))
    }

    @Test("Writes succeed while the audit file cannot be written; readiness and a metric report the failure")
    func failing() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/missing/audit.jsonl"
        let daemon = try TestDaemon { $0.auditFile = path }
        try daemon.sendOK("PUT app/keys/a 1")
        // The audit thread writes after the answer.
        try eventually { try daemon.send("GET /metrics").text.contains("settingsd_audit_lost_lines_total 1\n") }
        let ready = try daemon.send("GET /readyz")
        #expect(ready.status == 200)
        #expect(ready.json?["conditions"]?["audit"] == "failing")
        try FileManager.default.createDirectory(atPath: directory.path + "/missing", withIntermediateDirectories: false)
        try daemon.sendOK("PUT app/keys/a 2")
        try eventually { try daemon.send("GET /readyz").json?["conditions"]?["audit"] == "incomplete" }
        daemon.stop()
        // The line of the first commit is lost.
        #expect(try Self.lines(path).map { $0["revision"] } == [2])
    }
}
