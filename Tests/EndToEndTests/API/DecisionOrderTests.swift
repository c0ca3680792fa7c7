import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Which error is returned if a request has several errors, and which hosts and origins are refused. The documentation
/// does not specify the order of errors. A request with the text `Host`, without a colon, has no Host field.
/// `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer), `fixed` (locked, default 1).
/// `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid values. A target such as
/// `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct DecisionOrderTests {
    static let staleGuard = "If-Match: \"999\""

    /// The row "X before Y" has a request with two errors. The answer must report the error X. "The coding" is the
    /// field Content-Encoding. A body may have 16777216 bytes. `after` adds the requests that are sent first.
    static let rows: [Row] = [
        Row(
            "A malformed head before the host", Request("GET /v1", "Host: evil.example", "Host: evil.example"), 400,
            .badRequest),
        Row(
            "The version before the host", Request("GET /v1", "Host: evil.example").with(version: "HTTP/2.0"), 505,
            .httpVersion),
        Row(
            "The length of the target before the host",
            Request("GET /v1?\(String(repeating: "a", count: 9000))", "Host: evil.example"), 414, .tooLarge),
        Row(
            "The host before the origin", Request("GET /v1", "Host: evil.example", "Origin: http://x.example"), 421,
            .misdirected),
        Row("The host before the path", Request("GET /v2", "Host: evil.example"), 421, .misdirected),
        Row("The host before the method", Request("POST /v1 {}", "Host: evil.example"), 421, .misdirected),
        Row("The host before the parameters", Request("GET /v1?x", "Host: evil.example"), 421, .misdirected),
        Row(
            "The host before the length of the body",
            Request("PUT app/keys/a", "Host: evil.example", "Content-Length: 16777217"), 421, .misdirected),
        Row("The origin before the path", Request("GET /v2", "Origin: http://x.example"), 403, .forbidden),
        Row("The origin before the method", Request("POST /v1 {}", "Origin: http://x.example"), 403, .forbidden),
        Row(
            "The origin before the length of the body",
            Request("PUT app/keys/a", "Origin: http://x.example", "Content-Length: 16777217"), 403, .forbidden),
        Row(
            "The path before the length of the body", Request("PUT /v2", "Content-Length: 16777217"), 404, .unknownPath),
        Row(
            "The method before the length of the body", Request("POST app/keys/a", "Content-Length: 16777217"), 405,
            .methodNotAllowed),
        Row("The path before the coding", Request("PUT /v2 1", "Content-Encoding: gzip"), 404, .unknownPath),
        Row(
            "The method before the coding", Request("POST app/keys/a 1", "Content-Encoding: gzip"), 405,
            .methodNotAllowed),
        Row(
            "A lock before the length of the body", Request("PUT app/keys/fixed", "Content-Length: 16777217"), 403,
            .locked
        ).after(Samples.schema),
        Row("A lock before the coding", Request("PUT app/keys/fixed 1", "Content-Encoding: gzip"), 403, .locked).after(
            Samples.schema),
        Row("A lock before the body", "PUT app/keys/fixed [", 403, .locked).after(Samples.schema),
        Row("A lock before a guard", Request("PUT app/keys/fixed 2", staleGuard), 403, .locked).after(Samples.schema),
        Row("A lock before a value", "PUT app/keys/fixed true", 403, .locked).after(Samples.schema),
        Row("A lock in a map before its unknown key", #"PATCH app {"nothing":1,"fixed":2}"#, 403, .locked).after(
            Samples.schema),
        Row("A lock in a map before a guard", Request(#"PUT app {"fixed":2}"#, staleGuard), 403, .locked).after(
            Samples.schema),
        Row("A lock on a key that a map omits before a guard", Request("PUT app {}", staleGuard), 403, .locked).after(
            Samples.schema, "PUT app/keys/fixed?override=locked 2"),
        Row("A lock on a key of a cleared suite before a guard", Request("DELETE app", staleGuard), 403, .locked).after(
            Samples.schema, "PUT app/keys/fixed?override=locked 2"),
        Row("A lock on a key of a dropped suite before a guard", Request("DELETE app?drop", staleGuard), 403, .locked)
            .after(
                Samples.schema, "PUT app/keys/fixed?override=locked 2"),
        Row(
            "A lock in a transaction before a suite that is missing",
            #"POST /v1/transaction {"do":[{"op":"delete","suite":"none","key":"k"},"#
                + #"{"op":"set","suite":"app","key":"fixed","value":2}]}"#, 403, .locked
        ).after(Samples.schema),
        Row(
            "The coding before the body", Request("PUT app/keys/a [", "Content-Encoding: gzip"), 415,
            .unsupportedMediaType),
        Row("The body before the suite", #"PATCH none/keys/a {"op":"ad"}"#, 400, .badRequest),
        Row("The body before the key", "PUT app/keys/nothing [", 400, .badRequest).after(Samples.schema),
        Row("The body before a guard", Request("PUT app/keys/a [", staleGuard), 400, .badRequest),
        Row("The suite before a guard", Request("DELETE none", staleGuard), 404, .unknownSuite),
        Row("The suite of a setting before a guard", Request("DELETE none/keys/k", staleGuard), 404, .unknownSuite),
        Row(
            "The suite of an operation before a guard", Request(#"PATCH none/keys/k {"op":"toggle"}"#, staleGuard), 404,
            .unknownSuite),
        Row("The suite of a schema before a guard", Request("DELETE none/schema", staleGuard), 404, .unknownSuite),
        Row(
            "A suite of a transaction before its conditions",
            #"POST /v1/transaction {"if":[{"suite":"a","revision":999}],"do":[{"op":"toggle","suite":"none","key":"k"}]}"#,
            404, .unknownSuite),
        Row("The key before a guard", Request("PUT app/keys/nothing 1", staleGuard), 404, .unknownKey).after(
            Samples.schema),
        Row(
            "A guard before an invalid stored value", Request(#"PATCH app/keys/count {"op":"add","by":1}"#, staleGuard),
            412, .preconditionFailed
        ).after("PUT app/keys/count 11", Samples.narrowSchema),
        Row("A guard before a value", Request("PUT app/keys/volume 2", staleGuard), 412, .preconditionFailed).after(
            Samples.schema),
        Row(
            "A guard before an operation", Request(#"PATCH app/keys/volume {"op":"toggle"}"#, staleGuard), 412,
            .preconditionFailed
        ).after(Samples.schema),
        Row("A guard before a map's values", Request(#"PATCH app {"volume":2}"#, staleGuard), 412, .preconditionFailed)
            .after(Samples.schema),
        Row("A guard before a map's names", Request(#"PATCH app {"nothing":2}"#, staleGuard), 412, .preconditionFailed)
            .after(Samples.schema),
        Row(
            "A guard before errors of a schema", Request(#"PUT app/schema {"tipe":1}"#, staleGuard), 412,
            .preconditionFailed
        ).after(Samples.schema),
        Row(
            "A guard before a schema's conflicts",
            Request(#"PUT app/schema {"additionalProperties":false}"#, staleGuard), 412, .preconditionFailed
        ).after("PUT app/keys/a 1"),
        Row(
            "Conditions before names",
            #"POST /v1/transaction {"if":[{"suite":"app","revision":999}],"#
                + #""do":[{"op":"set","suite":"app","key":"nothing","value":1}]}"#, 412, .preconditionFailed
        ).after(Samples.schema),
        Row(
            "Conditions before values",
            #"POST /v1/transaction {"if":[{"suite":"app","revision":999}],"#
                + #""do":[{"op":"set","suite":"app","key":"volume","value":2}]}"#, 412, .preconditionFailed
        ).after(Samples.schema),
        Row(
            "An invalid stored value before invalid new values",
            #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"volume","value":20},"#
                + #"{"op":"add","suite":"app","key":"count","by":1}]}"#, 409, .invalidStored
        ).after("PUT app/keys/count 11", Samples.narrowSchema),
        Row(
            "An invalid stored value before unknown keys",
            #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"nothing","value":20},"#
                + #"{"op":"add","suite":"app","key":"count","by":1}]}"#, 409, .invalidStored
        ).after("PUT app/keys/count 11", Samples.narrowSchema),
    ]

    @Test("A request with two errors returns the error that the daemon checks first", arguments: rows)
    func order(row: Row) throws {
        try row.check()
    }

    static let hosts: [Row] = [
        Row("A host name that is not allowed", Request("GET /v1", "Host: evil.example"), 421, .misdirected),
        Row("A host name in the target that is not allowed", Request("GET http://evil.example/v1"), 421, .misdirected),
        Row(
            "A write with a host name that is not allowed", Request("PUT app/keys/a 1", "Host: evil.example:7070"), 421,
            .misdirected),
        Row(
            "A read of a stored setting with a host name that is not allowed",
            Request("GET app/keys/a", "Host: evil.example"), 421, .misdirected
        ).after(
            "PUT app/keys/a 1"),
        Row("A configured host name", Request("GET /v1", "Host: Settings.example:7070"), 200) {
            $0.hosts = ["settings.example"]
        },
        Row(
            "A request from a page of another origin", Request("GET /v1", "Origin: http://evil.example"), 403,
            .forbidden),
        Row("A request from a page with the origin null", Request("PUT app/keys/a 1", "Origin: null"), 403, .forbidden),
        Row("A request from a page of a configured origin", Request("GET /v1", "Origin: https://console.example"), 200)
        {
            $0.origins = ["https://console.example"]
        },
        Row(
            "OPTIONS from a page of another origin", Request("OPTIONS /v1", "Origin: http://evil.example"), 403,
            .forbidden),
        Row("A request of HTTP/1.0 without Host", Request("GET /v1", "Host").with(version: "HTTP/1.0"), 200),
    ]

    @Test(
        "A request with an unknown host name returns 421, and from an unknown origin 403; configured names are accepted",
        arguments: hosts)
    func host(row: Row) throws {
        try row.check()
    }
}
