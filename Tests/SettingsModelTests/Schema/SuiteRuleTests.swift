import Testing

@testable import SettingsModel

struct SuiteRuleTests {
    /// The schema of a suite that requires a certificate if TLS is on.
    static func schemaWithTLS() throws -> Schema {
        try Schema(
            JSONValue(
                parsing: #"""
                    {"type": "object", "additionalProperties": false,
                     "properties": {"tls": {"type": "boolean", "default": false}, "certificate": {"type": "string"},
                                    "port": {"type": "integer", "default": 80}},
                     "if": {"properties": {"tls": {"const": true}}}, "then": {"required": ["certificate"]}}
                    """#))
    }

    @Test("A suite that satisfies `if` but not `then` has a violation that names the missing key")
    func certificate() throws {
        let schema = try Self.schemaWithTLS()
        #expect(schema.hasSuiteRules)
        #expect(schema.suiteViolations(of: ["tls": false]).isEmpty)
        #expect(schema.suiteViolations(of: ["tls": true, "certificate": "x"]).isEmpty)
        let violation = try #require(schema.suiteViolations(of: ["tls": true]).first)
        #expect(violation.key == "certificate")
        #expect(violation.keyword == "required")
        #expect(violation.pointer == .root)
        #expect(violation.detail.hasPrefix("is required"))
    }

    @Test
    func `A violation is new only if the suite did not have the violation before the change`() throws {
        let schema = try Self.schemaWithTLS()
        let broken: JSONObject = ["tls": true, "port": 80]
        #expect(schema.newSuiteViolations(before: ["tls": false], after: broken).map(\.key) == ["certificate"])
        #expect(schema.newSuiteViolations(before: broken, after: ["tls": true, "port": 81]).isEmpty)
        #expect(schema.newSuiteViolations(before: broken, after: ["tls": false]).isEmpty)
    }

    @Test("A violation of a rule that was already violated with another number is not new")
    func otherNumber() throws {
        let schema = try Schema(["additionalProperties": true, "maxProperties": 1])
        #expect(schema.newSuiteViolations(before: ["a": 1, "b": 1], after: ["a": 1, "b": 1, "c": 1]).isEmpty)
        #expect(schema.newSuiteViolations(before: ["a": 1], after: ["a": 1, "b": 1]).count == 1)
        let limit = try Schema(["additionalProperties": true, "allOf": [["properties": ["a": ["maximum": 1]]]]])
        #expect(limit.newSuiteViolations(before: ["a": 2], after: ["a": 3]).isEmpty)
    }

    @Test("A violation of another rule, at another key or for another missing key is new")
    func newViolations() throws {
        let schema = try Schema([
            "additionalProperties": true, "required": ["x", "y"],
            "allOf": [["additionalProperties": ["maximum": 1]], ["properties": ["a": ["maximum": 1]]]],
        ])
        #expect(schema.newSuiteViolations(before: ["y": 1], after: ["x": 1]).map(\.key) == ["y"])
        // The key `a` violates both rules of `allOf`, and `b` violated its rule before.
        let before: JSONObject = ["x": 1, "y": 1, "b": 5]
        #expect(
            schema.newSuiteViolations(before: before, after: ["x": 1, "y": 1, "b": 6, "a": 2]).map(\.key) == ["a", "a"])
    }

    @Test("Keys whose names are two Unicode forms of é violate a rule separately")
    func bytes() throws {
        let schema = try Schema(["additionalProperties": true, "allOf": [["additionalProperties": ["maximum": 1]]]])
        let new = schema.newSuiteViolations(before: ["\u{e9}": 2], after: ["\u{e9}": 2, "e\u{301}": 2])
        #expect(new.count == 1)
        // The form with a combining accent has three bytes.
        #expect(new.first?.key?.utf8.count == 3)
    }

    @Test("The rules of the suite also apply to invalid stored values")
    func invalidStored() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["a": ["type": "integer", "default": 1], "b": [:]],
            "required": ["b"], "dependentRequired": ["b": ["a"]],
            "allOf": [["not": ["required": ["a"], "properties": ["a": ["const": "bad"]]]]],
        ])
        let effective = schema.effectiveValues(stored: ["a": "bad", "b": 1])
        #expect(effective["a"] == "bad")
        #expect(schema.suiteViolations(of: effective).map(\.keyword) == ["not"])
        #expect(schema.suiteViolations(of: schema.effectiveValues(stored: ["b": 1])).isEmpty)
    }

    @Test("Rules of keys are not rules of the suite")
    func keysOnly() throws {
        let schema = try Schema([
            "$schema": .string(Schema.dialect), "type": "object", "title": "t", "additionalProperties": false,
            "properties": ["a": ["type": "integer"]], "patternProperties": ["^b": ["type": "string"]],
            "$defs": ["c": ["maximum": 1]],
        ])
        #expect(!schema.hasSuiteRules)
        #expect(schema.suiteViolations(of: ["a": "x", "b": 1, "unknown": 1]).isEmpty)
        #expect(schema.newSuiteViolations(before: [:], after: ["a": "x"]).isEmpty)
    }

    @Test(
        "A keyword at the top level of the schema, unless it contains the schemas of keys, is a rule of the suite",
        arguments: [
            (#"{"required": ["z"]}"#, "z", "required"),
            (#"{"dependentRequired": {"a": ["z"]}}"#, "z", "dependentRequired"),
            (#"{"dependentSchemas": {"a": {"required": ["z"]}}}"#, "z", "required"),
            (#"{"minProperties": 9}"#, nil, "minProperties"),
            (#"{"maxProperties": 1}"#, nil, "maxProperties"),
            (#"{"propertyNames": {"const": "a"}}"#, "b", "propertyNames"),
            (#"{"const": {}}"#, nil, "const"),
            (#"{"enum": []}"#, nil, "enum"),
            (#"{"anyOf": [false]}"#, nil, "anyOf"),
            (#"{"oneOf": [true, true]}"#, nil, "oneOf"),
            (#"{"not": {}}"#, nil, "not"),
            (#"{"allOf": [{"properties": {"b": false}}]}"#, "b", "false"),
            (#"{"allOf": [{"additionalProperties": false, "properties": {"a": true}}]}"#, "b", "additionalProperties"),
            (##"{"$ref": "#/$defs/r", "$defs": {"r": {"properties": {"b": {"minimum": 5}}}}}"##, "b", "minimum"),
        ])
    func everyKeyword(text: String, key: String?, keyword: String) throws {
        var document: JSONObject = ["additionalProperties": true]
        for member in try #require(JSONValue(parsing: text).object) { document[member.name] = member.value }
        // A schema is refused if its defaults alone violate a rule other than `required` or `minProperties`. A suite
        // without keys would violate some of the rules below, so the schema applies them only to a suite with a key.
        if ["not", "const", "enum", "anyOf", "oneOf"].contains(keyword) {
            document = ["additionalProperties": true, "if": ["minProperties": 1], "then": .object(document)]
        }
        let violations = try Schema(.object(document)).suiteViolations(of: ["a": 1, "b": 2])
        #expect(violations.map(\.keyword) == [keyword])
        #expect(violations.map(\.key) == [key])
    }

    @Test("A pointer inside a key's value begins at that value")
    func pointers() throws {
        let schema = try Schema([
            "additionalProperties": true, "allOf": [["additionalProperties": ["items": ["maximum": 1]]]],
        ])
        let violation = try #require(schema.suiteViolations(of: ["a/b": [1, 2]]).first)
        #expect(violation.key == "a/b")
        #expect(violation.pointer == ["1"])
        #expect(violation.sentence == "a/b at /1: must be at most 1 (got 2)")
    }
}
