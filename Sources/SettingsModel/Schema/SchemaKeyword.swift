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

/// One schema object of a document, while its keywords are read.
struct SchemaSource {
    let object: JSONObject
    let pointer: JSONPointer
}

/// Reading keywords, each with the kind of value that it must have.
extension SchemaCompiler {
    mutating func string(_ keyword: String, _ source: SchemaSource) -> String? {
        read(keyword, source, "a string", \.string)
    }

    mutating func bool(_ keyword: String, _ source: SchemaSource) -> Bool? {
        read(keyword, source, "true or false", \.bool)
    }

    mutating func number(_ keyword: String, _ source: SchemaSource) -> SchemaNumber? {
        read(keyword, source, "a number") { SchemaNumber($0) }
    }

    /// A count: an integer from 0, also written as `2.0`.
    mutating func count(_ keyword: String, _ source: SchemaSource) -> Int? {
        read(keyword, source, "an integer from 0") { value in
            let integer = if case .double(let double) = value { double.exactInteger } else { value.integer }
            return integer.flatMap { $0 < 0 ? nil : Int($0) }
        }
    }

    mutating func strings(_ keyword: String, _ source: SchemaSource) -> [String]? {
        read(keyword, source, "an array of strings, each once") { Self.uniqueStrings($0) }
    }

    mutating func subschema(_ keyword: String, _ source: SchemaSource) -> SchemaNodeID? {
        guard let schema = source.object[keyword] else { return nil }
        return node(at: source.pointer.appending(keyword), schema)
    }

    mutating func subschemas(_ keyword: String, _ source: SchemaSource) -> [SchemaNodeID]? {
        let schemas = read(keyword, source, "an array of at least one schema") { value in
            value.array.flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let schemas else { return nil }
        let pointer = source.pointer.appending(keyword)
        return schemas.enumerated().map { node(at: pointer.appending($0), $1) }
    }

    mutating func namedSubschemas(_ keyword: String, _ source: SchemaSource) -> [(name: String, node: SchemaNodeID)]? {
        guard let schemas = read(keyword, source, "an object of schemas", \.object) else { return nil }
        let pointer = source.pointer.appending(keyword)
        return schemas.map { ($0.name, node(at: pointer.appending($0.name), $0.value)) }
    }

    mutating func namedStrings(_ keyword: String, _ source: SchemaSource) -> [(name: String, strings: [String])]? {
        guard let object = read(keyword, source, "an object of arrays of strings", \.object) else { return nil }
        var lists: [(name: String, strings: [String])] = []
        for member in object {
            if let strings = Self.uniqueStrings(member.value) {
                lists.append((member.name, strings))
            } else {
                let pointer = source.pointer.appending(keyword).appending(member.name)
                report(pointer, keyword, "must list strings, each once, for \(member.name)")
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
            report(source.pointer.appending(keyword), keyword, "must be \(expected), but is \(value.briefPhrase)")
        }
        return result
    }

    private static func uniqueStrings(_ value: JSONValue) -> [String]? {
        guard let elements = value.array else { return nil }
        let strings = elements.compactMap(\.string)
        guard strings.count == elements.count, Set(strings.map(UTF8Text.init)).count == strings.count else {
            return nil
        }
        return strings
    }
}

/// A number of a schema: as written, for messages, and ready to be compared.
struct SchemaNumber: Sendable {
    let json: JSONValue
    let number: JSONNumber

    init?(_ json: JSONValue) {
        guard let number = JSONNumber(json), json.number?.isFinite ?? false else { return nil }
        self.json = json
        self.number = number
    }
}
