import Foundation
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Pending actions at their deadlines, also after a crash, a restart and a restore from a backup. The n-th commit of a
/// daemon has the revision n, so its pending action is `p` with the number n. `Samples.schema`: `count` (an integer).
/// `Samples.narrowSchema` allows only the keys `volume` and `count`, with numbers up to 10. The write of this schema
/// keeps stored values that the schema does not allow. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct PendingDeadlineTests {
    @Test("An unconfirmed commit is reverted at its deadline, and a watcher receives both commits")
    func unconfirmed() throws {
        let daemon = try TestDaemon()
        let cursor = try #require(try daemon.sendOK("PUT app/keys/pool 10").field("Settings-Cursor"))
        try daemon.sendOK(Request("PUT app/keys/pool 200", "Settings-Confirm: 1", "Settings-Note: larger"))
        try eventually { try daemon.send("GET app/keys/pool").json?["value"] == 10 }
        let setting = try daemon.send("GET app/keys/pool").json
        #expect(setting?["note"] == "not confirmed within 1s (commit 2)" && setting?["pending"] == nil)
        let changes = try daemon.send(Request("GET app/observe?since=\(cursor)")).json?["changes"]?.array
        #expect(changes?.map { $0["new"] } == [200, 10])
        #expect(changes?.first?["note"] == "larger")
        let ended = try daemon.send("GET /v1/pending/p2")
        #expect(ended.status == 410 && ended.json?["pending"]?["outcome"] == "reverted", "\(ended.text)")
        let metrics = try daemon.send("GET /metrics").text
        #expect(metrics.contains("\nsettingsd_pending_carried_out_total 1\n"), "\(metrics)")
        #expect(metrics.contains("\nsettingsd_pending_actions{kind=\"confirm\"} 0\n"))
    }

    @Test("A scheduled write with Settings-Until is carried out and reverted at its deadlines, with one identifier")
    func scheduled() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/banner \"none\"")
        try daemon.sendOK(
            Request("PUT app/keys/banner \"sale\"", "Settings-Effective: 1s", "Settings-Until: 1s", "Settings-Note: s"))
        try eventually { try daemon.send("GET /v1/pending/p2").status == 410 }
        // The newest commit is first. Commit 2, which created the action, changed no setting and is not listed.
        let commits = try daemon.send("GET app/history").json?["commits"]?.array ?? []
        #expect(commits.map { $0["changes"]?.array?.first?["new"] } == ["none", "sale", "none"])
        // `moved`: the write was carried out, and the action now waits for the deadline of Settings-Until.
        #expect(commits.map { $0["pending"]?.array?.first?["event"] } == ["reverted", "moved", nil])
        #expect(commits.count > 1 && commits[1]["note"] == "s")
    }

    @Test("A scheduled write that the schema no longer allows is refused at its deadline, and the refusal is recorded")
    func refusedWhenDue() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Samples.schema)
        try daemon.sendOK(Request("PUT app/keys/count 50", "Settings-Effective: 1s"))
        try daemon.sendOK(Samples.narrowSchema)
        try eventually { try daemon.send("GET /v1/pending/p2").status == 410 }
        let ended = try daemon.send("GET /v1/pending/p2").json?["pending"]
        #expect(
            ended?["outcome"] == "refused" && ended?["problem"]?["code"] == "invalid_value", "\(ended?.text() ?? "")")
        #expect(ended?["problem"]?["detail"]?.string?.contains("must be at most 10") ?? false)
        #expect(try daemon.send("GET app/keys/count").status == 404)
        #expect(try daemon.send("GET /metrics").text.contains("\nsettingsd_pending_refused_total 1\n"))
    }

    @Test("A pending action survives kill -9; if it is due, the next start carries it out before serving requests")
    func restart() throws {
        let directory = try TemporaryDirectory()
        var daemon = try TestDaemon(ownProcessIn: directory)
        try daemon.sendOK("PUT app/keys/pool 10")
        try daemon.sendOK(Request("PUT app/keys/pool 200", "Settings-Until: 2h"))
        try daemon.sendOK(Request("PUT app/keys/size 5", "Settings-Confirm: 1"))
        try daemon.sendOK(Request("PUT app/keys/banner 1", "Settings-Effective: 1s"))
        try daemon.kill()
        let due = ContinuousClock.now + .milliseconds(1200)
        try eventually { ContinuousClock.now > due }
        daemon = try TestDaemon(ownProcessIn: directory)
        // The first answers of the daemon show the effects of the due actions.
        #expect(try daemon.send("GET app/keys/size").status == 404)
        #expect(try daemon.send("GET app/keys/banner").json?["value"] == 1)
        #expect(try daemon.send("GET app/keys/pool").json?["pending"]?["id"] == "p2")
        // A clean stop writes a snapshot, from which the next start reads the action.
        daemon.stop()
        daemon = try TestDaemon(ownProcessIn: directory)
        #expect(try daemon.send("GET app/keys/pool").json?["pending"]?["id"] == "p2")
        let reverted = try daemon.sendOK(#"POST /v1/pending/p2 {"do":"revert"}"#)
        #expect(reverted.json?["changes"]?.array?.first?["new"] == 10)
        daemon.stop()
    }

    @Test("A backup contains the pending actions")
    func backup() throws {
        let directory = try TemporaryDirectory()
        let daemon = try TestDaemon(in: directory, data: directory.path + "/a")
        try daemon.sendOK("PUT app/keys/pool 10")
        try daemon.sendOK(Request("PUT app/keys/pool 200", "Settings-Until: 2h"))
        let file = directory.path + "/backup.json"
        try Data(daemon.send("GET /v1/backup").body).write(to: URL(fileURLWithPath: file))
        let restored = try ChildProcess.run(["restore", file, "--data", directory.path + "/b"])
        #expect(restored.code == 0, "\(restored)")
        let next = try TestDaemon(in: directory, data: directory.path + "/b")
        let answer = try next.sendOK(#"POST /v1/pending/p2 {"do":"revert"}"#)
        #expect(answer.json?["changes"]?.array?.first?["new"] == 10, "\(answer.text)")
    }

    @Test("The audit file has a line for each change of a pending action, also for a revert at the deadline")
    func audit() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let protected = try ProtectedDaemon(["ci": ["*:write"]]) { $0.auditFile = path }
        for request: Request in [
            "PUT app/keys/a 1", Request("PUT app/keys/a 2", "Settings-Confirm: 1"),
            Request("PUT app/keys/b 2", "Settings-Until: 1h"), #"POST /v1/pending/p3 {"do":"confirm"}"#,
        ] { #expect(try protected.send(request, as: "ci").status < 300) }
        try eventually { try protected.send("GET /v1/pending/p2", as: "ci").status == 410 }
        protected.daemon.stop()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
        #expect(
            lines.map { $0["pending"]?.array?.first?["event"] } == [nil, "created", "created", "confirmed", "reverted"])
        #expect(lines.allSatisfy { $0["by"] == "token:ci" })
        #expect(lines.last?["peer"] == "deadline" && lines.last?["note"] == "not confirmed within 1s (commit 2)")
    }
}
