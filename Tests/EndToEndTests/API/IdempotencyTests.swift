import SettingsModel
import TestSupport
import Testing

/// "Idempotency keys" in docs/http-api.md. In a row, `$n` stands for the revision after the n-th request, and `"*"` for
/// any value. `Samples.schema`: `volume` (at most 1, default 0.5). A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct IdempotencyTests {
    static let key = "Idempotency-Key: one two"
    static let putWithKey = Request("PUT app/keys/a 1", key)
    static let transaction = Request(
        #"POST /v1/transaction {"do":[{"op":"add","suite":"app","key":"a","by":1}]}"#, key)

    static let lockSchema: Request =
        #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"readOnly":true}}}"#

    static let repeats: [Row] = [
        Row(
            "A repeat", given: [putWithKey], putWithKey, 201,
            body: #"{"value":1,"source":"stored","revision":$1,"changed":true,"replayed":true,"#
                + #""previous":{"value":null,"source":"unset","revision":0}}"#, fields: ["ETag: \"$1\""]),
        Row(
            "A repeat after another write", given: [putWithKey, "PUT app/keys/a 2"], putWithKey, 201,
            body: #"{"value":1,"revision":$1,"replayed":true}"#, then: [("GET app/keys/a", #"{"value":2}"#)]),
        Row(
            "A repeat of a guarded write",
            given: ["PUT app/keys/a 0", Request("PUT app/keys/a 1", key, "If-Match: \"$1\"")],
            Request("PUT app/keys/a 1", key, "If-Match: \"$1\""), 200,
            body: #"{"value":1,"revision":$2,"replayed":true}"#),
        Row(
            "A repeat of a removal", given: ["PUT app/keys/a 1", Request("DELETE app/keys/a", key)],
            Request("DELETE app/keys/a", key), 200, body: #"{"source":"unset","replayed":true,"previous":{"value":1}}"#),
        Row(
            "A repeat of an operation",
            given: ["PUT app/keys/a 1", Request(#"PATCH app/keys/a {"op":"add","by":1}"#, key)],
            Request(#"PATCH app/keys/a {"op":"add","by":1}"#, key), 200, body: #"{"value":2,"replayed":true}"#,
            then: [("GET app/keys/a", #"{"value":2}"#)]),
        Row(
            "A repeat of a transaction", given: ["PUT app/keys/a 1", transaction], transaction, 200,
            body:
                #"{"revision":$2,"changed":true,"replayed":true,"changes":[{"suite":"app","key":"a","old":1,"new":2}]}"#
        ),
        Row(
            "A repeat of a map", given: [Request(#"PATCH app {"a":1}"#, key)], Request(#"PATCH app {"a":1}"#, key), 200,
            body: #"{"revision":$1,"replayed":true,"changes":[{"key":"a","new":1}]}"#),
        Row(
            "A repeat of a schema", given: [Request(#"PUT app/schema {"additionalProperties":true}"#, key)],
            Request(#"PUT app/schema {"additionalProperties":true}"#, key), 201,
            body: #"{"revision":$1,"schemaRevision":$1,"replayed":true}"#),
        Row(
            "A repeat of a drop", given: ["PUT app/keys/a 1", Request("DELETE app?drop", key)],
            Request("DELETE app?drop", key), 200,
            body: #"{"revision":$2,"replayed":true,"changes":[{"key":"a","old":1}]}"#),
        Row(
            "A repeat of a PUT of a key that was locked afterwards", given: [putWithKey, lockSchema], putWithKey,
            201, body: #"{"value":1,"revision":$1,"replayed":true}"#),
        Row(
            "A repeat of a removal of a key that was locked afterwards",
            given: ["PUT app/keys/a 1", Request("DELETE app/keys/a", key), lockSchema],
            Request("DELETE app/keys/a", key), 200, body: #"{"source":"unset","replayed":true}"#),
        Row(
            "Another value for a locked key", given: [putWithKey, lockSchema], Request("PUT app/keys/a 2", key),
            422, .idempotencyMismatch),
        Row("A new request for a locked key", given: [lockSchema], putWithKey, 403, .locked),
        Row(
            "A dry run of a repeat for a locked key", given: [putWithKey, lockSchema],
            Request("PUT app/keys/a?dryRun 1", key), 403, .locked),
        Row(
            "A repeat with a malformed value for a key that was locked afterwards", given: [putWithKey, lockSchema],
            Request("PUT app/keys/a {", key), 403, .locked),
        Row(
            "A malformed idempotency key on a write to a locked key", given: [lockSchema],
            Request("PUT app/keys/a 1", "Idempotency-Key: é"), 403, .locked),
        Row("Another value", given: [putWithKey], Request("PUT app/keys/a 2", key), 422, .idempotencyMismatch),
        Row("Another setting", given: [putWithKey], Request("PUT app/keys/b 1", key), 422, .idempotencyMismatch),
        Row("Another method", given: [putWithKey], Request("DELETE app/keys/a", key), 422, .idempotencyMismatch),
        Row(
            "Another guard", given: [putWithKey], Request("PUT app/keys/a 1", key, "If-Match: *"), 422,
            .idempotencyMismatch),
        Row(
            "The same request with another idempotency key", given: [putWithKey],
            Request("PUT app/keys/a 1", "Idempotency-Key: other"), 200, body: #"{"changed":false}"#, lacks: ["replayed"]
        ),
        Row(
            "The first request after a dry run with the same idempotency key",
            given: [Request("PUT app/keys/a?dryRun 1", key)], putWithKey, 201,
            body: #"{"changed":true}"#, lacks: ["replayed"]),
    ]

    @Test(
        "A repeated request with the same idempotency key returns the first answer; another request with the key is refused",
        arguments: repeats)
    func repeated(row: Row) throws {
        try row.check()
    }

    @Test("The idempotency key of a refused write is free for another write") func refused() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Samples.schema)
        #expect(try daemon.send(Request("PUT app/keys/volume 2", Self.key)).json?["code"] == "invalid_value")
        let answer = try daemon.sendOK(Request("PUT app/keys/volume 1", Self.key))
        #expect(answer.json?["changed"] == true && answer.json?["replayed"] == nil, "\(answer.text)")
    }

    /// A row that sends two requests with the same idempotency key; `isSame` says whether they have the same meaning.
    static func spelling(_ name: String, given: [Request] = [], _ first: Request, _ second: Request, isSame: Bool)
        -> Row
    {
        Row(
            name, given: given + [first.withKey], second.withKey, isSame ? 200 : 422,
            isSame ? nil : .idempotencyMismatch, body: isSame ? #"{"replayed":true}"# : "")
    }

    static let spellings: [Row] = [
        spelling(
            "Members in another order, with blanks and escapes", #"PATCH app {"a":1,"b":{"x":1,"y":"z"}}"#,
            #"PATCH app { "\u0062" : {"y":"\u007a","x":1}, "a":1 }"#, isSame: true),
        spelling("Another member", #"PATCH app {"a":1,"b":2}"#, #"PATCH app {"a":1,"c":2}"#, isSame: false),
        spelling(
            "Elements of an array in another order", "PATCH app {\"a\":[1,2]}", "PATCH app {\"a\":[2,1]}", isSame: false
        ),
        spelling("Another spelling of a double", #"PATCH app {"a":1e1}"#, #"PATCH app {"a":10.0}"#, isSame: true),
        spelling("An integer for a double", #"PATCH app {"a":10.0}"#, #"PATCH app {"a":10}"#, isSame: false),
        spelling(
            "Another encoding of the path", given: ["PUT app/keys/a%2Fb 0"], "PUT app/keys/a%2Fb 1",
            "PUT %61pp/keys/%61%2fb 1", isSame: true),
        spelling(
            "Another encoding of a parameter", given: [#"PUT app {"p.a":1,"q":1}"#], "DELETE app?prefix=p.",
            "DELETE app?pr%65fix=p%2E", isSame: true),
        spelling("A flag that is off", "PATCH app {\"a\":1}", "PATCH app?dryRun=false {\"a\":1}", isSame: true),
        spelling(
            "A flag that is on", given: ["PUT app/keys/a 1"], "DELETE app?drop=true", "DELETE app?drop", isSame: true),
        spelling("Another parameter", "PATCH app {\"a\":1}", "PATCH app?override=locked {\"a\":1}", isSame: false),
        spelling(
            "Another media type that does not change the meaning of the body", "PATCH app {\"a\":1}",
            Request("PATCH app {\"a\":1}", "Content-Type: text/plain"), isSame: true),
        spelling(
            "Another media type that changes the meaning of the body", given: [#"PUT app/keys/a {}"#],
            #"PATCH app/keys/a {"op":"merge","value":{"b":1}}"#,
            Request(#"PATCH app/keys/a {"op":"merge","value":{"b":1}}"#, "Content-Type: application/merge-patch+json"),
            isSame: false),
        spelling(
            "Tags in another order", given: ["PUT app/keys/a 1"],
            Request("PATCH app {\"a\":2}", "If-Match: \"999\", \"$1\""),
            Request("PATCH app {\"a\":2}", "If-Match: \"$1\"", "If-Match: \"999\""), isSame: true),
        spelling(
            "Another tag", given: ["PUT app/keys/a 1"], Request("PATCH app {\"a\":2}", "If-Match: \"$1\""),
            Request("PATCH app {\"a\":2}", "If-Match: \"999\", \"$1\""), isSame: false),
        spelling(
            "The same names in another path", given: ["PUT app/keys/schema 0"], "DELETE app/keys/schema",
            "DELETE app/schema", isSame: false),
    ]

    @Test("A repeated request is recognized by its meaning, not by its formatting", arguments: spellings)
    func spelling(row: Row) throws {
        try row.check()
    }

    /// A row that sends `request`, which changes nothing, then `meanwhile`, and then `request` again. The suite must
    /// keep the revision of `meanwhile`. A later read of the suite must match the pattern `body`.
    static func unchanged(
        _ name: String, given: [Request] = ["PUT app/keys/a 1"], _ request: Request, meanwhile: Request, _ body: String,
        fields: [String] = []
    ) -> Row {
        let numberOfMeanwhile = given.count + 2
        return Row(
            name, given: given + [request, meanwhile], request, 200,
            body: #"{"changed":false,"replayed":true}"#, fields: fields,
            then: [("GET app?view=stored", body), ("GET app", #"{"revision":$\#(numberOfMeanwhile)}"#)])
    }

    static let unchangedRepeats: [Row] = [
        Row(
            "The first PUT of the present value, which changes neither value nor revision", given: ["PUT app/keys/a 1"],
            putWithKey, 200, body: #"{"changed":false,"revision":$1}"#, lacks: ["replayed"], fields: ["ETag: \"$1\""]),
        Row(
            "The first PATCH of a suite with present values, which changes neither values nor revision",
            given: ["PUT app/keys/a 1"],
            Request(#"PATCH app {"a":1}"#, key), 200, body: #"{"changed":false,"revision":$1,"changes":[]}"#,
            fields: ["ETag: \"$1\""]),
        Row(
            "A repeat of a PUT that changed nothing", given: ["PUT app/keys/a 1", putWithKey, "PUT app/keys/a 2"],
            putWithKey, 200,
            body:
                #"{"value":1,"source":"stored","revision":$1,"modified":"*","changed":false,"replayed":true,"previous":{"value":1,"source":"stored","revision":$1}}"#,
            fields: ["ETag: \"$1\""], then: [("GET app/keys/a", #"{"value":2,"revision":$3}"#)]),
        unchanged(
            "A repeat of a DELETE that changed nothing", given: ["PUT app/keys/b 1"], Request("DELETE app/keys/a", key),
            meanwhile: "PUT app/keys/a 2", #"{"values":{"a":2}}"#, fields: ["ETag: \"0\""]),
        unchanged(
            "A repeat of an operation that changed nothing", Request(#"PATCH app/keys/a {"op":"add","by":0}"#, key),
            meanwhile: "PUT app/keys/a true", #"{"values":{"a":true}}"#),
        unchanged(
            "A repeat of a map that changed nothing", Request(#"PATCH app {"a":1}"#, key),
            meanwhile: "PUT app/keys/a 2", #"{"values":{"a":2}}"#, fields: ["ETag: \"$1\""]),
        unchanged(
            "A repeat of a whole map that changed nothing", Request(#"PUT app {"a":1}"#, key),
            meanwhile: "PUT app/keys/b 2", #"{"values":{"a":1,"b":2}}"#, fields: ["ETag: \"$1\""]),
        unchanged(
            "A repeat of a removal by prefix that changed nothing", Request("DELETE app?prefix=b", key),
            meanwhile: "PUT app/keys/b 2", #"{"values":{"a":1,"b":2}}"#),
        unchanged(
            "A repeat of a transaction that changed nothing",
            Request(#"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":1}]}"#, key),
            meanwhile: "PUT app/keys/a 2", #"{"values":{"a":2}}"#),
        unchanged(
            "A repeat of a schema that changed nothing", given: [#"PUT app/schema {"additionalProperties":true}"#],
            Request(#"PUT app/schema {"additionalProperties":true}"#, key), meanwhile: "DELETE app/schema",
            #"{"schemaRevision":$3}"#, fields: ["ETag: \"$1\""]),
        Row(
            "Another request with the idempotency key of a write that changed nothing",
            given: ["PUT app/keys/a 1", putWithKey], Request("PUT app/keys/a 2", key), 422, .idempotencyMismatch),
    ]

    @Test(
        "A write that changes nothing keeps the revision, and its repeat is replayed and does not change newer values",
        arguments: unchangedRepeats)
    func repeatedUnchanged(row: Row) throws {
        try row.check()
    }

    @Test("A write that changed nothing is replayed after a crash and after a clean restart")
    func unchangedAcrossRestarts() throws {
        let first = try TestDaemon()
        for request: Request in ["PUT app/keys/a 1", Self.putWithKey, "PUT app/keys/a 2"] { try first.sendOK(request) }
        // A copy of the data of a running daemon is what a crash leaves.
        let crashed = try TestDaemon(in: TemporaryDirectory(copyOf: first.directory))
        first.stop()
        let again = try TestDaemon(in: first.directory)
        for daemon in [crashed, again] {
            let answer = try daemon.send(Self.putWithKey)
            #expect(answer.json?["replayed"] == true && answer.json?["changed"] == false, "\(answer.text)")
            #expect(try daemon.send("GET app/keys/a?raw").text == "2")
        }
    }

    @Test("A request answered by version 0.3 is replayed; the same idempotency key for another setting is refused")
    func repeatedAcrossUpgrade() throws {
        // The fixture has a write of 0.8 with this key, and then a write of 0.25.
        let daemon = try TestDaemon(in: StoredData(version: "0.3").write())
        let key = "Idempotency-Key: louder"
        for _ in 1...2 {
            let answer = try daemon.send(Request("PUT player/keys/volume 0.8", key))
            #expect(answer.json?["replayed"] == true && answer.json?["value"] == 0.8, "\(answer.text)")
        }
        #expect(try daemon.send("GET player/keys/volume?raw").text == "0.25")
        let other = try daemon.send(Request("PUT editor/keys/fontSize 15", key))
        #expect(other.json?["code"] == "idempotency_mismatch", "\(other.text)")
    }

    @Test("A write with an idempotency key that changes nothing does not wake watchers")
    func unchangedEndsNoWait() throws {
        let daemon = try TestDaemon()
        let tag = try #require(try daemon.sendOK("PUT app/keys/a 1").field("ETag"))
        let setting = try WaitingClient(daemon, Request("GET app/keys/a?wait=300", "If-None-Match: \(tag)"))
        let suite = try WaitingClient(daemon, Request("GET app?wait=300", "If-None-Match: \(tag)"))
        #expect(try daemon.sendOK(Self.putWithKey).json?["changed"] == false)
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try setting.answer().json?["value"] == 2)
        #expect(try suite.answer().json?["values"] == ["a": 2])
    }
}

extension Request {
    /// The request with the idempotency key of these tests.
    fileprivate var withKey: Request {
        var request = self
        request.fields.append(IdempotencyTests.key)
        return request
    }
}
