import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Two kinds of requests that the daemon refuses: reports of clients, and requests for the clients of a suite. Some
/// rows are similar requests that the daemon accepts. `e.1` and `other.1` are cursors of epochs that the daemon does
/// not have. The parameter `for` asks whether the clients have applied the state at a cursor, `share` is the share of
/// the clients that must have applied the state, and `behind` lists the clients that have not applied the state at a
/// cursor. In a row, `"*"` stands for any value, and `"*a*b*"` for a text with `a` and then `b`. A target such as
/// `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ClientRefusalTests {
    /// Creates the suite.
    static let put: Request = "PUT app/keys/a 1"
    private static let shareRange = #"{"detail":"*from 0 to 1*"}"#

    static let rows: [Row] = [
        Row("A suite without clients", given: [put], "GET app/clients", 200, body: #"{"suite":"app","clients":[]}"#),
        Row("The clients of a missing suite", "GET app/clients", 404, .unknownSuite),
        Row("A report for a missing suite", "PUT app/clients/web {}", 404, .unknownSuite),
        Row(
            "A report without a state", given: [put], "PUT app/clients/web {}", 200,
            body: #"{"name":"web","status":"behind","since":"*","lastSeen":"*","address":"127.0.0.1"}"#,
            lacks: ["applied", "missingCommits", "secondsBehind", "failure", "caller", "daemon"]),
        Row(
            "A report of another history", given: [put], #"PUT app/clients/web {"applied":"other.1"}"#, 200,
            body: #"{"status":"behind"}"#, lacks: ["applied"]),
        Row(
            "A report with an unknown member", given: [put], #"PUT app/clients/web {"aplied":"e.1"}"#, 400, .badRequest),
        Row("A report that is not JSON", given: [put], "PUT app/clients/web {", 400, .badRequest),
        Row("A revision in place of a cursor", given: [put], #"PUT app/clients/web {"applied":"1"}"#, 400, .badRequest),
        Row(
            "A reason without a failure", given: [put], #"PUT app/clients/web {"reason":"full"}"#, 400, .badRequest,
            body: #"{"detail":"a report with \"reason\" must also have \"failed\", the cursor of the failed state"}"#),
        Row(
            "A reason of 1025 bytes", given: [put],
            Request(#"PUT app/clients/web {"failed":"e.1","reason":"\#(String(repeating: "r", count: 1025))"}"#), 400,
            .badRequest, body: #"{"detail":"*(got 1025 bytes)*"}"#),
        Row(
            "A client name with a control character", given: [put], "PUT app/clients/a%01b {}", 400, .badRequest,
            body: #"{"detail":"*must be 1 to 128 bytes without control characters*"}"#),
        Row(
            "A client name of 129 bytes", given: [put],
            Request("PUT app/clients/\(String(repeating: "n", count: 129)) {}"), 400, .badRequest),
        Row("A GET of one client", given: [put], "GET app/clients/web", 405, .methodNotAllowed),
        Row(
            "A compressed report", given: [put], Request("PUT app/clients/web {}", "Content-Encoding: gzip"), 415,
            .unsupportedMediaType),
        Row(
            "A watch with applied and without client", given: [put], "GET app/observe?wait=0&applied=e.1", 400,
            .badRequest, body: #"{"detail":"*applied needs the parameter client*"}"#),
        Row(
            "A watch with a reason and without a failure", given: [put], "GET app/observe?wait=0&client=a&reason=r",
            400, .badRequest),
        Row("A watch with an empty client name", given: [put], "GET app/observe?wait=0&client=", 400, .badRequest),
        Row(
            "A watch with a revision in place of a cursor", given: [put], "GET app/observe?wait=0&client=a&applied=1",
            400, .badRequest),
        Row(
            "A watch of a suite prefix with a client name", "GET /v1/observe?wait=0&client=a&suitePrefix=a", 400,
            .badRequest, body: #"{"detail":"*name the suites*"}"#),
        Row(
            "A read with a client name and without wait", given: [put], "GET app?client=a", 400, .badRequest,
            body: #"{"detail":"*needs the*wait*"}"#),
        Row(
            "A read of a setting with a client name and without wait", given: [put], "GET app/keys/a?client=a", 400,
            .badRequest),
        Row(
            "The parameter `share` without the parameter `for`", given: [put], "GET app/clients?share=1", 400,
            .badRequest),
        Row(
            "The parameter `wait` without the parameter `for`", given: [put], "GET app/clients?wait=1", 400, .badRequest
        ),
        Row(
            "The parameter `for` with a cursor of another history", given: [put], "GET app/clients?for=other.1", 400,
            .badRequest, body: #"{"detail":"*belongs to another history*"}"#),
        Row(
            "The parameter `behind` with a revision in place of a cursor", given: [put], "GET app/clients?behind=1",
            400, .badRequest),
        Row(
            "A share above 1", given: [put], "GET app/clients?for=e.1&share=1.01", 400, .badRequest, body: shareRange),
        Row(
            "A share without a digit before the point", given: [put], "GET app/clients?for=e.1&share=.5", 400,
            .badRequest, body: shareRange),
        Row(
            "A negative share", given: [put], "GET app/clients?for=e.1&share=-1", 400, .badRequest, body: shareRange),
    ]

    @Test("A malformed report or request is refused; a report without a usable cursor is accepted", arguments: rows)
    func refusals(row: Row) throws { try row.check() }

    @Test("A cursor that the daemon has not reached, or both parameters `for` and `behind`, return 400")
    func states() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK(Self.put).cursorText
        // A zero after the cursor makes its revision ten times as large.
        for target in ["for=\(cursor)0", "behind=\(cursor)0", "for=\(cursor)&behind=\(cursor)"] {
            let answer = try daemon.send(Request("GET app/clients?\(target)"))
            #expect(answer.status == 400 && answer.json?["code"] == "bad_request", "\(answer.text)")
        }
    }
}
