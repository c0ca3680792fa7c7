import SettingsModel
import TestSupport
import Testing

/// "Change a value in place" in docs/http-api.md. In a row, `$n` stands for the revision after the n-th request, and
/// `"*"` for any value. `Samples.schema`: `volume` (at most 1, default 0.5), `count` (an integer), `fixed` (locked,
/// default 1), `isOn` (default false), `tags` (at most 3 texts) and `shape` (integers `width`, `height`).
/// `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid values. `Row.check` also expects
/// that a refused request changes nothing. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct PatchingTests {
    static let mergePatch = "Content-Type: application/merge-patch+json"
    static let jsonPatch = "Content-Type: application/json-patch+json; charset=utf-8"

    /// A row with a stored value, an operation on it, and the expected result.
    static func operation(on value: String, _ operation: String, to result: String, _ fields: String...) -> Row {
        var request = Request("PATCH app/keys/a \(operation)")
        request.fields = fields
        return Row(
            "\(value) \(operation)", given: [Request("PUT app/keys/a \(value)")], request, 200,
            body:
                #"{"value":\#(result),"source":"stored","revision":$2,"changed":true,"previous":{"value":\#(value),"revision":$1}}"#,
            fields: ["ETag: \"$2\""], then: [("GET app/keys/a", #"{"value":\#(result)}"#)])
    }

    static let results: [Row] = [
        operation(on: "41", #"{"op":"add","by":1}"#, to: "42"),
        operation(on: "3.14", #"{"op":"add","by":10}"#, to: "13.14"),
        operation(on: "1", #"{"op":"add","by":0.5}"#, to: "1.5"),
        operation(on: "1", #"{"op":"add","by":1.0}"#, to: "2.0"),
        operation(on: "9223372036854775806", #"{"op":"add","by":1}"#, to: "9223372036854775807"),
        operation(on: "0", #"{"op":"add","by":-9223372036854775808}"#, to: "-9223372036854775808"),
        operation(on: "[1]", #"{"op":"append","values":[2,[3]]}"#, to: "[1,2,[3]]"),
        operation(on: #""a""#, #"{"op":"concat","text":"\u0301b"}"#, to: "\"a\u{301}b\""),
        operation(on: "true", #"{"op":"toggle"}"#, to: "false"),
        operation(
            on: #"{"a":1,"b":{"c":1}}"#, #"{"op":"merge","value":{"a":null,"b":{"d":2},"e":[1]}}"#,
            to: #"{"b":{"c":1,"d":2},"e":[1]}"#),
        operation(on: #"{"a":1}"#, #"{"op":"merge","value":7}"#, to: "7"),
        operation(on: #"{"a":1}"#, #"{"a":null,"b":2}"#, to: #"{"b":2}"#, mergePatch),
        operation(on: #"{"op":"x"}"#, #"{"op":"toggle"}"#, to: #"{"op":"toggle"}"#, mergePatch),
        operation(
            on: "[1,2]", #"[{"op":"test","path":"/0","value":1.0},{"op":"add","path":"/-","value":3}]"#, to: "[1,2,3]",
            jsonPatch),
        operation(
            on: #"{"a":1,"b":2}"#,
            #"[{"op":"move","from":"/a","path":"/c"},{"op":"copy","from":"/b","path":"/d"},"#
                + #"{"op":"remove","path":"/b"},{"op":"replace","path":"/c","value":5}]"#, to: #"{"c":5,"d":2}"#,
            jsonPatch),
        operation(on: "1", #"[{"op":"replace","path":"","value":{"x":1}}]"#, to: #"{"x":1}"#, jsonPatch),
    ]

    static let schemaOfIntegers: Request = #"PUT app/schema {"additionalProperties":{"type":"integer"}}"#

    /// A row that adds an amount to a key whose schema allows only integers, with the sum or the code of the error.
    static func sum(_ value: String, plus amount: String, _ sum: String? = nil, refused code: ErrorCode? = nil) -> Row {
        Row(
            "\(value) plus \(amount), for a key of integers",
            given: [schemaOfIntegers, Request("PUT app/keys/a \(value)")],
            Request(#"PATCH app/keys/a {"op":"add","by":\#(amount)}"#), code == nil ? 200 : 422, code,
            body: sum.map { #"{"value":\#($0)}"# } ?? "")
    }

    /// An exact sum that is no integer violates the schema (`invalidValue`). A sum that the daemon cannot compute
    /// exactly is an `invalidOperation`. No double has the value 9007199254740993, which is 2^53 + 1.
    static let sumsOfIntegers: [Row] = [
        sum("9007199254740993", plus: "1.0", "9007199254740994"),
        sum("9007199254740993", plus: "-1e0", "9007199254740992"),
        sum("41", plus: "1.0", "42"),
        sum("1", plus: "1e16", "10000000000000001"),
        sum("42", plus: "0.5", refused: .invalidValue),
        sum("42", plus: "1e-20", refused: .invalidOperation),
        sum("9007199254740993", plus: "0.5", refused: .invalidOperation),
        sum("9223372036854775807", plus: "1.0", refused: .invalidOperation),
        sum("1", plus: "1e19", refused: .invalidOperation),
    ]

    @Test("Adding to an integer is exact or refused", arguments: sumsOfIntegers)
    func integer(row: Row) throws {
        try row.check()
    }

    @Test("PATCH changes a value in place and returns the new and the previous value", arguments: results)
    func result(row: Row) throws {
        try row.check()
    }

    static let withoutEffectOrOnDefault: [Row] = [
        Row(
            "An addition of zero", given: ["PUT app/keys/a 1"], #"PATCH app/keys/a {"op":"add","by":0}"#, 200,
            body: #"{"value":1,"changed":false,"revision":$1}"#),
        Row(
            "An append of no elements", given: ["PUT app/keys/a []"], #"PATCH app/keys/a {"op":"append","values":[]}"#,
            200, body: #"{"changed":false}"#),
        Row(
            "A merge of an empty object", given: ["PUT app/keys/a {}"], Request("PATCH app/keys/a {}", mergePatch), 200,
            body: #"{"changed":false}"#),
        Row(
            "A patch with only a test", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app/keys/a [{"op":"test","path":"","value":1}]"#, jsonPatch), 200,
            body: #"{"changed":false}"#),
        Row(
            "A default that becomes stored", given: [Samples.schema], #"PATCH app/keys/volume {"op":"add","by":0}"#,
            200, body: #"{"value":0.5,"source":"stored","changed":true,"previous":{"source":"default"}}"#),
        Row(
            "An operation on a default", given: [Samples.schema], #"PATCH app/keys/isOn {"op":"toggle"}"#, 200,
            body: #"{"value":true,"source":"stored","previous":{"value":false,"source":"default"}}"#),
        Row(
            "A dry run", given: ["PUT app/keys/a 1"], #"PATCH app/keys/a?dryRun {"op":"add","by":1}"#,
            200, body: #"{"value":2,"revision":$1,"changed":true,"dryRun":true}"#),
    ]

    @Test(
        "A PATCH that changes nothing makes no commit; a PATCH of a default stores the result; a dry run stores nothing",
        arguments: withoutEffectOrOnDefault)
    func unchanged(row: Row) throws {
        try row.check()
    }

    /// A row with a stored value, and an operation on it that the daemon refuses.
    static func refused(
        _ name: String, on value: String, _ operation: String, _ status: Int, _ code: ErrorCode, body: String = "",
        fields: String...
    ) -> Row {
        var request = Request("PATCH app/keys/a \(operation)")
        request.fields = fields
        return Row(name, given: [Request("PUT app/keys/a \(value)")], request, status, code, body: body)
    }

    static let refusals: [Row] = [
        refused(
            "A sum above the largest integer", on: "9223372036854775807", #"{"op":"add","by":1}"#, 422,
            .invalidOperation,
            body: #"{"errors":[{"suite":"app","key":"a","pointer":"","keyword":"add","detail":"*"}]}"#),
        refused(
            "A sum below the smallest integer", on: "-9223372036854775808", #"{"op":"add","by":-1}"#, 422,
            .invalidOperation),
        refused(
            "An integer that would be rounded", on: "9007199254740993", #"{"op":"add","by":1.0}"#, 422,
            .invalidOperation, body: #"{"errors":[{"key":"a","keyword":"add","detail":"*"}]}"#),
        refused(
            "A fraction that would be lost", on: "4503599627370497", #"{"op":"add","by":0.25}"#, 422, .invalidOperation),
        refused("An amount that rounding would lose", on: "1", #"{"op":"add","by":1e-20}"#, 422, .invalidOperation),
        refused(
            "An integer that the rounding of a large double would lose", on: "1e300", #"{"op":"add","by":1}"#, 422,
            .invalidOperation),
        refused("A sum above the largest double", on: "1.7e308", #"{"op":"add","by":1.7e308}"#, 422, .invalidOperation),
        refused("Adding to text", on: #""1""#, #"{"op":"add","by":1}"#, 422, .invalidOperation),
        refused("Adding to null", on: "null", #"{"op":"add","by":1}"#, 422, .invalidOperation),
        refused("Appending to an object", on: "{}", #"{"op":"append","values":[1]}"#, 422, .invalidOperation),
        refused("Concatenating to a number", on: "1", #"{"op":"concat","text":"1"}"#, 422, .invalidOperation),
        refused("Toggling a number", on: "1", #"{"op":"toggle"}"#, 422, .invalidOperation),
        refused(
            "Removing a missing member", on: "{}", #"[{"op":"remove","path":"/a"}]"#, 422, .invalidOperation,
            body: #"{"pointer":"/a"}"#, fields: jsonPatch),
        refused(
            "Adding an element beyond the end of an array", on: "[]", #"[{"op":"add","path":"/1","value":1}]"#, 422,
            .invalidOperation, fields: jsonPatch),
        refused(
            "A JSON Patch whose second step fails", on: #"{"a":1}"#,
            #"[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/b"}]"#, 422, .invalidOperation,
            fields: jsonPatch),
        refused(
            "A test that fails", on: #"{"a":1}"#, #"[{"op":"test","path":"/a","value":2}]"#, 412, .preconditionFailed,
            body: #"{"current":{"suite":"app","key":"a","value":{"a":1},"source":"stored","revision":$1}}"#,
            fields: jsonPatch),
        refused(
            "A test of a text with a number", on: #"{"a":"1"}"#, #"[{"op":"test","path":"/a","value":1}]"#, 412,
            .preconditionFailed, fields: jsonPatch),
        Row(
            "A key that was never set", given: ["PUT app/keys/a 1"], #"PATCH app/keys/b {"op":"add","by":1}"#, 404,
            .notSet),
        Row(
            "A merge into a key that was never set", given: ["PUT app/keys/a 1"],
            Request(#"PATCH app/keys/b {"a":1}"#, mergePatch), 404, .notSet),
        Row(
            "A key without a default", given: [Samples.schema], #"PATCH app/keys/count {"op":"add","by":1}"#, 404,
            .notSet),
        Row("An unknown key", given: [Samples.schema], #"PATCH app/keys/coun {"op":"add","by":1}"#, 404, .unknownKey),
        Row("A suite that does not exist", #"PATCH app/keys/a {"op":"add","by":1}"#, 404, .unknownSuite),
        Row(
            "An operation on an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            #"PATCH app/keys/count {"op":"add","by":-5}"#, 409, .invalidStored, body: #"{"stored":11,"errors":["*"]}"#),
        Row("A locked key", given: [Samples.schema], #"PATCH app/keys/fixed {"op":"add","by":1}"#, 403, .locked),
        Row(
            "An addition of a half to an integer", given: [Samples.schema, "PUT app/keys/count 1"],
            #"PATCH app/keys/count {"op":"add","by":0.5}"#, 422, .invalidValue,
            body: #"{"errors":[{"keyword":"type"}]}"#),
        Row(
            "A result above the maximum", given: [Samples.schema], #"PATCH app/keys/volume {"op":"add","by":1}"#, 422,
            .invalidValue,
            body: #"{"errors":[{"suite":"app","key":"volume","pointer":"","keyword":"maximum","actual":1.5}]}"#
        ),
        Row(
            "Too many elements", given: [Samples.schema, #"PUT app/keys/tags ["a","b"]"#],
            #"PATCH app/keys/tags {"op":"append","values":["c","d"]}"#, 422, .invalidValue),
        Row(
            "An element of another type", given: [Samples.schema, #"PUT app/keys/tags ["a"]"#],
            #"PATCH app/keys/tags {"op":"append","values":[7]}"#, 422, .invalidValue,
            body: #"{"errors":[{"pointer":"/1"}]}"#),
        Row(
            "A member of another type", given: [Samples.schema, #"PUT app/keys/shape {"width":1}"#],
            Request(#"PATCH app/keys/shape {"width":"x"}"#, mergePatch), 422, .invalidValue,
            body: #"{"errors":[{"pointer":"/width"}]}"#),
        Row(
            "A result with too many levels",
            given: [
                Request("PUT app/keys/a \(String(repeating: "[", count: 128) + String(repeating: "]", count: 128))")
            ], Request(#"PATCH app/keys/a [{"op":"copy","from":"","path":"/0"}]"#, jsonPatch), 422, .invalidOperation),
    ]

    @Test("An operation that cannot be applied is refused, and the value stays the same", arguments: refusals)
    func refusal(row: Row) throws {
        try row.check()
    }
}
