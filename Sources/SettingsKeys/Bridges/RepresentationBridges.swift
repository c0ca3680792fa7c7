public import SettingsModel

/// Types with a raw value by that value; an enumeration that lists its cases lists them in its schema too.
package struct RawRepresentableBridge<Value: RawRepresentable & Sendable>: DefaultsBridge
where Value.RawValue: DefaultsSerializable {
    private let raw: Value.RawValue.Bridge

    /// Makes the bridge by the raw value's own.
    package init() {
        raw = Value.RawValue.defaultsBridge
    }

    private init(raw: Value.RawValue.Bridge) {
        self.raw = raw
    }

    /// Encodes the raw value.
    package func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try raw.encode(value.rawValue)
    }

    /// Decodes a raw value. Throws if the type has no such value.
    package func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        if let value = Value(rawValue: try raw.decode(json)) { return value }
        guard let cases = encodedCases else { throw BridgeError("is no \(Value.self)") }
        throw BridgeError("must be one of \(cases.map(\.description).joined(separator: ", ")), but is \(json)")
    }

    /// The cases, or the form of raw values.
    package var schema: WireSchema {
        encodedCases.map { .oneOf($0) } ?? raw.schema
    }

    /// True if the raw value is `null` for some value.
    package var readsNull: Bool {
        raw.readsNull
    }

    /// Returns the bridge by a raw value that allows it.
    package func allowingNonFinite() -> Self {
        RawRepresentableBridge(raw: raw.allowingNonFinite())
    }

    /// The JSON of all cases, without those that have none and so cannot be stored.
    private var encodedCases: [JSONValue]? {
        CaseList.cases(of: Value.self)?.compactMap { try? encode($0) }
    }
}

/// The cases of a type, if it lists them.
enum CaseList {
    static func cases<Value>(of type: Value.Type) -> [Value]? {
        guard let listing = type as? any CaseIterable.Type else { return nil }
        return allCases(of: listing).compactMap { $0 as? Value }
    }

    private static func allCases<Listing: CaseIterable>(of type: Listing.Type) -> [Any] {
        Array(type.allCases)
    }
}

/// Codable types by their own encoding, as real JSON: objects for keyed containers, arrays for unkeyed ones.
///
/// Dates, data, URLs, UUIDs and decimals inside them have the same form as on their own, and no number is rounded.
/// Only its own code knows which JSON a Codable type reads, so the schema allows any. A type can enforce its form:
///
///     extension Account: DefaultsSerializable {
///         static var defaultsBridge: CodableBridge<Account> {
///             CodableBridge(schema: .object(exactly: ["name": .string, "port": .integer(in: 1...65535)]))
///         }
///     }
public struct CodableBridge<Value: Codable & Sendable>: DefaultsBridge {
    /// The form that the JSON must have.
    public let schema: WireSchema

    private var allowsNonFinite = false

    /// Makes a bridge.
    public init(schema: WireSchema = .any) {
        self.schema = schema
    }

    /// Encodes by the type's `encode(to:)`. Throws its errors as a sentence with their place.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try ValueEncoder.encode(value, allowsNonFinite: allowsNonFinite)
    }

    /// Decodes by the type's `init(from:)`.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        try ValueDecoder.decode(Value.self, from: json, allowsNonFinite: allowsNonFinite)
    }

    /// Returns a bridge that writes numbers that are not finite as strings.
    public func allowingNonFinite() -> Self {
        var bridge = self
        bridge.allowsNonFinite = true
        return bridge
    }
}
