import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// What observing answers at once: the state, or what happened since.
@Suite(.ownThread)
struct ObservedRowTests {
    static let schema: Request = """
        PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":1},\
        "b":{"type":"integer"},"c.d":{"type":"integer"},"c.e":{"type":"integer"}}}
        """
    static let one = #"{"suite":"app","revision":$1,"cursor":"*","schemaRevision":0,"values":{"a":1},"changes":[]}"#

    static let states: [Row] = [
        Row(
            "Without since: the state", given: ["PUT app/keys/a 1"], "GET app/observe", 200, nil, one, lacks: ["reset"]),
        Row("However long the wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=300", 200, nil, one),
        Row("Or short", given: ["PUT app/keys/a 1"], "GET app/observe?wait=0", 200, nil, one),
        Row(
            "The revision is a place in history, and not the suite's own",
            given: ["PUT app/keys/a 1", "PUT b/keys/a 1"], "GET app/observe", 200, nil, #"{"revision":$2}"#,
            fields: ["ETag:"]),
        Row(
            "Defaults are part of it", given: [schema, "PUT app/keys/b 2"], "GET app/observe", 200, nil,
            #"{"schemaRevision":$1}"#, exactly: #"{"values":{"a":1,"b":2}}"#),
        Row(
            "As far as a key matches", given: ["PUT app {\"a\":1,\"b\":2,\"c.d\":3,\"c.e\":4}"],
            "GET app/observe?key=a", 200, exactly: #"{"revision":$1,"values":{"a":1},"changes":[]}"#),
        Row(
            "Or a prefix, or either", given: ["PUT app {\"a\":1,\"b\":2,\"c.d\":3,\"c.e\":4,\"c\":5}"],
            "GET app/observe?prefix=c.&key=a&key=c&prefix=x", 200,
            exactly: #"{"values":{"a":1,"c":5,"c.d":3,"c.e":4},"changes":[]}"#),
        Row(
            "A key that does not exist", given: ["PUT app/keys/a 1"], "GET app/observe?key=zz", 200,
            exactly: #"{"suite":"app","values":{},"changes":[]}"#),
        Row(
            "What does not fit the schema stands apart",
            given: ["PUT app/keys/a 9", #"PUT app/schema?onConflict=keep {"additionalProperties":{"type":"string"}}"#],
            "GET app/observe", 200, nil, #"{"values":{},"invalid":{"a":{"stored":9,"errors":[{"keyword":"type"}]}}}"#),
        Row(
            "Limit and latest say nothing about a state", given: ["PUT app {\"a\":1,\"b\":2}"],
            "GET app/observe?limit=1&latest", 200, nil, #"{"values":{"a":1,"b":2}}"#, lacks: ["more"]),
        Row(
            "Several suites, by name",
            given: ["PUT b/keys/x 1", "PUT a/keys/y 2", #"PUT a/schema {"additionalProperties":true}"#],
            "GET /v1/observe?suite=b&suite=zz&suite=a&suite=b", 200,
            exactly: #"""
                {"revision":$3,"schemaRevision":{"a":$3,"b":0},"values":{"a":{"y":2},"b":{"x":1}},
                 "missing":["zz"],"changes":[]}
                """#, lacks: ["suite"]),
        Row(
            "One that is asked for as several", given: ["PUT app/keys/a 1"], "GET /v1/observe?suite=app", 200,
            exactly: #"{"revision":$1,"schemaRevision":{"app":0},"values":{"app":{"a":1}},"changes":[]}"#,
            lacks: ["suite", "missing"]),
        Row(
            "All suites that begin with a text, and one by name",
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
            "All suites, some keys", given: ["PUT b {\"x\":1,\"y\":2,\"z.a\":3}", "PUT a/keys/y 2"],
            "GET /v1/observe?suitePrefix=&key=x&prefix=z.", 200, exactly: #"{"values":{"a":{},"b":{"x":1,"z.a":3}}}"#),
        Row(
            "No suite begins so", given: ["PUT b/keys/x 1"], "GET /v1/observe?suitePrefix=bc&wait=0", 200,
            exactly: #"{"revision":$1,"values":{},"schemaRevision":{},"changes":[]}"#, lacks: ["missing"]),
        Row(
            "None of several exists", "GET /v1/observe?suite=x&suite=y", 200, nil,
            #"{"values":{},"missing":["x","y"],"changes":[]}"#),
    ]

    static let resets: [Row] = [
        Row(
            "A cursor of another epoch", given: ["PUT app/keys/a 1"], "GET app/observe?since=zzzz.1", 200, nil,
            #"{"reset":true,"values":{"a":1},"revision":$1,"changes":[]}"#),
        Row(
            "One that is ahead in another epoch", given: ["PUT app/keys/a 1"], "GET app/observe?since=zzzz.900&wait=9",
            200, nil, #"{"reset":true,"values":{"a":1},"revision":$1}"#),
        Row(
            "For several suites", given: ["PUT app/keys/a 1"], "GET /v1/observe?suite=app&suite=b&since=zzzz.1", 200,
            nil, #"{"reset":true,"values":{"app":{"a":1}},"missing":["b"]}"#),
        Row(
            "From before the history that is kept",
            given: [
                "PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3", "PUT app/keys/a 4", "PUT app/keys/a 5",
            ], "GET app/observe?since=$1", 200, nil, #"{"reset":true,"values":{"a":5},"revision":$5,"changes":[]}"#,
            adapt: { $0.history.commits = 2 }),
        Row(
            "For all suites, dropped ones included",
            given: ["PUT a/keys/a 1", "PUT b/keys/a 1", "DELETE a?drop", "PUT b/keys/a 2", "PUT b/keys/a 3"],
            "GET /v1/observe?suitePrefix=&since=$2", 200, nil, #"{"reset":true,"values":{"b":{"a":3}},"revision":$5}"#,
            adapt: { ($0.history.commits, $0.history.suiteCommits) = (2, 0) }),
        Row(
            "Within it", given: ["PUT app/keys/a 1", "PUT app/keys/a 2", "PUT app/keys/a 3"],
            "GET app/observe?since=$1", 200, nil, #"{"changes":[{"new":2},{"new":3}]}"#, lacks: ["reset", "values"],
            adapt: { $0.history.commits = 2 }),
    ]

    static let refusals: [Row] = [
        Row("No cursor", given: ["PUT app/keys/a 1"], "GET app/observe?since=x", 400, .badRequest),
        Row("An empty one", given: ["PUT app/keys/a 1"], "GET app/observe?since=", 400, .badRequest),
        Row("A negative one", given: ["PUT app/keys/a 1"], "GET app/observe?since=-1", 400, .badRequest),
        Row("One with more to it", given: ["PUT app/keys/a 1"], "GET app/observe?since=e.1.2", 400, .badRequest),
        Row("A wait of 301 s", given: ["PUT app/keys/a 1"], "GET app/observe?wait=301", 400, .badRequest),
        Row("A negative wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=-1", 400, .badRequest),
        Row("Half a second", given: ["PUT app/keys/a 1"], "GET app/observe?wait=0.5", 400, .badRequest),
        Row("No wait", given: ["PUT app/keys/a 1"], "GET app/observe?wait=", 400, .badRequest),
        Row("A limit of none", given: ["PUT app/keys/a 1"], "GET app/observe?limit=0", 400, .badRequest),
        Row("Since twice", given: ["PUT app/keys/a 1"], "GET app/observe?since=1&since=1", 400, .badRequest),
        Row("A key that is none", given: ["PUT app/keys/a 1"], "GET app/observe?key=..", 400, .badRequest),
        Row(
            "An unknown parameter", given: ["PUT app/keys/a 1"], "GET app/observe?sinse=1", 400, .badRequest,
            #"{"didYouMean":["since"]}"#),
        Row("Suites of one suite", given: ["PUT app/keys/a 1"], "GET app/observe?suite=b", 400, .badRequest),
        Row("No suite", "GET /v1/observe", 400, .badRequest),
        Row("A prefix without a value", "GET /v1/observe?suitePrefix", 400, .badRequest),
        Row("A prefix of suites of one suite", "GET app/observe?suitePrefix=b", 400, .badRequest),
        Row("A suite that is none", "GET /v1/observe?suite=.a", 400, .badRequest),
        Row(
            "To write there", given: ["PUT app/keys/a 1"], "PUT app/observe 1", 405, .methodNotAllowed,
            fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row(
            "A missing suite", given: ["PUT app/keys/a 1"], "GET aqp/observe", 404, .unknownSuite,
            #"{"didYouMean":["app"]}"#, fields: ["Retry-After: 1"]),
        Row("A missing suite, and no time", "GET app/observe?wait=0", 404, .unknownSuite, fields: ["Retry-After: 1"]),
        Row(
            "A missing suite since, and no time", "GET app/observe?since=0&wait=0", 404, .unknownSuite,
            fields: ["Retry-After: 1"]),
    ]

    @Test("A noisy suite does not push out what the watchers of a quiet one need")
    func quiet() throws {
        let daemon = try TestDaemon {
            $0.history.commits = 40
            $0.history.suiteCommits = 4
        }
        let cursors = try (0...3).map { try daemon.done(Request("PUT quiet/keys/n \($0)")).cursorText }
        for value in 0..<200 { try daemon.done(Request("PUT noisy/keys/n \(value)")) }
        let kept = try daemon.send(Request("GET quiet/observe?since=\(cursors[0])"))
        #expect(kept.json?["changes"]?.array?.compactMap { $0["new"]?.integer } == [1, 2, 3])
        #expect(kept.json?["reset"] == nil)
        let quiet = try daemon.send(Request("GET /v1/observe?suitePrefix=qui&since=\(cursors[0])"))
        #expect(quiet.json?["changes"]?.array?.compactMap { $0["new"]?.integer } == [1, 2, 3], "\(quiet.text)")
        #expect(quiet.json?["reset"] == nil)
        for target in ["noisy/observe?", "/v1/observe?suite=quiet&suite=noisy&", "/v1/observe?suitePrefix=&"] {
            let begun = try daemon.send(Request("GET \(target)since=\(cursors[3])"))
            #expect(begun.json?["reset"] == true, "\(begun.text)")
        }
    }

    @Test("Observing is answered as its tables say", arguments: states + resets + refusals)
    func rows(row: Row) throws {
        try row.check()
    }
}
