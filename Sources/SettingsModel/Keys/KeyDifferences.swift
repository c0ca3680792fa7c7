extension Schema {
    /// What a program's key and this schema disagree on; empty if nothing.
    ///
    /// Meanings are compared, not texts: limits may be written in another way, and annotations do not matter. Where a
    /// key's type says nothing, as that of a `Codable` type without a schema of its own, the schema may say anything. A
    /// key that the schema admits without listing it may have limits and a default that the schema does not know.
    /// Throws if the key's default has no JSON form.
    public func differences(from key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        let document: JSONObject
        do {
            document = try key.schemaDocument()
        } catch {
            throw SchemaError(problems: [SchemaError.Problem(["default"], "default", error.description)])
        }
        return differences(from: document, named: key.name, isSecret: key.traits.isSecret)
    }
}
