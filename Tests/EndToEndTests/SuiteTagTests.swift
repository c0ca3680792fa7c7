import SettingsModel
import TestSupport
import Testing

/// Section 3 of the contract: what answers to writes of suites and schemas are tagged with.
@Suite(.ownThread)
struct SuiteTagTests {
    /// The suite is at `$2` and its schema at `$1`, and another suite is further on.
    static let given: [Request] = [
        #"PUT app/schema {"additionalProperties":{"type":"integer"}}"#, #"PATCH app {"a":1,"b":2}"#,
        "PUT other/keys/x 1",
    ]

    static func row(_ request: Request, tag: String, revision: String? = nil, changes: Bool) -> Row {
        Row(
            "\(request.method) \(request.target) that \(changes ? "changes something" : "changes nothing")",
            given: given, request, 200, nil, #"{"revision":\#(revision ?? tag),"changed":\#(changes)}"#,
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
            "PATCH?dryRun of a suite", given: given, #"PATCH app?dryRun {"a":2}"#, 200, nil,
            #"{"revision":$2,"changed":true,"dryRun":true,"changes":[{"revision":$2}]}"#, fields: ["ETag: \"$2\""]),
        Row(
            "A transaction", given: given,
            #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":1}]}"#, 200, nil,
            #"{"revision":$3,"changed":false}"#, fields: ["ETag:"]),
    ]

    @Test("A write to a suite or schema answers its tag", arguments: rows)
    func tagged(row: Row) throws {
        try row.check()
    }

    @Test("The tag that a write answers holds as If-Match", arguments: rows.filter { $0.request.method != "POST" })
    func holds(row: Row) throws {
        let daemon = try TestDaemon()
        for request in Self.given { try daemon.done(request) }
        let answer = try daemon.done(row.request)
        let tag = try #require(answer.field("ETag"))
        let path = row.request.target.prefix { $0 != "?" }
        let body = path.hasSuffix("/schema") ? #"{"additionalProperties":{}}"# : #"{"c":3}"#
        let next = try daemon.send(Request("PUT \(path) \(body)", "If-Match: \(tag)"))
        #expect([200, 201].contains(next.status), "\(tag): \(next.text)")
    }
}
