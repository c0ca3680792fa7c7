import SettingsAPI
import SettingsModel
import Testing

/// The text `hunter2` stands for the value of a secret.
struct StoredConflictsTests {
    private let schema: Schema

    init() throws {
        schema = try Schema(
            JSONValue(
                parsing: #"""
                    {"type": "object", "additionalProperties": false, "maxProperties": 3,
                     "properties": {"count": {"type": "integer", "minimum": 0, "default": 1},
                                    "name": {"type": "string"},
                                    "token": {"type": "string", "maxLength": 3, "writeOnly": true}},
                     "dependentRequired": {"token": ["name"]}}
                    """#))
    }

    private func conflicts(_ stored: KeyValuePairs<String, JSONValue>) throws -> StoredConflicts {
        // The budget of the validation, which no test uses up.
        var steps = Int.max
        let settings = try stored.map { StoredSetting(key: try KeyName($0.key), value: $0.value) }
        return schema.conflicts(storing: settings, steps: &steps)
    }

    @Test("Stored values that the schema allows cause no conflict")
    func allowedValues() throws {
        #expect(try conflicts(["count": 2, "name": "x"]).isEmpty)
        #expect(try conflicts([:]).isEmpty)
    }

    @Test("Each stored value that the schema does not allow is listed with its violations")
    func keys() throws {
        let found = try conflicts(["coutn": 2, "count": -1, "name": "x"])
        #expect(found.keys.map(\.key?.text) == ["coutn", "count"])
        #expect(found.keys.map(\.stored) == [2, -1])
        #expect(
            found.keys.flatMap(\.errors).map(\.sentence) == [
                "coutn: the schema has no such key; did you mean count?", "count: must be at least 0 (got -1)",
            ])
    }

    @Test("The conflict of a secret does not contain its stored value")
    func secret() throws {
        // The value is longer than `maxLength`, so the schema does not allow it.
        let found = try conflicts(["token": "hunter2", "name": "x"])
        #expect(found.keys.map(\.stored) == [nil])
        #expect(found.keys.first?.errors.map(\.sentence) == ["token: must have at most 3 characters"])
    }

    @Test("A rule about several keys, such as dependentRequired, is checked, and the conflict names the missing key")
    func suite() throws {
        let found = try conflicts(["token": "abc"])
        #expect(found.keys.isEmpty)
        #expect(found.suite.map(\.key) == ["name"])
        #expect(try conflicts(["token": "abc", "name": "x"]).isEmpty)
    }

    @Test("The conflict of a former secret has no value, whether or not the new schema lists its key")
    func formerSecret() throws {
        let stored = StoredSetting(key: try KeyName("password"), value: "hunter2", isSecret: true)
        let withoutKey = try Schema(["additionalProperties": false])
        let withOtherValue = try Schema(["additionalProperties": false, "properties": ["password": ["const": "x"]]])
        for schema in [withoutKey, withOtherValue] {
            let conflict = schema.conflict(of: stored)
            #expect(conflict != nil)
            #expect(conflict?.stored == nil)
            #expect(conflict?.errors.contains { "\($0)".contains("hunter2") } == false)
        }
    }
}
