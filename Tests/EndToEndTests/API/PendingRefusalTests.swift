import Foundation
import SettingsModel
import TestSupport
import Testing

/// Writes with deadlines, and requests about pending actions, that the daemon refuses: invalid deadlines, limits and
/// missing rights. The n-th commit of a daemon has the revision n, so its pending action is `p` with the number n. A
/// target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct PendingRefusalTests {
    /// Deadlines that are malformed, out of range or wrongly combined, and a part of the error that says what is
    /// allowed.
    static let invalidDeadlines: [(field: String, hint: String)] = [
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

    @Test("An invalid deadline returns 400 with an error that says what is allowed", arguments: invalidDeadlines)
    func invalidFields(field: String, hint: String) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/pool 10")
        for request: Request in ["PUT app/keys/pool 20", #"PATCH app {"pool":20}"#, "DELETE app"] {
            var request = request
            request.fields = field.components(separatedBy: "\r\n")
            let answer = try daemon.send(request)
            #expect(answer.status == 400 && answer.json?["detail"]?.string?.contains(hint) ?? false, "\(answer.text)")
        }
        #expect(try daemon.send("GET app/keys/pool").json?["value"] == 10)
    }

    @Test("A repeated deadline field, or a deadline field of a request about a pending action, returns 400")
    func misplacedFields() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Request("PUT app/keys/pool 10", "Settings-Confirm: 60"))
        let repeated = Request("PUT app/keys/pool 20", "Settings-Confirm: 60", "Settings-Confirm: 60")
        #expect(try daemon.send(repeated).status == 400)
        let request = Request(#"POST /v1/pending/p1 {"do":"confirm"}"#, "Settings-Until: 60")
        #expect(try daemon.send(request).status == 400)
        // A read ignores deadline fields.
        #expect(try daemon.send(Request("GET app/keys/pool", "Settings-Confirm: nonsense")).status == 200)
    }

    @Test("A write that would give a suite more than 1,000 pending actions returns 507 with the limit")
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

    @Test("A caller that may read a key of an action sees the action; a caller that may write all its keys may end it")
    func rights() throws {
        let protected = try ProtectedDaemon(
            [
                "writer": ["app:read,write"], "reader": ["app:read"], "part": ["app/a:read,write"],
                "other": ["net:read,write"], "secret": ["app:read,secrets"],
                "owner": ["app:read,write,schema,override"], "new": ["new:read,write"],
                "both": ["app:read,write", "net:read,write"],
            ],
            given: [#"PUT app/schema {"additionalProperties":{},"properties":{"s":{"writeOnly":true}}}"#])
        func send(_ request: Request, as name: String) throws -> RawResponse { try protected.send(request, as: name) }
        // The schema is commit 1, so the write with Settings-Until creates `p2`, and the scheduled write `p3`. The key
        // `s` is a secret.
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
        // The condition names another suite, which only callers with a right on that suite may see.
        let transaction: Request = #"""
            POST /v1/transaction {"if":[{"suite":"net","revision":0}],"do":[{"op":"set","suite":"app","key":"a","value":9}]}
            """#
        var scheduled = transaction
        scheduled.fields.append("Settings-Effective: 2h")
        #expect(try send(scheduled, as: "both").status == 202)
        #expect(try send("GET /v1/pending", as: "both").text.contains("net"))
        #expect(try !send("GET /v1/pending", as: "reader").text.contains("net"))
        // A suite that never existed has no secrets.
        #expect(try send(Request("PUT new/keys/a 12345", "Settings-Effective: 2h"), as: "new").status == 202)
        #expect(try send("GET /v1/pending?suite=new", as: "new").text.contains("12345"))
        // A DELETE without `drop` keeps the schema and the pending actions.
        #expect(try send("DELETE app", as: "owner").status == 200)
        #expect(try send("GET /v1/pending/p3", as: "secret").text.contains("hunter2"))
        #expect(try !send("GET /v1/pending/p3", as: "reader").text.contains("hunter2"))
        #expect(try send(confirm, as: "writer").status == 200)
        #expect(try send(confirm, as: "other").json?["code"] == "unknown_pending")
        #expect(try send(confirm, as: "reader").json?["code"] == "pending_ended")
    }
}
