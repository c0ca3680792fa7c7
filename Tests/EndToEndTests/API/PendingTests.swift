import Foundation
import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Writes with deadlines, and requests about pending actions.
@Suite(.ownThread)
struct PendingTests {
    /// A request with the status and a pattern of its answer. A `$n` stands for the revision after the n-th step.
    struct Step: Sendable {
        let request: Request
        let status: Int
        let pattern: String

        init(_ request: Request, _ status: Int, _ pattern: String = "{}") {
            (self.request, self.status, self.pattern) = (request, status, pattern)
        }
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ name: String, _ steps: Step...) {
            (testDescription, self.steps) = (name, steps)
        }

        func check() throws {
            let daemon = try TestDaemon()
            var revisions = [try daemon.send("GET /v1").revision?.description ?? ""]
            for step in steps {
                let sent = step.request.naming(revisions)
                let answer = try daemon.send(sent)
                let context: Comment =
                    "\(testDescription), \(sent.method) \(sent.target): \(answer.status) \(answer.text)"
                #expect(answer.status == step.status, context)
                let pattern = try JSONValue(
                    parsing: step.pattern.naming(revisions + [answer.revision?.description ?? ""]))
                #expect(pattern.isFound(in: answer.json), context)
                try DescribedAnswers.check(answer, to: sent, of: testDescription)
                revisions.append(answer.revision?.description ?? "")
            }
        }
    }

    private static let put: Request = "PUT app/keys/pool 10"
    private static let confirm = Request("PUT app/keys/pool 200", "Settings-Confirm: 600")
    private static let effective = Request("PUT app/keys/pool 200", "Settings-Effective: 1h")

    static let stories: [Story] = [
        Story(
            "A write with Settings-Confirm shows its action in each answer",
            Step(put, 201),
            Step(confirm, 200, #"{"value":200,"pending":{"id":"p$2","kind":"confirm","action":"revert","commit":$2}}"#),
            Step("GET app/keys/pool", 200, #"{"value":200,"pending":{"id":"p$2","kind":"confirm","commit":$2}}"#),
            Step("GET app/keys", 200, #"{"keys":[{"key":"pool","pending":{"id":"p$2"}}]}"#),
            Step(
                "GET /v1/pending?suite=app", 200,
                #"{"pending":[{"id":"p$2","created":"*","deadline":"*","suites":[{"suite":"app","keys":["pool"]}]}]}"#),
            Step("GET /v1/pending?suite=other", 200, #"{"pending":[]}"#),
            Step("GET /v1/pending/p$2", 200, #"{"id":"p$2","kind":"confirm","commit":$2}"#),
            Step(
                "GET app/history", 200,
                #"{"commits":[{"revision":$2,"pending":[{"id":"p$2","event":"created","kind":"confirm"}]},{"revision":$1}]}"#
            )),
        Story(
            "A confirmation keeps the change, and a second confirmation is 409 with the outcome",
            Step(put, 201), Step(confirm, 200),
            Step(
                #"POST /v1/pending/p$2 {"do":"confirm"}"#, 200,
                #"{"changed":false,"changes":[],"pending":{"id":"p$2","outcome":"confirmed","endCommit":$3}}"#),
            Step("GET app/keys/pool", 200, #"{"value":200,"revision":$2}"#),
            Step(
                #"POST /v1/pending/p$2 {"do":"confirm"}"#, 409,
                #"{"code":"pending_ended","pending":{"id":"p$2","outcome":"confirmed"}}"#),
            Step("GET /v1/pending/p$2", 410, #"{"code":"pending_ended","pending":{"outcome":"confirmed"}}"#),
            Step("GET /v1/pending", 200, #"{"pending":[]}"#)),
        Story(
            "A revert on request restores the previous value, and is in the history",
            Step(put, 201), Step(confirm, 200),
            Step(
                #"POST /v1/pending/p$2 {"do":"revert"}"#, 200,
                #"{"changed":true,"changes":[{"key":"pool","old":200,"new":10}],"pending":{"outcome":"reverted"}}"#),
            Step(
                "GET app/history?limit=1", 200,
                #"{"commits":[{"note":"reverted on request (commit $2)","pending":[{"event":"reverted"}]}]}"#)),
        Story(
            "A revert keeps a key that a later commit changed",
            Step(put, 201),
            Step(Request(#"PATCH app {"pool":200,"size":1}"#, "Settings-Confirm: 60"), 200),
            Step("PUT app/keys/pool 300", 200, #"{"value":300}"#),
            Step(
                #"POST /v1/pending/p$2 {"do":"revert"}"#, 200,
                #"{"changes":[{"key":"size","new":null}],"pending":{"kept":[{"suite":"app","key":"pool","reason":"changed at revision $3"}]}}"#
            ),
            Step(
                "GET app/history?limit=1", 200,
                #"{"commits":[{"kept":[{"key":"pool","reason":"changed at revision $3"}]}]}"#),
            Step("GET app/keys/pool", 200, #"{"value":300}"#)),
        Story(
            "A deadline is extended by a duration or to an instant",
            Step(put, 201),
            Step(Request("PUT app/keys/pool 200", "Settings-Until: 2h"), 200, #"{"pending":{"kind":"until"}}"#),
            Step(
                #"POST /v1/pending/p$2 {"do":"extend","deadline":"90d"}"#, 200,
                #"{"changed":false,"pending":{"id":"p$2","kind":"until","commit":$2}}"#),
            Step(#"POST /v1/pending/p$2 {"do":"extend","deadline":60}"#, 200, #"{"pending":{"id":"p$2"}}"#),
            Step(#"POST /v1/pending/p$2 {"do":"extend","deadline":"401d"}"#, 400),
            Step(#"POST /v1/pending/p$2 {"do":"extend","deadline":"2001-01-01T00:00:00Z"}"#, 400),
            Step(#"POST /v1/pending/p$2 {"do":"extend","deadline":"soon"}"#, 400, #"{"pointer":"/deadline"}"#),
            Step(#"POST /v1/pending/p$2 {"do":"extend"}"#, 400),
            Step(#"POST /v1/pending/p$2 {"do":"keep"}"#, 400),
            Step(#"POST /v1/pending/p$2 {"do":"cancel"}"#, 422, #"{"code":"invalid_operation"}"#)),
        Story(
            "A scheduled write is validated at once, listed, and cancelled",
            Step(put, 201),
            Step(
                effective, 202,
                #"{"changed":false,"changes":[],"pending":{"id":"p$2","kind":"effective","action":"write"}}"#),
            Step("GET app/keys/pool", 200, #"{"value":10}"#),
            Step(
                "GET /v1/pending/p$2", 200,
                #"{"operations":[{"op":"set","suite":"app","key":"pool","value":200}]}"#),
            Step(#"POST /v1/pending/p$2 {"do":"confirm"}"#, 422, #"{"code":"invalid_operation"}"#),
            Step(#"POST /v1/pending/p$2 {"do":"cancel"}"#, 200, #"{"pending":{"outcome":"cancelled"}}"#),
            Step("GET /v1/pending/p$2", 410, #"{"pending":{"outcome":"cancelled"}}"#)),
        Story(
            "A scheduled write that the schema does not allow is refused at once",
            Step(Samples.schema, 201),
            Step(Request("PUT app/keys/volume 2", "Settings-Effective: 1h"), 422, #"{"code":"invalid_value"}"#),
            Step(Request("PUT app/schema {\"type\":1}", "Settings-Effective: 1h"), 422, #"{"code":"invalid_schema"}"#),
            Step("GET /v1/pending", 200, #"{"pending":[]}"#)),
        Story(
            "Every kind of write can be scheduled",
            Step(put, 201),
            Step(Request(#"PATCH app {"pool":1}"#, "Settings-Effective: 1h"), 202),
            Step(Request(#"PUT app {"pool":1}"#, "Settings-Effective: 2h"), 202),
            Step(Request("DELETE app?prefix=po", "Settings-Effective: 3h"), 202),
            Step(Request("DELETE app?drop", "Settings-Effective: 4h"), 202),
            Step(
                Request(
                    #"PUT app/schema?onConflict=keep {"additionalProperties":{},"properties":{}}"#,
                    "Settings-Effective: 5h"), 202),
            Step(Request(#"POST app/undo {"revision":$1}"#, "Settings-Effective: 6h"), 202),
            Step(Request(#"POST app/restore {"to":$1}"#, "Settings-Effective: 7h"), 202),
            Step(
                Request(
                    #"POST /v1/transaction {"if":[{"suite":"app","revision":$1}],"do":[{"op":"delete","suite":"app","key":"pool"}]}"#,
                    "Settings-Effective: 8h", "Settings-Until: 1h"), 202, #"{"pending":{"until":"*"}}"#),
            Step(
                "GET /v1/pending", 200,
                #"{"pending":[{"operations":[{"op":"mergeSuite","values":{"pool":1}}]},"#
                    + #"{"operations":[{"op":"replaceSuite"}],"suites":[{"suite":"app"}]},"#
                    + #"{"operations":[{"op":"resetSuite","prefix":"po"}],"suites":[{"prefix":"po"}]},"#
                    + #"{"operations":[{"op":"dropSuite"}],"suites":[{"schema":true}]},"#
                    + #"{"operations":[{"op":"setSchema","onConflict":"keep","schema":{"properties":{}}}]},"#
                    + #"{"operations":[{"op":"undo","revision":$1}],"suites":[{"keys":["pool"]}]},"#
                    + #"{"operations":[{"op":"restore","to":$1}]},"#
                    + #"{"operations":[{"op":"delete"}],"if":[{"suite":"app","revision":$1}],"until":"*"}]}"#)),
        Story(
            "An undo of the commit by hand ends the action",
            Step(put, 201), Step(confirm, 200), Step(#"POST app/undo {"revision":$2}"#, 200),
            Step("GET /v1/pending/p$2", 410, #"{"pending":{"outcome":"undone","endCommit":$3}}"#)),
        Story(
            "A drop of the suite ends its actions",
            Step(put, 201), Step(confirm, 200), Step(effective, 202), Step("DELETE app?drop", 200),
            Step("GET /v1/pending/p$2", 410, #"{"pending":{"outcome":"dropped"}}"#),
            Step("GET /v1/pending/p$3", 410, #"{"pending":{"outcome":"dropped"}}"#)),
        Story(
            "A drop with a deadline is reverted with its schema and its values",
            Step(Samples.schema, 201), Step("PUT app/keys/count 3", 201),
            Step(Request("DELETE app?drop", "Settings-Confirm: 60"), 200, #"{"pending":{"id":"p$3"}}"#),
            Step("GET app", 404),
            Step(#"POST /v1/pending/p$3 {"do":"revert"}"#, 200, #"{"changed":true}"#),
            Step("GET app?view=stored", 200, #"{"values":{"count":3},"schemaRevision":$5}"#)),
        Story(
            "A schema with a deadline is reverted, unless it does not allow a later value",
            Step(Samples.narrow, 201), Step("PUT app/keys/count 3", 201),
            Step(
                Request(
                    #"PUT app/schema {"additionalProperties":false,"properties":{"count":{"type":"integer","maximum":90}}}"#,
                    "Settings-Confirm: 60"), 200),
            Step("PUT app/keys/count 50", 200),
            Step(
                #"POST /v1/pending/p$3 {"do":"revert"}"#, 200,
                #"{"changed":false,"pending":{"kept":[{"suite":"app","schema":true,"reason":"*"}]}}"#),
            Step(
                Request(
                    #"PUT app/schema {"additionalProperties":false,"properties":{"count":{"type":"integer","maximum":80}}}"#,
                    "Settings-Confirm: 60"), 200),
            Step(#"POST /v1/pending/p$6 {"do":"revert"}"#, 200, #"{"pending":{"outcome":"reverted"}}"#),
            Step("GET app/schema", 200, #"{"properties":{"count":{"maximum":90}}}"#)),
        Story(
            "A write with a deadline that changes nothing creates no action",
            Step(put, 201), Step(Request("PUT app/keys/pool 10", "Settings-Confirm: 60"), 200, #"{"changed":false}"#),
            Step("GET /v1/pending", 200, #"{"pending":[]}"#)),
        Story(
            "A dry run creates no action",
            Step(put, 201),
            Step(Request("PUT app/keys/pool?dryRun 20", "Settings-Confirm: 60"), 200, #"{"dryRun":true}"#),
            Step(Request("PUT app/keys/pool?dryRun 20", "Settings-Effective: 60"), 200, #"{"dryRun":true}"#),
            Step(confirm, 200),
            Step(#"POST /v1/pending/p$4?dryRun {"do":"revert"}"#, 200, #"{"dryRun":true,"changes":[{"new":10}]}"#),
            Step(#"POST /v1/pending/p$4?dryRun {"do":"confirm"}"#, 200, #"{"dryRun":true}"#),
            Step("GET /v1/pending", 200, #"{"pending":[{"id":"p$4"}]}"#)),
        Story(
            "A repeat with the same Idempotency-Key returns the same action",
            Step(put, 201),
            Step(Request("PUT app/keys/pool 20", "Settings-Until: 1h", "Idempotency-Key: a"), 200),
            Step(
                Request("PUT app/keys/pool 20", "Settings-Until: 60m", "Idempotency-Key: a"), 200,
                #"{"replayed":true,"pending":{"id":"p$2"}}"#),
            Step(Request("PUT app/keys/pool 20", "Idempotency-Key: a"), 422, #"{"code":"idempotency_mismatch"}"#),
            Step(Request("PUT app/keys/pool 30", "Settings-Effective: 1h", "Idempotency-Key: b"), 202),
            Step(
                Request("PUT app/keys/pool 30", "Settings-Effective: 1h", "Idempotency-Key: b"), 202,
                #"{"replayed":true,"changed":false,"pending":{"id":"p$5","kind":"effective"}}"#),
            Step(Request(#"POST /v1/pending/p$2 {"do":"confirm"}"#, "Idempotency-Key: c"), 200),
            Step(
                Request(#"POST /v1/pending/p$2 {"do":"confirm"}"#, "Idempotency-Key: c"), 200,
                #"{"replayed":true,"pending":{"id":"p$2","outcome":"confirmed"}}"#)),
        Story(
            "Guards and Prefer work with deadlines",
            Step(put, 201),
            Step(Request("PUT app/keys/pool 20", "Settings-Confirm: 60", "If-Match: \"99\""), 412),
            Step(Request("PUT app/keys/pool 20", "Settings-Effective: 60", "If-Match: \"99\""), 412),
            Step(
                Request("PUT app/keys/pool 20", "Settings-Confirm: 60", "If-Match: \"$1\"", "Prefer: return=minimal"),
                200, #"{"pending":{"id":"p$4"}}"#),
            Step(Request(#"POST /v1/pending/p$4 {"do":"confirm"}"#, "If-Match: \"$4\""), 400)),
        Story(
            "An action that never existed is unknown",
            Step(put, 201), Step("GET /v1/pending/p$1", 404, #"{"code":"unknown_pending"}"#),
            Step("GET /v1/pending/p99", 404, #"{"code":"unknown_pending"}"#),
            Step("GET /v1/pending/51", 404, #"{"code":"unknown_pending"}"#),
            Step(#"POST /v1/pending/p99 {"do":"confirm"}"#, 404, #"{"code":"unknown_pending"}"#),
            Step("DELETE /v1/pending/p99", 405), Step("POST /v1/pending {}", 405)),
    ]

    @Test("Pending actions behave as described", arguments: stories)
    func story(story: Story) throws {
        try story.check()
    }

    /// Each malformed field gets 400, and the error says what is allowed.
    static let malformed: [(field: String, hint: String)] = [
        ("Settings-Confirm: ", "1 to 86400"), ("Settings-Confirm: 0", "1 to 86400"),
        ("Settings-Confirm: 86401", "1 to 86400"), ("Settings-Confirm: 2d", "1 to 86400"),
        ("Settings-Confirm: -1", "1 to 86400"), ("Settings-Confirm: 1.5", "1 to 86400"),
        ("Settings-Confirm: 1 m", "1 to 86400"), ("Settings-Confirm: 99999999999999999999", "1 to 86400"),
        ("Settings-Confirm: 2026-11-20T10:00:00Z", "1 to 86400"), ("Settings-Until: ", "a duration such as"),
        ("Settings-Until: tomorrow", "a duration such as"), ("Settings-Until: 2w", "a duration such as"),
        ("Settings-Until: 02h", "a duration such as"), ("Settings-Until: h", "a duration such as"),
        ("Settings-Until: 2026-02-30T00:00:00Z", "a duration such as"), ("Settings-Until: 0", "later than now"),
        ("Settings-Until: 2001-01-01T00:00:00Z", "later than now"), ("Settings-Until: 401d", "400 days"),
        ("Settings-Until: 9223372036854775807d", "a duration such as"),
        ("Settings-Until: 9223372036854775", "400 days"), ("Settings-Until: 9999-12-31T23:59:59Z", "400 days"),
        ("Settings-Effective: never", "a duration such as"), ("Settings-Effective: 401d", "400 days"),
        ("Settings-Effective: 2001-01-01T00:00:00Z", "later than now"),
        ("Settings-Confirm: 60\r\nSettings-Until: 60", "cannot be combined"),
        ("Settings-Confirm: 60\r\nSettings-Effective: 60", "cannot be combined"),
        ("Settings-Effective: 2h\r\nSettings-Until: 0s", "later than Settings-Effective"),
    ]

    @Test("A malformed deadline gets 400, which says what is allowed", arguments: malformed)
    func malformedFields(field: String, hint: String) throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/pool 10")
        for request: Request in ["PUT app/keys/pool 20", #"PATCH app {"pool":20}"#, "DELETE app"] {
            var request = request
            request.fields = field.components(separatedBy: "\r\n")
            let answer = try daemon.send(request)
            #expect(answer.status == 400 && answer.json?["detail"]?.string?.contains(hint) ?? false, "\(answer.text)")
        }
        #expect(try daemon.send("GET app/keys/pool").json?["value"] == 10)
    }

    @Test("A repeated deadline field and a deadline of a request about an action get 400")
    func misplacedFields() throws {
        let daemon = try TestDaemon()
        try daemon.done(Request("PUT app/keys/pool 10", "Settings-Confirm: 60"))
        let repeated = Request("PUT app/keys/pool 20", "Settings-Confirm: 60", "Settings-Confirm: 60")
        #expect(try daemon.send(repeated).status == 400)
        let request = Request(#"POST /v1/pending/p1 {"do":"confirm"}"#, "Settings-Until: 60")
        #expect(try daemon.send(request).status == 400)
        // The fields have no meaning for a read.
        #expect(try daemon.send(Request("GET app/keys/pool", "Settings-Confirm: nonsense")).status == 200)
    }

    @Test("An unconfirmed commit is reverted at its deadline by the caller that made it, and watchers see two commits")
    func unconfirmed() throws {
        let daemon = try TestDaemon()
        let cursor = try #require(try daemon.done("PUT app/keys/pool 10").field("Settings-Cursor"))
        try daemon.done(Request("PUT app/keys/pool 200", "Settings-Confirm: 1", "Settings-Note: larger"))
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

    @Test("A scheduled write is carried out and reverted at its times, with one identifier")
    func scheduled() throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/banner \"none\"")
        try daemon.done(
            Request("PUT app/keys/banner \"sale\"", "Settings-Effective: 1s", "Settings-Until: 1s", "Settings-Note: s"))
        try eventually { try daemon.send("GET /v1/pending/p2").status == 410 }
        let commits = try daemon.send("GET app/history").json?["commits"]?.array ?? []
        #expect(commits.map { $0["changes"]?.array?.first?["new"] } == ["none", "sale", "none"])
        #expect(commits.map { $0["pending"]?.array?.first?["event"] } == ["reverted", "moved", nil])
        #expect(commits.count > 1 && commits[1]["note"] == "s")
    }

    @Test("A scheduled write that is not valid any more is refused when it is due, and the refusal is recorded")
    func refusedWhenDue() throws {
        let daemon = try TestDaemon()
        try daemon.done(Samples.schema)
        try daemon.done(Request("PUT app/keys/count 50", "Settings-Effective: 1s"))
        try daemon.done(Samples.narrow)
        try eventually { try daemon.send("GET /v1/pending/p2").status == 410 }
        let ended = try daemon.send("GET /v1/pending/p2").json?["pending"]
        #expect(
            ended?["outcome"] == "refused" && ended?["problem"]?["code"] == "invalid_value", "\(ended?.text() ?? "")")
        #expect(ended?["problem"]?["detail"]?.string?.contains("must be at most 10") ?? false)
        #expect(try daemon.send("GET app/keys/count").status == 404)
        #expect(try daemon.send("GET /metrics").text.contains("\nsettingsd_pending_refused_total 1\n"))
    }

    @Test("The tags of a setting and of a list of keys change when an action ends or its deadline moves")
    func tags() throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/pool 10")
        try daemon.done(Request("PUT app/keys/pool 20", "Settings-Confirm: 600"))
        for step in [#"{"do":"extend","deadline":"300"}"#, #"{"do":"confirm"}"#] {
            for target in ["app/keys/pool", "app/keys"] {
                let tag = try #require(try daemon.send(Request("GET \(target)")).field("ETag"))
                let known = Request("GET \(target)", "If-None-Match: \(tag)")
                #expect(try daemon.send(known).status == 304)
                // A write with the tag is possible.
                #expect(try daemon.send(Request("PUT app/keys/pool?dryRun 3", "If-Match: \(tag)")).status < 300)
            }
            let before = try ["app/keys/pool", "app/keys"].map { try daemon.send(Request("GET \($0)")).field("ETag") }
            try daemon.done(Request("POST /v1/pending/p2 \(step)"))
            for (target, tag) in zip(["app/keys/pool", "app/keys"], before) {
                let known = Request("GET \(target)", "If-None-Match: \(tag ?? "")")
                #expect(try daemon.send(known).status == 200, "\(target) after \(step)")
            }
        }
        #expect(try daemon.send("GET app/keys/pool").field("ETag") == "\"2\"")
    }

    @Test("An action survives kill -9, and is carried out before the next start serves requests")
    func restart() throws {
        let directory = try TemporaryDirectory()
        var daemon = try TestDaemon(ofItsOwnIn: directory)
        try daemon.done("PUT app/keys/pool 10")
        try daemon.done(Request("PUT app/keys/pool 200", "Settings-Until: 2h"))
        try daemon.done(Request("PUT app/keys/size 5", "Settings-Confirm: 1"))
        try daemon.done(Request("PUT app/keys/banner 1", "Settings-Effective: 1s"))
        try daemon.kill()
        let due = ContinuousClock.now + .milliseconds(1200)
        try eventually { ContinuousClock.now > due }
        daemon = try TestDaemon(ofItsOwnIn: directory)
        // The first answers of the daemon have the effects.
        #expect(try daemon.send("GET app/keys/size").status == 404)
        #expect(try daemon.send("GET app/keys/banner").json?["value"] == 1)
        #expect(try daemon.send("GET app/keys/pool").json?["pending"]?["id"] == "p2")
        // A clean stop writes a snapshot, from which the next start reads the action.
        daemon.stop()
        daemon = try TestDaemon(ofItsOwnIn: directory)
        #expect(try daemon.send("GET app/keys/pool").json?["pending"]?["id"] == "p2")
        let reverted = try daemon.done(#"POST /v1/pending/p2 {"do":"revert"}"#)
        #expect(reverted.json?["changes"]?.array?.first?["new"] == 10)
        daemon.stop()
    }

    @Test("A backup contains the pending actions")
    func backup() throws {
        let directory = try TemporaryDirectory()
        let daemon = try TestDaemon(in: directory, data: directory.path + "/a")
        try daemon.done("PUT app/keys/pool 10")
        try daemon.done(Request("PUT app/keys/pool 200", "Settings-Until: 2h"))
        let file = directory.path + "/backup.json"
        try Data(daemon.send("GET /v1/backup").body).write(to: URL(fileURLWithPath: file))
        let restored = try ChildProcess.run(["restore", file, "--data", directory.path + "/b"])
        #expect(restored.code == 0, "\(restored)")
        let next = try TestDaemon(in: directory, data: directory.path + "/b")
        let answer = try next.done(#"POST /v1/pending/p2 {"do":"revert"}"#)
        #expect(answer.json?["changes"]?.array?.first?["new"] == 10, "\(answer.text)")
    }

    @Test("A suite has at most 1,000 pending actions, and a write beyond names the limit")
    func quota() throws {
        let daemon = try TestDaemon()
        let client = try daemon.connect()
        for number in 1...1000 {
            let answer = try client.ask(Request("PUT app/keys/k\(number) 1", "Settings-Until: 2h"))
            try #require(answer.status == 201, "\(answer.text)")
        }
        for field in ["Settings-Until: 2h", "Settings-Confirm: 9", "Settings-Effective: 2h"] {
            let answer = try client.ask(Request("PUT app/keys/more 1", field))
            #expect(answer.status == 507 && answer.json?["limit"] == 1000, "\(answer.text)")
            #expect(answer.json?["detail"]?.string?.contains("1000 pending actions of suite app") ?? false)
        }
        #expect(try client.ask(Request("PUT other/keys/more 1", "Settings-Until: 2h")).status == 201)
        #expect(try client.ask("PUT app/keys/more 1").status == 201)
        #expect(try client.ask(#"POST /v1/pending/p1 {"do":"confirm"}"#).status == 200)
        #expect(try client.ask(Request("PUT app/keys/again 1", "Settings-Until: 2h")).status == 201)
    }

    @Test("An action is visible to readers of its keys, and only writers of all its keys may end it")
    func rights() throws {
        let guarded = try GuardedDaemon(
            [
                "writer": ["app:read,write"], "reader": ["app:read"], "part": ["app/a:read,write"],
                "other": ["net:read,write"], "secret": ["app:read,secrets"],
            ],
            given: [#"PUT app/schema {"additionalProperties":{},"properties":{"s":{"writeOnly":true}}}"#])
        func send(_ request: Request, as name: String) throws -> RawResponse { try guarded.send(request, as: name) }
        let body = #"{"a":1,"b":2,"s":"hunter2"}"#
        #expect(try send(Request("PATCH app \(body)", "Settings-Until: 2h"), as: "reader").status == 403)
        #expect(try send(Request("PATCH app \(body)", "Settings-Effective: 2h"), as: "reader").status == 403)
        #expect(try send(Request("PATCH app \(body)", "Settings-Until: 2h"), as: "writer").status == 200)
        #expect(try send(Request("PATCH app \(body)", "Settings-Effective: 2h"), as: "writer").status == 202)
        let confirm: Request = #"POST /v1/pending/p2 {"do":"confirm"}"#
        #expect(try send("GET /v1/pending/p2", as: "other").json?["code"] == "unknown_pending")
        #expect(try send(confirm, as: "other").json?["code"] == "unknown_pending")
        #expect(try send("GET /v1/pending", as: "other").json?["pending"] == [])
        #expect(try send("GET /v1/pending?suite=app", as: "other").status == 403)
        #expect(try send(confirm, as: "reader").status == 403)
        #expect(try send(confirm, as: "part").status == 403)
        let shown = try send("GET /v1/pending/p2", as: "part").json
        #expect(shown?["suites"] == [["suite": "app", "keys": ["a"]]] && shown?["by"] == "token:writer")
        for name in ["reader", "part"] {
            let listed = try send("GET /v1/pending", as: name).text
            #expect(!listed.contains("hunter2") && listed.contains("\"a\":1"), "\(listed)")
        }
        #expect(try send("GET /v1/pending/p3", as: "secret").text.contains("hunter2"))
        #expect(try send(confirm, as: "writer").status == 200)
        #expect(try send(confirm, as: "other").json?["code"] == "unknown_pending")
        #expect(try send(confirm, as: "reader").json?["code"] == "pending_ended")
    }

    @Test("The audit file has a line for each change of a pending action, also for a revert at the deadline")
    func audit() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let guarded = try GuardedDaemon(["ci": ["*:write"]]) { $0.auditFile = path }
        for request: Request in [
            "PUT app/keys/a 1", Request("PUT app/keys/a 2", "Settings-Confirm: 1"),
            Request("PUT app/keys/b 2", "Settings-Until: 1h"), #"POST /v1/pending/p3 {"do":"confirm"}"#,
        ] { #expect(try guarded.send(request, as: "ci").status < 300) }
        try eventually { try guarded.send("GET /v1/pending/p2", as: "ci").status == 410 }
        guarded.daemon.stop()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(parsing: String($0))
        }
        #expect(
            lines.map { $0["pending"]?.array?.first?["event"] } == [nil, "created", "created", "confirmed", "reverted"])
        #expect(lines.allSatisfy { $0["by"] == "token:ci" })
        #expect(lines.last?["peer"] == "deadline" && lines.last?["note"] == "not confirmed within 1s (commit 2)")
    }
}
