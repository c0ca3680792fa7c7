import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// "Settings" in docs/http-api.md, except changes in place. In a row, `$n` stands for the revision after the n-th
/// request, `$0` for the revision before the first (which is 0), `"*"` for any value, `"*a*b*"` for a text with `a` and
/// then `b`, and a field without a value must be absent. `Samples.schema`: `volume` (at most 1, default 0.5), `count`
/// (an integer), `fixed` (locked, default 1), `shape` (integers `width`, `height`) and keys that begin with `x-`.
/// `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid values. A target such as
/// `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct SettingTests {
    static let reading: [Row] = [
        Row(
            "A stored value", given: ["PUT app/keys/a 42"], "GET app/keys/a", 200,
            body: #"{"suite":"app","key":"a","value":42,"source":"stored","revision":$1,"modified":"*"}"#,
            lacks: ["changed", "previous", "stored", "errors", "secret", "dryRun", "replayed"],
            fields: ["ETag: \"$1\"", "Settings-Source: stored", "Content-Type: application/json"]),
        Row(
            "A default", given: [Samples.schema], "GET app/keys/volume", 200,
            body: #"{"value":0.5,"source":"default","revision":$1}"#,
            fields: ["ETag: \"$1\"", "Settings-Source: default"]),
        Row(
            "A raw default", given: [Samples.schema], "GET app/keys/volume?raw", 200, text: "0.5",
            fields: ["ETag: \"$1\"", "Settings-Source: default"]),
        Row(
            "A flag that is off", given: ["PUT app/keys/a 42"], "GET app/keys/a?raw=false", 200, body: #"{"value":42}"#),
        Row(
            "A key that was never set", given: ["PUT app/keys/a 1"], "GET app/keys/b", 404, .notSet,
            fields: ["ETag: \"0\"", "Settings-Source: unset"]),
        Row(
            "A key of the schema without a value and without a default", given: [Samples.schema], "GET app/keys/count",
            404, .notSet, fields: ["Settings-Source: unset"]),
        Row(
            "A key that was removed", given: ["PUT app/keys/a 1", "DELETE app/keys/a"], "GET app/keys/a", 404, .notSet,
            fields: ["ETag: \"$2\""]),
        Row(
            "A key that a pattern of the schema allows", given: [Samples.schema], "GET app/keys/x-any?raw", 404, .notSet
        ),
        Row(
            "A key that the schema does not allow", given: [Samples.schema], "GET app/keys/volum", 404, .unknownKey,
            body: #"{"didYouMean":["volume"]}"#, fields: ["Settings-Source:", "ETag:"]),
        Row(
            "A key that is the last part of another key's name",
            given: [#"PUT app/schema {"additionalProperties":false,"properties":{"player.volume":{"type":"number"}}}"#],
            "GET app/keys/volume", 404, .unknownKey, body: #"{"didYouMean":["player.volume"]}"#),
        Row(
            "A suite that does not exist", given: ["PUT app/keys/a 1"], "GET ap/keys/a", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#, fields: ["Settings-Source:"]),
        Row(
            "A suite that equals or resembles the last part of other suites' names",
            given: ["PUT com.my.player/keys/a 1", "PUT com.my.playe/keys/a 1"],
            "GET player/keys/a", 404, .unknownSuite, body: #"{"didYouMean":["com.my.player","com.my.playe"]}"#),
        Row(
            "A value that is invalid", given: ["PUT app/keys/count 11", Samples.narrowSchema], "GET app/keys/count",
            409,
            .invalidStored,
            body: #"{"stored":11,"errors":[{"suite":"app","key":"count","pointer":"","keyword":"maximum"}]}"#,
            fields: ["ETag: \"$2\"", "Settings-Source: invalid"]),
        Row(
            "A raw value that is invalid", given: ["PUT app/keys/count null", Samples.narrowSchema],
            "GET app/keys/count?raw", 409, .invalidStored, body: #"{"stored":null}"#),
        Row(
            "A value of a key that the schema no longer lists", given: ["PUT app/keys/old 1", Samples.narrowSchema],
            "GET app/keys/old", 409, .invalidStored,
            body: #"{"stored":1,"errors":[{"key":"old","keyword":"additionalProperties"}]}"#),
        Row(
            "The current tag in If-None-Match", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-None-Match: \"$1\""), 304,
            text: "", fields: ["ETag: \"$1\"", "Settings-Source: stored"]),
        Row(
            "The current tag as a weak tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a?raw", "If-None-Match: W/\"$1\""), 304, text: ""),
        Row(
            "The current tag in a list of tags", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-None-Match: \"x\" , W/\"7\",\"$1\""), 304),
        Row(
            "The tag * in If-None-Match", given: ["PUT app/keys/a 1"], Request("GET app/keys/a", "If-None-Match: *"),
            304),
        Row(
            "An older tag in If-None-Match", given: ["PUT app/keys/a 1", "PUT app/keys/a 2"],
            Request("GET app/keys/a", "If-None-Match: \"$1\""), 200, body: #"{"value":2}"#),
        Row(
            "A tag that is not a revision", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a", "If-None-Match: \"abc\""), 200),
        Row(
            "The current tag of a default", given: [Samples.schema],
            Request("GET app/keys/volume", "If-None-Match: \"$1\""), 304, fields: ["Settings-Source: default"]),
        Row(
            "A 404 is answered in full to If-None-Match", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b", "If-None-Match: \"0\""), 404, .notSet),
        Row(
            "A 409 is answered in full to If-None-Match", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            Request("GET app/keys/count", "If-None-Match: \"$2\""), 409, .invalidStored),
    ]

    @Test("A setting is read with its source and its tag, or an error says why it has no value", arguments: reading)
    func read(row: Row) throws {
        try row.check()
    }

    static let putting: [Row] = [
        Row(
            "The first value of a key", "PUT app/keys/a 42", 201,
            body: #"{"suite":"app","key":"a","value":42,"source":"stored","revision":$1,"modified":"*","changed":true,"#
                + #""previous":{"value":null,"source":"unset","revision":$0}}"#,
            fields: ["ETag: \"$1\"", "Settings-Source: stored"], then: [("GET app", #"{"values":{"a":42}}"#)]),
        Row(
            "Another value", given: ["PUT app/keys/a 1"], "PUT app/keys/a 2", 200,
            body: #"{"value":2,"revision":$2,"changed":true,"previous":{"value":1,"source":"stored","revision":$1}}"#),
        Row(
            "The same value", given: ["PUT app/keys/a 1"], "PUT app/keys/a 1", 200,
            body: #"{"value":1,"revision":$1,"changed":false,"previous":{"value":1,"source":"stored","revision":$1}}"#,
            fields: ["ETag: \"$1\""]),
        Row(
            "A value for a key with a default", given: [Samples.schema], "PUT app/keys/volume 1", 201,
            body: #"{"changed":true,"previous":{"value":0.5,"source":"default","revision":$1}}"#),
        Row(
            "A value equal to the default", given: [Samples.schema], "PUT app/keys/volume 0.5", 201,
            body: #"{"source":"stored","changed":true,"previous":{"value":0.5,"source":"default"}}"#),
        Row(
            "Null for a key of any type", "PUT app/keys/a null", 201, body: #"{"value":null,"source":"stored"}"#,
            then: [("GET app", #"{"values":{"a":null}}"#)]),
        Row(
            "Null for a key of numbers", given: [Samples.schema], "PUT app/keys/volume null", 422, .invalidValue,
            body: #"{"errors":[{"suite":"app","key":"volume","pointer":"","keyword":"type"}]}"#),
        Row(
            "A value above the maximum", given: [Samples.schema], "PUT app/keys/volume 1.5", 422, .invalidValue,
            body: #"{"detail":"*volume*1*1.5*","errors":[{"suite":"app","key":"volume","pointer":"","#
                + #""keyword":"maximum","detail":"*1*1.5*","expected":1,"actual":1.5}]}"#),
        Row(
            "A value with several violations", given: [Samples.schema],
            #"PUT app/keys/shape {"width":"a","height":1.5,"depth":1}"#,
            422, .invalidValue, body: #"{"errors":[{"pointer":"*","key":"shape"},{"pointer":"*"},{"pointer":"*"}]}"#),
        Row(
            "An unknown key", given: [Samples.schema], "PUT app/keys/volum 1", 404, .unknownKey,
            body: #"{"didYouMean":["volume"]}"#),
        Row(
            "A valid value for a key with an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            "PUT app/keys/count 3", 200,
            body:
                #"{"value":3,"source":"stored","changed":true,"previous":{"value":null,"source":"invalid","revision":$2}}"#
        ),
        Row(
            "An invalid value for a key with an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            "PUT app/keys/count 11", 422, .invalidValue),
        Row("A locked key", given: [Samples.schema], "PUT app/keys/fixed 2", 403, .locked),
        Row("The default of a locked key", given: [Samples.schema], "PUT app/keys/fixed 1", 403, .locked),
        Row(
            "A locked key with override=locked", given: [Samples.schema], "PUT app/keys/fixed?override=locked 2", 201,
            body: #"{"value":2}"#),
        Row("A new suite while writes must not create suites", "PUT app/keys/a 1", 404, .unknownSuite) {
            $0.writes.createsSuites = false
        },
        Row(
            "A dry run", "PUT app/keys/a?dryRun=true 1", 201,
            body:
                #"{"value":1,"source":"stored","revision":$0,"changed":true,"dryRun":true,"previous":{"source":"unset"}}"#,
            then: [("GET /v1/suites", #"{"suites":[]}"#)]),
        Row(
            "A dry run of a stored value", given: ["PUT app/keys/a 1"], "PUT app/keys/a?dryRun 2", 200,
            body: #"{"value":2,"revision":$1,"changed":true,"dryRun":true,"previous":{"value":1}}"#),
        Row(
            "A dry run of a value above the maximum", given: [Samples.schema], "PUT app/keys/volume?dryRun 2", 422,
            .invalidValue, body: #"{"errors":[{"keyword":"maximum"}]}"#),
    ]

    @Test("PUT stores a value, or is refused", arguments: putting)
    func put(row: Row) throws {
        try row.check()
    }

    static let deleting: [Row] = [
        Row(
            "A stored value", given: ["PUT app/keys/a 1"], "DELETE app/keys/a", 200,
            body: #"{"value":null,"source":"unset","revision":$2,"changed":true,"#
                + #""previous":{"value":1,"source":"stored","revision":$1}}"#,
            fields: ["Settings-Source: unset", "ETag: \"$2\""],
            then: [("GET app", #"{"values":{}}"#), ("GET app/keys/a", #"{"code":"not_set"}"#)]),
        Row(
            "A key with a default", given: [Samples.schema, "PUT app/keys/volume 1"], "DELETE app/keys/volume", 200,
            body: #"{"value":0.5,"source":"default","changed":true,"previous":{"value":1}}"#),
        Row(
            "An unset key with a default", given: [Samples.schema], "DELETE app/keys/volume", 200,
            body: #"{"value":0.5,"source":"default","revision":$1,"changed":false}"#),
        Row(
            "A key that was never set", given: ["PUT app/keys/a 1"], "DELETE app/keys/b", 200,
            body: #"{"source":"unset","changed":false}"#),
        Row(
            "A value of a key that the schema no longer lists", given: ["PUT app/keys/old 1", Samples.narrowSchema],
            "DELETE app/keys/old", 200,
            body: #"{"value":null,"source":"unset","changed":true,"previous":{"value":null,"source":"invalid"}}"#,
            then: [("GET app/keys/old", #"{"code":"unknown_key"}"#)]),
        Row(
            "A removed value of a key that the schema no longer lists",
            given: ["PUT app/keys/old 1", Samples.narrowSchema, "DELETE app/keys/old"],
            "DELETE app/keys/old", 404, .unknownKey),
        Row(
            "A key with an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            "DELETE app/keys/count", 200, body: #"{"source":"unset","changed":true}"#),
        Row("An unknown key", given: [Samples.schema], "DELETE app/keys/volum", 404, .unknownKey),
        Row("A suite that does not exist", "DELETE app/keys/a", 404, .unknownSuite),
        Row(
            "A locked key", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"], "DELETE app/keys/fixed",
            403, .locked),
        Row(
            "A locked key with override=locked", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"],
            "DELETE app/keys/fixed?override=locked", 200, body: #"{"value":1,"source":"default"}"#),
        Row(
            "A dry run", given: ["PUT app/keys/a 1"], "DELETE app/keys/a?dryRun", 200,
            body: #"{"value":null,"source":"unset","revision":$1,"changed":true,"dryRun":true}"#),
    ]

    @Test("DELETE removes a stored value, or is refused", arguments: deleting)
    func delete(row: Row) throws {
        try row.check()
    }
}

/// Answers to writes with Prefer: return=minimal. In a row, `$n` stands for the revision after the n-th request, `"*"`
/// for any value, and a field without a value must be absent. `IdempotencyTests.key` is a field Idempotency-Key.
@Suite(.ownThread)
struct MinimalAnswerTests {
    static let minimal = "Prefer: return=minimal"
    static let applied = "Preference-Applied: return=minimal"
    static let transaction = #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":2}]}"#

    static let rows: [Row] = [
        Row(
            "PUT of a setting", Request("PUT app/keys/a 1", minimal), 201,
            body: #"{"suite":"app","key":"a","source":"stored","revision":$1,"modified":"*","changed":true}"#,
            lacks: ["value", "previous", "secret"], fields: [applied, "ETag: \"$1\"", "Settings-Source: stored"]),
        Row(
            "PATCH of a setting", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app/keys/a {"op":"add","by":1}"#, minimal), 200, body: #"{"changed":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "A DELETE without effect", given: ["PUT app/keys/b 1"], Request("DELETE app/keys/a", minimal), 200,
            body: #"{"source":"unset","changed":false}"#, lacks: ["value", "previous"], fields: [applied]),
        Row(
            "PATCH of a suite", Request(#"PATCH app {"a":1}"#, minimal), 200, body: #"{"revision":$1,"changed":true}"#,
            lacks: ["changes"], fields: [applied, "ETag: \"$1\""]),
        Row(
            "PUT of a schema", Request(#"PUT app/schema {"additionalProperties":true}"#, minimal), 201,
            body: #"{"revision":$1,"schemaRevision":$1,"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "A transaction", Request(transaction, minimal), 200, body: #"{"revision":$1,"changed":true}"#,
            lacks: ["changes"], fields: [applied]),
        Row(
            "A dry run", Request("PUT app/keys/a?dryRun 1", minimal), 201, body: #"{"changed":true,"dryRun":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "A repeat of a write whose first answer was whole",
            given: [Request("PUT app/keys/a 1", IdempotencyTests.key)],
            Request("PUT app/keys/a 1", IdempotencyTests.key, minimal), 201, body: #"{"changed":true,"replayed":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "A refusal, which is always complete", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", minimal, "If-Match: \"999\""), 412, .preconditionFailed,
            body: #"{"current":{"value":1}}"#, fields: ["Preference-Applied:"]),
        Row(
            "A read, which ignores the preference", given: ["PUT app/keys/a 1"], Request("GET app/keys/a", minimal),
            200, body: #"{"value":1}"#, fields: ["Preference-Applied:"]),
        Row(
            "The preference among other preferences",
            Request(transaction, "Prefer: wait=10, Return = \"minimal\"; x=1, respond-async"), 200,
            body: #"{"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "The preference in a second field", Request(transaction, "Prefer: handling=strict", minimal), 200,
            body: #"{"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "Two values of the preference, of which the first counts",
            Request(transaction, "Prefer: return=representation, return=minimal"), 200,
            body: #"{"changed":true,"changes":["*"]}"#, fields: ["Preference-Applied:"]),
        Row(
            "An unknown preference", Request(transaction, "Prefer: return=tiny"), 200,
            body: #"{"changed":true,"changes":["*"]}"#, fields: ["Preference-Applied:"]),
    ]

    @Test(
        "A write with Prefer: return=minimal is answered without values; a refusal and other requests get whole answers",
        arguments: rows)
    func minimal(row: Row) throws {
        try row.check()
    }
}
