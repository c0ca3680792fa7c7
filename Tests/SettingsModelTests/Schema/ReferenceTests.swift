import Testing

@testable import SettingsModel

struct ReferenceTests {
    /// The location of a problem as a JSON Pointer, the keyword, a part of the message, and whether the problem is a
    /// feature of JSON Schema that settingsd does not support. Any fragment that is not a JSON Pointer counts as an
    /// anchor, which is not supported.
    typealias Problem = BadSchema.Problem

    /// Returns a schema with a reference, and the problem of this reference.
    private static func reference(_ name: String, _ reference: String, _ part: String, isUnsupported: Bool) -> BadSchema
    {
        BadSchema(
            name, "{\"$defs\": {\"a\": {}}, \"items\": {\"$ref\": \"\(reference)\"}}",
            Problem("/items/$ref", "$ref", part, isUnsupported: isUnsupported))
    }

    @Test(
        "A reference that does not lead to a schema of the document is refused",
        arguments: [
            reference("missing definition", "#/$defs/b", "which the document does not contain", isUnsupported: false),
            reference("missing element", "#/allOf/0", "which the document does not contain", isUnsupported: false),
            reference(
                "other spelling of the name", "#/$defs/A", "which the document does not contain", isUnsupported: false),
            reference(
                "another document", "other.json#/$defs/a", "a reference must stay within the document",
                isUnsupported: true),
            reference(
                "a URL", "https://example.com/a", "a reference must stay within the document", isUnsupported: true),
            reference("an empty reference", "", "a reference must stay within the document", isUnsupported: true),
            reference("an anchor", "#a", "must be a JSON pointer after '#'", isUnsupported: true),
            reference(
                "an invalid escape of a JSON pointer", "#/$defs/a~2", "must be a JSON pointer", isUnsupported: true),
            reference("a percent sign alone", "#/$defs/%", "must be a JSON pointer", isUnsupported: true),
            reference("an incomplete percent code", "#/$defs/%6", "must be a JSON pointer", isUnsupported: true),
            reference("letters in a percent code", "#/$defs/%zz", "must be a JSON pointer", isUnsupported: true),
            reference("bytes that are no UTF-8", "#/$defs/%C3", "must be a JSON pointer", isUnsupported: true),
        ])
    func refusedReferences(sample: BadSchema) throws {
        try sample.check()
    }

    @Test("A reference to a value that is not a schema is refused at its target")
    func noSchema() throws {
        try BadSchema(
            "a title", ##"{"title": "x", "items": {"$ref": "#/title"}}"##,
            Problem("/title", "schema", "a schema must be an object, true or false (got a string)")
        ).check()
    }

    @Test(
        "A schema that refers to itself for the same value is refused",
        arguments: [
            ##"{"$ref": "#"}"##,
            ##"{"allOf": [{"$ref": "#"}]}"##,
            ##"{"anyOf": [true, {"$ref": "#"}]}"##,
            ##"{"oneOf": [{"$ref": "#"}]}"##,
            ##"{"not": {"$ref": "#"}}"##,
            ##"{"if": {"$ref": "#"}}"##,
            ##"{"if": true, "then": {"$ref": "#"}}"##,
            ##"{"if": true, "else": {"$ref": "#"}}"##,
            ##"{"dependentSchemas": {"a": {"$ref": "#"}}}"##,
            ##"{"items": {"$ref": "#/items"}}"##,
            ##"{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"anyOf": [{"$ref": "#/$defs/a"}]}}}}"##,
            ##"{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a/allOf/0"}]}}}"##,
        ])
    func cycle(text: String) throws {
        let problems = BadSchema.problems(of: try JSONValue(parsing: text))
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.first?.detail.contains("in an endless cycle") ?? false, "\(problems)")
        #expect(problems.first?.isUnsupported == false)
    }

    @Test(
        "A schema that refers to itself for a part of the value applies to each level of the value",
        arguments: [
            (##"{"type": "array", "items": {"$ref": "#"}}"##, "[[], [[]]]", "[[], [[], 1]]", "/1/1"),
            (##"{"type": "array", "prefixItems": [{"$ref": "#"}]}"##, "[[[], 1], 2]", "[[5]]", "/0/0"),
            (
                ##"{"type": "object", "properties": {"a": {"$ref": "#"}}}"##, #"{"a": {"b": 1}}"#, #"{"a": {"a": 1}}"#,
                "/a/a"
            ),
            (
                ##"{"type": "object", "additionalProperties": {"$ref": "#"}}"##, #"{"a": {}}"#, #"{"a": {"b": 1}}"#,
                "/a/b"
            ),
            (##"{"type": "object", "patternProperties": {"^a": {"$ref": "#"}}}"##, #"{"a": {}}"#, #"{"ab": 1}"#, "/ab"),
            (
                ##"{"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}"##, "[1, [2]]",
                "[1, [\"x\"]]", ""
            ),
            (##"{"contains": {"$ref": "#"}, "type": "array", "minContains": 0}"##, "[1]", "1", ""),
        ])
    func recursion(text: String, good: String, bad: String, pointer: String) throws {
        let schema = try KeySchema(JSONValue(parsing: text))
        #expect(schema.violations(of: try JSONValue(parsing: good)) == [])
        #expect(schema.violations(of: try JSONValue(parsing: bad)).map(\.pointer.description) == [pointer])
    }

    /// Returns a schema that refers to d0, with the definitions d0 to d`length`. Each definition refers to the next.
    private static func chain(of length: Int) -> JSONValue {
        var definitions = JSONObject()
        for index in 0..<length { definitions["d\(index)"] = ["$ref": .string("#/$defs/d\(index + 1)")] }
        definitions["d\(length)"] = ["type": "integer"]
        return ["$ref": "#/$defs/d0", "$defs": .object(definitions)]
    }

    @Test("A chain of references is accepted up to the limit of its length, and a longer chain is refused")
    func longChain() throws {
        // The limit is 64 schemas: here the whole document, and the definitions d0 to d62.
        let schema = try KeySchema(Self.chain(of: 62))
        #expect(schema.allows(1))
        #expect(schema.violations(of: "x").map(\.keyword) == ["type"])
        for length in [63, 64, 5_000] {
            let problems = BadSchema.problems(of: Self.chain(of: length))
            #expect(problems.count == 1)
            #expect(problems.first?.detail.contains("more than 64 schemas") ?? false, "\(problems)")
        }
    }

    @Test("A reference applies in addition to the keywords beside it")
    func siblings() throws {
        let schema = try KeySchema(["$ref": "#/$defs/a", "maximum": 5, "$defs": ["a": ["minimum": 3]]])
        #expect(schema.allows(4))
        #expect(schema.violations(of: 6).map(\.keyword) == ["maximum"])
        #expect(schema.violations(of: 2).map(\.keyword) == ["minimum"])
    }

    @Test(
        "A reference with an escaped or percent-encoded pointer finds its schema",
        arguments: [
            "#/$defs/a~1b", "#/%24defs/a~1b", "#/$defs/a%7E1b", "#/$defs/m~0n", "#/$defs/p%25q", "#/$defs/%C3%A9",
            "#/$defs/é", "#/$defs/%20%22", "#/$defs/", "#/$defs/list/prefixItems/1", "#%2F$defs%2Fp%25q",
        ])
    func pointers(reference: String) throws {
        // Each reference must find `const`. The last definition has another Unicode form of the name é.
        let schema = try KeySchema([
            "properties": ["x": ["$ref": .string(reference)]],
            "$defs": [
                "a/b": ["const": 1], "m~n": ["const": 1], "p%q": ["const": 1], "é": ["const": 1], " \"": ["const": 1],
                "": ["const": 1], "list": ["prefixItems": [true, ["const": 1]]], "e\u{301}": false,
            ],
        ])
        #expect(schema.allows(["x": 1]))
        #expect(schema.violations(of: ["x": 2]).map(\.keyword) == ["const"])
    }

    @Test("A reference can name any schema of the document, in exactly the Unicode form of the name")
    func unicodeForms() throws {
        let schema = try KeySchema([
            "properties": ["a": ["maximum": 3], "b": ["$ref": "#/properties/a"], "c": ["$ref": "#/$defs/e\u{301}"]],
            "$defs": ["é": false, "e\u{301}": true],
        ])
        #expect(schema.violations(of: ["a": 1, "b": 4, "c": 5]).map(\.pointer) == [["b"]])
    }
}
