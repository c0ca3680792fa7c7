extension Schema {
    /// What the schema says of a key, with the definitions that it refers to: a schema that stands alone.
    ///
    /// References keep their names where they lead to an entry of `$defs`. Those that lead elsewhere get an entry that is
    /// named by their place, as `#/$defs/properties.volume`; one to the key itself becomes `#`.
    public func standaloneDocument(of key: KeySchema) -> JSONValue {
        var document = StandaloneSchema(of: key, in: document)
        return document.made()
    }
}

/// A part of a schema document in the making, with the other parts that it refers to.
private struct StandaloneSchema {
    private let part: JSONValue
    /// Where the part is in the document; nil if it was made of several.
    private let place: JSONPointer?
    private let document: JSONValue
    private var names: [JSONPointer: String] = [:]
    private var taken: Set<UTF8Text> = []
    private var pending: [JSONPointer] = []

    init(of key: KeySchema, in document: JSONValue) {
        part = key.document
        let place: JSONPointer = ["properties", key.name]
        self.place = document[place] == key.document ? place : nil
        self.document = document
    }

    mutating func made() -> JSONValue {
        var made = rewritten(part)
        guard !names.isEmpty, var object = made.object else { return made }
        var definitions = JSONObject()
        while let target = pending.popLast() {
            if let name = names[target], let definition = document[target] { definitions[name] = rewritten(definition) }
        }
        // Its own definitions are reached by their place in the whole document only, so they are among these.
        object["$defs"] = .object(definitions)
        made = .object(object)
        return made
    }

    /// A schema with its references changed, and those that it has inside.
    private mutating func rewritten(_ schema: JSONValue) -> JSONValue {
        guard case .object(var object) = schema else { return schema }
        for member in object {
            switch (SchemaKeyword(rawValue: member.name), member.value) {
            case (.reference, .string(let reference)): object[member.name] = .string(renamed(reference))
            case (.items, _), (.contains, _), (.additionalProperties, _), (.propertyNames, _), (.not, _), (.if, _),
                (.then, _), (.else, _):
                object[member.name] = rewritten(member.value)
            case (.prefixItems, .array(let schemas)), (.allOf, .array(let schemas)), (.anyOf, .array(let schemas)),
                (.oneOf, .array(let schemas)):
                object[member.name] = .array(schemas.map { rewritten($0) })
            case (.properties, .object(var schemas)), (.patternProperties, .object(var schemas)),
                (.dependentSchemas, .object(var schemas)), (.definitions, .object(var schemas)):
                for schema in schemas { schemas[schema.name] = rewritten(schema.value) }
                object[member.name] = .object(schemas)
            default: break
            }
        }
        return .object(object)
    }

    /// What leads to the same place in the document that stands alone. The schema was compiled, so the reference is one.
    private mutating func renamed(_ reference: String) -> String {
        guard let text = PercentEncoding.decoded(reference.utf8.dropFirst()), let target = JSONPointer(text) else {
            return reference
        }
        if target == place { return "#" }
        let entry: JSONPointer = ["$defs", name(of: target)]
        return entry == target ? reference : "#" + entry.description.replacing("%", with: "%25")
    }

    private mutating func name(of target: JSONPointer) -> String {
        if let known = names[target] { return known }
        let isDefinition = target.tokens.count == 2 && target.tokens[0].hasSameBytes(as: "$defs")
        let base =
            isDefinition ? target.tokens[1] : target.tokens.isEmpty ? "suite" : target.tokens.joined(separator: ".")
        var name = base
        var count = 1
        while !taken.insert(UTF8Text(name)).inserted {
            count += 1
            name = "\(base)_\(count)"
        }
        names[target] = name
        pending.append(target)
        return name
    }
}
