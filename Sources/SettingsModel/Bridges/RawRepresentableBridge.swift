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
