import SettingsModel
import TestSupport
import Testing

/// "Transactions" in docs/http-api.md. In a row, `"*"` stands for any value. `Samples.schema`: `volume` (at most 1,
/// default 0.5), `count` (an integer), `fixed` (locked, default 1), `isOn` (default false) and `shape` (integers
/// `width`, `height`). `Samples.narrowSchema` allows only `volume` and `count` up to 10, and keeps invalid values.
/// `Row.check` also expects that a refused request changes nothing. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct TransactionTests {
    /// A row with a transaction. Each line of `operations` is an operation; without a suite, it gets the suite `app`.
    /// In a body, `$n` stands for the revision after the n-th request, and `$0` for the revision before the first. The
    /// body of the answer must lack the members `lacks`. `then` has later requests with their expected bodies.
    static func transaction(
        _ name: String, given: [Request] = [], if conditions: String = "", do operations: String, _ status: Int,
        _ code: ErrorCode? = nil, body: String = "", query: String = "", lacks: [String] = [],
        then: [(request: Request, body: String)] = []
    ) -> Row {
        let list = operations.split(separator: "\n").map { line in
            line.contains(#""suite""#) ? "{\(line)}" : #"{"suite":"app",\#(line)}"#
        }
        return Row(
            name, given: given,
            Request(#"POST /v1/transaction\#(query) {"if":[\#(conditions)],"do":[\#(list.joined(separator: ","))]}"#),
            status, code, body: body, lacks: lacks, then: then)
    }

    static let successes: [Row] = [
        transaction(
            "A transaction without operations", do: "", 200, body: #"{"revision":$0,"changed":false,"changes":[]}"#),
        transaction(
            "Operations in several suites",
            do: """
                "op":"set","key":"a","value":1
                "op":"set","suite":"b","key":"x","value":2
                """, 200,
            body:
                #"{"revision":$1,"changed":true,"changes":[{"suite":"app","key":"a","old":null,"new":1,"oldSource":"unset","#
                + #""source":"stored","revision":$1,"modified":"*"},{"suite":"b","key":"x","revision":$1}]}"#,
            then: [("GET app/keys/a", #"{"revision":$1}"#), ("GET b/keys/x", #"{"revision":$1}"#)]),
        transaction(
            "Each operation sees the result of the previous operation", given: ["PUT app/keys/a 1"],
            do: """
                "op":"add","key":"a","by":1
                "op":"add","key":"a","by":2
                "op":"set","key":"b","value":[]
                "op":"append","key":"b","values":[true]
                "op":"set","key":"c","value":"x"
                "op":"concat","key":"c","text":"y"
                "op":"set","key":"d","value":{}
                "op":"merge","key":"d","value":{"e":1}
                "op":"patch","key":"d","patch":[{"op":"test","path":"/e","value":1},{"op":"add","path":"/f","value":2}]
                """, 200,
            body: #"{"changes":[{"key":"a","old":1,"new":4},{"key":"b","new":[true]},{"key":"c","new":"xy"},"#
                + #"{"key":"d","new":{"e":1,"f":2}}]}"#),
        transaction(
            "Several operations on a key, which make one change", given: ["PUT app/keys/a 1"],
            do: """
                "op":"delete","key":"a"
                "op":"set","key":"a","value":2
                """, 200, body: #"{"changes":[{"key":"a","old":1,"new":2,"oldSource":"stored","source":"stored"}]}"#),
        transaction(
            "Operations that restore the original value", given: ["PUT app/keys/a 1"],
            do: """
                "op":"set","key":"a","value":2
                "op":"add","key":"a","by":-1
                """, 200, body: #"{"revision":$1,"changed":false,"changes":[]}"#),
        transaction(
            "Operations that leave no value in a missing suite, which is not created",
            do: """
                "op":"set","key":"a","value":2
                "op":"delete","key":"a"
                """, 200, body: #"{"changed":false}"#),
        transaction(
            "An invalid intermediate value", given: [Samples.schema],
            do: """
                "op":"set","key":"volume","value":5
                "op":"add","key":"volume","by":-4.5
                "op":"set","key":"count","value":2.0
                """, 200, body: #"{"changes":[{"key":"volume","new":0.5,"source":"stored"},{"key":"count","new":2}]}"#),
        transaction(
            "A toggle of a default", given: [Samples.schema], do: #""op":"toggle","key":"isOn""#, 200,
            body: #"{"changes":[{"old":false,"new":true,"oldSource":"default","source":"stored"}]}"#),
        transaction(
            "The removal of a value of a key that the schema no longer lists",
            given: ["PUT app/keys/old 1", Samples.narrowSchema], do: #""op":"delete","key":"old""#,
            200, body: #"{"changed":true}"#),
        transaction(
            "A locked key with override=locked", given: [Samples.schema], do: #""op":"set","key":"fixed","value":2"#,
            200, query: "?override=locked"),
        transaction(
            "A dry run", given: ["PUT app/keys/a 1"], do: #""op":"set","key":"a","value":2"#, 200,
            body: #"{"revision":$1,"changed":true,"dryRun":true,"changes":[{"new":2,"revision":$1}]}"#, query: "?dryRun"
        ),
    ]

    /// A row with a transaction that has a condition; `holds` says whether the condition is true.
    static func condition(
        _ name: String, given: [Request] = ["PUT app/keys/a 1"], _ condition: String, holds: Bool, body: String = ""
    ) -> Row {
        transaction(
            name, given: given, if: condition, do: #""op":"set","suite":"z","key":"k","value":1"#, holds ? 200 : 412,
            holds ? nil : .preconditionFailed, body: body)
    }

    static let conditions: [Row] = [
        condition("The revision of a setting", #"{"suite":"app","key":"a","revision":$1}"#, holds: true),
        condition(
            "A condition with another revision of the setting", #"{"suite":"app","key":"a","revision":999}"#,
            holds: false, body: #"{"failed":[{"index":0,"current":{"suite":"app","key":"a","value":1,"revision":$1}}]}"#
        ),
        condition("`stored` true for a stored key", #"{"suite":"app","key":"a","stored":true}"#, holds: true),
        condition("`stored` false for a stored key", #"{"suite":"app","key":"a","stored":false}"#, holds: false),
        condition(
            "`stored` false for a key that is not set", #"{"suite":"app","key":"b","stored":false}"#, holds: true),
        condition(
            "`stored` true for a key with only a default", given: [Samples.schema],
            #"{"suite":"app","key":"volume","stored":true}"#,
            holds: false, body: #"{"failed":[{"current":{"value":0.5,"source":"default"}}]}"#),
        condition(
            "`stored` true for a key with an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            #"{"suite":"app","key":"count","stored":true}"#, holds: true),
        condition("The value of a setting", #"{"suite":"app","key":"a","value":1}"#, holds: true),
        condition("The value of a setting as a float", #"{"suite":"app","key":"a","value":1.0}"#, holds: true),
        condition("A value that differs", #"{"suite":"app","key":"a","value":2}"#, holds: false),
        condition(
            "A condition with a number that is almost equal", given: ["PUT app/keys/a 9007199254740993"],
            #"{"suite":"app","key":"a","value":9007199254740992.0}"#, holds: false),
        condition(
            "A condition with the members in another order", given: [#"PUT app/keys/a {"x":1,"y":[2]}"#],
            #"{"suite":"app","key":"a","value":{"y":[2.0],"x":1}}"#, holds: true),
        condition(
            "A condition with the value of a default", given: [Samples.schema],
            #"{"suite":"app","key":"volume","value":0.5}"#, holds: true),
        condition(
            "A condition with a stored null", given: ["PUT app/keys/a null"],
            #"{"suite":"app","key":"a","value":null}"#, holds: true),
        condition("Null for a key that is not set", #"{"suite":"app","key":"b","value":null}"#, holds: false),
        condition(
            "A condition on an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            #"{"suite":"app","key":"count","value":11}"#, holds: false,
            body: #"{"failed":[{"current":{"source":"invalid","stored":11}}]}"#),
        condition("The revision of a suite", #"{"suite":"app","revision":$1}"#, holds: true),
        condition(
            "A condition with an older revision of the suite", given: ["PUT app/keys/a 1", "PUT app/keys/b 1"],
            #"{"suite":"app","revision":$1}"#, holds: false,
            body: #"{"failed":[{"index":0,"current":{"suite":"app","revision":$2}}]}"#),
        condition("Revision 0 for a missing suite", #"{"suite":"none","revision":0}"#, holds: true),
        condition("Revision 0 for a suite that exists", #"{"suite":"app","revision":0}"#, holds: false),
        condition(
            "`stored` false for a key of a missing suite", #"{"suite":"none","key":"k","stored":false}"#, holds: true),
        condition(
            "Several failed conditions, which are all listed",
            #"{"suite":"app","revision":9},{"suite":"app","key":"a","stored":true},{"suite":"app","key":"a","value":2}"#,
            holds: false, body: #"{"pointer":"/if/0","failed":[{"index":0},{"index":2}]}"#),
    ]

    static let refused: [Row] = [
        transaction(
            "An invalid operation after a valid operation", given: [Samples.schema],
            do: """
                "op":"set","key":"count","value":1
                "op":"set","key":"volume","value":2
                "op":"set","suite":"b","key":"x","value":1
                """, 422, .invalidValue,
            body: #"{"failed":[{"index":1,"current":{"suite":"app","key":"volume","value":0.5,"source":"default"}}],"#
                + #""errors":[{"suite":"app","key":"volume","pointer":"/do/1/value","keyword":"maximum"}]}"#),
        transaction(
            "Operations with several violations", given: [Samples.schema],
            do: """
                "op":"set","key":"nothing","value":1
                "op":"set","key":"volume","value":2
                "op":"set","key":"shape","value":{"width":"x"}
                """, 422, .unknownKey,
            body:
                #"{"pointer":"/do/0/key","errors":[{"pointer":"/do/0/key","key":"nothing"},{"pointer":"/do/1/value"},"#
                + #"{"pointer":"/do/2/value/width"}],"failed":[{"index":0},{"index":1},{"index":2}]}"#),
        transaction(
            "A violation of the result of an operation", given: [Samples.schema],
            do: """
                "op":"set","key":"count","value":1
                "op":"add","key":"volume","by":7
                "op":"set","key":"shape","value":{}
                "op":"merge","key":"shape","value":{"width":"x"}
                """, 422, .invalidValue,
            body: #"{"errors":[{"key":"volume","pointer":"/do/1"},{"key":"shape","pointer":"/do/3/width"}],"#
                + #""failed":[{"index":1},{"index":3}]}"#),
        transaction(
            "A condition on an unknown key", given: [Samples.schema],
            if: #"{"suite":"app","key":"nothing","stored":false}"#, do: #""op":"set","key":"count","value":1"#, 422,
            .unknownKey, body: #"{"pointer":"/if/0/key"}"#),
        transaction(
            "A value of a key that the schema no longer lists, removed and set",
            given: ["PUT app/keys/old 1", Samples.narrowSchema],
            do: """
                "op":"delete","key":"old"
                "op":"set","key":"old","value":2
                """, 422, .unknownKey, body: #"{"pointer":"/do/1/key"}"#),
        transaction(
            "An operation on a value of another type", given: ["PUT app/keys/a true"],
            do: """
                "op":"set","key":"b","value":1
                "op":"add","key":"a","by":1
                """, 422, .invalidOperation,
            body: #"{"pointer":"/do/1","errors":[{"suite":"app","key":"a","pointer":"/do/1","keyword":"add"}],"#
                + #""failed":[{"index":1,"current":{"suite":"app","key":"a","value":true}}]}"#),
        transaction(
            "A patch step on a missing path", given: [#"PUT app/keys/a {"x":1}"#],
            do: #""op":"patch","key":"a","patch":[{"op":"remove","path":"/y"}]"#, 422, .invalidOperation,
            body: #"{"pointer":"/do/0/y","errors":[{"pointer":"/do/0/y","keyword":"patch"}],"failed":[{"index":0}]}"#),
        transaction(
            "An operation on an unset key", given: ["PUT app/keys/a 1"], do: #""op":"add","key":"b","by":1"#, 404,
            .notSet, body: #"{"pointer":"/do/0","failed":[{"index":0,"current":{"key":"b","source":"unset"}}]}"#),
        transaction(
            "An operation on a key that an earlier operation removes", given: ["PUT app/keys/a 1"],
            do: """
                "op":"delete","key":"a"
                "op":"add","key":"a","by":1
                """, 404, .notSet),
        transaction(
            "An operation on an invalid value", given: ["PUT app/keys/count 11", Samples.narrowSchema],
            do: #""op":"add","key":"count","by":-5"#, 409, .invalidStored,
            body: #"{"stored":11,"pointer":"/do/0","failed":[{"index":0,"current":{"source":"invalid"}}]}"#),
        transaction(
            "An operation in a suite that does not exist",
            do: """
                "op":"set","key":"a","value":true
                "op":"toggle","suite":"none","key":"a"
                """, 404, .unknownSuite,
            body: #"{"pointer":"/do/1/suite","failed":[{"index":1,"current":{"suite":"none","key":"a","revision":0}}]}"#
        ),
        transaction("A removal in a suite that does not exist", do: #""op":"delete","key":"a""#, 404, .unknownSuite),
        transaction(
            "A patch with a failed test", given: [#"PUT app/keys/a {"x":1}"#],
            do: #""op":"patch","key":"a","patch":[{"op":"test","path":"/x","value":2}]"#, 412, .preconditionFailed,
            body: #"{"failed":[{"index":0,"current":{"key":"a","value":{"x":1}}}],"pointer":"/do/0/x"}"#,
            lacks: ["current"]),
        transaction(
            "A locked key", given: [Samples.schema],
            do: """
                "op":"set","key":"count","value":2
                "op":"set","key":"fixed","value":2
                """, 403, .locked, body: #"{"pointer":"/do/1/key","failed":[{"index":1,"current":{"key":"fixed"}}]}"#),
        transaction(
            "A dry run of an invalid value", given: [Samples.schema],
            do: #""op":"set","key":"volume","value":2"#, 422, .invalidValue, query: "?dryRun"),
    ]

    @Test("A transaction is committed completely or not at all", arguments: successes + conditions + refused)
    func transaction(row: Row) throws {
        try row.check()
    }
}
