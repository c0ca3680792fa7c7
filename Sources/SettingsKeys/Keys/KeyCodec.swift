public import SettingsModel

/// A codec that encodes and decodes the values of a key and checks its limits.
///
/// Making one compiles the key's schema, which takes microseconds.
public struct KeyCodec<Value: DefaultsSerializable>: Sendable {
    /// The key.
    package let key: DefaultsKey<Value>
    package let schema: KeySchema

    private let bridge: Value.Bridge
    private let dropsUnknownElements: Bool

    /// Compiles a key. Throws if its name, pattern or default is not valid.
    public init(_ key: DefaultsKey<Value>) throws(SchemaError) {
        try self.init(key, like: nil)
    }

    /// Makes a codec that shares the schema of another key's, which differs in name and default only.
    package init(_ key: DefaultsKey<Value>, like model: KeyCodec?) throws(SchemaError) {
        self.key = key
        bridge = key.bridge
        dropsUnknownElements = key.rules?.traits.dropsUnknownElements ?? false
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

    /// Encodes a value to store; nil to remove the stored one. Throws if the value has no JSON form or is beyond the
    /// key's limits.
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
    ///
    /// An object that an older program stored may lack a member that the type requires. The member is then that of the
    /// key's default value.
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

    /// Decodes an object again with the missing members from the default value. Returns nil if the default has no such
    /// member.
    private func decode(_ stored: JSONValue, fillingIn failure: BridgeError) throws(InvalidValue) -> Value? {
        guard failure.missingMember != nil, let encodedDefault = try? bridge.encodeStored(key.defaultValue) else {
            return nil
        }
        var (filled, failure) = (stored, failure)
        // Each pass adds a member of the default, so the number of passes has a bound.
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

    /// The elements of an array or a set; nil for other types.
    private var elements: (any ElementReading)? {
        bridge as? any ElementReading
    }

    /// Returns new JSON of a change in place together with the elements of the stored JSON that the key does not read.
    /// Returns the new JSON itself if the key drops no unknown elements.
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
    /// Copies a member that this value lacks from another value. Returns false without a change unless objects of both
    /// values lead to the place, and the other value has the member there.
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
    /// A key whose type says nothing of its values, as a `Codable` type without a schema of its own, agrees with any
    /// rule. Of a key that the schema admits without listing it, only the type is compared. Throws if the key's default
    /// has no JSON form.
    public func differences<Value>(from key: DefaultsKey<Value>) throws(SchemaError) -> [SchemaDifference] {
        try differences(fromKey: key)
    }

    /// Lists what a program's key of any type and this schema disagree on.
    package func differences(from key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        try differences(fromKey: key)
    }

    private func differences(fromKey key: some AnyDefaultsKey) throws(SchemaError) -> [SchemaDifference] {
        differences(from: try key.documentForSchema(), named: key.name, isSecret: key.traits.isSecret)
    }
}

extension AnyDefaultsKey {
    fileprivate func documentForSchema() throws(SchemaError) -> JSONObject {
        do { return try schemaDocument() } catch { throw SchemaError(["default"], "default", error.description) }
    }
}
