import SettingsAPI
import SettingsModel
import Testing

/// `RefusedBody`: an invalid body, the pointer to the invalid part, and texts that the error contains.
struct JSONPatchTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let value: String
        let patch: String
        /// The value after the patch, or the reason of the failure.
        let result: String

        init(_ name: String, _ value: String, _ patch: String, _ result: String) {
            testDescription = name
            self.value = value
            self.patch = patch
            self.result = result
        }
    }

    @Test(
        "A patch has the result that RFC 6902 requires",
        arguments: [
            Case(
                "add a member", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#,
                #"{"foo":"bar","baz":"qux"}"#),
            Case(
                "add an element", #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                #"{"foo":["bar","qux","baz"]}"#),
            Case(
                "remove a member", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#
            ),
            Case(
                "remove an element", #"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#,
                #"{"foo":["bar","baz"]}"#),
            Case(
                "replace a value", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
                #"{"baz":"boo","foo":"bar"}"#),
            Case(
                "move a value", #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
            Case(
                "move an element", #"{"foo":["all","grass","cows","eat"]}"#,
                #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#, #"{"foo":["all","cows","eat","grass"]}"#),
            Case(
                "tests that hold", #"{"baz":"qux","foo":["a",2,"c"]}"#,
                #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
                #"{"baz":"qux","foo":["a",2,"c"]}"#),
            Case(
                "add an object in an object", #"{"foo":"bar"}"#,
                #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
                #"{"foo":"bar","child":{"grandchild":{}}}"#),
            Case(
                "unknown members of a step are ignored", #"{"foo":"bar"}"#,
                #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, #"{"foo":"bar","baz":"qux"}"#),
            Case(
                "a tilde in a name", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#,
                #"{"/":9,"~1":10}"#),
            Case(
                "add an array at the end", #"{"foo":["bar"]}"#,
                #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                #"{"foo":["bar",["abc","def"]]}"#),
            Case("add at the end by number", "[1]", #"[{"op":"add","path":"/1","value":2}]"#, "[1,2]"),
            Case(
                "add over an existing member", #"{"a":1,"b":2}"#, #"[{"op":"add","path":"/a","value":3}]"#,
                #"{"a":3,"b":2}"#),
            Case("add at the root replaces the whole value", "[1]", #"[{"op":"add","path":"","value":2}]"#, "2"),
            Case("replace the whole value", "[1]", #"[{"op":"replace","path":"","value":{"a":1}}]"#, #"{"a":1}"#),
            Case("replace an element", "[1,2]", #"[{"op":"replace","path":"/1","value":null}]"#, "[1,null]"),
            Case("move to the root", #"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a","path":""}]"#, #"{"b":1}"#),
            Case(
                "move to the same position", #"{"a":1,"b":2}"#, #"[{"op":"move","from":"/a","path":"/a"}]"#,
                #"{"a":1,"b":2}"#
            ),
            Case(
                "move over another member", #"{"a":1,"b":2}"#, #"[{"op":"move","from":"/a","path":"/b"}]"#, #"{"b":1}"#),
            Case("move outwards", #"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a/b","path":"/a"}]"#, #"{"a":1}"#),
            Case(
                "copy the whole value into itself", #"{"a":1}"#, #"[{"op":"copy","from":"","path":"/b"}]"#,
                #"{"a":1,"b":{"a":1}}"#),
            Case(
                "a copy is independent of the original", #"{"a":[1]}"#,
                #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/-","value":2}]"#,
                #"{"a":[1,2],"b":[1]}"#),
            Case(
                "each step sees the result of the previous step", "{}",
                #"[{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b","value":[]},"#
                    + #"{"op":"add","path":"/a/b/-","value":1},{"op":"test","path":"/a/b/0","value":1}]"#,
                #"{"a":{"b":[1]}}"#),
            Case("a member with an empty name", #"{"":1}"#, #"[{"op":"replace","path":"/","value":2}]"#, #"{"":2}"#),
            Case("a number as the name of a member", "{}", #"[{"op":"add","path":"/01","value":2}]"#, #"{"01":2}"#),
            Case("a dash as the name of a member", "{}", #"[{"op":"add","path":"/-","value":2}]"#, #"{"-":2}"#),
            Case(
                "tests compare numbers mathematically", #"{"a":1,"b":[1.0,{"c":1e2}]}"#,
                #"[{"op":"test","path":"/a","value":1.0},{"op":"test","path":"/b","value":[1,{"c":100}]}]"#,
                #"{"a":1,"b":[1.0,{"c":100.0}]}"#),
            Case(
                "tests ignore the order of members", #"{"a":1,"b":null}"#,
                #"[{"op":"test","path":"","value":{"b":null,"a":1}}]"#, #"{"a":1,"b":null}"#),
            Case("no steps", "5", "[]", "5"),
        ])
    func patches(example: Case) throws {
        let patch = try JSONPatch(json: JSONValue(parsing: example.patch))
        #expect(try patch.applied(to: JSONValue(parsing: example.value)).text() == example.result)
    }

    @Test(
        "A patch that cannot be applied fails with the step and the reason",
        arguments: [
            Case(
                "add below a missing member", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
                #"step 1 of the patch, add at /baz/bat: the object has no member "baz""#),
            Case(
                "a misspelt name", #"{"colour":1}"#, #"[{"op":"remove","path":"/color"}]"#,
                #"step 1 of the patch, remove at /color: the object has no member "color"; did you mean colour?"#),
            Case(
                "replace a missing member", "{}",
                #"[{"op":"add","path":"/a","value":1},{"op":"replace","path":"/b","value":1}]"#,
                #"step 2 of the patch, replace at /b: the object has no member "b"; did you mean a?"#),
            Case(
                "remove a missing element", "[1,2]", #"[{"op":"remove","path":"/2"}]"#,
                "step 1 of the patch, remove at /2: the array has no element at index 2 (it has 2 elements)"),
            Case(
                "add far beyond the end", "[1]", #"[{"op":"add","path":"/3","value":1}]"#,
                "step 1 of the patch, add at /3: the array has no element at index 3 (it has 1 element)"),
            Case(
                "a position with a leading zero", "[1,2]", #"[{"op":"remove","path":"/01"}]"#,
                #"step 1 of the patch, remove at /01: "01" is not a position in an array"#),
            Case(
                "a position beyond the range of integers", "[1]", #"[{"op":"remove","path":"/99999999999999999999"}]"#,
                #"step 1 of the patch, remove at /99999999999999999999: "99999999999999999999" is not a position in an array"#
            ),
            Case(
                "a negative position", "[1]", #"[{"op":"add","path":"/-1","value":1}]"#,
                #"step 1 of the patch, add at /-1: "-1" is not a position in an array"#),
            Case(
                "remove after the end", "[1]", #"[{"op":"remove","path":"/-"}]"#,
                #"step 1 of the patch, remove at /-: "-" is the position after the last element, which has no value"#),
            Case(
                "a name in an array", "[1]", #"[{"op":"add","path":"/a/b","value":1}]"#,
                #"step 1 of the patch, add at /a/b: "a" is not a position in an array"#),
            Case(
                "add a member to a scalar", #"{"a":1}"#, #"[{"op":"add","path":"/a/b","value":1}]"#,
                "step 1 of the patch, add at /a/b: an integer has no members or elements"),
            Case(
                "add below a member of a scalar", #"{"a":"x"}"#, #"[{"op":"add","path":"/a/b/c","value":1}]"#,
                "step 1 of the patch, add at /a/b/c: a string has no members or elements"),
            Case(
                "remove inside a scalar", #"{"a":true}"#, #"[{"op":"remove","path":"/a/b"}]"#,
                "step 1 of the patch, remove at /a/b: a boolean has no members or elements"),
            Case(
                "replace inside a scalar", #"{"a":null}"#, #"[{"op":"replace","path":"/a/0","value":1}]"#,
                "step 1 of the patch, replace at /a/0: null has no members or elements"),
            Case(
                "copy from inside a scalar", #"{"a":1}"#, #"[{"op":"copy","from":"/a/b","path":"/c"}]"#,
                "step 1 of the patch, copy from /a/b: an integer has no members or elements"),
            Case(
                "remove the whole value", "{}", #"[{"op":"remove","path":""}]"#,
                "step 1 of the patch, remove: the whole value cannot be removed"),
            Case(
                "move into itself", #"{"a":{"b":{}}}"#, #"[{"op":"move","from":"/a","path":"/a/b/c"}]"#,
                "step 1 of the patch, move at /a/b/c: a value cannot be moved into itself"),
            Case(
                "move the whole value into itself", #"{"a":{}}"#, #"[{"op":"move","from":"","path":"/a"}]"#,
                "step 1 of the patch, move at /a: a value cannot be moved into itself"),
            Case(
                "move a missing member", "{}", #"[{"op":"move","from":"/x","path":"/y"}]"#,
                #"step 1 of the patch, move from /x: the object has no member "x""#),
            Case(
                "move a missing member to the same position", "{}", #"[{"op":"move","from":"/x","path":"/x"}]"#,
                #"step 1 of the patch, move from /x: the object has no member "x""#),
            Case(
                "copy a missing element", "[]", #"[{"op":"copy","from":"/0","path":"/-"}]"#,
                "step 1 of the patch, copy from /0: the array has no element at index 0 (it has 0 elements)"),
        ])
    func impossible(example: Case) throws {
        let patch = try JSONPatch(json: JSONValue(parsing: example.patch))
        let error = #expect(throws: OperationError.self) { try patch.applied(to: JSONValue(parsing: example.value)) }
        #expect(error?.detail == example.result)
        #expect(error?.code == .invalidOperation)
        #expect(error?.step == patch.steps.count - 1)
        #expect(error?.pointer != nil)
    }

    @Test(
        "A patch whose test step fails is refused with the code precondition_failed",
        arguments: [
            Case(
                "another string", #"{"baz":"qux"}"#, #"[{"op":"test","path":"/baz","value":"bar"}]"#,
                #"step 1 of the patch, test at /baz: expected "bar", found "qux""#),
            Case(
                "a number for a string", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":"10"}]"#,
                #"step 1 of the patch, test at /~01: expected "10", found 10"#),
            Case(
                "a missing member", "{}", #"[{"op":"test","path":"/a","value":null}]"#,
                #"step 1 of the patch, test at /a: the object has no member "a""#),
            Case(
                "the double next to the integer", "9007199254740993",
                #"[{"op":"test","path":"","value":9007199254740992.0}]"#,
                "step 1 of the patch, test: expected 9007199254740992.0, found 9007199254740993"),
            Case(
                "an object with one more member", #"{"a":{"b":1}}"#, #"[{"op":"test","path":"/a","value":{}}]"#,
                "step 1 of the patch, test at /a: expected an object, found an object"),
            Case(
                "a long text", #"{"a":"0123456789012345678901234567890123456789x"}"#,
                #"[{"op":"test","path":"/a","value":[]}]"#,
                "step 1 of the patch, test at /a: expected an array, found a longer string"),
        ])
    func failingTests(example: Case) throws {
        let patch = try JSONPatch(json: JSONValue(parsing: example.patch))
        let error = #expect(throws: OperationError.self) { try patch.applied(to: JSONValue(parsing: example.value)) }
        #expect(error?.detail == example.result)
        #expect(error?.code == .preconditionFailed)
        #expect(error?.kind == .testFailed)
    }

    @Test(
        "An invalid patch is refused with the pointer to the invalid part",
        arguments: [
            RefusedBody("an object instead of an array", "{}", stating: ["an array", "got an object"]),
            RefusedBody("a step that is not an object", "[1]", at: "/0", stating: ["an object", "got an integer"]),
            RefusedBody("a step without op", "[{}]", at: "/0", stating: [#""op""#]),
            RefusedBody(
                "an unknown op", #"[{"op":"ad","path":"/a"}]"#, at: "/0/op", stating: [#""ad""#, "add"],
                didYouMean: ["add"]),
            RefusedBody("a step without a path", #"[{"op":"remove"}]"#, at: "/0", stating: [#""path""#]),
            RefusedBody("add without a value", #"[{"op":"add","path":"/a"}]"#, at: "/0", stating: [#""value""#]),
            RefusedBody("move without from", #"[{"op":"move","path":"/a"}]"#, at: "/0", stating: [#""from""#]),
            RefusedBody(
                "a path without a leading slash", #"[{"op":"remove","path":"a"}]"#,
                at: "/0/path", stating: ["a JSON Pointer such as /player/volume", "got another string"]),
            RefusedBody(
                "a tilde before a digit other than 0 or 1", #"[{"op":"move","path":"/a","from":"/a~2"}]"#,
                at: "/0/from", stating: ["a JSON Pointer such as /player/volume", "got another string"]),
        ])
    func refused(body: RefusedBody) throws {
        try body.expectRefusal(as: JSONPatch.self)
    }
}
