extension Schema {
    /// The schema of a program's keys.
    ///
    ///     let schema = try Schema(of: DefaultsKeys.self) { \.username; \.launchCount; \.player.volume }
    ///     print(schema.document.text(style: .pretty))
    ///
    /// Throws if a key cannot be one, or if two of them have one name but not one meaning. `additionalProperties` says
    /// what keys that are not listed may hold; by default there may be none.
    public init<Store: DefaultsKeyStore>(
        of store: Store.Type, additionalProperties: JSONValue = false,
        @KeyListBuilder<Store> keys: () -> [any AnyDefaultsKey]
    ) throws(SchemaError) {
        try self.init(keys: keys(), additionalProperties: additionalProperties)
    }

    /// The schema of all keys that a store holds in stored properties, those of stores within it included.
    ///
    /// Computed properties cannot be found this way; list them with ``init(of:additionalProperties:keys:)``.
    public init(reflecting store: some DefaultsKeyStore, additionalProperties: JSONValue = false) throws(SchemaError) {
        try self.init(keys: Self.storedKeys(of: store), additionalProperties: additionalProperties)
    }

    /// The schema of some keys.
    public init(keys: [any AnyDefaultsKey], additionalProperties: JSONValue = false) throws(SchemaError) {
        var properties = JSONObject()
        var types: [UTF8Text: String] = [:]
        var problems: [SchemaError.Problem] = []
        for key in keys {
            let pointer = JSONPointer(["properties", key.name])
            do {
                let document = JSONValue.object(try key.schemaDocument())
                let member = JSONObject.Member(name: key.name, value: document)
                let known = types[UTF8Text(key.name)]
                if !properties.append(member), known != key.typeName || properties[key.name] != document {
                    let detail =
                        "\(key.name) is defined twice: as \(known ?? "another key") and as \(key.typeName)"
                        + (known == key.typeName ? " with other limits or another default" : "")
                    problems.append(SchemaError.Problem(pointer, "properties", detail))
                }
                if known == nil { types[UTF8Text(key.name)] = key.typeName }
            } catch {
                let detail = "\(key.name) has a default or an allowed value that cannot be stored: \(error)"
                problems.append(SchemaError.Problem(pointer, "default", detail))
            }
        }
        guard problems.isEmpty else { throw SchemaError(problems: problems) }
        try self.init([
            "$schema": .string(Self.dialect), "type": "object", "additionalProperties": additionalProperties,
            "properties": .object(properties),
        ])
    }

    private static func storedKeys(of store: Any) -> [any AnyDefaultsKey] {
        Mirror(reflecting: store).children.flatMap { child -> [any AnyDefaultsKey] in
            if let key = child.value as? any AnyDefaultsKey { return [key] }
            return child.value is any DefaultsKeyStore ? storedKeys(of: child.value) : []
        }
    }
}
