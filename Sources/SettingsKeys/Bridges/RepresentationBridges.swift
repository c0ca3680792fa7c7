public import SettingsModel

/// Encodes a type as its raw value. The schema of a `CaseIterable` type lists the allowed values.
package struct RawRepresentableBridge<Value: RawRepresentable & Sendable>: DefaultsBridge
where Value.RawValue: DefaultsSerializable {
    private let raw: Value.RawValue.Bridge

    /// Creates a bridge that encodes the raw value with the bridge of its type.
    package init() {
        raw = Value.RawValue.defaultsBridge
    }

    private init(raw: Value.RawValue.Bridge) {
        self.raw = raw
    }

    package func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try raw.encode(value.rawValue)
    }

    /// Decodes a raw value. Throws if the type has no value for the raw value.
    package func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        if let value = Value(rawValue: try raw.decode(json)) { return value }
        guard let cases = encodedCases else { throw BridgeError("is not a valid \(Value.self)") }
        throw BridgeError("must be one of \(cases.map(\.description).joined(separator: ", ")) (got \(json))")
    }

    /// The list of the cases, or the schema of the raw values.
    package var schema: WireSchema {
        encodedCases.map { .oneOf($0) } ?? raw.schema
    }

    package var readsNull: Bool {
        raw.readsNull
    }

    /// Returns the bridge whose raw value may be a number that is not finite.
    package func allowingNonFinite() -> Self {
        RawRepresentableBridge(raw: raw.allowingNonFinite())
    }

    /// The JSON of all cases that have a JSON form. Nil if the type does not list its cases.
    private var encodedCases: [JSONValue]? {
        CaseList.cases(of: Value.self)?.compactMap { try? encode($0) }
    }
}

/// Returns the cases of a type if it conforms to `CaseIterable`.
enum CaseList {
    static func cases<Value>(of type: Value.Type) -> [Value]? {
        guard let listing = type as? any CaseIterable.Type else { return nil }
        return allCases(of: listing).compactMap { $0 as? Value }
    }

    private static func allCases<Listing: CaseIterable>(of type: Listing.Type) -> [Any] {
        Array(type.allCases)
    }
}

/// Encodes a type with its `Codable` implementation. A keyed container is a JSON object, an unkeyed container a JSON
/// array.
///
/// Dates, data, URLs, UUIDs and decimals inside the value have the same JSON form as settings of these types. Numbers
/// are not rounded. By default the schema allows any JSON, because only the code of the type determines the JSON. A
/// type can restrict the schema:
///
///     extension Account: DefaultsSerializable {
///         static var defaultsBridge: CodableBridge<Account> {
///             CodableBridge(schema: .object(exactly: ["name": .string, "port": .integer(in: 1...65535)]))
///         }
///     }
public struct CodableBridge<Value: Codable & Sendable>: DefaultsBridge {
    /// The schema of the JSON.
    public let schema: WireSchema

    private var allowsNonFinite = false

    /// Creates a bridge.
    public init(schema: WireSchema = .any) {
        self.schema = schema
    }

    /// Calls `encode(to:)` of the value. Converts its error into a ``BridgeError`` with the position.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try ValueEncoder.encode(value, allowsNonFinite: allowsNonFinite)
    }

    /// Calls `init(from:)` of the type. Converts its error into a ``BridgeError`` with the position.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        try ValueDecoder.decode(Value.self, from: json, allowsNonFinite: allowsNonFinite)
    }

    /// Returns a bridge that encodes numbers that are not finite as strings.
    public func allowingNonFinite() -> Self {
        var bridge = self
        bridge.allowsNonFinite = true
        return bridge
    }
}
