import SettingsModel
import TestSupport
import Testing

/// "Guards" in docs/http-api.md, on settings, suites and schemas. In a row, `$n` stands for the revision after the n-th
/// request, and `"*"` for any value; no revision reaches 999. `IdempotencyTests.key` is a field Idempotency-Key.
/// `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer). `Samples.narrowSchema` allows only
/// `volume` and `count` up to 10, and keeps invalid values. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct GuardTests {
    static let settings: [Row] = [
        Row("The current tag", given: ["PUT app/keys/a 1"], Request("PUT app/keys/a 2", "If-Match: \"$1\""), 200),
        Row(
            "A list with the current tag", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: \"999\", \"$1\""), 200),
        Row(
            "The current tag among tags on several lines", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: \"999\"", "If-Match: \"998\", \"$1\"", "If-Match:"), 200),
        Row(
            "Only old tags on several lines", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("PUT app/keys/a 3", "If-Match: \"999\"", "If-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "A star and a tag on several lines", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: *", "If-Match: \"$1\""), 400, .badRequest),
        Row(
            "If-None-Match on several lines with the current tag", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-None-Match: \"999\"", "If-None-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "GET with the current tag in If-None-Match on several lines", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-None-Match: \"999\"", "If-None-Match: W/\"$1\""), 304),
        Row(
            "A repeated request with another guard on a second line",
            given: ["PUT app/keys/a 0", Request("PUT app/keys/a 1", IdempotencyTests.key, "If-Match: \"$1\"")],
            Request("PUT app/keys/a 1", IdempotencyTests.key, "If-Match: \"$1\"", "If-Match: \"$2\""), 422,
            .idempotencyMismatch),
        Row(
            "An old tag", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("PUT app/keys/a 3", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","key":"a","value":2,"source":"stored","revision":$2,"modified":"*"}}"#),
        Row(
            "An old tag on a write of the present value", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("PUT app/keys/a 2", "If-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "A weak tag", given: ["PUT app/keys/a 1"], Request("PUT app/keys/a 2", "If-Match: W/\"$1\""), 412,
            .preconditionFailed),
        Row(
            "A tag that is not a revision", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: \"abc\""), 412, .preconditionFailed,
            body: #"{"current":{"value":1}}"#),
        Row(
            "A tag with a leading zero", given: ["PUT app/keys/a 1"], Request("PUT app/keys/a 2", "If-Match: \"0$1\""),
            412, .preconditionFailed),
        Row(
            "A tag that has a comma", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: \"a,b\",\"$1\""), 200),
        Row(
            "A star and an empty element", given: ["PUT app/keys/a 1"], Request("PUT app/keys/a 2", "If-Match: *,"),
            400, .badRequest),
        Row(
            "The current tag after a write to another key", given: ["PUT app/keys/a 1", "PUT app/keys/b 1"],
            Request("PUT app/keys/a 2", "If-Match: \"$1\""), 200),
        Row(
            "The current tag after a write that changed nothing", given: ["PUT app/keys/a 1", "PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: \"$1\""), 200),
        Row("The tag of a default", given: [Samples.schema], Request("PUT app/keys/volume 1", "If-Match: \"$1\""), 201),
        Row(
            "The tag of a key that was never set", given: ["PUT app/keys/b 1"],
            Request("PUT app/keys/a 1", "If-Match: \"0\""), 201),
        Row(
            "The tag of a removed key", given: ["PUT app/keys/a 1", "DELETE app/keys/a"],
            Request("PUT app/keys/a 2", "If-Match: \"$2\""), 201),
        Row(
            "A tag from before the removal", given: ["PUT app/keys/a 1", "DELETE app/keys/a"],
            Request("PUT app/keys/a 2", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"value":null,"source":"unset","revision":$2}}"#),
        // In a suite that is created after a drop, the keys that were never set have the revision of the drop.
        Row(
            "The tag 0 of a key that is unset since its suite was dropped",
            given: ["PUT app/keys/a 1", "DELETE app?drop", "PUT app/keys/b 1"],
            Request("PUT app/keys/a 2", "If-Match: \"0\""), 412, .preconditionFailed),
        Row(
            "If-Match: * on a stored key", given: ["PUT app/keys/a 1"], Request("PUT app/keys/a 2", "If-Match: *"), 200),
        Row(
            "If-Match: * on a key that is not set", given: ["PUT app/keys/b 1"],
            Request("PUT app/keys/a 2", "If-Match: *"), 412,
            .preconditionFailed, body: #"{"current":{"key":"a","source":"unset"}}"#),
        Row(
            "If-Match: * on a key with only a default", given: [Samples.schema],
            Request("PUT app/keys/volume 1", "If-Match: *"), 412,
            .preconditionFailed, body: #"{"current":{"value":0.5,"source":"default"}}"#),
        Row(
            "If-Match: * on a key of a missing suite", Request("PUT app/keys/a 2", "If-Match: *"), 412,
            .preconditionFailed, body: #"{"current":{"suite":"app","key":"a","source":"unset","revision":0}}"#),
        Row("If-None-Match: * on an absent key", Request("PUT app/keys/a 1", "If-None-Match: *"), 201),
        Row(
            "If-None-Match: * on a key with only a default", given: [Samples.schema],
            Request("PUT app/keys/volume 1", "If-None-Match: *"), 201),
        Row(
            "If-None-Match: * on a stored key", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-None-Match: *"), 412, .preconditionFailed, body: #"{"current":{"value":1}}"#
        ),
        Row(
            "If-None-Match: * on a key with an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            Request("PUT app/keys/count 2", "If-None-Match: *"), 412, .preconditionFailed,
            body: #"{"current":{"source":"invalid","stored":11}}"#),
        Row(
            "If-None-Match with the current tag", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-None-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "If-None-Match with another tag", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-None-Match: \"0\""), 200),
        Row(
            "A removal with an old tag", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("DELETE app/keys/a", "If-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "An operation with the current tag", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app/keys/a {"op":"add","by":1}"#, "If-Match: \"$1\""), 200, body: #"{"value":2}"#),
        Row(
            "A dry run with a tag that does not match", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a?dryRun 2", "If-Match: \"999\""), 412, .preconditionFailed),
        Row(
            "A tag between empty elements, on a write", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-Match: ,\"$1\","), 200),
        Row(
            "Empty elements without a tag", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", "If-None-Match: , ,"), 400, .badRequest),
    ]

    static let suites: [Row] = [
        Row("The tag of a suite", given: ["PUT app/keys/a 1"], Request(#"PATCH app {"b":1}"#, "If-Match: \"$1\""), 200),
        Row(
            "An old tag of a suite", given: ["PUT app/keys/a 1", "PUT app/keys/b 1"],
            Request(#"PATCH app {"c":1}"#, "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","revision":$2}}"#),
        Row(
            "The current tag of a suite after a write to another suite", given: ["PUT app/keys/a 1", "PUT b/keys/a 1"],
            Request("PUT app {}", "If-Match: \"$1\""), 200),
        Row(
            "The tag of a suite from before a change of its schema",
            given: ["PUT app/keys/count 1", Samples.narrowSchema], Request("PUT app {}", "If-Match: \"$1\""),
            412, .preconditionFailed, body: #"{"current":{"suite":"app","revision":$2}}"#),
        Row(
            "If-Match: * on a suite that exists", given: ["PUT app/keys/a 1"], Request("PUT app {}", "If-Match: *"), 200
        ),
        Row(
            "If-Match: * on a missing suite", Request(#"PUT app {"a":1}"#, "If-Match: *"), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","revision":0}}"#),
        Row("If-None-Match: * on a missing suite", Request(#"PUT app {"a":1}"#, "If-None-Match: *"), 200),
        Row(
            "If-None-Match: * on a suite that exists", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app {"a":2}"#, "If-None-Match: *"), 412, .preconditionFailed),
        Row(
            "A removal of all values with a tag that does not match", given: ["PUT app/keys/a 1"],
            Request("DELETE app", "If-Match: \"0\""), 412, .preconditionFailed),
        Row(
            "A drop with a tag that does not match", given: ["PUT app/keys/a 1"],
            Request("DELETE app?drop", "If-Match: \"0\""), 412, .preconditionFailed),
        Row(
            "The current tag of a schema", given: [Samples.schema], Request("DELETE app/schema", "If-Match: \"$1\""),
            200),
        Row(
            "An old tag of a schema", given: [Samples.schema, Samples.narrowSchema],
            Request("DELETE app/schema", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","revision":$2}}"#),
        Row(
            "The current tag of a schema after a write of a value", given: [Samples.schema, "PUT app/keys/volume 1"],
            Request("DELETE app/schema", "If-Match: \"$1\""), 200),
        Row(
            "If-None-Match: * on a missing schema",
            Request(#"PUT app/schema {"additionalProperties":true}"#, "If-None-Match: *"), 201),
        Row(
            "If-None-Match: * on a schema that exists", given: [Samples.schema],
            Request(#"PUT app/schema {"additionalProperties":true}"#, "If-None-Match: *"), 412, .preconditionFailed),
        Row(
            "If-Match: * on a missing schema", given: ["PUT app/keys/a 1"],
            Request(#"PUT app/schema {"additionalProperties":true}"#, "If-Match: *"), 412, .preconditionFailed),
        Row(
            "The tag of a removed schema", given: [Samples.schema, "DELETE app/schema"],
            Request(#"PUT app/schema {"additionalProperties":true}"#, "If-Match: \"$2\""), 201),
        Row(
            "GET of a suite with the current tag in If-None-Match", given: ["PUT app/keys/a 1"],
            Request("GET app", "If-None-Match: \"$1\""), 304),
        Row(
            "GET of keys with the current tag in If-None-Match", given: ["PUT app/keys/a 1"],
            Request("GET app/keys", "If-None-Match: \"$1\""), 304),
        Row(
            "GET of a schema with the current tag in If-None-Match", given: [Samples.schema],
            Request("GET app/schema", "If-None-Match: W/\"x\", \"$1\""), 304, fields: ["ETag: \"$1\""]),
    ]

    static let reads: [Row] = [
        Row(
            "GET of a setting with its tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-Match: \"999\", \"$1\""), 200, body: #"{"value":1}"#),
        Row(
            "GET of a setting with an old tag", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("GET app/keys/a", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","key":"a","value":2,"revision":$2}}"#),
        Row(
            "GET of a setting with a weak tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-Match: W/\"$1\""), 412, .preconditionFailed),
        Row(
            "An If-Match that does not match, with an If-None-Match that matches", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-Match: \"999\"", "If-None-Match: \"$1\""), 412, .preconditionFailed),
        // For a read, the star matches a default, too; for a write, it matches only a stored value.
        Row(
            "If-Match: * on GET of a key with only a default", given: [Samples.schema],
            Request("GET app/keys/volume", "If-Match: *"), 200, body: #"{"source":"default"}"#),
        // The guard does not matter, because there is no value to compare.
        Row(
            "If-Match on GET of a key that is not set", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b", "If-Match: \"999\""), 404, .notSet),
        Row(
            "An If-Match that does not match on GET that waits", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a?wait=300", "If-Match: \"999\"", "If-None-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "GET of a suite with an old tag", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("GET app", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","revision":$2}}"#),
        Row("GET of a suite with its tag", given: ["PUT app/keys/a 1"], Request("GET app", "If-Match: \"$1\""), 200),
        Row(
            "GET of a past suite with the tag of the present suite", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("GET app?at=$1", "If-Match: \"$2\""), 412, .preconditionFailed),
        Row(
            "GET of keys with an old tag", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("GET app/keys", "If-Match: \"$1\""), 412, .preconditionFailed),
        Row(
            "GET of a schema with an old tag", given: [Samples.schema, Samples.narrowSchema],
            Request("GET app/schema", "If-Match: \"$1\""), 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","revision":$2}}"#),
        Row(
            "Tags with empty elements between them", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-Match: , \"999\",,\"$1\" ,"), 200),
    ]

    @Test("A read with If-Match succeeds only if the tag matches", arguments: reads)
    func guardedRead(row: Row) throws {
        try row.check()
    }

    @Test("A 412 to a read does not contain the value of a secret")
    func guardedReadOfSecret() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(#"PUT app/schema {"additionalProperties":false,"properties":{"s":{"writeOnly":true}}}"#)
        try daemon.sendOK(#"PUT app/keys/s "hush""#)
        let answer = try daemon.send(Request("GET app/keys/s", "If-Match: \"999\""))
        #expect(answer.status == 412)
        #expect(answer.json?["current"]?["secret"] == true, "\(answer.text)")
        #expect(!answer.text.contains("hush"), "\(answer.text)")
    }

    /// A transaction has its conditions in the body, so the daemon refuses a header with a guard.
    static let transactions: [Row] = [
        Row(
            "If-Match on a transaction", given: ["PUT app/keys/a 1"],
            Request(
                #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":2}]}"#, "If-Match: \"$1\""),
            400, .badRequest),
        Row(
            "If-None-Match on a transaction",
            Request(
                #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":2}]}"#, "If-None-Match: *"),
            400, .badRequest),
    ]

    @Test(
        "A write with guards is committed only if all guards match; a GET with its current tag returns 304",
        arguments: settings + suites + transactions)
    func guarded(row: Row) throws {
        try row.check()
    }
}
