/// The keywords that schemas of settings may have. Any other keyword is refused, because a misspelt keyword would
/// silently have no effect, unless its name begins with `x-`: such a keyword is an annotation of the author.
package enum SchemaKeyword: String, CaseIterable {
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

    /// The kind of value that a keyword takes.
    package enum Operand {
        case schema
        case schemas
        case namedSchemas
        case other
    }

    package var operand: Operand {
        switch self {
        case .items, .contains, .additionalProperties, .propertyNames, .not, .if, .then, .else: .schema
        case .prefixItems, .allOf, .anyOf, .oneOf: .schemas
        case .properties, .patternProperties, .dependentSchemas, .definitions: .namedSchemas
        default: .other
        }
    }

    /// True if the keyword does not affect which values are valid.
    package var isAnnotation: Bool {
        switch self {
        case .schema, .comment, .definitions, .default: true
        case .title, .description, .examples, .deprecated, .readOnly, .writeOnly: true
        default: false
        }
    }

    /// True if the keyword gives elements or members their schemas, or requires members: with such a keyword, a schema
    /// describes the contents of arrays or objects. False for `contains`, `propertyNames` and the like, which also
    /// concern elements or members.
    package var describesParts: Bool {
        switch self {
        case .items, .prefixItems, .properties, .patternProperties, .additionalProperties, .required: true
        default: false
        }
    }

    /// True if a member of a schema is a supported keyword, or an annotation that the author of the schema has defined.
    static func isKnown(_ name: String) -> Bool {
        SchemaKeyword(rawValue: name) != nil || name.hasBytePrefix("x-")
    }

    /// Returns advice about what to write instead of an unknown keyword.
    static func hint(for name: String) -> String {
        if let hint = hints[name] { return "; \(hint)" }
        return NameSuggestion.phrase(for: name, among: allCases.map(\.rawValue))
    }

    private static let hints = [
        "$id": "use a reference within the document, as in #/$defs/name",
        "id": "use a reference within the document, as in #/$defs/name",
        "$anchor": "refer to the definition by its pointer, as in #/$defs/name",
        "$dynamicRef": "use $ref",
        "$dynamicAnchor": "refer to the definition by its pointer, as in #/$defs/name",
        "$vocabulary": "remove it, because the vocabulary is fixed",
        "definitions": "use $defs",
        "dependencies": "use dependentRequired or dependentSchemas",
        "additionalItems": "use items beside prefixItems",
        "unevaluatedProperties": "use additionalProperties",
        "unevaluatedItems": "use items",
        "nullable": "list null in type",
        "contentMediaType": "remove it, because only contentEncoding is checked",
        "contentSchema": "remove it, because only contentEncoding is checked",
    ]
}

/// A schema object in the document whose keywords are being read.
struct SchemaSource {
    let object: JSONObject
    let pointer: JSONPointer
}

/// Reading keywords. Without the keyword, a method returns nil or an empty array. If the value of the keyword has the
/// wrong type, the method also reports the problem. `subschema` does not check the type of the value.
extension SchemaCompiler {
    mutating func string(_ keyword: String, _ source: SchemaSource) -> String? {
        read(keyword, source, "a string", \.string)
    }

    mutating func bool(_ keyword: String, _ source: SchemaSource) -> Bool? {
        read(keyword, source, "true or false", \.bool)
    }

    mutating func number(_ keyword: String, _ source: SchemaSource) -> JSONValue? {
        read(keyword, source, "a number") { $0.number?.isFinite ?? false ? $0 : nil }
    }

    mutating func count(_ keyword: String, _ source: SchemaSource) -> Int? {
        read(keyword, source, "a non-negative integer", \.naturalNumber)
    }

    mutating func strings(_ keyword: String, _ source: SchemaSource) -> [String]? {
        read(keyword, source, "an array of distinct strings", \.uniqueStrings)
    }

    mutating func subschema(_ keyword: String, _ source: SchemaSource) -> SchemaNodeID? {
        guard let schema = source.object[keyword] else { return nil }
        return node(at: source.pointer.appending(keyword), schema)
    }

    mutating func subschemas(_ keyword: String, _ source: SchemaSource) -> [SchemaNodeID] {
        let schemas = read(keyword, source, "an array of at least one schema") { value in
            value.array.flatMap { $0.isEmpty ? nil : $0 }
        }
        let pointer = source.pointer.appending(keyword)
        return (schemas ?? []).enumerated().map { node(at: pointer.appending($0), $1) }
    }

    mutating func namedSubschemas(_ keyword: String, _ source: SchemaSource) -> [(name: String, node: SchemaNodeID)] {
        let schemas = read(keyword, source, "an object of schemas", \.object) ?? [:]
        let pointer = source.pointer.appending(keyword)
        return schemas.map { ($0.name, node(at: pointer.appending($0.name), $0.value)) }
    }

    mutating func namedStrings(_ keyword: String, _ source: SchemaSource) -> [(name: String, strings: [String])] {
        var lists: [(name: String, strings: [String])] = []
        for member in read(keyword, source, "an object of arrays of strings", \.object) ?? [:] {
            if let strings = member.value.uniqueStrings {
                lists.append((member.name, strings))
            } else {
                let pointer = source.pointer.appending(keyword).appending(member.name)
                report(pointer, keyword, "must have an array of distinct strings for \(member.name)")
            }
        }
        return lists
    }

    private mutating func read<Result>(
        _ keyword: String, _ source: SchemaSource, _ expected: String, _ convert: (JSONValue) -> Result?
    ) -> Result? {
        guard let value = source.object[keyword] else { return nil }
        let result = convert(value)
        if result == nil {
            report(source.pointer.appending(keyword), keyword, "must be \(expected) (got \(value.briefPhrase))")
        }
        return result
    }
}

extension JSONValue {
    /// The value as an integer that is not negative, also if it is written as `2.0`; nil for any other value.
    package var naturalNumber: Int? {
        exactInteger.flatMap { $0 < 0 ? nil : Int($0) }
    }

    fileprivate var uniqueStrings: [String]? {
        guard let elements = array else { return nil }
        let strings = elements.compactMap(\.string)
        guard strings.count == elements.count, Set(strings.map(UTF8Text.init)).count == strings.count else {
            return nil
        }
        return strings
    }
}
