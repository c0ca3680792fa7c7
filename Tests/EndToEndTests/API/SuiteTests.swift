import SettingsModel
import TestSupport
import Testing

/// "Suites" in docs/http-api.md. In a row, `$n` stands for the revision after the n-th request, `$0` for the revision
/// before the first, and `"*"` for any value. The members in `exactly` must have exactly these values.
/// `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer), `fixed` (locked, default 1), `isOn`
/// (default false), `name` (at most 3 characters), `tags` (at most 3 texts), `shape` (integers `width`, `height`) and
/// keys that begin with `x-`. `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid
/// values. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct SuiteTests {
    static let threeSuites: [Request] = ["PUT app/keys/a 1", "PUT app.ui/keys/b 1", "PUT zoo/keys/c 1"]

    static let listing: [Row] = [
        Row("No suites", "GET /v1/suites", 200, body: #"{"suites":[],"revision":$0}"#, lacks: ["next"]),
        Row(
            "All suites", given: threeSuites, "GET /v1/suites", 200,
            body:
                #"{"suites":[{"suite":"app","keyCount":1,"revision":$1,"hasSchema":false},{"suite":"app.ui"},{"suite":"zoo"}],"#
                + #""revision":$3}"#, lacks: ["next"]),
        Row(
            "Suites with a prefix", given: threeSuites, "GET /v1/suites?prefix=app.", 200,
            body: #"{"suites":[{"suite":"app.ui"}]}"#),
        Row(
            "A page", given: threeSuites, "GET /v1/suites?limit=2", 200,
            body: #"{"suites":[{"suite":"app"},{"suite":"app.ui"}],"next":"app.ui"}"#),
        Row(
            "The next page", given: threeSuites, "GET /v1/suites?limit=2&after=app.ui", 200,
            body: #"{"suites":[{"suite":"zoo"}]}"#, lacks: ["next"]),
        Row(
            "A page whose limit equals the number of suites", given: threeSuites, "GET /v1/suites?limit=3", 200,
            body: #"{"suites":["*","*","*"]}"#, lacks: ["next"]),
        Row(
            "Suites after a missing name", given: threeSuites, "GET /v1/suites?after=b", 200,
            body: #"{"suites":[{"suite":"zoo"}]}"#),
        Row(
            "A page of a prefix", given: threeSuites, "GET /v1/suites?prefix=app&limit=1&after=app", 200,
            body: #"{"suites":[{"suite":"app.ui"}]}"#, lacks: ["next"]),
        // The schema has seven keys, and a pattern allows `x-more`.
        Row(
            "A suite with a schema", given: [Samples.schema, "PUT app/keys/x-more 1"], "GET /v1/suites", 200,
            body: #"{"suites":[{"suite":"app","keyCount":8,"hasSchema":true,"revision":$2}]}"#),
        Row(
            "A suite with an invalid value",
            given: [
                "PUT app/keys/a 5", "PUT app/keys/b 1",
                #"PUT app/schema?onConflict=keep {"additionalProperties":{"maximum":3}}"#,
            ], "GET /v1/suites", 200, body: #"{"suites":[{"suite":"app","keyCount":2,"invalidCount":1}]}"#),
        Row(
            "A suite whose invalid values were corrected",
            given: [
                "PUT app/keys/a 5", "PUT app/keys/b 5",
                #"PUT app/schema?onConflict=keep {"additionalProperties":{"maximum":3}}"#, "PUT app/keys/a 3",
                "DELETE app/keys/b",
            ], "GET /v1/suites", 200, body: #"{"suites":[{"suite":"app","keyCount":1,"invalidCount":0}]}"#),
        Row(
            "A suite without values", given: ["PUT app/keys/a 1", "DELETE app/keys/a"], "GET /v1/suites", 200,
            body: #"{"suites":[{"suite":"app","keyCount":0,"revision":$2,"hasSchema":false}]}"#),
        Row(
            "A list without dropped suites", given: threeSuitesTwoDropped, "GET /v1/suites?dropped=false", 200,
            body: #"{"suites":[{"suite":"app.ui"}]}"#, lacks: ["next"]),
        Row(
            "A list with dropped suites", given: threeSuitesTwoDropped, "GET /v1/suites?dropped", 200,
            body:
                #"{"suites":[{"suite":"app","keyCount":0,"invalidCount":0,"revision":$4,"hasSchema":false,"dropped":true},"#
                + #"{"suite":"app.ui","revision":$2},{"suite":"zoo","revision":$5,"dropped":true}]}"#, lacks: ["next"]),
        Row(
            "A page that ends at a dropped suite", given: threeSuitesTwoDropped, "GET /v1/suites?dropped&limit=1", 200,
            body: #"{"suites":[{"suite":"app"}],"next":"app"}"#),
        Row(
            "A page that ends before a dropped suite", given: threeSuitesTwoDropped,
            "GET /v1/suites?dropped&limit=1&after=app", 200, body: #"{"suites":[{"suite":"app.ui"}],"next":"app.ui"}"#),
        Row(
            "A page with a dropped suite whose limit equals the number of remaining suites",
            given: threeSuitesTwoDropped,
            "GET /v1/suites?dropped&limit=2&after=app", 200, body: #"{"suites":["*","*"]}"#, lacks: ["next"]),
        Row(
            "A dropped suite by prefix", given: threeSuitesTwoDropped, "GET /v1/suites?dropped&prefix=z", 200,
            body: #"{"suites":[{"suite":"zoo"}]}"#),
        Row(
            "A dropped suite that was created again", given: threeSuitesTwoDropped + ["PUT zoo/keys/c 2"],
            "GET /v1/suites?dropped&prefix=z", 200, body: #"{"suites":[{"suite":"zoo","keyCount":1,"revision":$6}]}"#),
    ]
    static let threeSuitesTwoDropped = threeSuites + ["DELETE app?drop", "DELETE zoo?drop"]

    static let reading: [Row] = [
        Row(
            "Every effective value", given: [Samples.schema, "PUT app/keys/count 3", "PUT b/keys/x 1"], "GET app", 200,
            body:
                #"{"suite":"app","revision":$2,"schemaRevision":$1,"values":{"count":3,"fixed":1,"isOn":false,"volume":0.5}}"#,
            lacks: ["invalid", "secrets"], fields: ["ETag: \"$2\""]),
        Row(
            "A suite with invalid values", given: [#"PUT app {"count":11,"old":1,"volume":2}"#, Samples.narrowSchema],
            "GET app", 200,
            body: #"{"values":{"volume":2},"invalid":{"count":{"stored":11,"errors":[{"keyword":"maximum"}]},"#
                + #""old":{"stored":1,"errors":[{"keyword":"additionalProperties"}]}}}"#),
        Row(
            "Keys with a prefix", given: [#"PUT app {"player.a":1,"player.b":2,"player":3,"players":4}"#],
            "GET app?prefix=player.", 200, body: #"{"values":{"player.a":1,"player.b":2}}"#),
        Row(
            "A prefix with a star, which is literal", given: [#"PUT app {"a*":1,"ab":2}"#], "GET app?prefix=a*&raw",
            200, text: #"{"a*":1}"#),
        Row(
            "A prefix in UTF-8", given: [#"PUT app {"é1":1,"e":2}"#], "GET app?prefix=%C3%A9&raw", 200,
            text: #"{"é1":1}"#),
        Row("An empty prefix of a read", given: [#"PUT app {"a":1}"#], "GET app?prefix=&raw", 200, text: #"{"a":1}"#),
        Row(
            "The view `stored`", given: [Samples.schema, "PUT app/keys/count 3"], "GET app?view=stored&raw", 200,
            text: #"{"count":3}"#),
        Row(
            "The view `stored` without invalid values", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            "GET app?view=stored", 200, body: #"{"values":{},"invalid":{"count":{"stored":11}}}"#),
        Row(
            "The view `default`", given: [Samples.schema, "PUT app/keys/volume 1"], "GET app?view=default&raw", 200,
            text: #"{"fixed":1,"isOn":false,"volume":0.5}"#),
        Row(
            "The view `default` with a prefix", given: [Samples.schema], "GET app?view=default&raw&prefix=v", 200,
            text: #"{"volume":0.5}"#),
        Row(
            "The view `effective` by its name", given: [Samples.schema], "GET app?view=effective&raw&prefix=v", 200,
            text: #"{"volume":0.5}"#),
        Row(
            "The view `default` of a suite without a schema", given: ["PUT app/keys/a 1"], "GET app?view=default", 200,
            body: #"{"values":{}}"#),
        Row(
            "A secret, for a caller with full access",
            given: [
                #"PUT app/schema {"additionalProperties":false,"properties":{"p":{"writeOnly":true}}}"#,
                #"PUT app/keys/p "x""#,
            ], "GET app", 200, body: #"{"values":{"p":"x"}}"#),
        Row(
            "A suite that does not exist", given: threeSuites, "GET ap", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#),
        Row(
            "Keys of a suite that does not exist", given: threeSuites, "GET ap/keys", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#),
    ]

    static let keys: [Row] = [
        Row(
            "All keys, with their schemas and whether they can be written",
            given: [Samples.narrowSchema, "PUT app/keys/count 3"], "GET app/keys", 200,
            body:
                #"{"suite":"app","revision":$2,"keys":[{"suite":"app","key":"count","value":3,"source":"stored","revision":$2,"#
                + #""schema":{"type":"integer","minimum":0,"maximum":10},"writable":true},"#
                + #"{"key":"volume","value":null,"source":"unset","schema":{"type":"number","maximum":10},"writable":true}]}"#,
            lacks: ["next"], fields: ["ETag: \"$2\""]),
        Row(
            "A locked key", given: [Samples.schema], "GET app/keys?prefix=fixed", 200,
            body: #"{"keys":[{"key":"fixed","value":1,"source":"default","revision":$1,"writable":false}]}"#),
        Row(
            "The keys of a suite without a schema", given: [#"PUT app {"b":1,"a":2}"#], "GET app/keys", 200,
            body: #"{"keys":[{"key":"a","writable":true},{"key":"b"}]}"#),
        Row(
            "A key with an invalid value", given: ["PUT app/keys/old 11", Samples.narrowSchema],
            "GET app/keys?prefix=o", 200,
            body:
                #"{"keys":[{"key":"old","value":null,"source":"invalid","stored":11,"errors":["*"],"writable":false}]}"#
        ),
        Row(
            "A key that a pattern allows", given: [Samples.schema, "PUT app/keys/x-1 1"], "GET app/keys?prefix=x", 200,
            body: #"{"keys":[{"key":"x-1","schema":true}]}"#),
        Row(
            "A removed key is not listed", given: [#"PUT app {"b":1,"a":2}"#, "DELETE app/keys/a"], "GET app/keys", 200,
            body: #"{"keys":[{"key":"b"}]}"#),
        Row(
            "A page", given: [Samples.schema, "PUT app/keys/x-1 1"], "GET app/keys?limit=2&after=isOn", 200,
            body: #"{"keys":[{"key":"name"},{"key":"shape"}],"next":"shape"}"#),
        Row(
            "The last page", given: [Samples.schema, "PUT app/keys/x-1 1"], "GET app/keys?limit=3&after=shape", 200,
            body: #"{"keys":[{"key":"tags"},{"key":"volume"},{"key":"x-1"}]}"#, lacks: ["next"]),
        Row(
            "A page of a prefix", given: [#"PUT app {"p1":1,"p2":1,"p3":1,"q":1}"#],
            "GET app/keys?limit=2&prefix=p&after=p1", 200, body: #"{"keys":[{"key":"p2"},{"key":"p3"}]}"#,
            lacks: ["next"]),
        Row(
            "Keys with a prefix, after a key that comes before the prefix", given: [#"PUT app {"a":1,"p":1}"#],
            "GET app/keys?prefix=p&after=a", 200, body: #"{"keys":[{"key":"p"}]}"#),
    ]

    @Test("The schema of a key in a listing includes all definitions that it references")
    func schemaOfKey() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(
            ##"""
            PUT app/schema {"additionalProperties":{"$ref":"#/$defs/tree"},"$defs":{"n":{"type":"integer"},"unused":{},\##
            "list":{"items":{"$ref":"#/$defs/n"}},"tree":{"properties":{"next":{"$ref":"#/$defs/tree"}}}},\##
            "properties":{"a":{"$ref":"#/$defs/list","examples":[{"$ref":"#/x"}]},"b":{"type":"string"},\##
            "c":{"properties":{"x":{"$ref":"#/properties/b"},"y":{"$ref":"#/properties/c"}}},\##
            "d":{"$defs":{"own":{"maximum":5}},"allOf":[{"$ref":"#/properties/d/$defs/own"}]}}}
            """##)
        try daemon.sendOK(#"PUT app/keys/t {"next":{}}"#)
        // The expected schema of each key. All references lead to definitions inside this schema. `examples` has data,
        // so the `$ref` in it is no reference.
        let expected = [
            "a":
                ##"{"$ref":"#/$defs/list","examples":[{"$ref":"#/x"}],"$defs":{"list":{"items":{"$ref":"#/$defs/n"}},"##
                + ##""n":{"type":"integer"}}}"##,
            "b": #"{"type":"string"}"#,
            "c": ##"{"properties":{"x":{"$ref":"#/$defs/properties.b"},"y":{"$ref":"#"}},"##
                + ##""$defs":{"properties.b":{"type":"string"}}}"##,
            "d":
                ##"{"$defs":{"properties.d.$defs.own":{"maximum":5}},"allOf":[{"$ref":"#/$defs/properties.d.$defs.own"}]}"##,
            "t": ##"{"$ref":"#/$defs/tree","$defs":{"tree":{"properties":{"next":{"$ref":"#/$defs/tree"}}}}}"##,
        ]
        let keys = try daemon.send("GET app/keys").json?["keys"]?.array ?? []
        #expect(keys.compactMap { $0["key"]?.string } == expected.keys.sorted())
        for key in keys {
            let schema = try #require(key["schema"])
            #expect(try schema == JSONValue(parsing: expected[key["key"]?.string ?? ""] ?? "null"), "\(schema.text())")
            #expect(throws: Never.self) { try KeySchema(schema) }
        }
    }

    @Test("Suites and their keys are listed and read as documented", arguments: listing + reading + keys)
    func read(row: Row) throws {
        try row.check()
    }

    static let patching: [Row] = [
        Row(
            "A merge of a map", given: [#"PUT app {"a":1,"b":{"x":1,"y":2},"c":3,"d":4}"#],
            #"PATCH app {"a":null,"b":{"x":null,"z":3},"c":{"n":null},"e":[1]}"#, 200,
            body:
                #"{"revision":$2,"changed":true,"changes":[{"suite":"app","key":"a","old":1,"new":null,"oldSource":"stored","#
                + #""source":"unset","revision":$2,"modified":"*"},{"key":"b","new":{"y":2,"z":3}},"#
                + #"{"key":"c","new":{}},{"key":"e","oldSource":"unset"}]}"#,
            then: [("GET app?raw", #"{"b":{"y":2,"z":3},"c":{},"d":4,"e":[1]}"#)]),
        Row(
            "A merge of an object with null members into a missing key",
            #"PATCH app {"o":{"a":null,"b":1,"c":{"d":null}}}"#, 200,
            body: #"{"changes":[{"key":"o","old":null,"new":{"b":1,"c":{}}}]}"#,
            then: [("GET app?raw", #"{"o":{"b":1,"c":{}}}"#)]),
        Row(
            "The second of two equal merges", given: [#"PATCH app {"o":{"a":null,"b":1},"n":{"a":null}}"#],
            #"PATCH app {"o":{"a":null,"b":1},"n":{"a":null}}"#, 200, body: #"{"changed":false}"#),
        Row(
            "A merge of an object into a default",
            given: [#"PUT app/schema {"additionalProperties":false,"properties":{"o":{"default":{"a":1}}}}"#],
            #"PATCH app {"o":{"b":2}}"#, 200, body: #"{"changes":[{"key":"o","old":{"a":1},"new":{"a":1,"b":2}}]}"#),
        Row("A merge into a missing suite", #"PATCH app {"a":1}"#, 200, body: #"{"changed":true}"#),
        Row(
            "A merge of null into a missing suite, which creates no suite", #"PATCH app {"a":null}"#, 200,
            body: #"{"revision":$0,"changed":false,"changes":[]}"#),
        Row(
            "A merge of present values", given: [#"PUT app {"a":1}"#], #"PATCH app {"a":1}"#, 200,
            body: #"{"revision":$1,"changed":false,"changes":[]}"#),
        Row(
            "Null for a value of a key that the schema no longer lists",
            given: ["PUT app/keys/old 1", Samples.narrowSchema],
            #"PATCH app {"old":null}"#, 200,
            body: #"{"changes":[{"key":"old","old":null,"oldSource":"invalid","source":"unset"}]}"#),
        Row(
            "A merge with several violations, which are all listed", given: [Samples.schema],
            #"PATCH app {"volume":2,"name":"long","nothing":1,"count":1.5}"#, 422, .unknownKey,
            body:
                #"{"errors":[{"suite":"app","key":"nothing","pointer":"/nothing"},{"key":"volume","pointer":"/volume"},"#
                + #"{"key":"name"},{"key":"count"}]}"#),
        Row(
            "A merge of a valid and an invalid value", given: [Samples.schema],
            #"PATCH app {"volume":1,"name":"long"}"#,
            422, .invalidValue,
            body: #"{"errors":[{"suite":"app","key":"name","pointer":"/name","keyword":"maxLength"}]}"#),
        Row(
            "A merge with another Content-Type", given: [#"PUT app {"a":1}"#],
            Request(#"PATCH app {"a":null}"#, "Content-Type: application/merge-patch+json"), 200),
        Row(
            "A dry run of a merge", #"PATCH app?dryRun {"a":1}"#, 200,
            body: #"{"revision":$0,"changed":true,"dryRun":true,"changes":[{"key":"a","new":1,"revision":$0}]}"#),
        Row(
            "A locked key with override=locked", given: [Samples.schema], #"PATCH app?override=locked {"fixed":2}"#, 200
        ),
    ]

    static let putting: [Row] = [
        Row(
            "A map that replaces all stored values", given: [#"PUT app {"a":1,"b":2}"#], #"PUT app {"b":3,"c":null}"#,
            200,
            body: #"{"changed":true,"changes":[{"key":"b","old":2,"new":3},{"key":"c","new":null,"source":"stored"},"#
                + #"{"key":"a","new":null,"source":"unset"}]}"#, then: [("GET app", #"{"values":{"b":3,"c":null}}"#)]),
        Row(
            "An empty map, which resets keys to their defaults", given: [Samples.schema, "PUT app/keys/volume 1"],
            "PUT app {}", 200, body: #"{"changes":[{"key":"volume","old":1,"new":0.5,"source":"default"}]}"#),
        Row(
            "An empty map, which removes values of keys that the schema no longer lists",
            given: ["PUT app/keys/old 1", Samples.narrowSchema], "PUT app {}", 200,
            body: #"{"changes":[{"key":"old","oldSource":"invalid"}]}"#),
        Row("An empty map for a missing suite", "PUT app {}", 200, body: #"{"changed":false}"#),
        Row(
            "A map without a locked key that has a stored value",
            given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"], "PUT app {}", 403, .locked),
        Row(
            "A locked key with the value that is stored",
            given: [Samples.schema, "PUT app/keys/fixed?override=locked 2", "PUT app/keys/count 1"],
            #"PUT app {"count":3,"fixed":2.0}"#, 200, exactly: #"{"changed":true}"#,
            then: [("GET app/keys/fixed", #"{"value":2,"source":"stored","revision":$2}"#)]),
        Row(
            "A locked key with its default, which is not stored", given: [Samples.schema],
            #"PUT app {"count":3,"fixed":1}"#, 200,
            then: [("GET app/keys/fixed", #"{"value":1,"source":"default","revision":$1}"#)]),
        Row(
            "All effective values written back", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"],
            #"PUT app {"fixed":2,"isOn":false,"volume":0.5}"#, 200, body: #"{"changed":true}"#),
        Row(
            "A locked key with another value", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"],
            #"PUT app {"fixed":1}"#, 403, .locked),
        Row(
            "A locked key with its default and override=locked", given: [Samples.schema],
            #"PUT app?override=locked {"fixed":1}"#, 200, body: #"{"changes":[{"key":"fixed","source":"stored"}]}"#),
        // PUT sends a whole map, so an unchanged locked key is no error. PATCH sends only the keys to change.
        Row(
            "A PATCH of a locked key with its current value", given: [Samples.schema], #"PATCH app {"fixed":1}"#,
            403, .locked),
        Row(
            "A map without a locked key that has only a default", given: [Samples.schema, "PUT app/keys/volume 1"],
            "PUT app {}", 200),
        Row(
            "An unknown key", given: [Samples.schema], #"PUT app {"volum":1}"#, 422, .unknownKey,
            body: #"{"pointer":"/volum","didYouMean":["volume"]}"#),
        Row(
            "A map with another Content-Type",
            Request(#"PUT app {"a":1}"#, "Content-Type: application/json-patch+json"), 200),
        Row(
            "A dry run of an empty map", given: [#"PUT app {"a":1}"#], "PUT app?dryRun {}", 200,
            body: #"{"revision":$1,"changed":true,"dryRun":true,"changes":[{"key":"a"}]}"#),
    ]

    static let deleting: [Row] = [
        Row(
            "A reset of a suite", given: [Samples.schema, #"PATCH app {"volume":1,"count":1}"#], "DELETE app", 200,
            body:
                #"{"changed":true,"changes":[{"key":"count","source":"unset"},{"key":"volume","new":0.5,"source":"default"}]}"#,
            then: [("GET app?view=stored", #"{"values":{}}"#)]),
        Row(
            "A reset of the keys with a prefix", given: [#"PUT app {"p.a":1,"p.b":1,"q":1}"#], "DELETE app?prefix=p.",
            200, body: #"{"changes":[{"key":"p.a"},{"key":"p.b"}]}"#, then: [("GET app", #"{"values":{"q":1}}"#)]),
        Row(
            "A reset of a prefix without keys", given: [#"PUT app {"p.a":1}"#], "DELETE app?prefix=z", 200,
            body: #"{"changed":false,"changes":[]}"#),
        Row(
            "A reset of a prefix in a suite with a locked key",
            given: [Samples.schema, "PUT app/keys/fixed?override=locked 2", "PUT app/keys/count 1"],
            "DELETE app?prefix=c", 200),
        Row(
            "A locked key", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"], "DELETE app", 403, .locked),
        Row("A suite that does not exist", "DELETE app", 404, .unknownSuite),
        Row(
            "A drop of a suite", given: [Samples.schema, "PUT app/keys/volume 1"], "DELETE app?drop=true", 200,
            body: #"{"revision":$3,"changed":true,"changes":[{"key":"fixed","old":1,"source":"unset"},{"key":"isOn"},"#
                + #"{"key":"volume","old":1,"new":null,"oldSource":"stored","source":"unset"}]}"#,
            then: [("GET app", #"{"code":"unknown_suite"}"#), ("GET /v1/suites", #"{"suites":[],"revision":$3}"#)]),
        Row(
            "A drop of a suite without values", given: ["PUT app/keys/a 1", "DELETE app"], "DELETE app?drop", 200,
            body: #"{"changed":true,"changes":[]}"#),
        Row("A drop of a missing suite", "DELETE app?drop", 404, .unknownSuite),
        Row(
            "A reset with drop=false", given: ["PUT app/keys/a 1"], "DELETE app?drop=false", 200,
            then: [("GET app", #"{"values":{}}"#)]),
        Row(
            "An empty prefix", given: ["PUT app/keys/a 1"], "DELETE app?prefix=", 400, .badRequest,
            then: [("GET app/keys/a", #"{"value":1}"#)]),
        Row("An empty prefix with a drop", given: ["PUT app/keys/a 1"], "DELETE app?drop&prefix=", 400, .badRequest),
        Row("A drop with a prefix", given: ["PUT app/keys/a 1"], "DELETE app?drop&prefix=a", 400, .badRequest),
        Row(
            "A drop of a suite with a locked key", given: [Samples.schema, "PUT app/keys/fixed?override=locked 2"],
            "DELETE app?drop", 403, .locked),
        Row(
            "A dry run of a drop", given: ["PUT app/keys/a 1"], "DELETE app?drop&dryRun", 200,
            body: #"{"revision":$1,"changed":true,"dryRun":true}"#),
    ]

    @Test("Suites are merged, replaced and deleted as documented", arguments: patching + putting + deleting)
    func write(row: Row) throws {
        try row.check()
    }
}

/// The tags in answers to writes of suites and schemas. In a row, `$n` stands for the revision after the n-th request,
/// and a field without a value must be absent.
@Suite(.ownThread)
struct SuiteTagTests {
    /// The suite has the tag `$2` and its schema the tag `$1`; the daemon's revision is `$3`, from another suite.
    static let given: [Request] = [
        #"PUT app/schema {"additionalProperties":{"type":"integer"}}"#, #"PATCH app {"a":1,"b":2}"#,
        "PUT other/keys/x 1",
    ]

    /// A row with the expected tag and revision in the answer. If `revision` is nil, the revision must equal the tag.
    static func row(_ request: Request, tag: String, revision: String? = nil, changes: Bool) -> Row {
        Row(
            "\(request.method) \(request.target) that \(changes ? "changes something" : "changes nothing")",
            given: given, request, 200, body: #"{"revision":\#(revision ?? tag),"changed":\#(changes)}"#,
            fields: ["ETag: \"\(tag)\""])
    }

    static let rows: [Row] = [
        row(#"PATCH app {"a":2}"#, tag: "$4", changes: true),
        row(#"PATCH app {"a":1}"#, tag: "$2", changes: false),
        row(#"PUT app {"a":1}"#, tag: "$4", changes: true),
        row(#"PUT app {"a":1,"b":2}"#, tag: "$2", changes: false),
        row("DELETE app", tag: "$4", changes: true),
        row("DELETE app?prefix=c", tag: "$2", changes: false),
        row("DELETE app?drop", tag: "0", revision: "$4", changes: true),
        row("PATCH none {}", tag: "0", changes: false),
        row(#"PUT app/schema {"additionalProperties":true}"#, tag: "$4", changes: true),
        row(#"PUT app/schema {"additionalProperties":{"type":"integer"}}"#, tag: "$1", changes: false),
        row("DELETE app/schema", tag: "$4", changes: true),
        row("DELETE other/schema", tag: "0", changes: false),
        Row(
            "PATCH?dryRun of a suite", given: given, #"PATCH app?dryRun {"a":2}"#, 200,
            body: #"{"revision":$2,"changed":true,"dryRun":true,"changes":[{"revision":$2}]}"#, fields: ["ETag: \"$2\""]
        ),
        Row(
            "A transaction", given: given,
            #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":1}]}"#, 200,
            body: #"{"revision":$3,"changed":false}"#, fields: ["ETag:"]),
    ]

    @Test("A write to a suite or a schema returns the current tag, and a transaction no tag", arguments: rows)
    func tagged(row: Row) throws {
        try row.check()
    }

    @Test(
        "The tag in the answer to a write is accepted in If-Match",
        arguments: rows.filter { $0.request.method != "POST" })
    func acceptedTag(row: Row) throws {
        let daemon = try TestDaemon()
        for request in Self.given { try daemon.sendOK(request) }
        let answer = try daemon.sendOK(row.request)
        let tag = try #require(answer.field("ETag"))
        let path = row.request.target.prefix { $0 != "?" }
        let body = path.hasSuffix("/schema") ? #"{"additionalProperties":{}}"# : #"{"c":3}"#
        let next = try daemon.send(Request("PUT \(path) \(body)", "If-Match: \(tag)"))
        #expect([200, 201].contains(next.status), "\(tag): \(next.text)")
    }
}
