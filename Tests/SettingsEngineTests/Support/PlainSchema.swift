import SettingsAPI
import SettingsModel

/// A schema as a JSON document and as Swift functions with the same meaning.
struct PlainSchema: Sendable {
    let document: JSONValue
    /// The keys in `properties`.
    let listed: [String]
    let defaults: [String: JSONValue]
    /// True if the schema permits a key with this name.
    let admits: @Sendable (String) -> Bool
    /// True if the schema permits the value of a key that it admits. Does not support numbers with a fraction; the
    /// random writes do not contain such numbers.
    let allows: @Sendable (String, JSONValue) -> Bool

    /// Schemas that have different rules for the same keys.
    static let all = [numbers, texts, patterns]

    static let numbers = PlainSchema(
        document: [
            "additionalProperties": false,
            "properties": [
                "a": ["type": "integer", "default": 1, "maximum": 5], "b": ["type": "integer"], "c": ["default": "x"],
            ],
        ],
        listed: ["a", "b", "c"], defaults: ["a": 1, "c": "x"], admits: { ["a", "b", "c"].contains($0) },
        allows: { key, value in
            switch key {
            case "a": value.integer.map { $0 <= 5 } ?? false
            case "b": value.integer != nil
            default: true
            }
        })

    static let texts = PlainSchema(
        document: [
            "additionalProperties": true,
            "properties": ["a": ["type": "string", "default": "x"], "b": ["minimum": 2]],
        ],
        listed: ["a", "b"], defaults: ["a": "x"], admits: { _ in true },
        allows: { key, value in
            switch key {
            case "a": value.string != nil
            case "b": value.integer.map { $0 >= 2 } ?? true
            default: true
            }
        })

    static let patterns = PlainSchema(
        document: [
            "additionalProperties": false, "patternProperties": ["^[cd]": ["type": "integer"]],
            "properties": ["e": ["default": .null]],
        ],
        listed: ["e"], defaults: ["e": .null], admits: { $0 == "e" || ["c", "d"].contains($0.prefix(1)) },
        allows: { key, value in key == "e" || value.integer != nil })
}
