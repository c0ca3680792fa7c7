import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// "Schemas" in docs/http-api.md: reading, setting and removing schemas. In a row, `$n` stands for the revision after
/// the n-th request, `$0` for the revision before the first request, `"*"` for any value, and `"*a*b*"` for a text with
/// `a` and then `b`. `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer), `fixed` (locked,
/// default 1), `isOn` (default false). `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps
/// invalid values. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct SchemaTests {
    /// A schema with a rule of the suite: if `tls` is true, `certificate` must be set.
    static let ruleSchema: Request = """
        PUT app/schema {"additionalProperties":false,"properties":{"tls":{"type":"boolean","default":false},\
        "certificate":{"type":"string"},"other":{}},\
        "if":{"properties":{"tls":{"const":true}},"required":["tls"]},"then":{"required":["certificate"]}}
        """

    static let reading: [Row] = [
        Row(
            "A stored schema with unusual spaces",
            given: [#"PUT app/schema { "x-b":1, "additionalProperties":true ,"x-a":[1.0]}"#],
            "GET app/schema", 200, text: #"{ "x-b":1, "additionalProperties":true ,"x-a":[1.0]}"#,
            fields: ["ETag: \"$1\""]),
        Row(
            "A stored schema with unusual numbers and lines",
            given: ["PUT app/schema {\n  \"additionalProperties\": {\"maximum\": 1e2},\r\n\t\"x-\\u0061\":-0.10E1}\n"],
            "GET app/schema", 200,
            text: "{\n  \"additionalProperties\": {\"maximum\": 1e2},\r\n\t\"x-\\u0061\":-0.10E1}\n"),
        Row(
            "The tag of a schema after a later write", given: [Samples.schema, "PUT app/keys/volume 1"],
            "GET app/schema", 200, fields: ["ETag: \"$1\""]),
        Row(
            "A suite without a schema", given: ["PUT app/keys/a 1"], "GET app/schema", 404, .noSchema,
            fields: ["ETag: \"0\""]),
        Row(
            "A suite whose schema was removed", given: [Samples.schema, "DELETE app/schema"], "GET app/schema", 404,
            .noSchema, fields: ["ETag: \"$2\""]),
        Row(
            "A missing suite", given: [Samples.schema], "GET ap/schema", 404, .unknownSuite,
            body: #"{"didYouMean":["app"]}"#),
    ]

    static let storing: [Row] = [
        Row(
            "The first schema", Samples.schema, 201,
            body:
                #"{"revision":$1,"schemaRevision":$1,"changed":true,"changes":[{"suite":"app","key":"fixed","old":null,"new":1,"#
                + #""oldSource":"unset","source":"default","revision":$1},{"key":"isOn"},{"key":"volume","new":0.5}]}"#,
            fields: ["ETag: \"$1\""]),
        Row(
            "A schema for a suite with values", given: ["PUT app/keys/volume 1"], Samples.schema, 201,
            body: #"{"changes":[{"key":"fixed"},{"key":"isOn"}]}"#),
        Row(
            "Another schema", given: [Samples.schema], Samples.narrowSchema, 200,
            body:
                #"{"schemaRevision":$2,"changes":[{"key":"fixed","source":"unset"},{"key":"isOn"},{"key":"volume","old":0.5,"#
                + #""new":null,"oldSource":"default","source":"unset"}]}"#),
        Row(
            "An equal schema", given: [#"PUT app/schema {"additionalProperties":false,"x-a":1}"#],
            #"PUT app/schema {"x-a":1,"additionalProperties":false}"#, 200,
            body: #"{"revision":$1,"schemaRevision":$1,"changed":false,"changes":[]}"#, fields: ["ETag: \"$1\""],
            then: [("GET app/schema", #"{"additionalProperties":false,"x-a":1}"#)]),
        Row(
            "A schema after the removal of a schema", given: [Samples.schema, "DELETE app/schema"], Samples.schema, 201),
        Row(
            "A schema with writeOnly in each location that allows it",
            ##"PUT app/schema {"additionalProperties":{"writeOnly":true},"patternProperties":{"^p":{"allOf":[{"writeOnly":true}]}},"##
                + ##""properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"writeOnly":true}}}"##, 201),
        Row("A schema while writes must not create suites", Samples.schema, 201) { $0.writes.createsSuites = false },
        Row(
            "A schema with another Content-Type",
            Request(#"PUT app/schema {"additionalProperties":true}"#, "Content-Type: application/schema+json"), 201),
        Row(
            "A dry run", "PUT app/schema?dryRun {\"additionalProperties\":true}", 201,
            body: #"{"revision":$0,"schemaRevision":0,"changed":true,"dryRun":true}"#,
            then: [("GET app/schema", #"{"code":"unknown_suite"}"#)]),
    ]

    static let invalid: [Row] = [
        Row(
            "A keyword that is unknown",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"minimun":1}}}"#, 422, .invalidSchema,
            body: #"{"errors":[{"pointer":"/properties/a/minimun","keyword":"minimun","detail":"*"}]}"#),
        Row(
            "A type that is unknown",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"int"}}}"#, 422, .invalidSchema),
        Row(
            "Another type at the top", #"PUT app/schema {"type":"array","additionalProperties":false}"#, 422,
            .invalidSchema),
        Row(
            "A schema without additionalProperties", #"PUT app/schema {"properties":{}}"#, 422, .invalidSchema,
            body: #"{"errors":[{"keyword":"additionalProperties"}]}"#),
        Row("A schema that is not an object", "PUT app/schema true", 422, .invalidSchema),
        Row(
            "A default that is not valid",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":"1"}}}"#, 422,
            .invalidSchema),
        Row(
            "Defaults that are not valid together",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"default":1}},"maxProperties":0}"#, 422,
            .invalidSchema),
        Row(
            "A reference to a missing location",
            ##"PUT app/schema {"additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/x"}}}"##, 422,
            .invalidSchema),
        Row(
            "A schema with an identifier", #"PUT app/schema {"$id":"x","additionalProperties":false}"#, 422,
            .invalidSchema),
        Row(
            "Several errors, which are all listed",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"tipe":1},"b":{"minimum":"x"}}}"#, 422,
            .invalidSchema, body: #"{"errors":["*","*"]}"#),
        Row(
            "An invalid default beside an unknown keyword",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":"x","minimun":0}}}"#,
            422, .invalidSchema,
            body: #"{"errors":[{"pointer":"/properties/a/default","keyword":"default"},"#
                + #"{"pointer":"/properties/a/minimun","keyword":"minimun"}]}"#),
        Row(
            "Invalid defaults, more defaults than maxProperties, a malformed keyword and a missing reference",
            ##"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":"x"},"##
                + ##""b":{"minimum":"x","minLength":1,"default":""},"c":{"$ref":"#/$defs/c"}},"maxProperties":1}"##,
            422, .invalidSchema,
            body:
                ##"{"errors":[{"keyword":"maxProperties"},{"pointer":"/properties/a/default"},{"pointer":"/properties/b/minimum"},"##
                + ##"{"pointer":"/properties/b/default"},{"pointer":"/properties/c/$ref"}]}"##),
        Row(
            "Several errors of the suite, of a name, of a keyword and of a default",
            #"PUT app/schema {"properties":{"..":{},"a":{"tipe":1,"enum":[1],"default":2}}}"#, 422, .invalidSchema,
            body: #"{"errors":["*","*","*","*"]}"#),
        Row(
            "Defaults, which the daemon does not validate beside malformed keywords",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"default":1,"type":"int","not":{"type":"strin"}},"#
                + #""b":{"default":{"x":1},"additionalProperties":false,"patternProperties":{"(":{}}}}}"#, 422,
            .invalidSchema, body: #"{"errors":[{"keyword":"type"},{"keyword":"type"},{"keyword":"patternProperties"}]}"#
        ),
        Row(
            "A secret inside a key",
            #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"properties":{"b":{"writeOnly":true}}}}}"#,
            422, .invalidSchema,
            body: #"{"errors":[{"pointer":"/properties/a/properties/b/writeOnly","keyword":"writeOnly"}]}"#),
        Row(
            "Secrets in an alternative, in elements, in a rule of the suite and at the top",
            ##"PUT app/schema {"writeOnly":true,"additionalProperties":{"anyOf":[{"writeOnly":true}]},"##
                + ##""properties":{"a":{"items":{"$ref":"#/$defs/s"}}},"$defs":{"s":{"writeOnly":true}},"##
                + ##""then":{"properties":{"b":{"writeOnly":true}}}}"##, 422, .invalidSchema,
            body: #"{"errors":["*","*","*","*"]}"#),
        Row(
            "A dry run of an invalid schema", #"PUT app/schema?dryRun {"additionalProperties":1}"#, 422, .invalidSchema),
    ]

    /// Some rows send only the body of `narrowSchema` or `ruleSchema`, without the parameter `onConflict` or with
    /// another value of this parameter.
    static let conflicts: [Row] = [
        Row(
            "Stored values that the schema refuses", given: [#"PUT app {"count":11,"old":1,"volume":5}"#],
            Request("PUT app/schema ") + String(decoding: Samples.narrowSchema.body, as: UTF8.self), 409,
            .schemaConflict,
            body:
                #"{"conflicts":[{"key":"count","stored":11,"errors":[{"suite":"app","key":"count","keyword":"maximum"}]},"#
                + #"{"key":"old","stored":1,"errors":[{"keyword":"additionalProperties"}]}]}"#),
        Row(
            "Stored values that violate a rule of the suite", given: [#"PUT app {"tls":true}"#], ruleSchema, 409,
            .schemaConflict,
            body:
                #"{"errors":[{"suite":"app"}],"conflicts":[{"key":"certificate","errors":[{"suite":"app","keyword":"required"}]}],"#
                + #""detail":"*suite app*certificate*?onConflict=keep*?onConflict=reset*"}"#),
        Row(
            "A reset with values that violate a rule of the suite", given: [#"PUT app {"tls":true,"other":1}"#],
            Request("PUT app/schema?onConflict=reset ")
                + String(decoding: ruleSchema.body, as: UTF8.self).replacing(
                    #""other":{}"#, with: #""other":false"#), 409,
            .schemaConflict, body: #"{"conflicts":[{"key":"certificate"}]}"#),
        Row(
            "More stored values than maxProperties", given: [#"PUT app {"a":1,"b":2}"#],
            #"PUT app/schema {"additionalProperties":true,"maxProperties":1}"#, 409, .schemaConflict,
            body: #"{"conflicts":[{"errors":[{"keyword":"maxProperties"}]}]}"#),
        Row(
            "An invalid value and a violated rule of the suite", given: [#"PUT app {"a":1,"b":"x"}"#],
            #"PUT app/schema {"additionalProperties":{"type":"integer"},"maxProperties":1}"#, 409, .schemaConflict,
            body: #"{"conflicts":[{"key":"b","stored":"x","errors":["*"]},{"errors":[{"keyword":"maxProperties"}]}]}"#),
        Row(
            "Kept values that violate a rule of the suite", given: [#"PUT app {"tls":true,"other":1}"#],
            Request("PUT app/schema?onConflict=keep ") + String(decoding: ruleSchema.body, as: UTF8.self), 201,
            then: [
                (
                    "GET app",
                    #"{"values":{"tls":true},"violations":[{"suite":"app","key":"certificate","keyword":"required"}]}"#
                ), ("GET app?view=stored&prefix=c", #"{"violations":[{"key":"certificate"}]}"#),
                ("GET app/observe", #"{"violations":[{"key":"certificate"}]}"#),
                ("GET app/observe?key=certificate", #"{"violations":[{"key":"certificate"}]}"#),
                ("GET /v1/observe?suite=app&suite=b", #"{"violations":{"app":[{"key":"certificate"}]}}"#),
            ]),
        Row(
            "A write that ends the violation of a rule",
            given: [
                #"PUT app {"tls":true}"#,
                Request("PUT app/schema?onConflict=keep ") + String(decoding: ruleSchema.body, as: UTF8.self),
                // After this read, the daemon may have cached an answer with the violation.
                "GET app",
                "PUT app/keys/certificate \"x\"",
            ], "GET app", 200, lacks: ["violations"]),
        Row(
            "A violation that is listed for its key only",
            given: [
                #"PUT app {"tls":true}"#,
                Request("PUT app/schema?onConflict=keep ") + String(decoding: ruleSchema.body, as: UTF8.self),
            ], "GET app?prefix=t", 200, body: #"{"values":{"tls":true}}"#, lacks: ["violations"]),
        Row(
            "Invalid values with onConflict=keep", given: [#"PUT app {"count":11,"old":1,"volume":5}"#],
            Samples.narrowSchema, 201,
            body:
                #"{"changes":[{"key":"count","old":11,"new":null,"oldSource":"stored","source":"invalid"},{"key":"old"}]}"#,
            then: [("GET app", #"{"values":{"volume":5},"invalid":{"count":{"stored":11},"old":{"stored":1}}}"#)]),
        Row(
            "Invalid values with onConflict=reset", given: [#"PUT app {"count":11,"old":1,"volume":5}"#],
            Request("PUT app/schema?onConflict=reset ") + String(decoding: Samples.narrowSchema.body, as: UTF8.self),
            201,
            body: #"{"changes":[{"key":"count","old":11,"new":null,"source":"unset"},{"key":"old","source":"unset"}]}"#,
            then: [("GET app", #"{"values":{"volume":5}}"#), ("GET app/keys/old", #"{"code":"unknown_key"}"#)]),
        Row(
            "Invalid values with onConflict=reset and a default", given: [#"PUT app {"volume":5}"#],
            Request("PUT app/schema?onConflict=reset ") + String(decoding: Samples.schema.body, as: UTF8.self), 201,
            then: [("GET app/keys/volume", #"{"value":0.5,"source":"default"}"#)]),
        Row(
            "An invalid value that another schema allows", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            Samples.schema, 200,
            then: [("GET app/keys/count", #"{"value":11,"source":"stored","revision":$3}"#)]),
        Row(
            "An invalid value after the removal of the schema",
            given: [#"PUT app {"count":11,"old":1}"#, Samples.narrowSchema], "DELETE app/schema", 200,
            body:
                #"{"changes":[{"key":"count","old":null,"new":11,"oldSource":"invalid","source":"stored"},{"key":"old"}]}"#,
            then: [("GET app", #"{"values":{"count":11,"old":1}}"#)]),
        Row(
            "A dry run with a value that the schema refuses", given: [#"PUT app {"count":11}"#],
            Request("PUT app/schema?dryRun ") + String(decoding: Samples.narrowSchema.body, as: UTF8.self), 409,
            .schemaConflict),
    ]

    static let removing: [Row] = [
        Row(
            "The removal of a schema", given: [Samples.schema, "PUT app/keys/volume 1"], "DELETE app/schema", 200,
            body:
                #"{"revision":$3,"schemaRevision":$3,"changed":true,"changes":[{"key":"fixed","source":"unset"},{"key":"isOn"}]}"#,
            then: [("GET app", #"{"schemaRevision":$3,"values":{"volume":1}}"#)]),
        Row(
            "The removal of a missing schema", given: ["PUT app/keys/a 1"], "DELETE app/schema", 200,
            body: #"{"changed":false}"#),
        Row("A missing suite", "DELETE app/schema", 404, .unknownSuite),
        Row(
            "A dry run of a removal", given: [Samples.schema], "DELETE app/schema?dryRun", 200,
            body: #"{"revision":$1,"schemaRevision":$1,"changed":true,"dryRun":true}"#),
    ]

    @Test(
        "A schema is read, set, refused and removed as documented",
        arguments: reading + storing + invalid + conflicts + removing)
    func schema(row: Row) throws {
        try row.check()
    }

    static let together: [Row] = [
        Row(
            "A value that requires another key", given: [ruleSchema], "PUT app/keys/tls true", 422, .invalidValue,
            body: #"{"errors":[{"suite":"app","pointer":"","keyword":"required"}]}"#),
        Row(
            "A value and the required key in one write", given: [ruleSchema],
            #"PATCH app {"tls":true,"certificate":"x"}"#, 200),
        Row(
            "The removal of a required key", given: [ruleSchema, #"PATCH app {"tls":true,"certificate":"x"}"#],
            "DELETE app/keys/certificate", 422, .invalidValue),
        Row("A replacement without a required key", given: [ruleSchema], #"PUT app {"tls":true}"#, 422, .invalidValue),
        Row(
            "A transaction with a value and without its required key", given: [ruleSchema],
            #"POST /v1/transaction {"do":[{"op":"toggle","suite":"app","key":"tls"}]}"#, 422, .invalidValue),
        // A write is refused only if it violates a rule that was not violated before.
        Row(
            "A write while a rule is already violated",
            given: [
                #"PUT app {"tls":true}"#,
                Request("PUT app/schema?onConflict=keep ") + String(decoding: ruleSchema.body, as: UTF8.self),
            ], "PUT app/keys/other 1", 201),
        Row(
            "A lock on a key that a pattern allows",
            given: [#"PUT app/schema {"additionalProperties":true,"patternProperties":{"^ro":{"readOnly":true}}}"#],
            "PUT app/keys/ro.a 1", 403, .locked),
    ]

    @Test("Rules of a suite over several keys, and locks by a pattern, apply to every write", arguments: together)
    func rulesOfSuites(row: Row) throws {
        try row.check()
    }
}
