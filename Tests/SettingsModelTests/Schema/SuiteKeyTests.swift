import Testing

@testable import SettingsModel

struct SuiteKeyTests {
    static func schema() throws -> Schema {
        try Schema(
            JSONValue(
                parsing: ##"""
                    {"type": "object", "$defs": {
                       "port": {"type": "integer", "default": 80, "$ref": "#/$defs/natural"},
                       "natural": {"minimum": 0, "default": 1}},
                     "properties": {
                       "zoom": {"type": "number", "default": 1.5},
                       "Zoom": {"type": "string"},
                       "player.volume": {"$ref": "#/$defs/port"},
                       "own": {"$ref": "#/$defs/port", "default": 8080},
                       "inAllOf": {"allOf": [{"$ref": "#/$defs/port"}]},
                       "null": {"default": null},
                       "\u00e9": {"const": "one"},
                       "e\u0301": {"const": "two"}},
                     "patternProperties": {"^flag\\.": {"type": "boolean", "default": true}, "\\.on$": {"x-unit": "on"},
                                           "^no": false},
                     "additionalProperties": {"maxLength": 3}}
                    """##))
    }

    @Test("Listed keys are ordered by the bytes of their names")
    func order() throws {
        let names = try Self.schema().keys.map(\.name)
        #expect(
            names.map { Array($0.utf8) }
                == [
                    "Zoom", "e\u{301}", "inAllOf", "null", "own", "player.volume", "zoom", "\u{e9}",
                ].map { Array($0.utf8) })
    }

    @Test("A key is found by the bytes of its name, so two Unicode forms of é are two keys")
    func bytes() throws {
        let schema = try Self.schema()
        #expect(schema.key("\u{e9}")?.allows("one") == true)
        #expect(schema.key("\u{e9}")?.allows("two") == false)
        #expect(schema.key("e\u{301}")?.allows("two") == true)
        #expect(schema.key("zoom")?.document["default"] == 1.5)
        #expect(schema.key("Zoom")?.document["type"] == "string")
    }

    @Test("The default of a key comes from its own or a referenced schema, not from allOf or patternProperties")
    func defaults() throws {
        let schema = try Self.schema()
        let defaults = schema.keys.map { "\($0.name) \($0.defaultValue?.text() ?? "-")" }
        #expect(
            defaults.filter { !$0.contains("\u{e9}") && !$0.contains("\u{301}") } == [
                "Zoom -", "inAllOf -", "null null", "own 8080", "player.volume 80", "zoom 1.5",
            ])
        #expect(schema.key("flag.x")?.defaultValue == nil)
    }

    @Test("effectiveValues returns all stored values, without validation, and the defaults of the other keys")
    func effectiveValues() throws {
        let schema = try Self.schema()
        let effective = schema.effectiveValues(stored: ["other": "x", "own": "invalid"])
        #expect(
            effective == [
                "other": "x", "own": "invalid", "null": .null, "player.volume": 80, "zoom": 1.5,
            ])
        #expect(Array(effective.names).prefix(2) == ["other", "own"])
    }

    @Test("An unlisted key has the schemas of all patterns that match its name, otherwise that of additionalProperties")
    func unlisted() throws {
        let schema = try Self.schema()
        let flag = try #require(schema.key("flag.x"))
        #expect(flag.document == ["type": "boolean", "default": true])
        #expect(flag.violations(of: "x").map(\.keyword) == ["type"])
        let both = try #require(schema.key("flag.x.on"))
        #expect(both.document == ["allOf": [["type": "boolean", "default": true], ["x-unit": "on"]]])
        let additional = try #require(schema.key("anything"))
        #expect(additional.document == ["maxLength": 3])
        #expect(additional.violations(of: "abcd").map(\.key) == ["anything"])
    }

    @Test("A name is not an allowed key if the schema that applies to the name is false")
    func refused() throws {
        // The schema of the pattern `^no` is false.
        #expect(try Self.schema().key("nothing") == nil)
        let closed = try Schema(["properties": ["a": [:]], "additionalProperties": false])
        #expect(closed.key("a") != nil)
        #expect(closed.key("b") == nil)
        #expect(closed.key("") == nil)
    }

    @Test
    func `A listed key must also satisfy the patterns that match its name`() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["a": ["type": "integer"]],
            "patternProperties": ["a": ["minimum": 5, "readOnly": true]],
        ])
        let key = try #require(schema.key("a"))
        #expect(key.violations(of: 4).map(\.keyword) == ["minimum"])
        #expect(!key.allows(4) && key.allows(5))
        #expect(key.isLocked)
        #expect(key.document == ["type": "integer"])
    }

    @Test(
        "readOnly locks a key, and writeOnly makes it a secret, also behind $ref and allOf, but not behind anyOf or if",
        arguments: [
            (#"{"readOnly": true}"#, true, false),
            (#"{"writeOnly": true}"#, false, true),
            (#"{"readOnly": false, "writeOnly": false}"#, false, false),
            (##"{"$ref": "#/$defs/both"}"##, true, true),
            (##"{"allOf": [true, {"allOf": [{"$ref": "#/$defs/both"}]}]}"##, true, true),
            (##"{"anyOf": [{"$ref": "#/$defs/locked"}]}"##, false, false),
            (##"{"oneOf": [{"$ref": "#/$defs/locked"}]}"##, false, false),
            (##"{"if": {"$ref": "#/$defs/locked"}}"##, false, false),
            (##"{"properties": {"a": {"$ref": "#/$defs/locked"}}}"##, false, false),
            (##"{"items": {"$ref": "#/$defs/locked"}}"##, false, false),
        ])
    func locksAndSecrets(text: String, isLocked: Bool, isSecret: Bool) throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["k": try JSONValue(parsing: text)],
            "$defs": ["both": ["readOnly": true, "writeOnly": true], "locked": ["readOnly": true]],
        ])
        let key = try #require(schema.key("k"))
        #expect(key.isLocked == isLocked)
        #expect(key.isSecret == isSecret)
    }

    @Test("The names that are most similar to an unknown name are suggested")
    func suggestions() throws {
        let schema = try Self.schema()
        #expect(schema.suggestions(for: "player.volum") == ["player.volume"])
        #expect(schema.suggestions(for: "zoon") == ["Zoom", "zoom"])
        #expect(schema.suggestions(for: "zoon", limit: 1) == ["Zoom"])
        #expect(schema.suggestions(for: "wholly.different").isEmpty)
    }
}

struct SchemaEqualityTests {
    static let text = #"""
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
         "properties": {"launchCount": {"type": "integer", "default": 0.0, "minimum": 0, "x-unit": "times"},
                        "theme": {"enum": ["light", "dark"], "default": "light"}},
         "required": ["theme"]}
        """#

    @Test("A schema returns its document unchanged, and the document compiles to an equal schema")
    func roundTrip() throws {
        let document = try JSONValue(parsing: Self.text)
        let schema = try Schema(document)
        #expect(schema.document == document)
        #expect(schema.document.text() == document.text())
        let again = try Schema(JSONValue(parsing: schema.document.text(style: .canonicalPretty)))
        #expect(again == schema)
        #expect(again.keys.map(\.name) == schema.keys.map(\.name))
    }

    @Test("Equality of schemas ignores the order of members, but not the order of elements and the kind of a number")
    func order() throws {
        let schema = try Schema(["additionalProperties": false, "properties": ["a": ["enum": [1, 2]], "b": [:]]])
        let same = try Schema(["properties": ["b": [:], "a": ["enum": [1, 2]]], "additionalProperties": false])
        #expect(schema == same)
        for other: JSONValue in [["enum": [2, 1]], ["enum": [1.0, 2]], ["enum": [1, 2], "title": "x"]] {
            #expect(schema != (try Schema(["additionalProperties": false, "properties": ["a": other, "b": [:]]])))
        }
    }
}
