// The kinds of types that decide which limits and forms a key may have.

/// An optional: the one kind of value that need not be there.
public protocol OptionalSetting: DefaultsSerializable {
    /// The value while nothing is stored.
    static var unset: Self { get }
}

extension Optional: OptionalSetting where Wrapped: DefaultsSerializable {
    /// Nil.
    public static var unset: Self {
        nil
    }
}

/// A number, or an optional one: what a range can limit.
public protocol NumericSetting: DefaultsSerializable {
    /// The type of the number.
    associatedtype Bound: NumericSetting & Comparable = Self

    /// The number as a limit in a schema; nil for nil. What no schema can have as a limit is refused when one is made.
    var limit: JSONValue? { get }
}

extension Optional: NumericSetting where Wrapped: NumericSetting {
    /// The type of the wrapped number.
    public typealias Bound = Wrapped.Bound

    /// The limit that the wrapped number is.
    public var limit: JSONValue? {
        self?.limit
    }
}

extension NumericSetting where Self: FixedWidthInteger {
    /// The integer; above the largest Int64 its digits, which no schema takes for a limit.
    public var limit: JSONValue? {
        Int64(exactly: self).map(JSONValue.integer) ?? .string(String(self))
    }
}

/// Text, or optional text: what a length and a pattern can limit.
public protocol TextSetting: DefaultsSerializable {}

extension String: TextSetting {}
extension Optional: TextSetting where Wrapped: TextSetting {}

/// An array or a set, or an optional one: what elements can be added to.
public protocol CollectionSetting: DefaultsSerializable {}

extension Array: CollectionSetting where Element: DefaultsSerializable {}
extension Set: CollectionSetting where Element: DefaultsSerializable {}
extension Optional: CollectionSetting where Wrapped: CollectionSetting {}

extension Int: NumericSetting {}
extension Int8: NumericSetting {}
extension Int16: NumericSetting {}
extension Int32: NumericSetting {}
extension Int64: NumericSetting {}
extension UInt: NumericSetting {}
extension UInt8: NumericSetting {}
extension UInt16: NumericSetting {}
extension UInt32: NumericSetting {}
extension UInt64: NumericSetting {}

extension Double: NumericSetting {
    /// The number.
    public var limit: JSONValue? {
        .double(self)
    }
}

extension Float: NumericSetting {
    /// The number in its own shortest digits, which only one that is not finite has not.
    public var limit: JSONValue? {
        (try? Float.defaultsBridge.encode(self)) ?? .double(Double(self))
    }
}
