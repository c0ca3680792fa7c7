/// A key made ready for use: encodes and decodes its values and holds them against its limits.
///
/// Making one compiles the key's schema, which costs microseconds; keep it where a key is used often.
public struct KeyCodec<Value: DefaultsSerializable>: Sendable {
    /// The key.
    public let key: DefaultsKey<Value>
    /// What the key's values may be.
    package let schema: JSONSchema

    private let bridge: Value.Bridge

    /// Compiles a key. Throws if it cannot be one: its name is none, its pattern or default is not valid.
    public init(_ key: DefaultsKey<Value>) throws(SchemaError) {
        try self.init(key, like: nil)
    }

    /// Makes a codec that shares what is compiled with that of another key, which says the same but for name and default.
    package init(_ key: DefaultsKey<Value>, like model: KeyCodec?) throws(SchemaError) {
        self.key = key
        bridge = key.bridge
        do {
            _ = try KeyName(key.name)
        } catch {
            throw SchemaError(problems: [SchemaError.Problem(.root, "properties", error.description)])
        }
        if let model, let value = try? bridge.encodeStored(key.defaultValue), model.schema.allows(value) {
            schema = model.schema
            return
        }
        let document: JSONObject
        do {
            document = try key.schemaDocument()
        } catch {
            throw SchemaError(problems: [SchemaError.Problem(["default"], "default", error.description)])
        }
        schema = try JSONSchema(.object(document))
    }

    /// The JSON to store for a value; nil to remove what is stored. Throws if the value has no JSON form or is beyond
    /// the key's limits.
    public func encode(_ value: Value) throws(InvalidValue) -> JSONValue? {
        let json: JSONValue?
        do {
            json = try bridge.encodeStored(value)
        } catch {
            throw InvalidValue(error, key: key)
        }
        if let json { try check(json) }
        return json
    }

    /// The value that a reader gets: of what is stored, or the default if that is nothing. Throws if what is stored is
    /// no value of the key, never taking another in its place.
    public func decode(_ stored: JSONValue?) throws(InvalidValue) -> Value {
        guard let stored else { return key.defaultValue }
        try check(stored)
        do {
            return try bridge.decode(stored)
        } catch {
            throw InvalidValue(error, key: key)
        }
    }

    private func check(_ json: JSONValue) throws(InvalidValue) {
        let violations = schema.violations(of: json)
        if !violations.isEmpty { throw InvalidValue(key: key.name, violations: violations) }
    }
}

/// Why a value is none of its key.
public struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key.
    public let key: String
    /// Everything that is wrong, at least one thing.
    public let violations: [Violation]

    init(key: String, violations: [Violation]) {
        self.key = key
        self.violations = violations.map { violation in
            var violation = violation
            violation.key = key
            return violation
        }
    }

    init<Value>(_ error: BridgeError, key: DefaultsKey<Value>) {
        let violation =
            if key.traits.isSecret {
                Violation(keyword: "type", detail: "must be a value of \(Value.self)")
            } else {
                Violation(pointer: error.pointer, keyword: "type", detail: error.reason)
            }
        self.init(key: key.name, violations: [violation])
    }

    /// All violations in sentences.
    public var description: String {
        violations.map(\.sentence).joined(separator: "; ")
    }
}

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
