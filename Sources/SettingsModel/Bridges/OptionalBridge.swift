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

/// A range that has two ends: `Range` and `ClosedRange`.
public protocol BoundedRange<Bound> {
    /// The type of the ends.
    associatedtype Bound: Comparable

    /// Where it begins.
    var lowerBound: Bound { get }
    /// Where it ends.
    var upperBound: Bound { get }

    /// The range between two ends, the first of which is known not to be greater.
    init(uncheckedBounds bounds: (lower: Bound, upper: Bound))
}

extension Range: BoundedRange {}
extension ClosedRange: BoundedRange {}

/// Ranges as `{"lowerBound":…,"upperBound":…}`.
public struct RangeBridge<Value: BoundedRange, Bound: DefaultsBridge>: DefaultsBridge
where Bound.Value == Value.Bound {
    private let bound: Bound

    init(_ bound: Bound) {
        self.bound = bound
    }

    /// Both ends.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        let lower: JSONValue
        let upper: JSONValue
        do { lower = try bound.encode(value.lowerBound) } catch { throw error.inside("lowerBound") }
        do { upper = try bound.encode(value.upperBound) } catch { throw error.inside("upperBound") }
        return ["lowerBound": lower, "upperBound": upper]
    }

    /// Takes two ends in their order.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        guard case .object(let members) = json, members.count == 2, let first = members["lowerBound"],
            let second = members["upperBound"]
        else { throw BridgeError("must be an object of lowerBound and upperBound") }
        let lower: Value.Bound
        let upper: Value.Bound
        do { lower = try bound.decode(first) } catch { throw error.inside("lowerBound") }
        do { upper = try bound.decode(second) } catch { throw error.inside("upperBound") }
        guard lower <= upper else { throw BridgeError("must have a lowerBound that is not above its upperBound") }
        return Value(uncheckedBounds: (lower, upper))
    }

    /// An object of the two ends.
    public var schema: WireSchema {
        .object(exactly: ["lowerBound": bound.schema, "upperBound": bound.schema])
    }

    /// The range of the bound's bridge that allows it.
    public func allowingNonFinite() -> Self {
        RangeBridge(bound.allowingNonFinite())
    }
}

extension Range: DefaultsSerializable where Bound: DefaultsSerializable {
    /// As an object of its two ends.
    public static var defaultsBridge: RangeBridge<Range<Bound>, Bound.Bridge> {
        RangeBridge(Bound.defaultsBridge)
    }
}

extension ClosedRange: DefaultsSerializable where Bound: DefaultsSerializable {
    /// As an object of its two ends.
    public static var defaultsBridge: RangeBridge<ClosedRange<Bound>, Bound.Bridge> {
        RangeBridge(Bound.defaultsBridge)
    }
}
