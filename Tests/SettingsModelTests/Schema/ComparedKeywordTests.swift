import SettingsModel
import Testing

@Suite("Which keywords are compared")
struct ComparedKeywordTests {
    /// Each keyword that says something of values, in a schema that says no more than it and the type.
    private static let keywords: [(any AnyDefaultsKey, JSONObject)] = {
        let text = DefaultsKey<String?>("k")
        let number = DefaultsKey<Double?>("k")
        let array = DefaultsKey<[String]?>("k")
        let object = DefaultsKey<[String: String]?>("k")
        return [
            (text, ["type": ["string", "null"]]), (text, ["enum": ["a"]]), (text, ["const": "a"]),
            (text, ["$ref": "#/$defs/a"]), (text, ["allOf": [["minLength": 1]]]),
            (text, ["anyOf": [["minLength": 1], ["pattern": "a"]]]),
            (text, ["oneOf": [["minLength": 1], ["pattern": "a"]]]),
            (text, ["not": ["const": "a"]]), (text, ["allOf": [["not": ["const": "a"]]]]),
            (text, ["if": ["const": "a"], "then": false]),
            (text, ["minLength": 1]), (text, ["maxLength": 1]), (text, ["pattern": "a"]), (text, ["format": "uuid"]),
            (text, ["contentEncoding": "base64"]), (number, ["minimum": 1]), (number, ["maximum": 1]),
            (number, ["exclusiveMinimum": 1]), (number, ["exclusiveMaximum": 1]), (number, ["multipleOf": 2]),
            (array, ["items": ["maxLength": 1]]), (array, ["prefixItems": [["maxLength": 1]]]),
            (array, ["contains": ["const": "a"]]), (array, ["minItems": 1]), (array, ["maxItems": 1]),
            (array, ["uniqueItems": true]), (object, ["properties": ["a": ["maxLength": 1]]]),
            (object, ["patternProperties": ["a": ["maxLength": 1]]]),
            (object, ["additionalProperties": ["maxLength": 1]]),
            (object, ["propertyNames": ["maxLength": 1]]), (object, ["required": ["a"]]),
            (object, ["dependentRequired": ["a": ["b"]]]), (object, ["dependentSchemas": ["a": ["required": ["b"]]]]),
            (object, ["minProperties": 1]), (object, ["maxProperties": 1]),
        ]
    }()

    @Test("Every keyword that says something of values makes a difference", arguments: Self.keywords.indices)
    func everyKeyword(_ index: Int) throws {
        let (key, keyword) = Self.keywords[index]
        var document = try key.schemaDocument()
        #expect(try differences(of: key, .object(document)) == [])
        for member in keyword { document[member.name] = member.value }
        #expect(try !differences(of: key, .object(document)).isEmpty)
    }

    private func differences(of key: some AnyDefaultsKey, _ document: JSONValue) throws -> [SchemaDifference] {
        let schema = try Schema([
            "type": "object", "additionalProperties": false, "$defs": ["a": ["maxLength": 1]],
            "properties": [key.name: document],
        ])
        return try schema.differences(from: key)
    }
}
