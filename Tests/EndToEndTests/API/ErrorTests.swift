import SettingsModel
import TestSupport
import Testing

/// "Errors" in docs/http-api.md: several requests for each error that any resource can return. In a row, `"*"` stands
/// for any value, `"*a*b*"` for a text with `a` and then `b`, and `after` adds requests that are sent first. A target
/// such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ErrorTests {
    static let badRequests: [Row] = [
        Row("An empty body", "PUT app/keys/a", 400, .badRequest, body: #"{"line":1,"column":1}"#),
        Row("A bare word", "PUT app/keys/a hello", 400, .badRequest, body: #"{"line":1,"column":1}"#),
        Row("An incomplete body", "PUT app/keys/a [1,\n2,", 400, .badRequest, body: #"{"line":2,"column":3}"#),
        Row("Bytes after the value", "PUT app/keys/a 1 2", 400, .badRequest, body: #"{"line":1,"column":3}"#),
        Row("An integer out of range", "PUT app/keys/a 9223372036854775808", 400, .badRequest, body: #"{"line":1}"#),
        Row("A number that is too large for a double", "PUT app/keys/a 1e999", 400, .badRequest, body: #"{"line":1}"#),
        Row("A duplicate member", #"PUT app/keys/a {"a":1,"a":2}"#, 400, .badRequest, body: #"{"line":1}"#),
        Row("A duplicate member with an escape", #"PUT app/keys/a {"a":1,"\u0061":2}"#, 400, .badRequest),
        Row("A lone surrogate", #"PUT app/keys/a "\ud800""#, 400, .badRequest, body: #"{"line":1}"#),
        Row("A surrogate before a letter", #"PUT app/keys/a "\ud800x""#, 400, .badRequest),
        Row("A byte order mark", "PUT app/keys/a \u{FEFF}1", 400, .badRequest, body: #"{"line":1,"column":1}"#),
        Row(
            "Bytes that are not UTF-8", Request("PUT app/keys/a").with(body: [0x22, 0xC3, 0x28, 0x22]), 400, .badRequest
        ),
        Row(
            "A value with 129 levels of nesting", Request("PUT app/keys/a \(String(repeating: "[", count: 129))"), 400,
            .badRequest),
        Row("A merge whose body is an array", "PATCH app [1]", 400, .badRequest),
        Row("A body that is not an object, for a suite", "PUT app 42", 400, .badRequest),
        Row("An operation without op", #"PATCH app/keys/a {"by":1}"#, 400, .badRequest, body: #"{"pointer":""}"#),
        Row(
            "An operation that is unknown", #"PATCH app/keys/a {"op":"ad","by":1}"#, 400, .badRequest,
            body: #"{"pointer":"/op","didYouMean":["add"]}"#),
        Row(
            "An operation with an unknown member", #"PATCH app/keys/a {"op":"toggle","by":1}"#, 400, .badRequest,
            body: #"{"pointer":"*"}"#),
        Row("An operation without its operand", #"PATCH app/keys/a {"op":"add"}"#, 400, .badRequest),
        Row(
            "An amount that is text", #"PATCH app/keys/a {"op":"add","by":"1"}"#, 400, .badRequest,
            body: #"{"pointer":"/by"}"#),
        Row(
            "A JSON Patch that is not an array",
            Request(#"PATCH app/keys/a {"op":"add"}"#, "Content-Type: application/json-patch+json"), 400, .badRequest),
        Row(
            "A JSON Patch with an unknown operation",
            Request(
                #"PATCH app/keys/a [{"op":"ad","path":"","value":1}]"#, "Content-Type: application/json-patch+json"),
            400, .badRequest, body: #"{"pointer":"/0/op","didYouMean":["add"]}"#),
        Row("A transaction without do", #"POST /v1/transaction {"if":[]}"#, 400, .badRequest),
        Row(
            "A transaction with an unknown member", #"POST /v1/transaction {"do":[],"fi":[]}"#, 400, .badRequest,
            body: #"{"pointer":"*","didYouMean":["if"]}"#),
        Row(
            "A condition with two tests",
            #"POST /v1/transaction {"if":[{"suite":"a","key":"k","stored":true,"value":1}],"do":[]}"#, 400, .badRequest,
            body: #"{"pointer":"/if/0"}"#),
        Row(
            "A condition without a test", #"POST /v1/transaction {"if":[{"suite":"a","key":"k"}],"do":[]}"#, 400,
            .badRequest, body: #"{"pointer":"/if/0"}"#),
        Row(
            "A condition with an unknown member",
            #"POST /v1/transaction {"if":[{"suite":"a","key":"k","store":true}],"do":[]}"#, 400, .badRequest,
            body: #"{"pointer":"*","didYouMean":["stored"]}"#),
        Row(
            "An operation of a transaction without key",
            #"POST /v1/transaction {"do":[{"op":"set","suite":"a","value":1}]}"#, 400, .badRequest,
            body: #"{"pointer":"/do/0"}"#),
        Row(
            "An operation of a transaction with an invalid suite name",
            #"POST /v1/transaction {"do":[{"op":"set","suite":".a","key":"k","value":1}]}"#, 400, .badRequest,
            body: #"{"pointer":"/do/0/suite"}"#),
        Row(
            "A body for a suite with an invalid key name", #"PATCH app {"..":1}"#, 400, .badRequest,
            body: #"{"pointer":"/.."}"#),
        Row("A suite that begins with a dot", "GET .app", 400, .badRequest),
        Row("A suite with a space", "GET a%20b", 400, .badRequest),
        Row("A suite of 129 bytes", Request("GET \(String(repeating: "a", count: 129))"), 400, .badRequest),
        Row("A key of 257 bytes", Request("PUT app/keys/\(String(repeating: "a", count: 257)) 1"), 400, .badRequest),
        Row("A key with a control character", "PUT app/keys/%0A 1", 400, .badRequest),
        Row("The key ..", "PUT app/keys/%2E%2E 1", 400, .badRequest),
        Row("A key that is not UTF-8", "PUT app/keys/%C3%28 1", 400, .badRequest),
        Row("A percent sign without digits", "PUT app/keys/% 1", 400, .badRequest),
        Row("A percent sign with one digit", "GET app/keys/%4", 400, .badRequest),
        Row("An unknown parameter", "GET app?veiw=stored", 400, .badRequest, body: #"{"didYouMean":["view"]}"#),
        Row("A parameter of another method", "GET app/keys/a?dryRun", 400, .badRequest),
        Row("A parameter of a path without parameters", "GET /healthz?x=1", 400, .badRequest),
        Row("A parameter given twice", "GET app?prefix=a&prefix=b", 400, .badRequest),
        Row("A flag given twice", "PUT app/keys/a?dryRun&dryRun=true 1", 400, .badRequest),
        Row("A flag that is neither true nor false", "PUT app/keys/a?dryRun=yes 1", 400, .badRequest),
        Row("A parameter without a name", "GET app?=1", 400, .badRequest),
        Row("A parameter with a percent sign without digits", "GET app?prefix=%", 400, .badRequest),
        Row("A limit of zero", "GET /v1/suites?limit=0", 400, .badRequest),
        Row("A limit that is not a number", "GET /v1/suites?limit=many", 400, .badRequest),
        Row("An unknown view", "GET app?view=all", 400, .badRequest),
        Row("An invalid revision", "GET app?at=x", 400, .badRequest),
        Row("An unknown conflict policy", "PUT app/schema?onConflict=drop {}", 400, .badRequest),
        Row("A tag without quotation marks", Request("PUT app/keys/a 1", "If-Match: 17"), 400, .badRequest),
        Row("An incomplete tag", Request("PUT app/keys/a 1", "If-None-Match: \"17"), 400, .badRequest),
        Row("A list of tags without a comma", Request("GET app", "If-None-Match: \"1\" \"2\""), 400, .badRequest).after(
            "PUT app/keys/a 1"),
        Row("An empty request key", Request("PUT app/keys/a 1", "Idempotency-Key:"), 400, .badRequest),
        Row(
            "A request key of 65 bytes",
            Request("PUT app/keys/a 1", "Idempotency-Key: \(String(repeating: "k", count: 65))"), 400, .badRequest),
        // With the text `Host`, without a colon, `Request` sends neither this text nor the default Host field.
        Row("A request without Host", Request("GET /v1", "Host"), 400, .badRequest),
        Row(
            "A request with two Host fields", Request("GET /v1", "Host: localhost", "Host: localhost"), 400, .badRequest
        ),
        Row(
            "A request with two Content-Length fields",
            Request("PUT app/keys/a 1", "Content-Length: 1", "Content-Length: 2"), 400, .badRequest),
        Row("A field without a colon", Request("GET /v1", "Accept"), 400, .badRequest),
    ]

    @Test("A malformed request returns bad_request", arguments: badRequests)
    func badRequest(row: Row) throws {
        try row.check()
    }

    static let paths: [Row] = [
        Row("The path /", "GET /", 404, .unknownPath, body: #"{"didYouMean":["/v1"]}"#),
        Row("Another version of the API", "GET /v2/suites", 404, .unknownPath, body: #"{"didYouMean":["/v1/suites"]}"#),
        Row("A slash at the end", "GET /v1/", 404, .unknownPath, body: #"{"didYouMean":["/v1"]}"#),
        Row("A slash after the suites", "GET /v1/suites/", 404, .unknownPath, body: #"{"didYouMean":["/v1/suites"]}"#),
        Row("A slash after a suite", "GET app/", 404, .unknownPath, body: #"{"didYouMean":["/v1/suites/app"]}"#),
        Row(
            "A key without a name", "GET app/keys/", 404, .unknownPath, body: #"{"didYouMean":["/v1/suites/app/keys"]}"#
        ),
        Row(
            "Two slashes at the beginning", "GET //v1/suites", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites"]}"#),
        Row(
            "A key in two segments", "PUT app/keys/a/b 1", 404, .unknownPath,
            body: #"{"detail":"*%2F*/v1/suites/app/keys/a%2Fb*","didYouMean":["/v1/suites/app/keys/a%2Fb"]}"#),
        Row(
            "A key in three segments, with an escape", "GET app/keys/a/%C3%A9/c", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites/app/keys/a%2F%C3%A9%2Fc"]}"#),
        Row(
            "A key without the path segment keys", "PUT app/values 1", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites/app/keys/values"]}"#),
        Row(
            "A misspelt path segment", "GET app/key/a", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites/app/keys/a"]}"#),
        Row("A path segment in capitals", "GET /V1", 404, .unknownPath, body: #"{"didYouMean":["/v1"]}"#),
        Row(
            "The path /v1/suite", "GET /v1/suite", 404, .unknownPath,
            body: #"{"detail":"*/v1/suites*","didYouMean":["/v1/suites"]}"#),
        Row(
            "A write to a misspelt path", "DELETE /v1/suite/app", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites/app"]}"#),
        Row(
            "A path without a version", "GET /suites/app", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/suites/app"]}"#),
        Row(
            "A version prefix on a path that has no version", "GET /v1/healthz", 404, .unknownPath,
            body: #"{"didYouMean":["/healthz"]}"#),
        Row("A misspelt path of the service", "GET /health", 404, .unknownPath, body: #"{"didYouMean":["/healthz"]}"#),
        Row(
            "The path /v1/transactions", "POST /v1/transactions {}", 404, .unknownPath,
            body: #"{"didYouMean":["/v1/transaction"]}"#),
    ]

    static let pathsWithoutSuggestion: [Row] = [
        Row("A suite without a name", "GET /v1/suites//keys", 404, .unknownPath, lacks: ["didYouMean"]),
        Row(
            "A path that resembles no path of the API", "GET /favicon.ico", 404, .unknownPath,
            body: #"{"detail":"*/v1*"}"#, lacks: ["didYouMean"]),
    ]

    @Test("The paths that a 404 suggests exist", arguments: paths)
    func suggestedPath(row: Row) throws {
        let daemon = try TestDaemon()
        let suggestions = try #require(try daemon.send(row.request).json?["didYouMean"]?.array)
        #expect(!suggestions.isEmpty)
        for suggestion in suggestions {
            let path = try #require(suggestion.string)
            #expect(try daemon.send(Request("OPTIONS \(path)")).status == 204, "\(path)")
        }
    }

    static let methods: [Row] = [
        Row(
            "POST to a setting", "POST app/keys/a 1", 405, .methodNotAllowed,
            body: #"{"allow":["GET","HEAD","PUT","PATCH","DELETE","OPTIONS"]}"#,
            fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS"]),
        Row("PUT to the suites", "PUT /v1/suites {}", 405, .methodNotAllowed, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row(
            "PATCH of a schema", "PATCH app/schema {}", 405, .methodNotAllowed,
            fields: ["Allow: GET, HEAD, PUT, DELETE, OPTIONS"]),
        Row("GET of a transaction", "GET /v1/transaction", 405, .methodNotAllowed, fields: ["Allow: POST, OPTIONS"]),
        Row("DELETE of /v1", "DELETE /v1", 405, .methodNotAllowed, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row("POST to the keys", "POST app/keys {}", 405, .methodNotAllowed, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row("PUT to /healthz", "PUT /healthz 1", 405, .methodNotAllowed, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row(
            "A method of another protocol", "PROPFIND app", 405, .methodNotAllowed,
            fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS"]),
    ]

    @Test(
        "An unknown path returns unknown_path; an unsupported method returns method_not_allowed",
        arguments: paths + pathsWithoutSuggestion + methods)
    func pathAndMethod(row: Row) throws {
        try row.check()
    }

    static let types: [Row] = [
        Row("A body in gzip", Request("PUT app/keys/a 1", "Content-Encoding: gzip"), 415, .unsupportedMediaType),
        // The daemon refuses every Content-Encoding, also `identity`, which does not change the body.
        Row(
            "A body with the coding identity", Request("PUT app/keys/a 1", "Content-Encoding: identity"), 415,
            .unsupportedMediaType),
        Row("A schema in br", Request("PUT app/schema {}", "Content-Encoding: br"), 415, .unsupportedMediaType),
        Row(
            "A transaction in deflate", Request("POST /v1/transaction {}", "Content-Encoding: deflate"), 415,
            .unsupportedMediaType),
        Row(
            "A JSON Patch of a suite", Request("PATCH app []", "Content-Type: application/json-patch+json"), 415,
            .unsupportedMediaType),
        Row(
            "A target over its limit", Request("GET /v1?\(String(repeating: "a", count: 9000))"), 414, .tooLarge,
            body: #"{"limit":8192}"#),
        Row(
            "A field over the limit", Request("GET /v1", "X: \(String(repeating: "a", count: 17000))"), 431, .tooLarge,
            body: #"{"limit":16384}"#),
        Row(
            "A Content-Length over the limit", Request("PUT app/keys/a", "Content-Length: 16777217"), 413, .tooLarge,
            body: #"{"limit":16777216}"#),
        Row("Another version of HTTP", Request("GET /v1").with(version: "HTTP/2.0"), 505, .httpVersion),
        Row("HTTP version 3", Request("GET /v1").with(version: "HTTP/3.1"), 505, .httpVersion),
        Row(
            "An unsupported transfer coding before chunked",
            Request("PUT app/keys/a 1", "Transfer-Encoding: gzip, chunked"), 501, .notImplemented),
        Row(
            "An unsupported transfer coding", Request("PUT app/keys/a 1", "Transfer-Encoding: br"), 501, .notImplemented
        ),
    ]

    @Test(
        "A request over a size limit, or with an unsupported coding, media type or HTTP version, is refused",
        arguments: types)
    func message(row: Row) throws {
        try row.check()
    }
}
