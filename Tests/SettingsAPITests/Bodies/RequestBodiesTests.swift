import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct RequestBodiesTests {
    @Test(
        "An operation in place is equal after writing and reading",
        arguments: [
            #"{"op":"add","by":1}"#, #"{"op":"add","by":-0.5}"#, #"{"op":"append","values":["x"]}"#,
            #"{"op":"append","values":[]}"#, #"{"op":"concat","text":"…"}"#, #"{"op":"toggle"}"#,
            #"{"op":"merge","value":{"a":null}}"#, #"{"op":"merge","value":null}"#,
            #"{"op":"patch","patch":[{"op":"test","path":"/a","value":null},{"op":"remove","path":"/a"},"#
                + #"{"op":"add","path":"","value":1},{"op":"replace","path":"/~0~1","value":1},"#
                + #"{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/b/-"}]}"#,
        ])
    func operations(text: String) throws {
        try expectRoundTrip(text, as: InPlaceOperation.self)
    }

    @Test("An added integer stays an integer, and an added double stays a double")
    func amounts() throws {
        #expect(try InPlaceOperation(json: ["op": "add", "by": 1]) == .add(1))
        #expect(try InPlaceOperation(json: ["op": "add", "by": 1.0]) == .add(1.0))
        #expect(InPlaceOperation.add(1) != .add(1.0))
    }

    @Test(
        "A transaction is equal after writing and reading",
        arguments: [
            #"{"do":[]}"#,
            #"{"if":[{"suite":"a","revision":0},{"suite":"a","key":"k","revision":3},"#
                + #"{"suite":"a","key":"k","stored":false},{"suite":"a","key":"k","value":null}],"#
                + #""do":[{"op":"set","suite":"a","key":"k","value":null},{"op":"delete","suite":"a","key":"k"},"#
                + #"{"op":"add","suite":"a","key":"k","by":1},{"op":"append","suite":"a","key":"k","values":[1]},"#
                + #"{"op":"concat","suite":"a","key":"k","text":"x"},{"op":"toggle","suite":"b","key":"k"},"#
                + #"{"op":"merge","suite":"a","key":"k","value":{}},"#
                + #"{"op":"patch","suite":"a","key":"k","patch":[{"op":"remove","path":"/a"}]}]}"#,
        ])
    func transactions(text: String) throws {
        try expectRoundTrip(text, as: Transaction.self)
    }

    @Test(
        "An invalid transaction is refused with the pointer to the invalid member, and with suggestions",
        arguments: [
            RefusedBody("an array instead of an object", "[]", stating: ["an object", "got an array"]),
            RefusedBody("no member do", "{}", stating: [#""do""#]),
            RefusedBody(
                "a misspelt member", #"{"iff":[],"do":[]}"#, at: "/iff", stating: [#""iff""#, "if"],
                didYouMean: ["if"]),
            RefusedBody(
                "an unknown member without a similar name", #"{"do":[],"comment":""}"#,
                at: "/comment", stating: [#""comment""#, "if, do"]),
            RefusedBody("do is not an array", #"{"do":{}}"#, at: "/do", stating: ["an array", "got an object"]),
            RefusedBody(
                "null instead of conditions", #"{"if":null,"do":[]}"#, at: "/if", stating: ["an array", "got null"]),
            RefusedBody(
                "an unknown operation", #"{"do":[{"op":"set","suite":"a","key":"k","value":1},{"op":"apend"}]}"#,
                at: "/do/1/op", stating: [#""apend""#, "append"], didYouMean: ["append"]),
            RefusedBody(
                "an unknown operation without a similar name", #"{"do":[{"op":"frobnicate"}]}"#,
                at: "/do/0/op", stating: [#""frobnicate""#, "set, delete, add, append, concat, toggle, merge, patch"]),
            RefusedBody("an operation without op", #"{"do":[{"suite":"a"}]}"#, at: "/do/0", stating: [#""op""#]),
            RefusedBody(
                "a misspelt value", #"{"do":[{"op":"set","suite":"a","key":"k","vlaue":1}]}"#,
                at: "/do/0/vlaue", stating: [#""vlaue""#, "value"], didYouMean: ["value"]),
            RefusedBody(
                "delete with a value", #"{"do":[{"op":"delete","suite":"a","key":"k","value":1}]}"#,
                at: "/do/0/value", stating: [#""value""#, "op, suite, key"]),
            RefusedBody(
                "set with an unknown member", #"{"do":[{"op":"set","suite":"a","key":"k","comment":1}]}"#,
                at: "/do/0/comment", stating: [#""comment""#, "op, suite, key, value"]),
            RefusedBody(
                "append with an unknown member", #"{"do":[{"op":"append","suite":"a","key":"k","comment":1}]}"#,
                at: "/do/0/comment", stating: [#""comment""#, "op, suite, key, values"]),
            RefusedBody(
                "a misspelt op", #"{"do":[{"oq":"set","suite":"a","key":"k","value":1}]}"#,
                at: "/do/0/oq", stating: [#""oq""#, "op"], didYouMean: ["op"]),
            RefusedBody(
                "set without a value", #"{"do":[{"op":"set","suite":"a","key":"k"}]}"#, at: "/do/0",
                stating: [#""value""#]),
            RefusedBody(
                "toggle without a key", #"{"do":[{"op":"toggle","suite":"a"}]}"#, at: "/do/0", stating: [#""key""#]),
            RefusedBody(
                "an invalid suite name", #"{"do":[{"op":"toggle","suite":"a b","key":"k"}]}"#,
                at: "/do/0/suite", stating: ["A-Z a-z 0-9 . _ -", "character 2 is ' '"]),
            RefusedBody(
                "add of a string", #"{"do":[{"op":"add","suite":"a","key":"k","by":"1"}]}"#,
                at: "/do/0/by", stating: ["a number", "got a string"]),
            RefusedBody(
                "append of a string", #"{"do":[{"op":"append","suite":"a","key":"k","values":"x"}]}"#,
                at: "/do/0/values", stating: ["an array", "got a string"]),
            RefusedBody(
                "a patch step with an unknown operation",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"spam","path":"/a"}]}]}"#,
                at: "/do/0/patch/0/op", stating: [#""spam""#, "add, remove, replace, move, copy, test"]),
            RefusedBody(
                "a patch step without a path",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"remove"}]}]}"#,
                at: "/do/0/patch/0", stating: [#""path""#]),
            RefusedBody(
                "a path that is not a JSON pointer",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"remove","path":"a"}]}]}"#,
                at: "/do/0/patch/0/path", stating: ["a JSON Pointer such as /player/volume", "got another string"]),
        ])
    func refusedTransactions(body: RefusedBody) throws {
        try body.expectRefusal(as: Transaction.self)
    }

    @Test(
        "An invalid condition is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody(
                "neither a revision, stored nor a value", #"{"suite":"a","key":"k"}"#,
                stating: ["revision, stored or value"]),
            RefusedBody(
                "both a revision and stored", #"{"suite":"a","key":"k","revision":1,"stored":true}"#,
                stating: ["revision, stored and value", "revision and stored"]),
            RefusedBody("no suite", #"{"key":"k","revision":1}"#, stating: [#""suite""#]),
            RefusedBody("a value without a key", #"{"suite":"a","value":1}"#, stating: [#""key""#]),
            RefusedBody(
                "stored is not a boolean", #"{"suite":"a","key":"k","stored":1}"#,
                at: "/stored", stating: ["true or false", "got an integer"]),
            RefusedBody(
                "the revision is a string", #"{"suite":"a","revision":"3"}"#, at: "/revision",
                stating: ["an integer", "got a string"]),
            RefusedBody(
                "a misspelt member", #"{"suite":"a","key":"k","revison":3}"#,
                at: "/revison", stating: [#""revison""#, "revision"], didYouMean: ["revision"]),
        ])
    func refusedConditions(body: RefusedBody) throws {
        try body.expectRefusal(as: Transaction.Condition.self)
    }

    @Test(
        "An invalid operation in place is refused with the pointer to the invalid member",
        arguments: [
            RefusedBody("an integer instead of an object", "1", stating: ["an object", "got an integer"]),
            RefusedBody("an empty object", "{}", stating: [#""op""#]),
            RefusedBody("op is not a string", #"{"op":1}"#, at: "/op", stating: ["a string", "got an integer"]),
            RefusedBody("add without an amount", #"{"op":"add"}"#, stating: [#""by""#]),
            RefusedBody(
                "set, which is not an operation in place", #"{"op":"set","value":1}"#,
                at: "/op", stating: [#""set""#, "add, append, concat, toggle, merge, patch"]),
            RefusedBody(
                "the operand of another operation", #"{"op":"concat","values":["x"]}"#,
                at: "/values", stating: [#""values""#, "op, text"]),
            RefusedBody(
                "a suite, which the operation does not have", #"{"op":"toggle","suite":"a"}"#,
                at: "/suite", stating: [#""suite""#, "op"]),
            RefusedBody(
                "an unknown member without a similar name", #"{"op":"merge","value":{},"comment":""}"#,
                at: "/comment", stating: [#""comment""#, "op, value"]),
            RefusedBody(
                "a misspelt op", #"{"ob":"add","by":1}"#, at: "/ob", stating: [#""ob""#, "op"], didYouMean: ["op"]),
            RefusedBody(
                "the operation as the name of a member", #"{"add":1}"#,
                at: "/add", stating: [#""add""#, "op, by, values, text, value, patch"]),
        ])
    func refusedOperations(body: RefusedBody) throws {
        try body.expectRefusal(as: InPlaceOperation.self)
    }

    @Test("A transaction made from values is equal after writing and reading")
    func fromValues() throws {
        let (app, key) = (try SuiteName("app"), try KeyName("launchCount"))
        let transaction = Transaction(
            if: [.suite(app, .zero), .setting(app, key, .stored(false))],
            do: [
                Transaction.Operation(suite: app, key: key, .set(0)),
                Transaction.Operation(suite: app, key: key, .change(.add(1))),
                Transaction.Operation(suite: app, key: key, .change(.patch(JSONPatch([.remove(JSONPointer(["a"]))])))),
            ])
        #expect(
            transaction.jsonText()
                == #"{"if":[{"suite":"app","revision":0},{"suite":"app","key":"launchCount","stored":false}],"#
                + #""do":[{"op":"set","suite":"app","key":"launchCount","value":0},"#
                + #"{"op":"add","suite":"app","key":"launchCount","by":1},"#
                + #"{"op":"patch","suite":"app","key":"launchCount","patch":[{"op":"remove","path":"/a"}]}]}"#)
        #expect(try Transaction(json: JSONValue(parsing: transaction.jsonBytes())) == transaction)
    }

    @Test("An error truncates a long name")
    func longName() throws {
        let name = String(repeating: "é", count: 100_000)
        let error = try bodyError("{\"\(name)\":1}", as: Transaction.self)
        // A message contains at most 64 characters of a name. The limits leave room for the other words.
        #expect(error?.detail.unicodeScalars.count ?? .max < 150)
        #expect(error?.description.unicodeScalars.count ?? .max < 350)
    }
}
