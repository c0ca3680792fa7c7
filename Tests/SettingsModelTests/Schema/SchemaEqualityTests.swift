import Testing

@testable import SettingsModel

@Suite("Schemas and their documents")
struct SchemaEqualityTests {
    static let text = #"""
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
         "properties": {"launchCount": {"type": "integer", "default": 0.0, "minimum": 0, "x-unit": "times"},
                        "theme": {"enum": ["light", "dark"], "default": "light"}},
         "required": ["theme"]}
        """#

    @Test("A schema gives back its document as it was, and that compiles to an equal schema")
    func roundTrip() throws {
        let document = try JSONValue(parsing: Self.text)
        let schema = try Schema(document)
        #expect(schema.document == document)
        #expect(schema.document.text() == document.text())
        let again = try Schema(JSONValue(parsing: schema.document.text(style: .canonicalPretty)))
        #expect(again == schema)
        #expect(again.hashValue == schema.hashValue)
        #expect(again.keys.map(\.name) == schema.keys.map(\.name))
    }

    @Test("The order of members does not count, that of elements and the kind of a number do")
    func order() throws {
        let one = try Schema(["additionalProperties": false, "properties": ["a": ["enum": [1, 2]], "b": [:]]])
        let same = try Schema(["properties": ["b": [:], "a": ["enum": [1, 2]]], "additionalProperties": false])
        #expect(one == same)
        #expect(Set([one, same]).count == 1)
        for other: JSONValue in [["enum": [2, 1]], ["enum": [1.0, 2]], ["enum": [1, 2], "title": "x"]] {
            #expect(one != (try Schema(["additionalProperties": false, "properties": ["a": other, "b": [:]]])))
        }
        #expect(try JSONSchema(["minimum": 1, "title": "a"]) == JSONSchema(["title": "a", "minimum": 1]))
        #expect(try JSONSchema(["minimum": 1]) != JSONSchema(["minimum": 1.0]))
    }
}
