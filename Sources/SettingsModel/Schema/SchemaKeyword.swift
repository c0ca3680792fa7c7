/// The keywords of schemas for settings. Any other is refused: a typo must not switch a check off.
enum SchemaKeyword: String, CaseIterable {
    case schema = "$schema"
    case comment = "$comment"
    case definitions = "$defs"
    case reference = "$ref"
    case type, `enum`, const, `default`
    case minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
    case minLength, maxLength, pattern, format, contentEncoding
    case items, prefixItems, contains, minContains, maxContains, minItems, maxItems, uniqueItems
    case properties, patternProperties, additionalProperties, propertyNames, required
    case dependentRequired, dependentSchemas, minProperties, maxProperties
    case allOf, anyOf, oneOf, not, `if`, then, `else`
    case title, description, examples, deprecated, readOnly, writeOnly

    /// Whether a member of a schema is one of these or an annotation of the author's own.
    static func isKnown(_ name: String) -> Bool {
        SchemaKeyword(rawValue: name) != nil || name.hasBytePrefix("x-")
    }

    /// What to do about a keyword that is not known.
    static func hint(for name: String) -> String {
        if let hint = hints[name] { return "; \(hint)" }
        return NameSuggestion.phrase(for: name, among: allCases.map(\.rawValue))
    }

    private static let hints = [
        "$id": "only references inside the document are supported, as #/$defs/name",
        "id": "only references inside the document are supported, as #/$defs/name",
        "$anchor": "refer to the definition by its place, as #/$defs/name",
        "$dynamicRef": "use $ref",
        "$dynamicAnchor": "refer to the definition by its place, as #/$defs/name",
        "$vocabulary": "the vocabulary is fixed",
        "definitions": "draft 2020-12 calls it $defs",
        "dependencies": "draft 2020-12 calls it dependentRequired or dependentSchemas",
        "additionalItems": "draft 2020-12 calls it items, beside prefixItems",
        "unevaluatedProperties": "use additionalProperties",
        "unevaluatedItems": "use items",
        "nullable": "list null in type",
        "contentMediaType": "only contentEncoding is checked",
        "contentSchema": "only contentEncoding is checked",
    ]
}
