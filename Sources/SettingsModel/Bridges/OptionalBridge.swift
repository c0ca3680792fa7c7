/// Optionals: `nil` as `null` inside other values, as nothing stored for a key.
///
/// Where the wrapped type itself reads `null`, as ``JSONValue`` does, a stored `null` is that type's; inside an array
/// or a dictionary such an optional cannot tell its own `nil` from it.
public struct OptionalBridge<Wrapped: DefaultsBridge>: DefaultsBridge {
    private let wrapped: Wrapped

    init(_ wrapped: Wrapped) {
        self.wrapped = wrapped
    }

    /// `null` for nil.
    public func encode(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue {
        guard let value else { return .null }
        return try wrapped.encode(value)
    }

    /// Nothing for nil.
    public func encodeStored(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue? {
        guard let value else { return nil }
        return try wrapped.encode(value)
    }

    /// Nil for `null`.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Wrapped.Value? {
        json.isNull && !wrapped.readsNull ? nil : try wrapped.decode(json)
    }

    /// What the wrapped type looks like, or `null`.
    public var schema: WireSchema {
        wrapped.readsNull ? wrapped.schema : wrapped.schema.orNull
    }

    /// What is stored for a key looks like the wrapped type: an optional key that is unset has no value at all.
    public var storedSchema: WireSchema {
        wrapped.schema
    }

    /// Nil is written as `null`.
    public var readsNull: Bool {
        true
    }

    /// The optional of the wrapped bridge that allows it.
    public func allowingNonFinite() -> Self {
        OptionalBridge(wrapped.allowingNonFinite())
    }
}

extension Optional: DefaultsSerializable where Wrapped: DefaultsSerializable {
    /// Nil or the form of the wrapped type.
    public static var defaultsBridge: OptionalBridge<Wrapped.Bridge> {
        OptionalBridge(Wrapped.defaultsBridge)
    }
}
