public import SettingsModel

/// Encodes and decodes the values of a key, and checks its limits.
///
/// The creation of a codec compiles the schema of the key, which takes some microseconds.
public struct KeyCodec<Value: DefaultsSerializable>: Sendable {
    package let key: DefaultsKey<Value>
    package let schema: KeySchema

    private let bridge: Value.Bridge
    /// True if a read leaves out unknown elements: the elements of a stored array or set that the element type cannot
    /// decode.
    private let dropsUnknownElements: Bool

    /// Creates the codec of a key. Throws if the name, the pattern or the default of the key is not valid.
    public init(_ key: DefaultsKey<Value>) throws(SchemaError) {
        try self.init(key, sharingSchemaOf: nil)
    }

    /// Creates a codec that shares the compiled schema of another codec, unless this schema refuses the default of the
    /// key. The keys may differ only in their names and defaults.
    package init(_ key: DefaultsKey<Value>, sharingSchemaOf other: KeyCodec?) throws(SchemaError) {
        self.key = key
        bridge = key.bridge
        dropsUnknownElements = key.rules?.traits.dropsUnknownElements ?? false
        do {
            _ = try KeyName(key.name)
        } catch {
            throw SchemaError(.root, "properties", error.description)
        }
        if let other, let value = try? bridge.encodeStored(key.defaultValue), other.schema.allows(value) {
            schema = other.schema
            return
        }
        schema = try KeySchema(.object(try key.schemaDocumentOrError()), named: key.name)
    }

    /// Encodes a value. Returns nil if the stored value has to be removed, because the value is nil. Throws if the
    /// value has no JSON form or is outside the limits of the key.
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

    /// Decodes a stored value. Returns the default if nothing is stored. Throws if the stored value is not a valid
    /// value of the key.
    ///
    /// An object from an older version of the program may lack a member that the type requires. The codec then uses the
    /// member of the default value.
    public func decode(_ stored: JSONValue?) throws(InvalidValue) -> Value {
        guard let stored else { return key.defaultValue }
        if dropsUnknownElements, let elements { return try value(of: elements.droppingUnknownElements(of: stored)) }
        return try value(of: stored)
    }

    private func value(of stored: JSONValue) throws(InvalidValue) -> Value {
        try check(stored)
        do {
            return try bridge.decode(stored)
        } catch {
            if let value = try decode(stored, fillingIn: error) { return value }
            throw InvalidValue(error, key: key)
        }
    }

    /// Adds missing members from the default value to a stored object, and decodes the object again. Returns nil if the
    /// error is not about a missing member, or if the default value cannot be encoded.
    private func decode(_ stored: JSONValue, fillingIn failure: BridgeError) throws(InvalidValue) -> Value? {
        guard failure.missingMember != nil, let encodedDefault = try? bridge.encodeStored(key.defaultValue) else {
            return nil
        }
        var (filled, failure) = (stored, failure)
        // Each iteration adds a member of the default, so the number of iterations is limited.
        while let name = failure.missingMember,
            filled.copyMember(name, ofObjectAt: failure.pointer.tokens[...], from: encodedDefault)
        {
            let value: Value
            do { value = try bridge.decode(filled) } catch {
                failure = error
                continue
            }
            try check(filled)
            return value
        }
        throw InvalidValue(failure, key: key)
    }

    /// The bridge as a bridge of arrays or sets. Nil for other types.
    private var elements: (any ElementCheckingBridge)? {
        bridge as? any ElementCheckingBridge
    }

    /// Returns the new JSON of a change in place, with the unknown elements of the stored JSON added. Returns the new
    /// JSON unchanged if the key does not drop unknown elements.
    package func keepingUnknownElements(of stored: JSONValue?, in new: JSONValue?) -> JSONValue? {
        guard dropsUnknownElements, let elements, let stored, let new else { return new }
        return elements.keepingUnknownElements(of: stored, in: new)
    }

    private func check(_ json: JSONValue) throws(InvalidValue) {
        let violations = schema.violations(of: json)
        if !violations.isEmpty { throw InvalidValue(key: key.name, violations: violations) }
    }
}

extension JSONValue {
    /// Copies a member from the object at a path in another value to the object at the same path in this value. Changes
    /// nothing and returns false if the path does not lead to an object in both values, if this object has the member,
    /// or if the other object lacks the member.
    fileprivate mutating func copyMember(_ name: String, ofObjectAt path: ArraySlice<String>, from other: JSONValue)
        -> Bool
    {
        guard case .object(var members) = self, case .object(let others) = other else { return false }
        if let step = path.first {
            guard var part = members[step], let otherPart = others[step],
                part.copyMember(name, ofObjectAt: path.dropFirst(), from: otherPart)
            else { return false }
            members[step] = part
        } else {
            guard members[name] == nil, let value = others[name] else { return false }
            members[name] = value
        }
        self = .object(members)
        return true
    }
}

/// An error that says why a value does not fit its key.
public struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key.
    public let key: String
    /// The violations. There is at least one.
    public let violations: [Violation]

    package init(key: String, violations: [Violation]) {
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
    /// Lists the differences between a program's key and this schema.
    ///
    /// A type whose schema allows any JSON, such as a `Codable` type without its own schema, never differs. If the
    /// schema allows the key without listing it, only the type is compared. Throws if the default of the key has no
    /// JSON form.
    public func differences<Value>(from key: DefaultsKey<Value>) throws(SchemaError) -> [SchemaDifference] {
        try differences(fromKey: key)
    }

    /// Lists the differences between a program's key of any type and this schema.
    package func differences(from key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        try differences(fromKey: key)
    }

    private func differences(fromKey key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        differences(from: try key.schemaDocumentOrError(), named: key.name, isSecret: key.traits.isSecret)
    }
}

extension AnyDefaultsKey {
    fileprivate func schemaDocumentOrError() throws(SchemaError) -> JSONObject {
        do { return try schemaDocument() } catch { throw SchemaError(["default"], "default", error.description) }
    }
}
