import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// The answers to writes with deadlines, and to requests about pending actions. `Samples.schema`: `volume` (at most 1,
/// default 0.5), `count` (an integer). `Samples.narrowSchema` allows only `volume` and `count` up to 10; its parameter
/// `onConflict=keep` keeps invalid values. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct PendingTests {
    /// A request with the status and a pattern of its answer. A `$n` stands for the revision after the n-th step, and
    /// `"*"` for any value.
    struct Step: Sendable {
        let request: Request
        let status: Int
        let pattern: String

        init(_ request: Request, _ status: Int, _ pattern: String = "{}") {
            (self.request, self.status, self.pattern) = (request, status, pattern)
        }
    }

    /// Requests that are sent to a new daemon one after another.
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
                let sent = step.request.replacingPlaceholders(with: revisions)
                let answer = try daemon.send(sent)
                let context: Comment =
                    "\(testDescription), \(sent.method) \(sent.target): \(answer.status) \(answer.text)"
                #expect(answer.status == step.status, context)
                let pattern = try JSONValue(
                    parsing: step.pattern.replacingPlaceholders(with: revisions + [answer.revision?.description ?? ""]))
                #expect(pattern.isFound(in: answer.json), context)
                try OpenAPIDescription.check(answer, to: sent, of: testDescription)
                revisions.append(answer.revision?.description ?? "")
            }
        }
    }

    private static let put: Request = "PUT app/keys/pool 10"
    private static let putToConfirm = Request("PUT app/keys/pool 200", "Settings-Confirm: 600")
    private static let scheduledPut = Request("PUT app/keys/pool 200", "Settings-Effective: 1h")

    static let stories: [Story] = [
        Story(
            "A write with Settings-Confirm shows its action in each answer",
            Step(put, 201),
            Step(
                putToConfirm, 200,
                #"{"value":200,"pending":{"id":"p$2","kind":"confirm","action":"revert","commit":$2}}"#),
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
            "A confirmation keeps the change, and a second confirmation returns 409 with the outcome",
            Step(put, 201), Step(putToConfirm, 200),
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
            "A revert on request restores the previous value, and the history has the revert",
            Step(put, 201), Step(putToConfirm, 200),
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
            "A deadline can be moved later or earlier; a past, too late, malformed or missing deadline is refused",
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
            // Only a scheduled write can be cancelled.
            Step(#"POST /v1/pending/p$2 {"do":"cancel"}"#, 422, #"{"code":"invalid_operation"}"#)),
        Story(
            "A scheduled write is validated at once, listed, and cancelled",
            Step(put, 201),
            Step(
                scheduledPut, 202,
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
            "Writes of a suite or a schema, undo, restore and transactions can be scheduled",
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
            "An undo of the commit by a client ends the action",
            Step(put, 201), Step(putToConfirm, 200), Step(#"POST app/undo {"revision":$2}"#, 200),
            Step("GET /v1/pending/p$2", 410, #"{"pending":{"outcome":"undone","endCommit":$3}}"#)),
        Story(
            "A drop of the suite ends its actions",
            Step(put, 201), Step(putToConfirm, 200), Step(scheduledPut, 202), Step("DELETE app?drop", 200),
            Step("GET /v1/pending/p$2", 410, #"{"pending":{"outcome":"dropped"}}"#),
            Step("GET /v1/pending/p$3", 410, #"{"pending":{"outcome":"dropped"}}"#)),
        Story(
            "A revert of a drop restores the schema and the values of the suite",
            Step(Samples.schema, 201), Step("PUT app/keys/count 3", 201),
            Step(Request("DELETE app?drop", "Settings-Confirm: 60"), 200, #"{"pending":{"id":"p$3"}}"#),
            Step("GET app", 404),
            Step(#"POST /v1/pending/p$3 {"do":"revert"}"#, 200, #"{"changed":true}"#),
            Step("GET app?view=stored", 200, #"{"values":{"count":3},"schemaRevision":$5}"#)),
        Story(
            "A schema with a deadline is reverted, unless the previous schema does not allow a value stored since",
            Step(Samples.narrowSchema, 201), Step("PUT app/keys/count 3", 201),
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
            Step(putToConfirm, 200),
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
            // A request about an action takes no guard.
            Step(Request(#"POST /v1/pending/p$4 {"do":"confirm"}"#, "If-Match: \"$4\""), 400)),
        Story(
            "An action that never existed is unknown",
            Step(put, 201), Step("GET /v1/pending/p$1", 404, #"{"code":"unknown_pending"}"#),
            Step("GET /v1/pending/p99", 404, #"{"code":"unknown_pending"}"#),
            Step("GET /v1/pending/51", 404, #"{"code":"unknown_pending"}"#),
            Step(#"POST /v1/pending/p99 {"do":"confirm"}"#, 404, #"{"code":"unknown_pending"}"#),
            Step("DELETE /v1/pending/p99", 405), Step("POST /v1/pending {}", 405)),
    ]

    @Test("Writes with deadlines and requests about pending actions return the documented answers", arguments: stories)
    func story(story: Story) throws {
        try story.check()
    }

    @Test("The tags of a setting and of a list of keys change when an action ends or its deadline moves")
    func tags() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/pool 10")
        try daemon.sendOK(Request("PUT app/keys/pool 20", "Settings-Confirm: 600"))
        for step in [#"{"do":"extend","deadline":"300"}"#, #"{"do":"confirm"}"#] {
            for target in ["app/keys/pool", "app/keys"] {
                let tag = try #require(try daemon.send(Request("GET \(target)")).field("ETag"))
                let known = Request("GET \(target)", "If-None-Match: \(tag)")
                #expect(try daemon.send(known).status == 304)
                // If-Match accepts the tag.
                #expect(try daemon.send(Request("PUT app/keys/pool?dryRun 3", "If-Match: \(tag)")).status < 300)
            }
            let before = try ["app/keys/pool", "app/keys"].map { try daemon.send(Request("GET \($0)")).field("ETag") }
            try daemon.sendOK(Request("POST /v1/pending/p2 \(step)"))
            for (target, tag) in zip(["app/keys/pool", "app/keys"], before) {
                let known = Request("GET \(target)", "If-None-Match: \(tag ?? "")")
                #expect(try daemon.send(known).status == 200, "\(target) after \(step)")
            }
        }
        // Without a pending action, the tag is the revision of the value.
        #expect(try daemon.send("GET app/keys/pool").field("ETag") == "\"2\"")
    }
}
