import SettingsAPI
import SettingsModel
import Testing

struct RequestBodiesTests {
    @Test(
        "An operation in place reads back as it was written",
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
        "A transaction reads back as it was written",
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
        "A transaction that is not as it should be is refused at the place, with what may have been meant",
        arguments: [
            RefusedBody("no object", "[]", "expected an object, found an array"),
            RefusedBody("nothing to do", "{}", #"the member "do" is missing"#),
            RefusedBody(
                "a member that is misspelt", #"{"iff":[],"do":[]}"#, #"/iff: unknown member "iff"; did you mean if?"#,
                didYouMean: ["if"]),
            RefusedBody(
                "a member like no other", #"{"do":[],"comment":""}"#,
                #"/comment: unknown member "comment"; use one of if, do"#),
            RefusedBody("no list", #"{"do":{}}"#, "/do: expected an array, found an object"),
            RefusedBody("null for conditions", #"{"if":null,"do":[]}"#, "/if: expected an array, found null"),
            RefusedBody(
                "an unknown operation", #"{"do":[{"op":"set","suite":"a","key":"k","value":1},{"op":"apend"}]}"#,
                #"/do/1/op: unknown op "apend"; did you mean append?"#, didYouMean: ["append"]),
            RefusedBody(
                "an operation like no other", #"{"do":[{"op":"frobnicate"}]}"#,
                #"/do/0/op: unknown op "frobnicate"; use one of set, delete, add, append, concat, toggle, merge, patch"#
            ),
            RefusedBody("no operation", #"{"do":[{"suite":"a"}]}"#, #"/do/0: the member "op" is missing"#),
            RefusedBody(
                "a value misspelt", #"{"do":[{"op":"set","suite":"a","key":"k","vlaue":1}]}"#,
                #"/do/0/vlaue: unknown member "vlaue"; did you mean value?"#, didYouMean: ["value"]),
            RefusedBody(
                "a value that delete does not have", #"{"do":[{"op":"delete","suite":"a","key":"k","value":1}]}"#,
                #"/do/0/value: unknown member "value"; use one of op, suite, key"#),
            RefusedBody(
                "a member that set does not have", #"{"do":[{"op":"set","suite":"a","key":"k","comment":1}]}"#,
                #"/do/0/comment: unknown member "comment"; use one of op, suite, key, value"#),
            RefusedBody(
                "a member that append does not have", #"{"do":[{"op":"append","suite":"a","key":"k","comment":1}]}"#,
                #"/do/0/comment: unknown member "comment"; use one of op, suite, key, values"#),
            RefusedBody(
                "a misspelt op", #"{"do":[{"oq":"set","suite":"a","key":"k","value":1}]}"#,
                #"/do/0/oq: unknown member "oq"; did you mean op?"#, didYouMean: ["op"]),
            RefusedBody(
                "no value", #"{"do":[{"op":"set","suite":"a","key":"k"}]}"#, #"/do/0: the member "value" is missing"#),
            RefusedBody(
                "no key", #"{"do":[{"op":"toggle","suite":"a"}]}"#, #"/do/0: the member "key" is missing"#),
            RefusedBody(
                "a bad suite", #"{"do":[{"op":"toggle","suite":"a b","key":"k"}]}"#,
                "/do/0/suite: a suite name must consist of A-Z a-z 0-9 . _ -, but character 2 is ' '"),
            RefusedBody(
                "adding no number", #"{"do":[{"op":"add","suite":"a","key":"k","by":"1"}]}"#,
                "/do/0/by: expected a number, found a string"),
            RefusedBody(
                "appending no list", #"{"do":[{"op":"append","suite":"a","key":"k","values":"x"}]}"#,
                "/do/0/values: expected an array, found a string"),
            RefusedBody(
                "an unknown step of a patch",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"spam","path":"/a"}]}]}"#,
                #"/do/0/patch/0/op: unknown op "spam"; use one of add, remove, replace, move, copy, test"#),
            RefusedBody(
                "a step without its path",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"remove"}]}]}"#,
                #"/do/0/patch/0: the member "path" is missing"#),
            RefusedBody(
                "a path that is none",
                #"{"do":[{"op":"patch","suite":"a","key":"k","patch":[{"op":"remove","path":"a"}]}]}"#,
                "/do/0/patch/0/path: expected a JSON Pointer such as /player/volume, found another string"),
        ])
    func refusedTransactions(body: RefusedBody) throws {
        let error = try bodyError(body.text, as: Transaction.self)
        #expect(error?.description == body.description)
        #expect(error?.didYouMean == body.didYouMean)
    }

    @Test(
        "A condition that is not as it should be is refused at the place",
        arguments: [
            RefusedBody("no test", #"{"suite":"a","key":"k"}"#, "expected a member revision, stored or value"),
            RefusedBody(
                "two tests", #"{"suite":"a","key":"k","revision":1,"stored":true}"#,
                "expected only one of revision, stored and value, found revision and stored"),
            RefusedBody("no suite", #"{"key":"k","revision":1}"#, #"the member "suite" is missing"#),
            RefusedBody("a value of no key", #"{"suite":"a","value":1}"#, #"the member "key" is missing"#),
            RefusedBody(
                "stored what", #"{"suite":"a","key":"k","stored":1}"#,
                "/stored: expected true or false, found an integer"),
            RefusedBody(
                "no revision", #"{"suite":"a","revision":"3"}"#, "/revision: expected an integer, found a string"),
            RefusedBody(
                "a member misspelt", #"{"suite":"a","key":"k","revison":3}"#,
                #"/revison: unknown member "revison"; did you mean revision?"#, didYouMean: ["revision"]),
        ])
    func refusedConditions(body: RefusedBody) throws {
        let error = try bodyError(body.text, as: Transaction.Condition.self)
        #expect(error?.description == body.description)
        #expect(error?.didYouMean == body.didYouMean)
    }

    @Test(
        "An operation in place that is not as it should be is refused at the place",
        arguments: [
            RefusedBody("no object", "1", "expected an object, found an integer"),
            RefusedBody("nothing", "{}", #"the member "op" is missing"#),
            RefusedBody("no word", #"{"op":1}"#, "/op: expected a string, found an integer"),
            RefusedBody("no operand", #"{"op":"add"}"#, #"the member "by" is missing"#),
            RefusedBody(
                "set is no operation in place", #"{"op":"set","value":1}"#,
                #"/op: unknown op "set"; use one of add, append, concat, toggle, merge, patch"#),
            RefusedBody(
                "the operand of another", #"{"op":"concat","values":["x"]}"#,
                #"/values: unknown member "values"; use one of op, text"#),
            RefusedBody(
                "a suite", #"{"op":"toggle","suite":"a"}"#,
                #"/suite: unknown member "suite"; use one of op"#),
            RefusedBody(
                "a member like no other", #"{"op":"merge","value":{},"comment":""}"#,
                #"/comment: unknown member "comment"; use one of op, value"#),
            RefusedBody("a misspelt op", #"{"ob":"add","by":1}"#, #"/ob: unknown member "ob"; did you mean op?"#),
            RefusedBody(
                "a member instead of the op", #"{"add":1}"#,
                #"/add: unknown member "add"; use one of op, by, values, text, value, patch"#),
        ])
    func refusedOperations(body: RefusedBody) throws {
        #expect(try bodyError(body.text, as: InPlaceOperation.self)?.description == body.description)
    }

    @Test("A request body written by a client is equal after reading")
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
        #expect(error?.detail.unicodeScalars.count ?? .max < 150)
        #expect(error?.description.unicodeScalars.count ?? .max < 350)
    }
}
