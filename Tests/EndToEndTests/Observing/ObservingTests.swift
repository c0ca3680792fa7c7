import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Requests to observe that are answered at once: with the state, a reset or an error, or with changes if the history
/// has the cursor. In a row, `$n` stands for the revision after the n-th request, `"*"` for any value, and a field
/// without a value must be absent. The members in `exactly` must have exactly these values. A target such as
/// `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ObservedStateTests {
    static let schema: Request = """
        PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":1},\
        "b":{"type":"integer"},"c.d":{"type":"integer"},"c.e":{"type":"integer"}}}
        """
    static let stateOfApp =
        #"{"suite":"app","revision":$1,"cursor":"*","schemaRevision":0,"values":{"a":1},"changes":[]}"#

    static let states: [Row] = [
        Row(
            "The state without since", given: ["PUT app/keys/a 1"], "GET app/observe", 200, body: stateOfApp,
            lacks: ["reset"]),
        Row(
            "The state with a long wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=300", 200, body: stateOfApp
        ),
        Row(
            "The state with a wait of zero", given: ["PUT app/keys/a 1"], "GET app/observe?wait=0", 200,
            body: stateOfApp
        ),
        Row(
            "The revision counts the commits of all suites",
            given: ["PUT app/keys/a 1", "PUT b/keys/a 1"], "GET app/observe", 200, body: #"{"revision":$2}"#,
            fields: ["ETag:"]),
        Row(
            "The state with defaults", given: [schema, "PUT app/keys/b 2"], "GET app/observe", 200,
            body: #"{"schemaRevision":$1}"#, exactly: #"{"values":{"a":1,"b":2}}"#),
        Row(
            "A filter by a key", given: ["PUT app {\"a\":1,\"b\":2,\"c.d\":3,\"c.e\":4}"],
            "GET app/observe?key=a", 200, exactly: #"{"revision":$1,"values":{"a":1},"changes":[]}"#),
        Row(
            "Filters by keys and prefixes", given: ["PUT app {\"a\":1,\"b\":2,\"c.d\":3,\"c.e\":4,\"c\":5}"],
            "GET app/observe?prefix=c.&key=a&key=c&prefix=x", 200,
            exactly: #"{"values":{"a":1,"c":5,"c.d":3,"c.e":4},"changes":[]}"#),
        Row(
            "A key that does not exist", given: ["PUT app/keys/a 1"], "GET app/observe?key=zz", 200,
            exactly: #"{"suite":"app","values":{},"changes":[]}"#),
        Row(
            "Invalid values are listed separately",
            given: ["PUT app/keys/a 9", #"PUT app/schema?onConflict=keep {"additionalProperties":{"type":"string"}}"#],
            "GET app/observe", 200, body: #"{"values":{},"invalid":{"a":{"stored":9,"errors":[{"keyword":"type"}]}}}"#),
        Row(
            "The state with the parameters limit and latest, which do not change it",
            given: ["PUT app {\"a\":1,\"b\":2}"],
            "GET app/observe?limit=1&latest", 200, body: #"{"values":{"a":1,"b":2}}"#, lacks: ["more"]),
        Row(
            "Several suites, by name",
            given: ["PUT b/keys/x 1", "PUT a/keys/y 2", #"PUT a/schema {"additionalProperties":true}"#],
            "GET /v1/observe?suite=b&suite=zz&suite=a&suite=b", 200,
            exactly: #"""
                {"revision":$3,"schemaRevision":{"a":$3,"b":0},"values":{"a":{"y":2},"b":{"x":1}},
                 "missing":["zz"],"changes":[]}
                """#, lacks: ["suite"]),
        Row(
            "A single suite in the form for several suites", given: ["PUT app/keys/a 1"], "GET /v1/observe?suite=app",
            200, exactly: #"{"revision":$1,"schemaRevision":{"app":0},"values":{"app":{"a":1}},"changes":[]}"#,
            lacks: ["suite", "missing"]),
        Row(
            "All suites with a prefix, and a suite by name",
            given: [
                "PUT app.b/keys/x 1", "PUT app.a/keys/y 2", "PUT app/keys/z 3", "PUT net/keys/z 4", "PUT b/keys/z 5",
            ],
            "GET /v1/observe?suitePrefix=app.&suitePrefix=ap&suite=net&suite=app.a&suite=zz&suitePrefix=x", 200,
            exactly: #"""
                {"revision":$5,"schemaRevision":{"app":0,"app.a":0,"app.b":0,"net":0},"changes":[],"missing":["zz"],
                 "values":{"app":{"z":3},"app.a":{"y":2},"app.b":{"x":1},"net":{"z":4}}}
                """#, lacks: ["suite"]),
        Row(
            "All suites", given: ["PUT b/keys/x 1", "PUT a/keys/y 2"], "GET /v1/observe?suitePrefix=", 200,
            exactly: #"{"values":{"a":{"y":2},"b":{"x":1}},"schemaRevision":{"a":0,"b":0},"changes":[]}"#,
            lacks: ["missing"]),
        Row(
            "Some keys of all suites", given: ["PUT b {\"x\":1,\"y\":2,\"z.a\":3}", "PUT a/keys/y 2"],
            "GET /v1/observe?suitePrefix=&key=x&prefix=z.", 200, exactly: #"{"values":{"a":{},"b":{"x":1,"z.a":3}}}"#),
        Row(
            "A prefix that no suite has", given: ["PUT b/keys/x 1"], "GET /v1/observe?suitePrefix=bc&wait=0", 200,
            exactly: #"{"revision":$1,"values":{},"schemaRevision":{},"changes":[]}"#, lacks: ["missing"]),
        Row(
            "Several suites, none of which exists", "GET /v1/observe?suite=x&suite=y", 200,
            body: #"{"values":{},"missing":["x","y"],"changes":[]}"#),
    ]

    static let resets: [Row] = [
        Row(
            "A cursor of another epoch", given: ["PUT app/keys/a 1"], "GET app/observe?since=zzzz.1", 200,
            body: #"{"reset":true,"values":{"a":1},"revision":$1,"changes":[]}"#),
        Row(
            "A cursor of another epoch with a higher revision", given: ["PUT app/keys/a 1"],
            "GET app/observe?since=zzzz.900&wait=9", 200, body: #"{"reset":true,"values":{"a":1},"revision":$1}"#),
        Row(
            "A cursor of another epoch for several suites", given: ["PUT app/keys/a 1"],
            "GET /v1/observe?suite=app&suite=b&since=zzzz.1", 200,
            body: #"{"reset":true,"values":{"app":{"a":1}},"missing":["b"]}"#),
        Row(
            "A cursor before the history of the suite",
            given: [
                "PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3", "PUT app/keys/a 4", "PUT app/keys/a 5",
            ], "GET app/observe?since=$1", 200, body: #"{"reset":true,"values":{"a":5},"revision":$5,"changes":[]}"#,
            configure: { $0.history.commits = 2 }),
        Row(
            "A cursor before the history of all suites, one of which was dropped",
            given: ["PUT a/keys/a 1", "PUT b/keys/a 1", "DELETE a?drop", "PUT b/keys/a 2", "PUT b/keys/a 3"],
            "GET /v1/observe?suitePrefix=&since=$2", 200, body: #"{"reset":true,"values":{"b":{"a":3}},"revision":$5}"#,
            // Without this `suiteCommits`, the history would evict the newest commits of each suite last.
            configure: { ($0.history.commits, $0.history.suiteCommits) = (2, 0) }),
        Row(
            "A cursor within the history", given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3"],
            "GET app/observe?since=$1", 200, body: #"{"changes":[{"new":2},{"new":3}]}"#, lacks: ["reset", "values"],
            configure: { $0.history.commits = 2 }),
    ]

    static let refusals: [Row] = [
        Row("A malformed cursor", given: ["PUT app/keys/a 1"], "GET app/observe?since=x", 400, .badRequest),
        Row("An empty cursor", given: ["PUT app/keys/a 1"], "GET app/observe?since=", 400, .badRequest),
        Row("A negative cursor", given: ["PUT app/keys/a 1"], "GET app/observe?since=-1", 400, .badRequest),
        Row("A cursor with three parts", given: ["PUT app/keys/a 1"], "GET app/observe?since=e.1.2", 400, .badRequest),
        Row("A wait of 301 s", given: ["PUT app/keys/a 1"], "GET app/observe?wait=301", 400, .badRequest),
        Row("A negative wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=-1", 400, .badRequest),
        Row("A wait of half a second", given: ["PUT app/keys/a 1"], "GET app/observe?wait=0.5", 400, .badRequest),
        Row("An empty wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=", 400, .badRequest),
        Row("A limit of zero", given: ["PUT app/keys/a 1"], "GET app/observe?limit=0", 400, .badRequest),
        Row("`since` twice", given: ["PUT app/keys/a 1"], "GET app/observe?since=1&since=1", 400, .badRequest),
        Row("An invalid key name", given: ["PUT app/keys/a 1"], "GET app/observe?key=..", 400, .badRequest),
        Row(
            "An unknown parameter", given: ["PUT app/keys/a 1"], "GET app/observe?sinse=1", 400, .badRequest,
            body: #"{"didYouMean":["since"]}"#),
        Row(
            "The parameter suite in a request for one suite", given: ["PUT app/keys/a 1"], "GET app/observe?suite=b",
            400,
            .badRequest),
        Row("Observing several suites without a suite", "GET /v1/observe", 400, .badRequest),
        Row("A prefix without a value", "GET /v1/observe?suitePrefix", 400, .badRequest),
        Row("The parameter suitePrefix in a request for one suite", "GET app/observe?suitePrefix=b", 400, .badRequest),
        Row("An invalid suite name", "GET /v1/observe?suite=.a", 400, .badRequest),
        Row(
            "A write to the path", given: ["PUT app/keys/a 1"], "PUT app/observe 1", 405, .methodNotAllowed,
            fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row(
            "A missing suite", given: ["PUT app/keys/a 1"], "GET aqp/observe", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#, fields: ["Retry-After: 1"]),
        Row(
            "A missing suite with a wait of zero", "GET app/observe?wait=0", 404, .unknownSuite,
            fields: ["Retry-After: 1"]),
        Row(
            "A missing suite with a cursor and a wait of zero", "GET app/observe?since=0&wait=0", 404, .unknownSuite,
            fields: ["Retry-After: 1"]),
    ]

    @Test("Many commits of one suite do not evict the history of another suite")
    func quiet() throws {
        let daemon = try TestDaemon {
            $0.history.commits = 40
            // The history evicts the newest 4 commits of each suite last.
            $0.history.suiteCommits = 4
        }
        let cursors = try (0...3).map { try daemon.sendOK(Request("PUT quiet/keys/n \($0)")).cursorText }
        for value in 0..<200 { try daemon.sendOK(Request("PUT noisy/keys/n \(value)")) }
        let kept = try daemon.send(Request("GET quiet/observe?since=\(cursors[0])"))
        #expect(kept.json?["changes"]?.array?.compactMap { $0["new"]?.integer } == [1, 2, 3])
        #expect(kept.json?["reset"] == nil)
        let quiet = try daemon.send(Request("GET /v1/observe?suitePrefix=qui&since=\(cursors[0])"))
        #expect(quiet.json?["changes"]?.array?.compactMap { $0["new"]?.integer } == [1, 2, 3], "\(quiet.text)")
        #expect(quiet.json?["reset"] == nil)
        for target in ["noisy/observe?", "/v1/observe?suite=quiet&suite=noisy&", "/v1/observe?suitePrefix=&"] {
            let observed = try daemon.send(Request("GET \(target)since=\(cursors[3])"))
            #expect(observed.json?["reset"] == true, "\(observed.text)")
        }
    }

    @Test(
        "Observing returns the state without a cursor, a reset only for a cursor outside the history, or an error",
        arguments: states + resets + refusals)
    func rows(row: Row) throws {
        try row.check()
    }
}

/// Requests to observe since a cursor. In a row, `$n` stands for the revision after the n-th request, `$0` for the
/// revision before the first, and `"*"` for any value. The members in `exactly` must have exactly these values.
@Suite(.ownThread)
struct ObservedChangeTests {
    static let schema = ObservedStateTests.schema

    static let changes: [Row] = [
        Row(
            "A new value", given: ["PUT app/keys/a 41", "PUT app/keys/a 42"], "GET app/observe?since=$1", 200,
            body: #"""
                {"suite":"app","revision":$2,"cursor":"*","schemaRevision":0,"changes":[{"key":"a","old":41,"new":42,
                 "oldSource":"stored","source":"stored","revision":$2,"modified":"*"}]}
                """#, lacks: ["values", "more", "reset", "dropped", "retryAfterMs"]),
        Row(
            "The first value", given: ["PUT app/keys/b 1", "PUT app/keys/a 1"], "GET app/observe?since=$1", 200,
            body: #"{"changes":[{"key":"a","old":null,"new":1,"oldSource":"unset","source":"stored"}]}"#),
        Row(
            "A first value of a key with a default", given: [schema, "PUT app/keys/a 5"], "GET app/observe?since=$1",
            200, body: #"{"changes":[{"key":"a","old":1,"new":5,"oldSource":"default","source":"stored"}]}"#),
        Row(
            "A stored value equal to the default", given: [schema, "PUT app/keys/a 1"],
            "GET app/observe?since=$1", 200,
            body: #"{"changes":[{"key":"a","old":1,"new":1,"oldSource":"default","source":"stored"}]}"#),
        Row(
            "The removal of a value of a key with a default", given: [schema, "PUT app/keys/a 5", "DELETE app/keys/a"],
            "GET app/observe?since=$2", 200,
            body: #"{"changes":[{"key":"a","old":5,"new":1,"oldSource":"stored","source":"default"}]}"#),
        Row(
            "The removal of a value of a key without a default",
            given: [schema, "PUT app/keys/b 5", "DELETE app/keys/b"], "GET app/observe?since=$2", 200,
            body: #"{"changes":[{"key":"b","old":5,"new":null,"oldSource":"stored","source":"unset"}]}"#),
        Row(
            "Every change, in order",
            given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/b 3", "DELETE app/keys/a"],
            "GET app/observe?since=$1", 200,
            body: #"""
                {"revision":$4,"changes":[{"key":"a","old":1,"new":2,"revision":$2},{"key":"b","new":3,"revision":$3},
                 {"key":"a","old":2,"source":"unset","revision":$4}]}
                """#),
        Row(
            "All changes since revision 0", given: ["PUT app/keys/a 1"], "GET app/observe?since=$0", 200,
            body: #"{"changes":[{"key":"a","old":null,"new":1}]}"#),
        Row(
            "A transaction, which is sent completely",
            given: [
                "PUT app/keys/a 1",
                #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"b","value":2},"#
                    + #"{"op":"add","suite":"app","key":"a","by":1},{"op":"set","suite":"z","key":"k","value":3}]}"#,
            ], "GET app/observe?since=$1&limit=1", 200,
            body: #"{"revision":$2,"changes":[{"key":"b","revision":$2},{"key":"a","revision":$2}]}"#, lacks: ["more"]),
        Row(
            "Changes of all suites with a prefix, with created and dropped suites",
            given: [
                "PUT app.a/keys/a 1", "PUT b/keys/a 1", "PUT app.b/keys/a 2",
                #"PUT app.c/schema {"additionalProperties":{}}"#, "DELETE app.a?drop", "PUT bapp./keys/a 1",
            ], "GET /v1/observe?suitePrefix=app.&suite=zz&since=$1", 200,
            exactly: #"{"revision":$6,"schemaRevision":{"app.b":0,"app.c":$4},"dropped":["app.a"],"missing":["zz"]}"#,
            lacks: ["values", "reset", "suite"]),
        Row(
            "Changes of all suites with a prefix, in pages and with latest",
            given: ["PUT app.a/keys/a 1", "PUT app.a/keys/a 2", "PUT app.b/keys/a 3", "PUT app.b/keys/a 4"],
            "GET /v1/observe?suitePrefix=app&since=$1&limit=2&latest", 200,
            body: #"""
                {"revision":$3,"more":true,"schemaRevision":{"app.a":0,"app.b":0},
                 "changes":[{"suite":"app.a","old":1,"new":2},{"suite":"app.b","old":null,"new":3}]}
                """#),
        Row(
            "Changes of some keys of all suites", given: ["PUT a/keys/a 1", "PUT b/keys/c 1", "PUT c/keys/a 2"],
            "GET /v1/observe?suitePrefix=&key=a&since=$1", 200, body: #"{"changes":[{"suite":"c","key":"a","new":2}]}"#),
        Row(
            "Writes that change nothing are not changes",
            given: ["PUT app/keys/a 1", "PUT app/keys/a 1", "PATCH app {\"a\":1}"],
            "GET app/observe?since=$1&wait=0", 200, body: #"{"revision":$1,"changes":[]}"#),
        Row(
            "Commits without a matching change are skipped",
            given: ["PUT app/keys/a 1", "PUT app/keys/b 1", "PUT other/keys/a 1"],
            "GET app/observe?since=$1&key=a&wait=0", 200, body: #"{"revision":$3,"changes":[]}"#),
        Row(
            "Only the matching changes of a commit",
            given: ["PUT app/keys/a 1", "PATCH app {\"a\":2,\"b\":3,\"c.d\":4,\"c\":5}"],
            "GET app/observe?since=$1&key=b&prefix=c.", 200,
            body: #"{"changes":[{"key":"b","new":3},{"key":"c.d","new":4}]}"#),
        Row(
            "Several suites", given: ["PUT a/keys/x 1", "PUT b/keys/x 2", "PUT c/keys/x 3"],
            "GET /v1/observe?suite=b&suite=a&suite=q&since=$0", 200,
            body: #"""
                {"revision":$3,"schemaRevision":{"a":0,"b":0},"missing":["q"],
                 "changes":[{"suite":"a","key":"x","new":1,"revision":$1},{"suite":"b","key":"x","new":2,"revision":$2}]}
                """#, lacks: ["suite", "values"]),
        Row(
            "A commit to several watched suites, which is sent once",
            given: [
                "PUT a/keys/x 1",
                #"POST /v1/transaction {"do":[{"op":"set","suite":"b","key":"k","value":2},"#
                    + #"{"op":"set","suite":"a","key":"k","value":3}]}"#,
            ], "GET /v1/observe?suite=b&suite=a&since=$1", 200,
            body: #"{"changes":[{"suite":"b","key":"k","revision":$2},{"suite":"a","key":"k","revision":$2}]}"#),
    ]

    static let suites: [Row] = [
        Row(
            "A schema matches every watcher", given: ["PUT app/keys/b 1", schema], "GET app/observe?since=$1&key=zz",
            200, body: #"{"revision":$2,"schemaRevision":$2,"changes":[]}"#),
        Row(
            "A schema that adds defaults", given: ["PUT app/keys/b 1", schema], "GET app/observe?since=$1", 200,
            body:
                #"{"schemaRevision":$2,"changes":[{"key":"a","old":null,"new":1,"oldSource":"unset","source":"default"}]}"#
        ),
        Row(
            "The removal of a schema with defaults", given: [schema, "DELETE app/schema"],
            "GET app/observe?since=$1", 200,
            body:
                #"{"schemaRevision":$2,"changes":[{"key":"a","old":1,"new":null,"oldSource":"default","source":"unset"}]}"#
        ),
        Row(
            "A schema that makes a value invalid",
            given: ["PUT app/keys/a 9", #"PUT app/schema?onConflict=keep {"additionalProperties":{"type":"string"}}"#],
            "GET app/observe?since=$1", 200,
            body: #"{"changes":[{"key":"a","old":9,"new":null,"oldSource":"stored","source":"invalid"}]}"#),
        Row(
            "A page that ends before a schema, with the schema revision before it",
            given: ["PUT app/keys/b 1", "PUT app/keys/b 2", schema], "GET app/observe?since=$0&limit=1", 200,
            body: #"{"more":true,"revision":$1,"schemaRevision":0,"changes":[{"new":1}]}"#),
        Row(
            "A drop, which unsets every key", given: [schema, "PUT app/keys/b 2", "DELETE app?drop=true"],
            "GET app/observe?since=$2", 200,
            body: #"""
                {"dropped":true,"revision":$3,"schemaRevision":0,"changes":[{"key":"a","old":1,"new":null,"oldSource":"default","source":"unset"},
                 {"key":"b","old":2,"new":null,"oldSource":"stored","source":"unset"}]}
                """#),
        Row(
            "A drop of one of several suites", given: ["PUT a/keys/x 1", "PUT b/keys/x 1", "DELETE a?drop=true"],
            "GET /v1/observe?suite=a&suite=b&since=$2", 200,
            body: #"{"dropped":["a"],"missing":["a"],"changes":[{"suite":"a","key":"x","old":1,"source":"unset"}]}"#),
        Row(
            "A drop concerns a watcher of other keys", given: ["PUT app/keys/b 2", "DELETE app?drop=true"],
            "GET app/observe?since=$1&key=zz", 200, body: #"{"dropped":true,"revision":$2,"changes":[]}"#),
        Row(
            "A suite that was dropped and created again",
            given: ["PUT app/keys/a 1", "DELETE app?drop=true", "PUT app/keys/b 2"],
            "GET app/observe?since=$1", 200,
            body:
                #"{"dropped":true,"revision":$3,"changes":[{"key":"a","source":"unset"},{"key":"b","old":null,"new":2}]}"#
        ),
        Row(
            "Changes after a drop", given: ["PUT app/keys/a 1", "DELETE app?drop=true", "PUT app/keys/b 2"],
            "GET app/observe?since=$2", 200, body: #"{"revision":$3,"changes":[{"key":"b","new":2}]}"#,
            lacks: ["dropped"]),
    ]

    private static let fourWrites: [Request] = [
        "PUT app/keys/a 1", "PATCH app {\"a\":2,\"b\":2}", "PUT app/keys/b 3", "PUT app/keys/a 4",
    ]

    static let limits: [Row] = [
        Row(
            "Complete commits up to the limit", given: fourWrites, "GET app/observe?since=$1&limit=3", 200,
            body: #"{"more":true,"revision":$3,"changes":[{"revision":$2},{"revision":$2},{"revision":$3}]}"#),
        Row(
            "A commit is never split", given: fourWrites, "GET app/observe?since=$1&limit=1", 200,
            body: #"{"more":true,"revision":$2,"changes":[{"key":"a"},{"key":"b"}]}"#),
        Row(
            "A commit that would exceed the limit is left for the next answer", given: fourWrites,
            "GET app/observe?since=$0&limit=2", 200,
            body: #"{"more":true,"revision":$1,"changes":[{"key":"a","new":1}]}"#),
        Row(
            "A limit that equals the number of changes", given: fourWrites, "GET app/observe?since=$0&limit=5", 200,
            body: #"{"revision":$4}"#, lacks: ["more"]),
        Row(
            "The latest change of each key", given: fourWrites, "GET app/observe?since=$0&latest", 200,
            body: #"""
                {"revision":$4,"changes":[{"key":"b","old":null,"new":3,"oldSource":"unset","source":"stored","revision":$3},
                 {"key":"a","old":null,"new":4,"oldSource":"unset","source":"stored","revision":$4}]}
                """#, lacks: ["more"]),
        Row(
            "A limit with latest, which counts the changes before they are combined", given: fourWrites,
            "GET app/observe?since=$1&limit=3&latest", 200,
            body: #"{"more":true,"revision":$3,"changes":[{"key":"a","old":1,"new":2},{"key":"b","old":null,"new":3}]}"#
        ),
        Row(
            "The latest change of a key that was set and removed",
            given: ["PUT app/keys/z 1", "PUT app/keys/a 1", "DELETE app/keys/a"],
            "GET app/observe?since=$1&latest", 200,
            body: #"{"changes":[{"key":"a","old":null,"new":null,"oldSource":"unset","source":"unset","revision":$3}]}"#
        ),
        Row(
            "The latest changes of several suites", given: ["PUT a/keys/x 1", "PUT b/keys/x 2", "PUT a/keys/x 3"],
            "GET /v1/observe?suite=a&suite=b&since=$0&latest=true", 200,
            body: #"{"changes":[{"suite":"b","new":2},{"suite":"a","old":null,"new":3}]}"#),
    ]

    @Test("Observing since a cursor returns the changes", arguments: changes + suites + limits)
    func rows(row: Row) throws {
        try row.check()
    }
}
