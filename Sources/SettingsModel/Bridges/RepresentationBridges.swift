/// Types with a raw value by that value; an enumeration that lists its cases lists them in its schema too.
public struct RawRepresentableBridge<Value: RawRepresentable & Sendable>: DefaultsBridge
where Value.RawValue: DefaultsSerializable {
    private let raw: Value.RawValue.Bridge

    /// The bridge by the raw value's own.
    public init() {
        raw = Value.RawValue.defaultsBridge
    }

    private init(raw: Value.RawValue.Bridge) {
        self.raw = raw
    }

    /// The raw value's form.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try raw.encode(value.rawValue)
    }

    /// Takes the form of a raw value that is one of the type's.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        guard let value = Value(rawValue: try raw.decode(json)) else { throw notAmongCases(json) }
        return value
    }

    /// The cases, or what raw values look like.
    public var schema: WireSchema {
        encodedCases.map { .oneOf($0) } ?? raw.schema
    }

    /// Whether the raw value is `null` for some value.
    public var readsNull: Bool {
        raw.readsNull
    }

    /// The bridge by a raw value that allows it.
    public func allowingNonFinite() -> Self {
        RawRepresentableBridge(raw: raw.allowingNonFinite())
    }

    /// The JSON of all cases; a case that has none cannot be stored, so it is none that a schema could list.
    private var encodedCases: [JSONValue]? {
        CaseList.cases(of: Value.self)?.compactMap { try? encode($0) }
    }

    private func notAmongCases(_ json: JSONValue) -> BridgeError {
        guard let cases = encodedCases else { return BridgeError("is no \(Value.self)") }
        return BridgeError("must be one of \(cases.map(\.description).joined(separator: ", ")), but is \(json)")
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

/// JSON as itself.
public struct JSONBridge: DefaultsBridge {
    /// Throws for what no JSON text can say: a number that is not finite, or more than 128 levels.
    public func encode(_ value: JSONValue) throws(BridgeError) -> JSONValue {
        guard value.isNested(atMost: JSONValue.maximumDepth) else {
            throw BridgeError("must nest at most \(JSONValue.maximumDepth) levels deep")
        }
        guard value.isFinite else { throw BridgeError("must hold finite numbers only") }
        return value
    }

    /// Takes everything.
    public func decode(_ json: JSONValue) throws(BridgeError) -> JSONValue {
        json
    }

    /// Any JSON.
    public var schema: WireSchema {
        .any
    }

    /// `null` is a JSON value.
    public var readsNull: Bool {
        true
    }
}

extension JSONValue: OwnJSONForm {
    /// As itself.
    public static var defaultsBridge: JSONBridge {
        JSONBridge()
    }
}

/// A standard type whose JSON is its bridge's wherever it stands, also as a part of a Codable value.
///
/// What `Codable` alone makes of these would lose something or be unreadable to anybody else: a date as seconds since
/// 2001, data as a list of numbers, a decimal as its bits.
protocol OwnJSONForm: DefaultsSerializable {}

extension OwnJSONForm {
    /// The value in its own form.
    var ownJSON: JSONValue {
        get throws(BridgeError) { try Self.defaultsBridge.encode(self) }
    }

    /// Reads the type's own form.
    init(ownJSON json: JSONValue) throws(BridgeError) {
        self = try Self.defaultsBridge.decode(json)
    }
}
