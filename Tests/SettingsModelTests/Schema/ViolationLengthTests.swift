import Testing

@testable import SettingsModel

@Suite("How long a violation may be")
struct ViolationLengthTests {
    static let long = JSONValue.string(String(repeating: "q", count: 3_000))

    @Test(
        "A long string is told by its length",
        arguments: [
            #"{"const": "x"}"#, #"{"enum": ["x"]}"#, #"{"type": "integer"}"#, #"{"pattern": "x"}"#,
            #"{"format": "uuid"}"#, #"{"contentEncoding": "base64", "maxLength": 0}"#,
            #"{"anyOf": [{"const": "x"}, {"format": "ipv6"}]}"#,
        ])
    func longString(text: String) throws {
        let schema = try JSONSchema(JSONValue(parsing: text))
        let value = JSONValue.string(String(repeating: "q", count: 3_001))
        for violation in schema.violations(of: value) {
            #expect(!violation.detail.contains("qqq"))
            #expect(violation.actual == nil)
        }
        #expect(schema.violations(of: value).contains { $0.detail.contains("3001") })
    }

    @Test("An array or object is told by its size", arguments: [#"{"const": 1}"#, #"{"enum": [1]}"#])
    func container(text: String) throws {
        let schema = try JSONSchema(JSONValue(parsing: text))
        for (value, phrase) in [
            ([Self.long, 2], "an array of 2 elements"), (["a": Self.long], "an object of 1 member"),
        ]
            as [(JSONValue, String)]
        {
            let violation = try #require(schema.violations(of: value).first)
            #expect(violation.detail.hasSuffix("but is \(phrase)"))
            #expect(violation.actual == nil)
        }
    }

    @Test("Text of 80 bytes is repeated, of 81 not")
    func limit() throws {
        let schema = try JSONSchema(["const": 1])
        let short = JSONValue.string(String(repeating: "é", count: 40))
        #expect(schema.violations(of: short).first?.actual == short)
        let longer = JSONValue.string(String(repeating: "é", count: 40) + "x")
        #expect(schema.violations(of: longer).first?.actual == nil)
        #expect(schema.violations(of: longer).first?.detail == "must be 1, but is a string of 41 characters")
    }

    @Test("What a schema expects is told only where it is short enough to be helpful")
    func longExpectation() throws {
        let many = JSONValue.array((0..<5_000).map { .integer(Int64($0)) })
        for schema: JSONValue in [["enum": many], ["const": many], ["const": Self.long], ["enum": [Self.long]]] {
            let violation = try #require(try JSONSchema(schema).violations(of: "x").first)
            #expect(violation.expected == nil)
            #expect(violation.detail.utf8.count < 300)
        }
        let few = JSONValue.array((0..<50).map { .integer(Int64($0)) })
        #expect(try JSONSchema(["enum": few]).violations(of: "x").first?.expected == few)
    }

    @Test("Alternatives inside alternatives do not make a message of exponential length")
    func nestedAlternatives() throws {
        var schema: JSONValue = ["const": 1]
        for _ in 0..<12 { schema = ["anyOf": [schema, schema]] }
        let violation = try #require(try JSONSchema(schema).violations(of: 2).first)
        #expect(
            violation.detail
                == "must fit one of 2 alternatives: it must fit one of 2 alternatives, or must fit one of 2 alternatives"
        )
    }

    @Test("Long names in a name rule are not repeated in the reason")
    func longName() throws {
        let schema = try JSONSchema(["propertyNames": ["enum": ["a"]], "additionalProperties": false])
        let member = JSONObject.Member(name: String(repeating: "q", count: 3_000), value: 1)
        for violation in schema.violations(of: .object(try #require(JSONObject([member])))) {
            #expect(!violation.detail.contains("qqq"))
        }
    }
}
