import SettingsHTTP
import SettingsModel

/// A reader of values from words of the command line, by the types that the schema of the key names.
struct ValueReader {
    /// The key, or the path of a part of its value, for messages.
    private let name: String
    /// The names of the types; empty if the schema names none.
    private let types: Set<String>
    private let schema: JSONValue?

    init(_ key: KeyName, _ schema: JSONValue?) { self.init(key.text, schema) }

    init(_ name: String, _ schema: JSONValue?) {
        self.name = name
        self.schema = schema
        types = Self.types(of: schema)
    }

    private static func types(of schema: JSONValue?) -> Set<String> {
        if let name = schema?["type"]?.string { return [name] }
        if let names = schema?["type"]?.array { return Set(names.compactMap(\.string)) }
        if let values = schema?["enum"]?.array ?? schema?["const"].map({ [$0] }) { return Set(values.map(\.typeName)) }
        return []
    }

    /// Returns the schema of a part of a value, according to `properties`, `additionalProperties` and `items`; nil if
    /// these keywords do not describe the part.
    ///
    /// - Parameter schema: the schema of the key, with the definitions that it refers to.
    static func schema(at tokens: [String], in schema: JSONValue?) -> JSONValue? {
        func resolved(_ part: JSONValue?) -> JSONValue? {
            part?["$ref"]?.string.flatMap { JSONPointer(reference: $0) }.flatMap { schema?[$0] } ?? part
        }
        return tokens.reduce(resolved(schema)) { part, token in
            let partSchemas = PropertyList.PartSchemas(of: part)
            return resolved(partSchemas.member(token) ?? partSchemas.elements)
        }
    }

    /// True if the schema names no type.
    var acceptsAnyType: Bool { types.isEmpty }

    /// True if the schema names the type of `true` and `false`. False if the schema names no type.
    var acceptsBooleans: Bool { types.contains("boolean") }

    /// True if the schema names the type of texts. False if the schema names no type.
    var acceptsTexts: Bool { types.contains("string") }

    /// Reads a value. If the word is JSON of a type that the schema allows, other than a text, the value is this JSON.
    /// Otherwise the value is the word as a text if the schema allows texts. If the schema names no type, a word that
    /// is valid JSON is JSON, and any other word is a text.
    func read(_ word: String) throws(ToolError) -> JSONValue {
        let json: JSONValue?
        do {
            json = try JSONValue(parsing: word)
        } catch {
            // If the schema names no type, JSON that cannot be stored, such as an integer that is too large, is an
            // error. A word that begins like a number but is not a number is a text.
            let looksNumeric = word.utf8.allSatisfy { "+-.0123456789Ee".utf8.contains($0) }
            guard !types.isEmpty || !error.isUnrepresentable || !looksNumeric && !"[{\"".contains(word.prefix(1)) else {
                throw ToolError(
                    .refused,
                    "\(name): cannot store the JSON: \(error.reason); 'settings set --text' stores a text"
                )
            }
            json = nil
        }
        if types.isEmpty { return json ?? .string(word) }
        if let json, json.string == nil, accepts(json) { return json }
        if acceptsTexts { return .string(word) }
        throw ToolError(.refused, "\(name) takes \(description), not '\(Terminal.escaped(word))'")
    }

    private func accepts(_ value: JSONValue) -> Bool {
        let type = value.typeName
        // In JSON Schema, 5.0 is an integer. The daemon refuses a number with a fraction for an integer key.
        return types.contains(type) || type == "integer" && types.contains("number")
            || type == "number" && types.contains("integer")
    }

    /// The allowed values in words: the types, with the bounds of the schema.
    var description: String {
        if let values = schema?["enum"]?.array { return "one of " + values.map { $0.text() }.joined(separator: ", ") }
        if let value = schema?["const"] { return "only \(value.text())" }
        let phrases = ["integer": "an integer", "array": "a list", "object": "an object", "boolean": "true or false"]
        var words = types.sorted().map { phrases[$0] ?? ($0 == "string" ? "a text" : "a \($0)") }.joined(
            separator: " or ")
        if words.isEmpty { words = "any value" }
        let bounds = [
            ("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"),
            ("multipleOf", "in steps of"), ("minLength", "of at least"), ("maxLength", "of at most"),
            ("minItems", "with at least"), ("maxItems", "with at most"), ("pattern", "that matches"),
            ("format", "in the form"),
        ]
        for (keyword, word) in bounds {
            guard let bound = schema?[keyword] else { continue }
            let unit = keyword.hasSuffix("Length") ? " characters" : keyword.hasSuffix("Items") ? " elements" : ""
            words += " \(word) \(bound.unquotedText)\(unit)"
        }
        return words
    }
}

extension JSONValue {
    /// The name of the type of the value in JSON Schema.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
