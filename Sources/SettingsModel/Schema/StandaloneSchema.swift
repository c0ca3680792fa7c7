extension Schema {
    /// The schema of a key with all definitions that it refers to, as a document of its own.
    ///
    /// A reference to an entry of `$defs` keeps its name. A reference to another position gets a new entry of `$defs`,
    /// named after the position, such as `#/$defs/properties.volume`, or `#/$defs/suite` for the whole document. If
    /// `properties` lists the key, a reference to the schema of the key becomes `#`. If two entries would have the same
    /// name, the later entry gets a suffix, such as `_2`.
    package func standaloneDocument(of key: KeySchema) -> JSONValue {
        var maker = StandaloneSchemaMaker(of: key, in: document)
        return maker.make()
    }
}

/// Copies one part of a schema document, and collects the definitions to which the part refers.
private struct StandaloneSchemaMaker {
    private let part: JSONValue
    /// The position of the part in the document; nil if `properties` does not list the key.
    private let location: JSONPointer?
    private let document: JSONValue
    /// The definitions by their names in the copy. A definition is null until it is copied.
    private var definitions = JSONObject()
    /// The index of each referenced position among the definitions.
    private var positions: [JSONPointer: Int] = [:]
    /// The referenced positions in the document, in the order of ``definitions``.
    private var targets: [JSONPointer] = []

    init(of key: KeySchema, in document: JSONValue) {
        part = key.document
        let location: JSONPointer = ["properties", key.name]
        self.location = document[location] == key.document ? location : nil
        self.document = document
    }

    mutating func make() -> JSONValue {
        let copy = rewritten(part)
        guard !targets.isEmpty, var object = copy.object else { return copy }
        var next = 0
        while next < targets.count {
            let definition = rewritten(document[targets[next]] ?? true)
            definitions[definitions.members[next].name] = definition
            next += 1
        }
        // `definitions` replaces the `$defs` of the part. It has a copy of each definition that the part refers to,
        // because references contain positions in the whole document.
        object["$defs"] = .object(definitions)
        return .object(object)
    }

    /// Copies a schema and its sub-schemas, and replaces their references.
    private mutating func rewritten(_ schema: JSONValue) -> JSONValue {
        guard case .object(var object) = schema else { return schema }
        for member in object {
            let keyword = SchemaKeyword(rawValue: member.name)
            switch (keyword?.operand, member.value) {
            case (.schema, let inner): object[member.name] = rewritten(inner)
            case (.schemas, .array(let inner)): object[member.name] = .array(inner.map { rewritten($0) })
            case (.namedSchemas, .object(let inner)): object[member.name] = .object(inner.mapValues { rewritten($0) })
            case (_, .string(let reference)) where keyword == .reference:
                object[member.name] = .string(renamed(reference))
            default: break
            }
        }
        return .object(object)
    }

    /// The reference to the same schema in the copy. ``SchemaCompiler`` has verified that the reference is valid.
    private mutating func renamed(_ reference: String) -> String {
        guard let target = JSONPointer(reference: reference) else { return reference }
        if target == location { return "#" }
        let entry: JSONPointer = ["$defs", name(of: target)]
        // A reader of the copy percent-decodes the reference, so a `%` of the pointer must be encoded.
        return entry == target ? reference : "#" + entry.description.replacing("%", with: "%25")
    }

    private mutating func name(of target: JSONPointer) -> String {
        if let known = positions[target] { return definitions.members[known].name }
        let isDefinition = target.tokens.count == 2 && target.tokens[0].hasSameBytes(as: "$defs")
        let base =
            isDefinition ? target.tokens[1] : target.tokens.isEmpty ? "suite" : target.tokens.joined(separator: ".")
        var name = base
        var count = 1
        while definitions[name] != nil {
            count += 1
            name = "\(base)_\(count)"
        }
        positions[target] = targets.count
        targets.append(target)
        definitions[name] = .null
        return name
    }
}
