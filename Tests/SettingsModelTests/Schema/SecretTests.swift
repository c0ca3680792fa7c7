import TestSupport
import Testing

@testable import SettingsModel

struct SecretTests {
    /// Rules of a schema, and values of the key `password` that violate the rules. In `cases`, the rules are the schema
    /// of the key; in `suiteRules`, they are rules of the suite. `§` in a value stands for the secret.
    struct Case: Sendable, CustomTestStringConvertible {
        let schema: String
        let values: [String]

        init(_ schema: String, _ values: String...) {
            self.schema = schema
            self.values = values
        }

        var testDescription: String { schema }
    }

    static let cases: [Case] = [
        Case(#"{"type": "integer"}"#, #""§""#, #"["§"]"#, "§1.5"),
        Case(#"{"type": ["null", "boolean"]}"#, #""§""#, "§"),
        Case("false", #""§""#),
        Case(#"{"const": "x"}"#, #""§""#, #"{"§": "§"}"#),
        Case(#"{"enum": ["x", 1]}"#, #""§""#, "§"),
        Case(#"{"minimum": 99999999999999, "exclusiveMinimum": 99999999999999}"#, "§", "§.5"),
        Case(#"{"maximum": 1, "exclusiveMaximum": 1, "multipleOf": 0.7}"#, "§", "§.5"),
        Case(#"{"minLength": 999}"#, #""§""#),
        Case(#"{"maxLength": 1, "pattern": "^x$", "format": "ipv4", "contentEncoding": "base64"}"#, #""§!""#),
        Case(#"{"items": {"maxLength": 1}}"#, #"["§", "§"]"#),
        Case(#"{"prefixItems": [false], "items": {"type": "null"}}"#, #"["§", "§", §]"#),
        Case(#"{"contains": {"const": 1}, "minItems": 9}"#, #"["§"]"#),
        Case(#"{"contains": {"minLength": 1}, "maxContains": 1, "maxItems": 1}"#, #"["§", "§"]"#),
        Case(#"{"uniqueItems": true}"#, #"["§", "§"]"#, #"[{"§": 1}, {"§": 1}]"#),
        Case(#"{"properties": {"a": {"properties": {"b": {"const": 1}}}}}"#, #"{"a": {"b": "§"}}"#),
        Case(#"{"patternProperties": {"[0-9]{6}": {"type": "integer"}}}"#, #"{"§": "§"}"#),
        Case(#"{"additionalProperties": false}"#, #"{"§": 1}"#),
        Case(#"{"properties": {"123456789012": true}, "additionalProperties": false}"#, #"{"§": 1}"#),
        Case(#"{"additionalProperties": {"additionalProperties": false}}"#, #"{"§": {"§": 1}}"#),
        Case(#"{"propertyNames": {"maxLength": 2}}"#, #"{"§": 1}"#),
        Case(#"{"propertyNames": {"anyOf": [{"const": "x"}, {"pattern": "^y"}]}}"#, #"{"§": 1}"#),
        Case(#"{"required": ["a"], "minProperties": 9}"#, #"{"§": "§"}"#),
        Case(#"{"maxProperties": 1, "dependentRequired": {"a": ["b"]}}"#, #"{"a": "§", "§": 1}"#),
        Case(#"{"dependentSchemas": {"a": {"properties": {"a": {"const": 1}}}}}"#, #"{"a": "§"}"#),
        Case(#"{"allOf": [{"const": 1}, {"items": {"const": 1}}]}"#, #""§""#, #"["§"]"#),
        Case(#"{"anyOf": [{"const": "x"}, {"pattern": "^x"}, {"type": "integer"}]}"#, #""§""#),
        Case(
            #"{"anyOf": [{"properties": {"a": {"const": 1}}, "additionalProperties": false}]}"#, #"{"§": 1, "a": "§"}"#),
        Case(#"{"oneOf": [{"const": "x"}, {"maxLength": 1}]}"#, #""§""#),
        Case(#"{"oneOf": [true, {"pattern": "."}]}"#, #""§""#),
        Case(#"{"not": {"type": "string"}}"#, #""§""#),
        Case(#"{"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"const": 1}}"#, #""§""#, "[§]"),
        Case(##"{"$ref": "#/$defs/rule"}"##, #""§""#, #"{"a": "§"}"#),
    ]

    /// The ways in which a schema can make the key `password` a secret. Each function gets a rule for the value of the
    /// key.
    static let declarations: [@Sendable (JSONValue) -> JSONValue] = [
        { ["properties": ["password": ["writeOnly": true, "allOf": [$0]]]] },
        { ["properties": ["password": ["$ref": "#/$defs/secret", "allOf": [$0]]]] },
        { ["properties": ["password": ["$ref": "#/$defs/secret", "anyOf": [$0]]]] },
        { ["properties": ["password": ["allOf": [["allOf": [["$ref": "#/$defs/secret"]]], $0]]]] },
        { ["properties": ["password": $0], "patternProperties": ["^pass": ["writeOnly": true]]] },
        { ["patternProperties": ["^pass": ["writeOnly": true, "allOf": [$0]]]] },
        { ["additionalProperties": ["writeOnly": true, "allOf": [$0]]] },
    ]

    private static func schema(_ declaration: @Sendable (JSONValue) -> JSONValue, _ rule: JSONValue) throws -> Schema {
        var document: JSONObject = [
            "additionalProperties": false,
            "$defs": ["secret": ["$ref": "#/$defs/inner"], "inner": ["writeOnly": true], "rule": ["const": ["a": 1]]],
        ]
        for member in declaration(rule).object ?? [:] { document[member.name] = member.value }
        return try Schema(.object(document))
    }

    @Test("A violation of any keyword does not contain the secret, for each way to declare a secret", arguments: cases)
    func nothingLeaks(sample: Case) throws {
        var generator = SeededGenerator(seed: 7)
        for declaration in Self.declarations {
            let schema = try Self.schema(declaration, try JSONValue(parsing: sample.schema))
            let key = try #require(schema.key("password"))
            #expect(key.isSecret)
            for template in sample.values {
                let secret = Secret.random(using: &generator)
                let value = try secret.value(template)
                let violations = key.violations(of: value)
                #expect(!violations.isEmpty, "\(sample.schema) on \(template)")
                for violation in violations {
                    #expect(violation.key == "password")
                    // A pointer into the value would contain the names of its members.
                    #expect(violation.pointer == .root)
                    #expect(violation.actual == nil)
                    secret.expectAbsence(from: violation)
                }
            }
        }
    }

    static let suiteRules: [Case] = [
        Case(#"{"allOf": [{"properties": {"password": {"const": "x"}}}]}"#, #""§""#),
        Case(#"{"allOf": [{"properties": {"password": {"items": {"enum": [1]}}}}]}"#, #"["§", {"§": "§"}]"#),
        Case(#"{"allOf": [{"properties": {"password": {"additionalProperties": false}}}]}"#, #"{"§": 1}"#),
        Case(#"{"allOf": [{"properties": {"password": {"propertyNames": {"const": "x"}}}}]}"#, #"{"§": 1}"#),
        Case(#"{"allOf": [{"additionalProperties": {"maxLength": 1}}]}"#, #""§""#),
        Case(#"{"allOf": [{"patternProperties": {"^p": {"type": "integer"}}}]}"#, #""§""#),
        Case(#"{"anyOf": [{"properties": {"password": {"pattern": "^x"}}}]}"#, #""§""#),
        Case(#"{"anyOf": [{"properties": {"password": {"pattern": "^x"}}}, {"required": ["z"]}]}"#, #""§""#),
        Case(#"{"anyOf": [{"properties": {"password": {"additionalProperties": false}}}]}"#, #"{"§": "§"}"#),
        Case(#"{"anyOf": [{"allOf": [{"properties": {"password": {"const": "x"}}}]}]}"#, #""§""#),
        Case(#"{"oneOf": [{"properties": {"password": {"const": 1}}}]}"#, #"{"§": "§"}"#, #""§""#),
        Case(
            #"{"if": {"minProperties": 1}, "then": {"not": {"properties": {"password": {"minLength": 1}}}}}"#, #""§""#),
        Case(
            #"{"if": {"properties": {"password": {"type": "string"}}}, "then": {"properties": {"password": false}}}"#,
            #""§""#),
        Case(#"{"if": {"required": ["x"]}, "else": {"properties": {"password": {"enum": ["a"]}}}}"#, #""§""#),
        Case(#"{"dependentSchemas": {"password": {"properties": {"password": {"maxLength": 1}}}}}"#, #""§""#),
        Case(#"{"dependentSchemas": {"password": {"const": {"password": "x"}}}}"#, #""§""#),
        Case(#"{"dependentSchemas": {"password": {"enum": [{"password": "x"}]}}}"#, #""§""#, #"{"§": "§"}"#),
        Case(##"{"$ref": "#/$defs/suite"}"##, #"{"a": "§"}"#),
        Case(##"{"anyOf": [{"$ref": "#/$defs/suite"}]}"##, #"{"a": "§"}"#),
        Case(#"{"propertyNames": {"maxLength": 3}}"#, #""§""#),
        Case(#"{"maxProperties": 1}"#, #""§""#),
    ]

    @Test(
        "A violation of a rule of the suite contains neither the value of a secret nor a position in the value",
        arguments: suiteRules)
    func suiteRule(sample: Case) throws {
        var generator = SeededGenerator(seed: 8)
        var document: JSONObject = [
            "additionalProperties": true, "properties": ["password": ["writeOnly": true], "other": [:]],
            "$defs": [
                "suite": [
                    "properties": ["password": ["additionalProperties": ["anyOf": [["const": 1], ["const": 2]]]]]
                ]
            ],
        ]
        for member in try JSONValue(parsing: sample.schema).object ?? [:] { document[member.name] = member.value }
        let schema = try Schema(.object(document))
        for template in sample.values {
            let secret = Secret.random(using: &generator)
            let values: JSONObject = ["other": "x", "password": try secret.value(template)]
            let violations = schema.suiteViolations(of: values)
            #expect(!violations.isEmpty, "\(sample.schema)")
            for violation in violations + schema.newSuiteViolations(before: [:], after: values) {
                if violation.key == "password" { #expect(violation.pointer == .root) }
                secret.expectAbsence(from: violation)
            }
        }
    }

    @Test("A violation of a rule of the suite contains the value of a key that is not a secret")
    func openKey() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["password": ["writeOnly": true], "name": [:]],
            "allOf": [["additionalProperties": ["maxLength": 2]]],
        ])
        let violations = schema.suiteViolations(of: ["password": "abc", "name": "abcd"])
        #expect(
            violations.map(\.sentence) == [
                "password: must have at most 2 characters", "name: must have at most 2 characters (got 4)",
            ])
        #expect(violations.map(\.actual) == [nil, "abcd"])
    }

    @Test
    func `A member of another value that has the name of a secret key is not a secret`() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["password": ["writeOnly": true], "form": [:]],
            "allOf": [
                ["properties": ["form": ["properties": ["password": ["anyOf": [["const": "x"]]]]]]]
            ],
        ])
        let violation = try #require(schema.suiteViolations(of: ["form": ["password": "abc"]]).first)
        #expect(
            violation.sentence == "form at /password: must match one of 1 alternative: must be \"x\" (got \"abc\")")
    }
}

/// A random number as a secret. A test can find the digits in a message that contains the secret.
private struct Secret {
    let digits: String

    static func random(using generator: inout SeededGenerator) -> Secret {
        Secret(digits: String(Int.random(in: 1_000_000_000_000...8_999_999_999_999, using: &generator)))
    }

    /// The value of a template, in which the digits replace each `§`.
    func value(_ template: String) throws -> JSONValue {
        try JSONValue(
            parsing: template.split(separator: "§", omittingEmptySubsequences: false).joined(separator: digits))
    }

    /// Expects that no text of the violation contains the secret or the beginning of the secret.
    func expectAbsence(from violation: Violation, sourceLocation: SourceLocation = #_sourceLocation) {
        let texts = [
            violation.sentence, violation.detail, violation.pointer.description, violation.actual?.text() ?? "",
            violation.expected?.text() ?? "",
        ]
        for text in texts { #expect(!text.contains(digits.prefix(6)), "\(violation)", sourceLocation: sourceLocation) }
    }
}
