import Testing

@testable import SettingsModel

/// Problems of defaults, and of the top level of the schema of a suite.
struct DefaultProblemTests {
    /// The location of a problem as a JSON Pointer, the keyword, and a part of the message.
    typealias Problem = BadSchema.Problem

    /// Returns the schema of a suite with the given properties and no other keys, and the problems of the schema.
    private static func closed(_ name: String, _ properties: String, _ problems: Problem...) -> BadSchema {
        BadSchema(name, "{\"additionalProperties\": false, \"properties\": \(properties)}", problems)
    }

    @Test(
        "A default that the schema of its key does not allow is refused",
        arguments: [
            closed(
                "a limit of the key", #"{"a": {"maximum": 1, "default": 2}}"#,
                Problem("/properties/a/default", "default", "default must be at most 1 (got 2)")),
            closed(
                "part of the default", #"{"a": {"items": {"type": "string"}, "default": ["x", 1]}}"#,
                Problem("/properties/a/default", "default", "at /1: must be a string")),
            closed(
                "a default of a member", #"{"a": {"properties": {"b": {"type": "string", "default": 1}}}}"#,
                Problem("/properties/a/properties/b/default", "default", "must be a string")),
            closed(
                "a rule of the referenced schema",
                ##"{"a": {"$ref": "#/properties/b", "default": 9}, "b": {"maximum": 5}}"##,
                Problem("/properties/a/default", "default", "must be at most 5 (got 9)")),
            closed(
                "a default of the referenced schema that the key refuses",
                ##"{"a": {"$ref": "#/properties/b", "maximum": 5}, "b": {"default": 9}}"##,
                Problem("/properties/a", "default", "must be at most 5 (got 9)")),
            closed(
                "in a definition", #"{"a": {"$defs": {"d": {"type": "string", "default": 1}}}}"#,
                Problem("/properties/a/$defs/d/default", "default", "must be a string")),
            closed(
                "a key that allows no value", #"{"a": {"not": {}, "default": 1}}"#,
                Problem("/properties/a/default", "default", "must not match the schema of the keyword not")),
        ])
    func invalidDefault(sample: BadSchema) throws {
        try sample.checkAsSuite()
    }

    @Test("A default that the schema of a pattern for the name of the key does not allow is refused")
    func patternedDefault() throws {
        try BadSchema(
            "pattern",
            #"""
            {"additionalProperties": false, "properties": {"port.http": {"default": 8080}},
             "patternProperties": {"^port": {"maximum": 1024}}}
            """#,
            Problem("/properties/port.http", "default", "must be at most 1024 (got 8080)")
        ).checkAsSuite()
    }

    @Test("A default that is valid after normalization becomes the key's default in the normalized form")
    func integralDefault() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["a": ["type": "integer", "default": 3.0]],
        ])
        #expect(schema.key("a")?.defaultValue == 3)
        #expect(schema.effectiveValues(stored: [:]) == ["a": 3])
    }

    @Test(
        "Defaults that together violate a rule of the suite are refused",
        arguments: [
            BadSchema(
                "condition",
                #"""
                {"additionalProperties": false, "properties": {"tls": {"default": true}, "certificate": {}},
                 "if": {"properties": {"tls": {"const": true}}}, "then": {"required": ["certificate"]}}
                """#,
                Problem("", "required", "the defaults break a rule of the suite: certificate: is required")),
            BadSchema(
                "a dependent required key",
                #"""
                {"additionalProperties": true, "properties": {"a": {"default": 1}}, "dependentRequired": {"a": ["b"]}}
                """#,
                Problem("", "dependentRequired", "must have b, because a is present")),
            BadSchema(
                "number of keys",
                #"""
                {"additionalProperties": true, "properties": {"a": {"default": 1}, "b": {"default": 1}},
                 "maxProperties": 1}
                """#,
                Problem("", "maxProperties", "must have at most 1 member (got 2)")),
            BadSchema(
                "a rule for one key in allOf",
                #"""
                {"additionalProperties": true, "properties": {"a": {"default": 1}},
                 "allOf": [{"properties": {"a": {"minimum": 2}}}]}
                """#,
                Problem("", "minimum", "a: must be at least 2 (got 1)")),
        ])
    func defaultsTogether(sample: BadSchema) throws {
        try sample.checkAsSuite()
    }

    @Test("Defaults need not satisfy the keywords required and minProperties of the suite")
    func incompleteDefaults() throws {
        let schema = try Schema([
            "additionalProperties": true, "properties": ["a": ["default": 1], "b": [:]], "required": ["b"],
            "minProperties": 2,
        ])
        #expect(schema.suiteViolations(of: ["a": 1]).map(\.keyword) == ["required", "minProperties"])
        #expect(schema.suiteViolations(of: ["a": 1, "b": 1]).isEmpty)
    }

    @Test(
        "A document that does not satisfy the requirements for the schema of a suite is refused",
        arguments: [
            BadSchema(
                "no additionalProperties", #"{"properties": {}}"#,
                Problem("", "additionalProperties", "additionalProperties is missing at the top level")),
            BadSchema(
                "another type", #"{"type": "array", "additionalProperties": false}"#,
                Problem("/type", "type", "must be \"object\" at the top level")),
            BadSchema(
                "a list of types", #"{"type": ["object"], "additionalProperties": false}"#,
                Problem("/type", "type", "must be \"object\" at the top level")),
            BadSchema("true", "true", Problem("", "schema", "must be an object (got a boolean)")),
            BadSchema("null", "null", Problem("", "schema", "must be an object (got null)")),
            BadSchema(
                "several problems", #"{"maxmum": 1, "type": "string", "properties": {"a": {"type": 1}}}"#,
                Problem("", "additionalProperties", "is missing at the top level"),
                Problem("/maxmum", "maxmum", "maximum", isUnsupported: true),
                Problem("/type", "type", "must be \"object\" at the top level"),
                Problem("/properties/a/type", "type", "names 1")),
        ])
    func topLevel(sample: BadSchema) throws {
        try sample.checkAsSuite()
    }

    @Test(
        "The schema of a suite is accepted without a type, and with $schema and type",
        arguments: [false, true, [:], ["type": "string"]] as [JSONValue])
    func leastSchema(additional: JSONValue) throws {
        _ = try Schema(["additionalProperties": additional])
        _ = try Schema([
            "$schema": .string(Schema.dialect), "type": "object", "additionalProperties": additional,
        ])
    }
}
