internal import SettingsModel

/// A conversion of values that an earlier version of the program stored under a key as another type.
///
///     DefaultsKey<Int>("timeout", defaultValue: 30, migrating: .from(String.self) { Int($0) ?? 30 })
public struct KeyMigration<Value: DefaultsSerializable>: Sendable {
    let formerType: any DefaultsSerializable.Type
    /// Returns nil if the JSON is no value of the former type. Throws the error of the conversion.
    private let conversion: @Sendable (JSONValue) throws -> Value?

    /// Converts each stored value that the former type decodes and the type of the key does not.
    ///
    /// If the conversion throws, the stored value stays and the error is reported.
    public static func from<Former: DefaultsSerializable>(
        _ type: Former.Type, _ convert: @escaping @Sendable (Former) throws -> Value
    ) -> KeyMigration {
        KeyMigration(formerType: type) { json in
            guard let former = try? Former.defaultsBridge.decode(json) else { return nil }
            return try convert(former)
        }
    }

    /// Converts stored JSON. Returns nil if the JSON is no value of the former type.
    func convert(_ json: JSONValue) throws(BridgeError) -> Value? {
        do {
            return try conversion(json)
        } catch {
            throw BridgeError("cannot be converted from a stored \(formerType) to \(Value.self): \(error)")
        }
    }
}

extension KeyMigration: AnyKeyMigration {}

/// A migration to any type. Two closures cannot be compared, so migrations from one type count as the same.
protocol AnyKeyMigration: Sendable {
    var formerType: any DefaultsSerializable.Type { get }
}

extension KeyCodec {
    /// Returns the JSON to store in place of a stored value of the key's former type.
    ///
    /// Returns nil if there is nothing to convert: the key has no migration, the type of the key decodes the JSON, the former
    /// type does not decode the JSON, or the result is nil. Throws if the conversion throws, or if its result is no value of the
    /// key.
    package func migrated(_ stored: JSONValue) throws(InvalidValue) -> JSONValue? {
        guard let migration = key.migration, (try? decode(stored)) == nil else { return nil }
        let value: Value?
        do { value = try migration.convert(stored) } catch { throw InvalidValue(error, key: key) }
        guard let value else { return nil }
        return try encode(value)
    }
}
