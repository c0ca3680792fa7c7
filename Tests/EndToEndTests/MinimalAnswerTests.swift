import SettingsModel
import TestSupport
import Testing

/// Section 6 of the contract: answers to writes without what the caller knows already.
@Suite(.ownThread)
struct MinimalAnswerTests {
    static let minimal = "Prefer: return=minimal"
    static let applied = "Preference-Applied: return=minimal"
    static let transaction = #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":2}]}"#

    static let rows: [Row] = [
        Row(
            "PUT of a setting", Request("PUT app/keys/a 1", minimal), 201, nil,
            #"{"suite":"app","key":"a","source":"stored","revision":$1,"modified":"*","changed":true}"#,
            lacks: ["value", "previous", "secret"], fields: [applied, "ETag: \"$1\"", "Settings-Source: stored"]),
        Row(
            "PATCH of a setting", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app/keys/a {"op":"add","by":1}"#, minimal), 200, nil, #"{"changed":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "DELETE that changes nothing", given: ["PUT app/keys/b 1"], Request("DELETE app/keys/a", minimal), 200, nil,
            #"{"source":"unset","changed":false}"#, lacks: ["value", "previous"], fields: [applied]),
        Row(
            "PATCH of a suite", Request(#"PATCH app {"a":1}"#, minimal), 200, nil, #"{"revision":$1,"changed":true}"#,
            lacks: ["changes"], fields: [applied, "ETag: \"$1\""]),
        Row(
            "PUT of a schema", Request(#"PUT app/schema {"additionalProperties":true}"#, minimal), 201, nil,
            #"{"revision":$1,"schemaRevision":$1,"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "A transaction", Request(transaction, minimal), 200, nil, #"{"revision":$1,"changed":true}"#,
            lacks: ["changes"], fields: [applied]),
        Row(
            "A dry run", Request("PUT app/keys/a?dryRun 1", minimal), 201, nil, #"{"changed":true,"dryRun":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "A repeat of a write whose first answer was whole", given: [Request("PUT app/keys/a 1", RepeatTests.key)],
            Request("PUT app/keys/a 1", RepeatTests.key, minimal), 201, nil, #"{"changed":true,"replayed":true}"#,
            lacks: ["value", "previous"], fields: [applied]),
        Row(
            "A refusal, which is whole", given: ["PUT app/keys/a 1"],
            Request("PUT app/keys/a 2", minimal, "If-Match: \"999\""), 412, .preconditionFailed,
            #"{"current":{"value":1}}"#, fields: ["Preference-Applied:"]),
        Row(
            "A read, which has no short form", given: ["PUT app/keys/a 1"], Request("GET app/keys/a", minimal), 200,
            nil, #"{"value":1}"#, fields: ["Preference-Applied:"]),
        Row(
            "Among other preferences",
            Request(transaction, "Prefer: wait=10, Return = \"minimal\"; x=1, respond-async"), 200, nil,
            #"{"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "On a second line", Request(transaction, "Prefer: handling=strict", minimal), 200, nil,
            #"{"changed":true}"#, lacks: ["changes"], fields: [applied]),
        Row(
            "Of two words the first", Request(transaction, "Prefer: return=representation, return=minimal"), 200, nil,
            #"{"changed":true,"changes":["*"]}"#, fields: ["Preference-Applied:"]),
        Row(
            "A preference that is not known", Request(transaction, "Prefer: return=tiny"), 200, nil,
            #"{"changed":true,"changes":["*"]}"#, fields: ["Preference-Applied:"]),
    ]

    @Test("A write is answered without values if its caller prefers that", arguments: rows)
    func minimal(row: Row) throws {
        try row.check()
    }
}
