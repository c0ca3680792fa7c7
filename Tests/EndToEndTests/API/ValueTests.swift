import SettingsModel
import TestSupport
import Testing

/// "Values" in docs/http-api.md. In a row, `$n` stands for the revision after the n-th request. `Samples.schema`:
/// `count` (an integer), `name` (at most 3 characters). A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ValueTests {
    /// A row that writes a value and expects to read the same value, or `stored` if it is not nil.
    static func roundTrip(_ name: String, _ json: String, as stored: String? = nil) -> Row {
        Row(
            name, given: [Request("PUT app/keys/a \(json)")], "GET app/keys/a?raw", 200, text: stored ?? json,
            then: [("GET app/keys/a", #"{"value":\#(stored ?? json)}"#)])
    }

    static let rows: [Row] = [
        roundTrip("The largest integer", "9223372036854775807"),
        roundTrip("The smallest integer", "-9223372036854775808"),
        roundTrip("An integer that a double cannot represent", "9007199254740993"),
        roundTrip("A float that is integral", "1.0"),
        roundTrip("A float with an exponent", "1e3", as: "1000.0"),
        roundTrip("A negative zero", "-0.0"),
        roundTrip("The smallest double", "5e-324"),
        roundTrip("The largest double", "1.7976931348623157e308", as: "1.7976931348623157e+308"),
        roundTrip("Null", "null"),
        roundTrip("Members in the order sent", #"{"b":1,"a":2,"c":{"z":1,"y":2}}"#),
        roundTrip("An empty name", #"{"":0}"#),
        Row(
            "A value with 128 levels of nesting",
            Request("PUT app/keys/a \(String(repeating: "[", count: 128) + String(repeating: "]", count: 128))"), 201),
        roundTrip("Two forms of é in names", "{\"\u{E9}\":1,\"e\u{301}\":2}"),
        roundTrip("A pair of surrogates", #"["\ud83d\ude00"]"#, as: "[\"\u{1F600}\"]"),
        roundTrip("Space around the value", " \n[ 1 , 2 ] \t", as: "[1,2]"),
        Row(
            "A string read with `raw`, as text", given: [#"PUT app/keys/a "x\ny""#], "GET app/keys/a?raw", 200,
            text: "x\ny", fields: ["Content-Type: text/plain; charset=utf-8"]),
        Row(
            "An empty string read with `raw`, as empty text", given: [#"PUT app/keys/a """#], "GET app/keys/a?raw", 200,
            text: ""),
        Row(
            "An array read with `raw`, as JSON", given: [#"PUT app/keys/a ["x"]"#], "GET app/keys/a?raw=true", 200,
            text: #"["x"]"#, fields: ["Content-Type: application/json"]),
        Row(
            "A body with another Content-Type",
            given: [Request("PUT app/keys/a 42", "Content-Type: application/x-www-form-urlencoded")],
            "GET app/keys/a?raw", 200, text: "42"),
    ]

    @Test("A value reads back as it was written, or in the notation of the daemon", arguments: rows)
    func readsBack(row: Row) throws {
        try row.check()
    }

    /// A row that writes `new` over `old`. `isChange` says whether the second write changes the setting.
    static func write(_ name: String, from old: String, to new: String, isChange: Bool) -> Row {
        Row(
            name, given: [Request("PUT app/keys/a \(old)")], Request("PUT app/keys/a \(new)"), 200,
            body: #"{"changed":\#(isChange),"value":\#(isChange ? new : old),"previous":{"value":\#(old)}}"#,
            then: [("GET app/keys/a", #"{"value":\#(isChange ? new : old)}"#)])
    }

    static let equality: [Row] = [
        write("The same integer", from: "1", to: "1", isChange: false),
        write("An integer and a float", from: "1", to: "1.0", isChange: true),
        write("Zero and negative zero", from: "0.0", to: "-0.0", isChange: true),
        write("The same float in another notation", from: "10.0", to: "1e1", isChange: false),
        write("Elements in another order", from: "[1,2]", to: "[2,1]", isChange: true),
        write("Two forms of é", from: "\"\u{E9}\"", to: "\"e\u{301}\"", isChange: true),
        Row(
            "Members in another order", given: [#"PUT app/keys/a {"b":1,"a":2}"#], #"PUT app/keys/a {"a":2,"b":1}"#,
            200, body: #"{"changed":false}"#, then: [("GET app/keys/a", #"{"revision":$1}"#)]),
        Row(
            "The stored order of members after a write that only reorders them",
            given: [#"PUT app/keys/a {"b":1,"a":2}"#, #"PUT app/keys/a {"a":2,"b":1}"#], "GET app/keys/a?raw", 200,
            text: #"{"b":1,"a":2}"#),
    ]

    @Test(
        "A write changes a setting if more than the notation of a double or the order of members differs",
        arguments: equality)
    func unchanged(row: Row) throws {
        try row.check()
    }

    @Test("A write that only reorders the members of an object returns the stored order")
    func orderInAnswer() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(#"PUT app/keys/a {"b":1,"a":2}"#)
        let answer = try daemon.sendOK(#"PUT app/keys/a {"a":2,"b":1}"#)
        let previous = #""value":{"b":1,"a":2}"#
        // The text occurs twice: as the value, and as the previous value.
        #expect(answer.text.split(separator: previous).count == 3, "\(answer.text)")
    }

    /// A row that writes `sent` to a key with this schema, and expects to read `stored`.
    static func normalized(_ name: String, _ schema: String, _ sent: String, _ stored: String) -> Row {
        Row(
            name,
            given: [
                Request(#"PUT app/schema {"additionalProperties":false,"properties":{"a":\#(schema)}}"#),
                Request("PUT app/keys/a \(sent)"),
            ], "GET app/keys/a?raw", 200, text: stored)
    }

    static let normalizations: [Row] = [
        normalized("A value of a key of integers", #"{"type":"integer"}"#, "1.0", "1"),
        normalized("A value with an exponent", #"{"type":"integer"}"#, "1e2", "100"),
        normalized("The integer 2^53", #"{"type":"integer"}"#, "9007199254740992.0", "9007199254740992"),
        normalized(
            "A value of a key of integers or floats, which stays a float", #"{"type":["integer","number"]}"#, "1.0",
            "1.0"),
        normalized("A value of a key of integers or null", #"{"type":["integer","null"]}"#, "1.0", "1"),
        normalized(
            "A member of an object", #"{"properties":{"b":{"type":"integer"}}}"#, #"{"b":2.0,"c":2.0}"#,
            #"{"b":2,"c":2.0}"#),
        normalized("The elements of an array", #"{"items":{"type":"integer"}}"#, "[1.0,2]", "[1,2]"),
        normalized("The first elements of an array", #"{"prefixItems":[{"type":"integer"}]}"#, "[1.0,2.0]", "[1,2.0]"),
        normalized(
            "An additional member of an object", #"{"additionalProperties":{"type":"integer"}}"#, #"{"x":1.0}"#,
            #"{"x":1}"#),
        normalized("A value with the rule in allOf", #"{"allOf":[{"type":"integer"}]}"#, "3.0", "3"),
        normalized(
            "Nested members and elements", #"{"items":{"properties":{"b":{"items":{"type":"integer"}}}}}"#,
            #"[{"b":[1.0]}]"#,
            #"[{"b":[1]}]"#),
        Row(
            "A value with the rule in $defs",
            given: [
                ##"PUT app/schema {"additionalProperties":false,"$defs":{"n":{"type":"integer"}},"##
                    + ##""properties":{"a":{"$ref":"#/$defs/n"}}}"##, "PUT app/keys/a 4.0",
            ], "GET app/keys/a?raw", 200, text: "4"),
        Row(
            "A value in a PATCH of a suite", given: [Samples.schema, #"PATCH app {"count":2.0}"#],
            "GET app/keys/count?raw", 200, text: "2"),
        Row(
            "A value of a transaction",
            given: [
                Samples.schema, #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"count","value":2.0}]}"#,
            ], "GET app/keys/count?raw", 200, text: "2"),
        Row(
            "The result of a change in place",
            given: [Samples.schema, "PUT app/keys/count 2", #"PATCH app/keys/count {"op":"add","by":1.0}"#],
            "GET app/keys/count?raw", 200, text: "3"),
        Row(
            "A default",
            given: [
                #"PUT app/schema {"additionalProperties":false,"properties":{"a":{"type":"integer","default":5.0}}}"#
            ], "GET app/keys/a?raw", 200, text: "5"),
        Row(
            "A float that equals the stored integer", given: [Samples.schema, "PUT app/keys/count 2"],
            "PUT app/keys/count 2.0", 200, body: #"{"changed":false,"value":2}"#),
    ]

    @Test(
        "A float without a fraction is stored as an integer if the schema requires an integer",
        arguments: normalizations)
    func normalization(row: Row) throws {
        try row.check()
    }

    static let lengthsAndNames: [Row] = [
        Row(
            "A text of three Unicode scalars", given: [Samples.schema],
            "PUT app/keys/name \"\u{1F600}\u{1F600}\u{1F600}\"", 201),
        Row(
            "A text of two letters with combining accents, which has four scalars", given: [Samples.schema],
            "PUT app/keys/name \"e\u{301}e\u{301}\"", 422,
            .invalidValue,
            body: #"{"errors":[{"suite":"app","key":"name","pointer":"","keyword":"maxLength","expected":3}]}"#
        ),
        Row(
            "Two keys with different forms of é", given: ["PUT app/keys/%C3%A9 1", "PUT app/keys/e%CC%81 2"],
            "GET app/keys/%C3%A9?raw", 200, text: "1", then: [("GET app/keys/e%CC%81", #"{"value":2}"#)]),
        Row("A slash in a key", given: ["PUT app/keys/a%2Fb 1"], "GET app/keys/a%2fb", 200, body: #"{"key":"a/b"}"#),
        Row("A plus in a key", given: ["PUT app/keys/a+b 1"], "GET app/keys/a%2Bb", 200, body: #"{"key":"a+b"}"#),
        Row(
            "A percent sign in a key", given: ["PUT app/keys/a%2Fb 1", "PUT app/keys/a%252Fb 2"], "GET app/keys/a%2Fb",
            200, body: #"{"key":"a/b","value":1}"#, then: [("GET app/keys/a%252Fb", #"{"key":"a%2Fb","value":2}"#)]),
        Row(
            "Names in the order of their bytes",
            given: [
                "PUT app/keys/b 1", "PUT app/keys/B 2", "PUT app/keys/%C3%A9 3", "PUT app/keys/a 4",
                "PUT app/keys/e%CC%81 5",
            ], "GET app?raw", 200, text: "{\"B\":2,\"a\":4,\"b\":1,\"e\u{301}\":5,\"\u{E9}\":3}"),
    ]

    @Test(
        "The length of a text is its number of Unicode scalars; key names are compared by their bytes",
        arguments: lengthsAndNames)
    func names(row: Row) throws {
        try row.check()
    }
}
