import TestSupport
import Testing

@testable import SettingsModel

/// Limits of lists, numbers and documents, stored schemas that would be refused as new schemas, and secrets in
/// messages.
@Suite(.ownThread)
struct SchemaBoundsTests {
    @Test
    func `A new violation is found after more old violations than the list can contain`() throws {
        let names = (0..<1_500).map { JSONValue.string("k\($0)") }
        let schema = try Schema([
            "type": "object", "additionalProperties": true, "required": .array(names), "maxProperties": 1,
        ])
        // Each suite lacks more than a thousand required keys, but a list of violations has at most 1,000 entries.
        let added = schema.newSuiteViolations(before: ["z": 1], after: ["z": 1, "y": 1])
        #expect(added.map(\.keyword) == ["maxProperties"])
        let violatedBefore = schema.newSuiteViolations(before: ["z": 1, "y": 1], after: ["z": 1, "k0": 1, "k1": 1])
        #expect(violatedBefore == [])
        #expect(schema.suiteViolations(of: ["z": 1]).count == 1_000)
    }

    @Test("A limit that is not a finite number is refused", arguments: [Double.nan, .infinity, -.infinity])
    func limits(number: Double) {
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
            #expect(throws: SchemaError.self) { try KeySchema(.object([keyword: .double(number)])) }
        }
    }

    @Test("A stored schema with a Unicode property that new schemas cannot have still validates values")
    func formerProperty() throws {
        let document: JSONValue = [
            "additionalProperties": false, "properties": ["name": ["pattern": #"^\p{Emoji}x$"#]],
            "patternProperties": [#"^\p{Alphabetic}+$"#: true],
        ]
        let error = #expect(throws: SchemaError.self) { try Schema(document) }
        #expect(error?.problems.map(\.keyword) == ["pattern", "patternProperties"])
        #expect(error?.problems.allSatisfy(\.isUnsupported) == true)
        // In a stored schema, such a property matches every character.
        let stored = try Schema(stored: document)
        #expect(stored.key("name")?.allows("😀x") == true && stored.key("name")?.allows("y") == false)
        #expect(stored.key("other") != nil)
    }

    @Test("A document with excessive nesting is refused, and the error names the limit")
    func deepDocument() {
        var document: JSONValue = true
        for _ in 0..<5_000 { document = ["not": document] }
        let error = #expect(throws: SchemaError.self) { try KeySchema(document) }
        #expect(error?.problems.first?.detail == "a schema may nest at most 128 levels deep")
    }

    @Test("A message does not contain the default of a key that is a secret through a reference")
    func secretDefault() throws {
        // The text `hunter2` stands for the secret. It violates the pattern.
        let error = #expect(throws: SchemaError.self) {
            try Schema([
                "additionalProperties": false,
                "$defs": ["secret": ["type": "string", "pattern": "^x", "writeOnly": true]],
                "properties": ["password": ["$ref": "#/$defs/secret", "default": "hunter2"]],
            ])
        }
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test("A violation of a writeOnly schema, direct or through a reference, does not contain the value")
    func secretValue() throws {
        // The text `hunter2` stands for the secret. It violates `const` or `maxLength`.
        let direct = try KeySchema(["writeOnly": true, "const": "x"])
        let throughReference = try KeySchema([
            "$ref": "#/$defs/secret", "$defs": ["secret": ["writeOnly": true]], "maxLength": 3,
        ])
        for schema in [direct, throughReference] {
            let violations = schema.violations(of: "hunter2")
            #expect(violations.count == 1)
            #expect(!violations.contains { "\($0)".contains("hunter2") })
        }
    }
}

@Suite(.ownThread)
struct ViolationLengthTests {
    static let long = JSONValue.string(String(repeating: "q", count: 3_000))

    @Test(
        "A long string is described by its length",
        arguments: [
            #"{"const": "x"}"#, #"{"enum": ["x"]}"#, #"{"type": "integer"}"#, #"{"pattern": "x"}"#,
            #"{"format": "uuid"}"#, #"{"contentEncoding": "base64", "maxLength": 0}"#,
            #"{"anyOf": [{"const": "x"}, {"format": "ipv6"}]}"#,
        ])
    func longString(text: String) throws {
        let schema = try KeySchema(JSONValue(parsing: text))
        let value = JSONValue.string(String(repeating: "q", count: 3_001))
        for violation in schema.violations(of: value) {
            #expect(!violation.detail.contains("qqq"))
            #expect(violation.actual == nil)
        }
        #expect(schema.violations(of: value).contains { $0.detail.contains("3001") })
    }

    @Test("A message shows the size of an array or object", arguments: [#"{"const": 1}"#, #"{"enum": [1]}"#])
    func container(text: String) throws {
        let schema = try KeySchema(JSONValue(parsing: text))
        for (value, phrase) in [
            ([Self.long, 2], "an array of 2 elements"), (["a": Self.long], "an object of 1 member"),
        ]
            as [(JSONValue, String)]
        {
            let violation = try #require(schema.violations(of: value).first)
            #expect(violation.detail.hasSuffix("(got \(phrase))"))
            #expect(violation.actual == nil)
        }
    }

    @Test("A violation contains a text of 80 bytes, but not a text of 81 bytes")
    func limit() throws {
        let schema = try KeySchema(["const": 1])
        let short = JSONValue.string(String(repeating: "é", count: 40))
        #expect(schema.violations(of: short).first?.actual == short)
        let longer = JSONValue.string(String(repeating: "é", count: 40) + "x")
        #expect(schema.violations(of: longer).first?.actual == nil)
        #expect(schema.violations(of: longer).first?.detail == "must be 1 (got a string of 41 characters)")
    }

    @Test("The expected value is in a violation only if it is short")
    func longExpectation() throws {
        let many = JSONValue.array((0..<5_000).map { .integer(Int64($0)) })
        for schema: JSONValue in [["enum": many], ["const": many], ["const": Self.long], ["enum": [Self.long]]] {
            let violation = try #require(try KeySchema(schema).violations(of: "x").first)
            #expect(violation.expected == nil)
            #expect(violation.detail.utf8.count < 300)
        }
        let few = JSONValue.array((0..<50).map { .integer(Int64($0)) })
        #expect(try KeySchema(["enum": few]).violations(of: "x").first?.expected == few)
    }

    @Test("Nested alternatives do not make a message of exponential length")
    func nestedAlternatives() throws {
        var schema: JSONValue = ["const": 1]
        for _ in 0..<12 { schema = ["anyOf": [schema, schema]] }
        let violation = try #require(try KeySchema(schema).violations(of: 2).first)
        #expect(
            violation.detail
                == "must match one of 2 alternatives: must match one of 2 alternatives, or must match one of 2 alternatives"
        )
    }

    @Test("A violation of propertyNames does not contain a long name")
    func longName() throws {
        let schema = try KeySchema(["propertyNames": ["enum": ["a"]], "additionalProperties": false])
        let member = JSONObject.Member(name: String(repeating: "q", count: 3_000), value: 1)
        let violations = schema.violations(of: .object(try #require(JSONObject([member]))))
        #expect(!violations.isEmpty)
        for violation in violations {
            #expect(!violation.detail.contains("qqq"))
        }
    }
}
