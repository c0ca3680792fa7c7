/// A typed key of whatever type: its name and what it says of its values.
public protocol AnyDefaultsKey: Sendable {
    /// The name under which the value is stored.
    var name: String { get }
    /// The type of the values.
    var valueType: any DefaultsSerializable.Type { get }
    /// What the key says beside type, default and limits.
    var traits: KeyTraits { get }

    /// The key's part of a schema: its type, limits, default and description. Throws if the default or an allowed
    /// value has no JSON form.
    func schemaDocument() throws(BridgeError) -> JSONObject
}

extension DefaultsKey: AnyDefaultsKey {
    /// The type of the values.
    public var valueType: any DefaultsSerializable.Type {
        Value.self
    }

    /// The key's part of a schema: its type, limits, default and description. Throws if the default or an allowed
    /// value has no JSON form.
    public func schemaDocument() throws(BridgeError) -> JSONObject {
        let bridge = bridge
        var document = bridge.storedSchema.document
        limits.apply(to: &document)
        if let allowed {
            var values: [JSONValue] = []
            for value in allowed {
                if let json = try bridge.encodeStored(value) { values.append(json) }
            }
            document["enum"] = .array(values)
        }
        if let json = try bridge.encodeStored(defaultValue) { document["default"] = json }
        if let description = traits.description { document["description"] = .string(description) }
        if traits.isSecret { document["writeOnly"] = true }
        if !traits.renamedFrom.isEmpty {
            document["x-renamedFrom"] = .array(traits.renamedFrom.map(JSONValue.string))
        }
        if let merge = traits.merge { document["x-merge"] = .string(merge.rawValue) }
        return document
    }
}
