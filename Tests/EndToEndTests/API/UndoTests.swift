import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// "History" in docs/http-api.md: commits are listed, compared, undone and restored. In a row, `$n` stands for the
/// revision after the n-th request, `"*"` for any value, and `"*a*b*"` for a text with `a` and then `b`.
/// `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer), `fixed` (locked, default 1), `isOn`
/// (default false). `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid values. A
/// target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct UndoTests {
    /// The writes before the request of most rows. The writes have the revisions `$1` to `$6`, so `$7` is the revision
    /// of the commit that the request makes.
    static let writes: [Request] = [
        "PUT app/keys/count 3", Samples.schema, "PUT app/keys/volume 1", "PUT b/keys/x 1", "DELETE app/keys/count",
        #"PATCH app {"volume":0.25,"count":5}"#,
    ]

    static let listing: [Row] = [
        Row(
            "Commits, the newest first", given: writes, "GET app/history", 200,
            body:
                #"{"suite":"app","oldest":0,"commits":[{"revision":$6,"time":"*","changes":[{"key":"volume"},{"key":"count"}]},"#
                + #"{"revision":$5},{"revision":$3},{"revision":$2,"schema":true},{"revision":$1}]}"#, lacks: ["next"]),
        Row(
            "A page of the history", given: writes, "GET app/history?before=$6&limit=2", 200,
            body: #"{"commits":[{"revision":$5},{"revision":$3}],"next":$3}"#),
        Row(
            "The history of one key", given: writes, "GET app/history?key=volume", 200,
            body:
                #"{"commits":[{"revision":$6,"changes":[{"key":"volume","old":1,"new":0.25}]},{"revision":$3},{"revision":$2}]}"#
        ),
        Row(
            "The history of keys with a prefix", given: writes, "GET app/history?prefix=cou&limit=1", 200,
            body: #"{"commits":[{"revision":$6,"changes":[{"key":"count"}]}],"next":$6}"#),
        Row(
            "The history of a caller that made no commit", given: writes, "GET app/history?by=user:alice", 200,
            body: #"{"commits":[]}"#),
        Row(
            "The history of a dropped suite", given: ["PUT app/keys/a 1", "DELETE app?drop"], "GET app/history", 200,
            body: #"{"commits":[{"revision":$2,"dropped":true,"changes":[{"key":"a","new":null}]},{"revision":$1}]}"#),
        Row(
            "A suite that never existed", given: writes, "GET ap/history", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#),
        Row("A page of more than 1000 commits", given: writes, "GET app/history?limit=1001", 400, .badRequest),
        Row(
            "The history as far as it is retained", given: (1...5).map { Request("PUT app/keys/a \($0)") },
            "GET app/history", 200, body: #"{"oldest":$3,"commits":[{"revision":$5},{"revision":$4}]}"#
        ) { $0.history.commits = 2 },
        Row(
            "A past setting", given: writes, "GET app/keys/volume?at=$3", 200,
            body: #"{"value":1,"source":"stored","revision":$3}"#, fields: ["ETag: \"$3\"", "Settings-Source: stored"]),
        Row("A past setting without its metadata", given: writes, "GET app/keys/volume?at=$2&raw", 200, text: "0.5"),
        Row("A past unset setting", given: writes, "GET app/keys/count?at=$5", 404, .notSet),
        Row(
            "A past setting with its tag in If-None-Match", given: writes,
            Request("GET app/keys/volume?at=$3", "If-None-Match: \"$3\""), 304),
        Row("A setting before the creation of its suite", given: writes, "GET b/keys/x?at=$3", 404, .unknownSuite),
        Row(
            "A past schema", given: [Samples.schema, Samples.narrowSchema, "DELETE app/schema"], "GET app/schema?at=$1",
            200, body: #"{"properties":{"volume":"*"}}"#, fields: ["ETag: \"$1\""]),
        Row(
            "A missing past schema", given: ["PUT app/keys/count 3", Samples.schema], "GET app/schema?at=$1", 404,
            .noSchema),
        Row(
            "A future instant", given: writes, "GET app?at=2999-01-01T00:00:00Z&raw&view=stored", 200,
            text: #"{"count":5,"volume":0.25}"#),
        Row(
            "An instant before the first commit", given: writes, "GET app?at=2001-01-01T00:00:00.5+01:00", 404,
            .unknownSuite),
        Row("An invalid instant", given: writes, "GET app?at=yesterday", 400, .badRequest),
        Row("A setting at a future revision", given: writes, "GET app/keys/count?at=999", 400, .badRequest),
    ]

    @Test("The history, past settings and past schemas are read, or the request is refused", arguments: listing)
    func list(row: Row) throws {
        try row.check()
    }

    static let differences: [Row] = [
        Row(
            "The differences between two revisions", given: writes, "GET app/diff?from=$3&to=$6", 200,
            body: #"{"suite":"app","revision":$6,"schemaRevision":$2,"schemaChanged":false,"changes":["#
                + #"{"key":"count","old":3,"new":5,"oldSource":"stored","source":"stored","revision":$6},"#
                + #"{"key":"volume","old":1,"new":0.25,"revision":$6}]}"#),
        Row(
            "The differences to an earlier revision", given: writes, "GET app/diff?from=$6&to=$3", 200,
            body: #"{"revision":$3,"changes":[{"key":"count","old":5,"new":3},{"key":"volume","old":0.25,"new":1}]}"#),
        Row(
            "The differences until now, with another schema", given: writes, "GET app/diff?from=$1", 200,
            body: #"{"schemaChanged":true,"changes":[{"key":"count"},{"key":"fixed"},{"key":"isOn"},{"key":"volume"}]}"#
        ),
        Row(
            "The differences of two equal states", given: writes, "GET app/diff?from=$3&to=$4", 200,
            body: #"{"schemaChanged":false,"changes":[]}"#),
        Row(
            "The differences since before the creation of the suite", given: writes, "GET b/diff?from=0", 200,
            body: #"{"changes":[{"key":"x","old":null,"oldSource":"unset","new":1}]}"#),
        Row(
            "The differences from an instant", given: writes, "GET b/diff?from=2001-01-01T00:00:00Z", 200,
            body: #"{"changes":[{"key":"x"}]}"#),
        Row("The differences without `from`", given: writes, "GET app/diff", 400, .badRequest),
        Row("The differences to a future revision", given: writes, "GET app/diff?from=0&to=99", 400, .badRequest),
        Row("A suite that never existed", given: writes, "GET ap/diff?from=0", 404, .unknownSuite),
        Row(
            "The differences from a revision that is not retained",
            given: (1...5).map { Request("PUT app/keys/a \($0)") }, "GET app/diff?from=$1", 410,
            .historyGone, body: #"{"oldest":$3}"#
        ) { $0.history.commits = 2 },
    ]

    @Test("A comparison of two revisions shows the settings that differ, or is refused", arguments: differences)
    func compare(row: Row) throws {
        try row.check()
    }

    static let undoing: [Row] = [
        Row(
            "The undo of a value", given: writes, #"POST app/undo {"revision":$6}"#, 200,
            body:
                #"{"revision":$7,"changed":true,"changes":[{"suite":"app","key":"count","new":null},{"key":"volume","new":1}]}"#,
            fields: ["ETag: \"$7\""], then: [("GET app?view=stored", #"{"values":{"volume":1}}"#)]),
        Row(
            "The undo of an undo", given: writes + [#"POST app/undo {"revision":$6}"#],
            #"POST app/undo {"revision":$7}"#, 200, body: #"{"changed":true}"#,
            then: [("GET app?view=stored", #"{"values":{"volume":0.25,"count":5}}"#)]),
        Row(
            "The undo of a value that was changed later", given: writes, #"POST app/undo {"revision":$3}"#, 409,
            .changedSince, body: #"{"changes":[{"suite":"app","key":"volume","new":0.25,"revision":$6}]}"#),
        Row(
            "The undo of a value that was changed and changed back",
            given: writes + ["PUT app/keys/volume 1", "PUT app/keys/volume 0.25"],
            #"POST app/undo {"revision":$6}"#, 409, .changedSince,
            body: #"{"changes":[{"key":"volume","revision":$7},{"key":"volume","revision":$8}]}"#),
        Row(
            "The forced undo of a value that was changed later", given: writes,
            #"POST app/undo {"revision":$3,"force":true}"#, 200,
            body: #"{"changes":[{"key":"volume","old":0.25,"new":0.5,"source":"default"}]}"#),
        Row(
            "The undo of a removal of a value that the current schema refuses",
            given: [Samples.schema, "PUT app/keys/count 11", "DELETE app/keys/count", Samples.narrowSchema],
            #"POST app/undo {"revision":$3}"#, 409, .schemaConflict, body: #"{"detail":"*suite app*count*10*11*"}"#),
        Row(
            "The undo of a schema", given: [Samples.schema, Samples.narrowSchema], #"POST app/undo {"revision":$2}"#,
            200, body: #"{"changed":true}"#, then: [("GET app/keys/volume", #"{"value":0.5}"#)]),
        Row(
            "The undo of the first schema", given: ["PUT app/keys/count 3", Samples.schema],
            #"POST app/undo {"revision":$2}"#, 200, body: #"{"changed":true}"#,
            then: [("GET app", #"{"schemaRevision":$3,"values":{"count":3}}"#)]),
        Row(
            "The undo of a schema that removed values",
            given: [
                Samples.schema, "PUT app/keys/count 11",
                #"PUT app/schema?onConflict=reset {"additionalProperties":false,"properties":{"count":{"maximum":10}}}"#,
            ], #"POST app/undo {"revision":$3}"#, 200, body: #"{"changed":true}"#,
            then: [("GET app/keys/count", #"{"value":11,"source":"stored"}"#)]),
        Row(
            "The undo of a drop", given: writes + ["DELETE app?drop"], #"POST app/undo {"revision":$7}"#, 200,
            body: #"{"changed":true}"#,
            then: [("GET app?view=stored", #"{"schemaRevision":$8,"values":{"volume":0.25,"count":5}}"#)]),
        Row(
            "The undo of a drop of a suite that was created again",
            given: writes + ["DELETE app?drop", "PUT app/keys/z 1"],
            #"POST app/undo {"revision":$7}"#, 409, .changedSince),
        Row(
            "The undo of a commit of several suites",
            given: [
                #"POST /v1/transaction {"do":[{"op":"set","suite":"a","key":"k","value":1},{"op":"set","suite":"b","key":"k","value":2}]}"#
            ], #"POST /v1/undo {"revision":$1}"#, 200,
            body: #"{"changes":[{"suite":"a","key":"k","new":null},{"suite":"b","key":"k","new":null}]}"#),
        Row(
            "The undo of a commit of several suites in one suite",
            given: [
                #"POST /v1/transaction {"do":[{"op":"set","suite":"a","key":"k","value":1},{"op":"set","suite":"b","key":"k","value":2}]}"#
            ], #"POST a/undo {"revision":$1}"#, 200, body: #"{"changes":[{"suite":"a","key":"k","new":null}]}"#,
            then: [("GET b/keys/k", #"{"value":2}"#)]),
        Row(
            "A dry run", given: writes, #"POST app/undo?dryRun {"revision":$6}"#, 200,
            body: #"{"dryRun":true,"changed":true,"revision":$6}"#, then: [("GET app/keys/count", #"{"value":5}"#)]),
        Row(
            "An undo with an older tag in If-Match", given: writes,
            Request(#"POST app/undo {"revision":$6}"#, "If-Match: \"$3\""), 412, .preconditionFailed),
        Row(
            "A repeat of an undo", given: writes + [Request(#"POST app/undo {"revision":$6}"#, "Idempotency-Key: u")],
            Request(#"POST app/undo {"revision":$6}"#, "Idempotency-Key: u"), 200,
            body: #"{"replayed":true,"revision":$7,"changed":true}"#),
        Row(
            "The undo of a commit of another suite", given: writes, #"POST app/undo {"revision":$4}"#, 400, .badRequest),
        Row("The undo of a future commit", given: writes, #"POST app/undo {"revision":99}"#, 400, .badRequest),
        Row(
            "An undo with an unknown member", given: writes, #"POST app/undo {"revision":$6,"forced":true}"#, 400,
            .badRequest),
        Row("GET of an undo", given: writes, "GET app/undo", 405, .methodNotAllowed, fields: ["Allow: POST, OPTIONS"]),
        Row(
            "The undo of a commit that is not retained", given: (1...5).map { Request("PUT app/keys/a \($0)") },
            #"POST app/undo {"revision":$2}"#, 410, .historyGone
        ) { $0.history.commits = 2 },
        Row(
            "The undo of a write that replaced a value that the current schema refuses",
            given: [Samples.schema, "PUT app/keys/count 11", "PUT app/keys/count 1", Samples.narrowSchema],
            #"POST app/undo {"revision":$3}"#, 409, .schemaConflict,
            body: #"{"conflicts":[{"key":"count","stored":11,"errors":[{"suite":"app","keyword":"maximum"}]}]}"#),
    ]

    @Test("An undo makes a new commit with the previous values, or is refused", arguments: undoing)
    func undo(row: Row) throws {
        try row.check()
    }

    static let restoring: [Row] = [
        Row(
            "A restore of all values", given: writes, #"POST app/restore {"to":$3}"#, 200,
            body: #"{"revision":$7,"changed":true,"changes":[{"key":"count","new":3},{"key":"volume","new":1}]}"#,
            fields: ["ETag: \"$7\""]),
        Row(
            "A restore of keys with a prefix", given: writes, #"POST app/restore {"to":$3,"prefix":"co"}"#, 200,
            body: #"{"changes":[{"key":"count","new":3}]}"#),
        Row(
            "A restore of named keys", given: writes, #"POST app/restore {"to":$5,"keys":["count"]}"#, 200,
            body: #"{"changes":[{"key":"count","new":null}]}"#),
        Row(
            "A restore to a future instant, which is the present state", given: writes,
            #"POST app/restore {"to":"2999-01-01T00:00:00Z"}"#, 200,
            body: #"{"changed":false,"changes":[]}"#),
        Row(
            "A restore to an instant before the first commit", given: writes,
            #"POST app/restore {"to":"2001-01-01T00:00:00Z"}"#, 404, .unknownSuite),
        Row(
            "A restore of a dropped suite", given: ["PUT app/keys/a 1", "DELETE app?drop"],
            #"POST app/restore {"to":$1}"#, 200, body: #"{"changed":true}"#, then: [("GET app", #"{"values":{"a":1}}"#)]
        ),
        Row(
            "A restore of a value that the current schema refuses",
            given: [Samples.schema, #"PUT app {"count":11,"volume":1}"#, "DELETE app", Samples.narrowSchema],
            #"POST app/restore {"to":$2}"#, 409, .schemaConflict, body: #"{"conflicts":[{"key":"count","stored":11}]}"#),
        Row(
            "A restore that skips refused values",
            given: [Samples.schema, #"PUT app {"count":11,"volume":1}"#, "DELETE app", Samples.narrowSchema],
            #"POST app/restore?onConflict=skip {"to":$2}"#, 200,
            body:
                #"{"changed":true,"changes":[{"key":"volume","new":1}],"skipped":[{"key":"count","stored":11,"errors":["*"]}]}"#
        ),
        Row(
            "A repeat of a restore that skips refused values",
            given: [
                Samples.schema, #"PUT app {"count":11,"volume":1}"#, "DELETE app", Samples.narrowSchema,
                Request(#"POST app/restore?onConflict=skip {"to":$2}"#, "Idempotency-Key: r"),
            ], Request(#"POST app/restore?onConflict=skip {"to":$2}"#, "Idempotency-Key: r"), 200,
            body: #"{"replayed":true,"skipped":[{"key":"count"}]}"#),
        Row(
            "A restore with both a prefix and keys", given: writes,
            #"POST app/restore {"to":$3,"prefix":"a","keys":["b"]}"#, 400, .badRequest),
        Row("A restore without the member to", given: writes, #"POST app/restore {}"#, 400, .badRequest),
        Row(
            "A restore to an invalid instant", given: writes, #"POST app/restore {"to":"yesterday"}"#, 400, .badRequest,
            body: #"{"pointer":"/to"}"#),
    ]

    @Test("A restore stores the values of an earlier revision, or is refused", arguments: restoring)
    func restore(row: Row) throws {
        try row.check()
    }
}
