internal import SettingsModel

/// A conversion of values that an earlier version of the program stored under a key as another type.
///
///     DefaultsKey<Int>("timeout", defaultValue: 30, migrating: .from(String.self) { Int($0) ?? 30 })
public struct KeyMigration<Value: DefaultsSerializable>: Sendable {
    let conversion: Conversion<Value>

    /// Converts each stored value that can be decoded as the former type but not as the type of the key.
    ///
    /// If the conversion throws, the stored value stays and the client reports the error.
    ///
    /// - Parameters:
    ///   - type: the former type of the key.
    ///   - convert: returns the value of the key for a value of the former type.
    public static func from<Former: DefaultsSerializable>(
        _ type: Former.Type, _ convert: @escaping @Sendable (Former) throws -> Value
    ) -> KeyMigration {
        let conversion = Conversion<Value>(from: type) { json in
            guard let former = try? Former.defaultsBridge.decode(json) else { return nil }
            return try convert(former)
        }
        return KeyMigration(conversion: conversion)
    }
}

/// The former type of a key. The comparison of two keys (``KeyRules/areSame(_:_:)``) compares only the former types of
/// their migrations, because closures cannot be compared.
protocol FormerType: AnyObject, Sendable {
    var type: any DefaultsSerializable.Type { get }
}

/// A conversion of JSON from the former type. It is an object, so that a key without a conversion stores only a nil
/// reference.
final class Conversion<Value: DefaultsSerializable>: FormerType {
    let type: any DefaultsSerializable.Type
    /// Returns nil if the JSON is not a value of the former type. Throws the error of the conversion.
    private let convert: @Sendable (JSONValue) throws -> Value?

    init(from type: any DefaultsSerializable.Type, convert: @escaping @Sendable (JSONValue) throws -> Value?) {
        self.type = type
        self.convert = convert
    }

    /// Converts stored JSON. Returns nil if the JSON is not a value of the former type.
    func callAsFunction(_ json: JSONValue) throws(BridgeError) -> Value? {
        do {
            return try convert(json)
        } catch {
            throw BridgeError("cannot be converted from a stored \(type) to \(Value.self): \(error)")
        }
    }
}

extension DefaultsKey {
    package var hasMigration: Bool { conversion != nil }
}

extension KeyCodec {
    /// Returns the JSON to store in place of a stored value of the key's former type.
    ///
    /// Returns nil if there is nothing to convert: the key has no migration, the type of the key decodes the JSON, the
    /// former type does not decode the JSON, or the converted value is the nil of an optional type. Throws if the
    /// conversion throws, or if its result is not a valid value of the key.
    package func migrated(_ stored: JSONValue) throws(InvalidValue) -> JSONValue? {
        guard let conversion = key.conversion, (try? decode(stored)) == nil else { return nil }
        let value: Value?
        do { value = try conversion(stored) } catch { throw InvalidValue(error, key: key) }
        guard let value else { return nil }
        return try encode(value)
    }
}
