/// Schema documents for callers that may not read secrets.
///
/// `default` and `examples` can contain the value of a secret and are omitted. Rules stay, including `enum` and
/// `const`: a caller that may write the key can find them out from refusals anyway.
extension Schema {
    /// The document without `default` and `examples`. The schemas in `properties` of keys for which `isShown` returns
    /// true stay complete.
    package func document(showing isShown: (String) -> Bool) -> JSONValue {
        guard var object = document.withoutSampleValues.object, var keys = object["properties"]?.object else {
            return document.withoutSampleValues
        }
        for member in document["properties"]?.object ?? [:] where isShown(member.name) {
            keys[member.name] = member.value
        }
        object["properties"] = .object(keys)
        return .object(object)
    }

    /// The standalone schema of a key without the values of secrets.
    ///
    /// - Parameter isShown: false if the key is a secret that the caller may not read.
    package func standaloneDocument(of key: KeySchema, showing isShown: Bool) -> JSONValue {
        let document = standaloneDocument(of: key)
        guard isShown else { return document.withoutSampleValues }
        // A definition can be the schema of another key, which may be a secret, or a part of such a schema.
        guard var object = document.object, let definitions = object["$defs"]?.object else { return document }
        object["$defs"] = .object(definitions.mapValues(\.withoutSampleValues))
        return .object(object)
    }
}

extension JSONValue {
    /// The schema without `default` and `examples`, also without them in its sub-schemas.
    fileprivate var withoutSampleValues: JSONValue {
        guard case .object(var object) = self else { return self }
        object.removeAll { [SchemaKeyword.default, .examples].contains(SchemaKeyword(rawValue: $0.name)) }
        for member in object {
            switch (SchemaKeyword(rawValue: member.name)?.operand, member.value) {
            case (.schema, let inner): object[member.name] = inner.withoutSampleValues
            case (.schemas, .array(let inner)): object[member.name] = .array(inner.map(\.withoutSampleValues))
            case (.namedSchemas, .object(let inner)):
                object[member.name] = .object(inner.mapValues(\.withoutSampleValues))
            default: break
            }
        }
        return .object(object)
    }
}
