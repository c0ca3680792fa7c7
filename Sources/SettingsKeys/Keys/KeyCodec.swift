public import SettingsModel

/// A codec that encodes and decodes the values of a key and checks its limits.
///
/// Making one compiles the key's schema, which takes microseconds.
public struct KeyCodec<Value: DefaultsSerializable>: Sendable {
    /// The key.
    public let key: DefaultsKey<Value>
    package let schema: KeySchema

    private let bridge: Value.Bridge

    /// Compiles a key. Throws if its name, pattern or default is not valid.
    public init(_ key: DefaultsKey<Value>) throws(SchemaError) {
        try self.init(key, like: nil)
    }

    /// Makes a codec that shares the schema of another key's, which differs in name and default only.
    package init(_ key: DefaultsKey<Value>, like model: KeyCodec?) throws(SchemaError) {
        self.key = key
        bridge = key.bridge
        do {
            _ = try KeyName(key.name)
        } catch {
            throw SchemaError(.root, "properties", error.description)
        }
        if let model, let value = try? bridge.encodeStored(key.defaultValue), model.schema.allows(value) {
            schema = model.schema
            return
        }
        schema = try KeySchema(.object(try key.documentForSchema()), named: key.name)
    }

    /// Encodes a value to store; nil to remove the stored one. Throws if the value has no JSON form or is beyond the key's
    /// limits.
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

    /// Decodes a stored value; returns the default if nothing is stored. Throws if the stored value is none of the key.
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

/// An error that says why a value does not fit its key.
public struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key.
    public let key: String
    /// The violations, at least one.
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
    /// Lists what a program's key and this schema disagree on.
    ///
    /// A key whose type says nothing of its values, as a `Codable` type without a schema of its own, agrees with any rule. Of a
    /// key that the schema admits without listing it, only the type is compared. Throws if the key's default has no JSON form.
    public func differences(from key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        differences(from: try key.documentForSchema(), named: key.name, isSecret: key.traits.isSecret)
    }
}

extension AnyDefaultsKey {
    fileprivate func documentForSchema() throws(SchemaError) -> JSONObject {
        do { return try schemaDocument() } catch { throw SchemaError(["default"], "default", error.description) }
    }
}
