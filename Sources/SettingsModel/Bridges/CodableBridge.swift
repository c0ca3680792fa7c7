/// Codable types by their own encoding, as real JSON: objects for keyed containers, arrays for unkeyed ones.
///
/// Dates, data, URLs, UUIDs and decimals inside them have the same form as on their own, and no number is rounded.
/// What JSON a Codable type reads, only its own code knows, so the schema allows any; a type that wants its form to be
/// enforced says it:
///
///     extension Account: DefaultsSerializable {
///         static var defaultsBridge: CodableBridge<Account> {
///             CodableBridge(schema: .object(exactly: ["name": .string, "port": .integer(in: 1...65535)]))
///         }
///     }
public struct CodableBridge<Value: Codable & Sendable>: DefaultsBridge {
    /// What the JSON must look like.
    public let schema: WireSchema

    private var allowsNonFinite = false

    /// A bridge for a type whose JSON looks like this.
    public init(schema: WireSchema = .any) {
        self.schema = schema
    }

    /// What the type's `encode(to:)` makes of the value. Throws what that throws, as a sentence with its place.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try JSONValueEncoder(allowsNonFinite: allowsNonFinite).encode(value)
    }

    /// What the type's `init(from:)` makes of the JSON.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        try JSONValueDecoder(allowsNonFinite: allowsNonFinite).decode(Value.self, from: json)
    }

    /// A bridge that writes numbers that are not finite as strings.
    public func allowingNonFinite() -> Self {
        var bridge = self
        bridge.allowsNonFinite = true
        return bridge
    }
}
