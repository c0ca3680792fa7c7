import Testing

@testable import SettingsModel

@Suite("Bounds of schemas that must not change an answer")
struct SchemaBoundsTests {
    @Test("What is new is found behind more old violations than are ever listed")
    func manyOldBreaches() throws {
        let names = (0..<1_500).map { JSONValue.string("k\($0)") }
        let schema = try Schema([
            "type": "object", "additionalProperties": true, "required": .array(names), "maxProperties": 1,
        ])
        let added = schema.newSuiteViolations(before: ["z": 1], after: ["z": 1, "y": 1])
        #expect(added.map(\.keyword) == ["maxProperties"])
        let improved = schema.newSuiteViolations(before: ["z": 1, "y": 1], after: ["z": 1, "k0": 1, "k1": 1])
        #expect(improved == [])
        #expect(schema.suiteViolations(of: ["z": 1]).count == 1_000)
    }

    @Test("A limit that is no finite number is refused", arguments: [Double.nan, .infinity, -.infinity])
    func limits(number: Double) {
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
            #expect(throws: SchemaError.self) { try JSONSchema(.object([keyword: .double(number)])) }
        }
    }

    @Test("A document nested without end is refused at once")
    func deepDocument() {
        var document: JSONValue = true
        for _ in 0..<5_000 { document = ["not": document] }
        let error = #expect(throws: SchemaError.self) { try JSONSchema(document) }
        #expect(error?.problems.first?.detail == "a schema may nest at most 128 levels deep")
    }

    @Test("A value that was a secret is not told when a new schema no longer knows its key")
    func formerSecret() throws {
        let stored = StoredSetting(key: try KeyName("password"), value: "hunter2", isSecret: true)
        let unlisted = try Schema(["additionalProperties": false])
        let narrower = try Schema(["additionalProperties": false, "properties": ["password": ["const": "x"]]])
        for schema in [unlisted, narrower] {
            let conflict = schema.conflict(of: stored)
            #expect(conflict != nil)
            #expect(conflict?.stored == nil)
            #expect(conflict?.errors.contains { "\($0)".contains("hunter2") } == false)
        }
    }

    @Test("A default of a secret that a reference makes one is not told")
    func secretDefault() throws {
        let error = #expect(throws: SchemaError.self) {
            try Schema([
                "additionalProperties": false,
                "$defs": ["secret": ["type": "string", "pattern": "^x", "writeOnly": true]],
                "properties": ["password": ["$ref": "#/$defs/secret", "default": "hunter2"]],
            ])
        }
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test("A schema for one value that says writeOnly, itself or by reference, tells nothing of the value")
    func secretValue() throws {
        let own = try JSONSchema(["writeOnly": true, "const": "x"])
        let referred = try JSONSchema([
            "$ref": "#/$defs/secret", "$defs": ["secret": ["writeOnly": true]], "maxLength": 3,
        ])
        for schema in [own, referred] {
            let violations = schema.violations(of: "hunter2")
            #expect(violations.count == 1)
            #expect(!violations.contains { "\($0)".contains("hunter2") })
        }
    }
}
