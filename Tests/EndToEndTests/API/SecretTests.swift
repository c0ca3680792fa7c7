import SettingsModel
import TestSupport
import Testing

/// "Secrets" in docs/http-api.md: no error shows the value of a secret to any caller. The key `p` is the secret. In a
/// row, `$n` stands for the revision after the n-th request, and `"*"` for any value. A target such as `app/keys/a` is
/// relative to `/v1/suites/`.
@Suite(.ownThread)
struct SecretTests {
    static let value = "hunter2"
    static let schema: Request = """
        PUT app/schema?onConflict=keep {"additionalProperties":false,\
        "properties":{"p":{"type":"string","writeOnly":true},"o":{}}}
        """
    static let schemaWithoutKey: Request =
        #"PUT app/schema?onConflict=keep {"additionalProperties":false,"properties":{"o":{}}}"#
    static let schemaWithoutSecret: Request =
        #"PUT app/schema {"additionalProperties":false,"properties":{"p":{"type":"string","maxLength":9}}}"#
    static let put: Request = #"PUT app/keys/p "hunter2""#
    static let jsonPatch = "Content-Type: application/json-patch+json"

    /// The member `current` of a problem, without the value of the secret.
    static let hidden = #"{"current":{"key":"p","source":"stored","secret":true}}"#

    static let refusals: [Row] = [
        Row(
            "If-Match on a secret", given: [schema, put], Request(#"PUT app/keys/p "x""#, "If-Match: \"999\""), 412,
            .preconditionFailed, body: hidden),
        Row(
            "If-Match on the removal of a secret", given: [schema, put],
            Request("DELETE app/keys/p", "If-Match: \"999\""), 412, .preconditionFailed, body: hidden),
        Row(
            "If-None-Match on a secret", given: [schema, put], Request(#"PUT app/keys/p "x""#, "If-None-Match: *"), 412,
            .preconditionFailed, body: hidden),
        Row(
            "A condition on the value", given: [schema, put],
            #"POST /v1/transaction {"if":[{"suite":"app","key":"p","value":"x"}],"do":[]}"#, 412, .preconditionFailed,
            body: #"{"failed":[{"index":0,"current":{"secret":true}}]}"#),
        Row(
            "A test of a JSON Patch", given: [schema, put],
            Request(#"PATCH app/keys/p [{"op":"test","path":"","value":"x"}]"#, jsonPatch), 412, .preconditionFailed,
            body: hidden),
        Row(
            "A test in a transaction", given: [schema, put],
            #"POST /v1/transaction {"do":[{"op":"patch","suite":"app","key":"p","patch":[{"op":"test","path":"","value":"x"}]}]}"#,
            412, .preconditionFailed),
        Row(
            "If-Match on a value from before the key was a secret", given: [put, schema],
            Request(#"PUT app/keys/p "x""#, "If-Match: \"999\""), 412, .preconditionFailed, body: hidden),
        Row("A schema without the key", given: [schema, put, schemaWithoutKey], "GET app/keys/p", 409, .invalidStored),
        Row(
            "A schema without the key, and a value from before it was a secret",
            given: [put, schema, schemaWithoutKey],
            "GET app/keys/p", 409, .invalidStored),
        Row(
            "A guard after a schema without the key", given: [schema, put, schemaWithoutKey],
            Request("DELETE app/keys/p", "If-Match: \"999\""), 412, .preconditionFailed,
            body: #"{"current":{"source":"invalid","secret":true}}"#),
        Row(
            "A guard after the schema was removed", given: [schema, put, "DELETE app/schema"],
            Request("DELETE app/keys/p", "If-Match: \"999\""), 412, .preconditionFailed, body: hidden),
        Row(
            "A new schema that refuses the value", given: [schema, put],
            #"PUT app/schema {"additionalProperties":{"maxLength":3}}"#, 409, .schemaConflict,
            body: #"{"conflicts":[{"key":"p","errors":["*"]}]}"#),
        Row(
            "A new schema that refuses the value, after the removal of the old schema",
            given: [schema, put, "DELETE app/schema"],
            #"PUT app/schema {"additionalProperties":{"maxLength":3}}"#, 409, .schemaConflict),
        Row(
            "A new schema with a suite rule that the value violates", given: [schema, put],
            #"PUT app/schema {"additionalProperties":true,"allOf":[{"properties":{"p":{"maxLength":3}}}]}"#, 409,
            .schemaConflict, body: #"{"errors":[{"key":"p","keyword":"maxLength"}]}"#),
        Row(
            "A change in place of a former secret", given: [schema, put, schemaWithoutSecret],
            #"PATCH app/keys/p {"op":"concat","text":"xxx"}"#, 422, .invalidValue,
            body: #"{"errors":[{"key":"p","keyword":"maxLength"}]}"#),
        Row(
            "A rule of the suite about a former secret",
            given: [
                schema, put,
                #"PUT app/schema {"additionalProperties":true,"if":{"required":["o"]},"then":{"properties":{"p":{"maxLength":3}}}}"#,
            ], "PUT app/keys/o 1", 422, .invalidValue, body: #"{"errors":[{"key":"p","keyword":"maxLength"}]}"#),
        Row(
            "An operation for values of another type", given: [schema, put], #"PATCH app/keys/p {"op":"toggle"}"#, 422,
            .invalidOperation),
    ]

    @Test("An error does not contain the value of a secret", arguments: refusals)
    func refusal(row: Row) throws {
        try row.check()
        let daemon = try TestDaemon()
        for request in row.given { try daemon.sendOK(request) }
        let answer = try daemon.send(row.request)
        #expect(answer.status == row.status && !answer.text.contains(Self.value), "\(answer.text)")
        // The member `actual` of an error has the refused value.
        #expect(!answer.text.contains("\"actual\""), "\(answer.text)")
    }

    /// Revision 3 is the revision after the three writes with which the test `restart` begins.
    static let readRequests = [
        "GET app", "GET app/keys", "GET app?at=3", "GET app/keys?at=3", "GET app/observe", "GET /v1/observe?suite=app",
        "GET app/keys/p", "GET app/keys/p?raw",
    ]

    @Test("An invalid value of a secret is hidden, also after a restart from the journal and from a snapshot")
    func restart() throws {
        let first = try TestDaemon()
        for request in [Self.schema, Self.put, Self.schemaWithoutKey] { try first.sendOK(request) }
        func expectHidden(_ daemon: TestDaemon, _ when: String) throws {
            for reading in Self.readRequests {
                let answer = try daemon.send(Request(reading))
                #expect(answer.text.contains("\"p\""), "\(when): \(reading): \(answer.text)")
                #expect(!answer.text.contains(Self.value), "\(when): \(reading): \(answer.text)")
            }
        }
        try expectHidden(first, "before")
        // A copy of the data of a running daemon is what a crash leaves: a journal without a newer snapshot.
        let crashed = try TestDaemon(in: TemporaryDirectory(copyOf: first.directory))
        try expectHidden(crashed, "from the journal")
        first.stop()
        let again = try TestDaemon(in: first.directory)
        try expectHidden(again, "from the snapshot")
        try again.sendOK("DELETE app/schema")
        #expect(try again.send("GET app/keys/p").json?["secret"] == true)
    }

    static let marks: [Row] = [
        Row("A secret", given: [schema, put], "GET app/keys/p", 200, body: #"{"value":"hunter2","secret":true}"#),
        Row("A key that became a secret", given: [put, schema], "GET app/keys/p", 200, body: #"{"secret":true}"#),
        Row(
            "A former secret", given: [schema, put, schemaWithoutSecret], "GET app/keys/p", 200,
            body: #"{"secret":true}"#),
        Row(
            "A former secret after the removal of the schema", given: [schema, put, "DELETE app/schema"],
            "GET app/keys/p", 200, body: #"{"secret":true}"#),
        Row(
            "A former secret after a change in place",
            given: [schema, put, schemaWithoutSecret, #"PATCH app/keys/p {"op":"concat","text":"x"}"#],
            "GET app/keys/p", 200, body: #"{"value":"hunter2x","secret":true}"#),
        Row(
            "A former secret after a new value", given: [schema, put, schemaWithoutSecret, #"PUT app/keys/p "open""#],
            "GET app/keys/p", 200, body: #"{"value":"open"}"#, lacks: ["secret"]),
        Row(
            "The change from a former secret to a new value",
            given: [schema, put, schemaWithoutSecret, #"PUT app/keys/p "open""#],
            "GET app/observe?since=$3&wait=0", 200, body: #"{"changes":[{"old":"hunter2","new":"open","secret":true}]}"#
        ),
        Row(
            "A change from before the key was a secret", given: [#"PUT app/keys/p "a""#, put, schema],
            "GET app/observe?since=$1&wait=0", 200,
            body: #"{"changes":[{"old":"a","new":"hunter2","secret":true,"revision":$2}]}"#),
        Row(
            "A past suite from before the key was a secret", given: [put, schema], "GET app/keys?at=$1", 200,
            body: #"{"keys":[{"key":"p","value":"hunter2","secret":true}]}"#),
        Row(
            "A replayed answer from before the key was a secret",
            given: [Request(#"PUT app/keys/p "hunter2""#, "Idempotency-Key: k"), schema],
            Request(#"PUT app/keys/p "hunter2""#, "Idempotency-Key: k"), 201, body: #"{"replayed":true,"secret":true}"#),
    ]

    @Test(
        "A current or former secret is marked as a secret until PUT replaces the value, also after a change in place",
        arguments: marks)
    func mark(row: Row) throws {
        try row.check()
    }

    @Test("A change made before its key became a secret is marked as a secret in an event stream")
    func stream() throws {
        let daemon = try TestDaemon()
        let start = try daemon.sendOK(#"PUT app/keys/p "a""#).cursorText
        let written = try daemon.sendOK(Self.put).cursorText
        try daemon.sendOK(Self.schema)
        let stream = try daemon.stream(Request("GET app/observe?since=\(start)"))
        try stream.expect("commit", written, #"{"changes":[{"key":"p","old":"a","secret":true}]}"#)
    }
}
