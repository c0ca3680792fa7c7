import SettingsAPI
import SettingsModel
import Testing

struct MergePatchTests {
    struct Merge: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let value: String
        let patch: String
        let result: String

        init(_ name: String, _ value: String, _ patch: String, _ result: String) {
            testDescription = name
            self.value = value
            self.patch = patch
            self.result = result
        }
    }

    @Test(
        "A merge patch has the result that RFC 7396 requires, and keeps the order of the members",
        arguments: [
            Merge("a member is replaced", #"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            Merge("a member is added last", #"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            Merge("null removes a member", #"{"a":"b"}"#, #"{"a":null}"#, "{}"),
            Merge("null removes one of two members", #"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            Merge("a string replaces an array", #"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            Merge("an array replaces a string", #"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            Merge(
                "a nested object, with null for a missing member", #"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#,
                #"{"a":{"b":"d"}}"#),
            Merge("arrays are not merged", #"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            Merge("a whole array is replaced", #"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            Merge("an array replaces an object", #"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
            Merge("null replaces an object", #"{"a":"foo"}"#, "null", "null"),
            Merge("a string replaces an object", #"{"a":"foo"}"#, #""bar""#, #""bar""#),
            Merge("a null in the value stays", #"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            Merge("an object replaces an array", "[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            Merge(
                "nulls are removed from new nested objects", "{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
            Merge("nulls in arrays stay", "{}", #"{"a":[null,{"b":null}]}"#, #"{"a":[null,{"b":null}]}"#),
            Merge("an empty patch of a scalar", "5", "{}", "{}"),
            Merge("an empty patch of an object", #"{"a":1}"#, "{}", #"{"a":1}"#),
            Merge(
                "an existing member keeps its position", #"{"a":1,"b":{"x":1,"y":2},"c":3}"#,
                #"{"d":4,"b":{"x":9,"z":0}}"#,
                #"{"a":1,"b":{"x":9,"y":2,"z":0},"c":3,"d":4}"#),
            Merge("names are compared by their bytes", "{\"\u{E9}\":1}", "{\"e\u{301}\":null}", "{\"\u{E9}\":1}"),
        ])
    func merges(merge: Merge) throws {
        let merged = try JSONValue(parsing: merge.value).merging(JSONValue(parsing: merge.patch))
        #expect(merged.text() == merge.result)
        #expect(
            try InPlaceOperation.merge(JSONValue(parsing: merge.patch)).applied(to: JSONValue(parsing: merge.value))
                == merged)
    }

    @Test("A merge patch that removes and adds very many members takes linear time", .timeLimit(.minutes(1)))
    func manyMembers() throws {
        // With quadratic time, the test would exceed its time limit.
        let count = 100_000
        var value = JSONObject()
        var patch = JSONObject()
        for index in 0..<count {
            value["old\(index)"] = .integer(Int64(index))
            patch["old\(index * 2)"] = .null
            patch["new\(index)"] = .object(["a": 1])
        }
        let merged = try JSONValue.object(value).merging(.object(patch))
        #expect(merged.object?.count == count / 2 + count)
        #expect(merged["old1"] == 1)
        #expect(merged["old2"] == nil)
        #expect(merged["new7"] == ["a": 1])
    }
}
