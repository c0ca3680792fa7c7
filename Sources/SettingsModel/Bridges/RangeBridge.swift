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
