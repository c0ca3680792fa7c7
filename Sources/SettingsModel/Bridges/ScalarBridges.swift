/// Truth values as JSON booleans.
public struct BoolBridge: DefaultsBridge {
    /// Both values have this form.
    public func encode(_ value: Bool) throws(BridgeError) -> JSONValue {
        .bool(value)
    }

    /// Takes a boolean; a number is none.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Bool {
        guard case .bool(let value) = json else { throw BridgeError(expected: "true or false", found: json) }
        return value
    }

    /// `true` or `false`.
    public var schema: WireSchema {
        .boolean
    }
}

extension Bool: DefaultsSerializable {
    /// As a JSON boolean.
    public static var defaultsBridge: BoolBridge {
        BoolBridge()
    }
}

/// Strings as JSON strings.
public struct StringBridge: DefaultsBridge {
    /// Every string has this form.
    public func encode(_ value: String) throws(BridgeError) -> JSONValue {
        .string(value)
    }

    /// Takes a string.
    public func decode(_ json: JSONValue) throws(BridgeError) -> String {
        guard case .string(let text) = json else { throw BridgeError(expected: "a string", found: json) }
        return text
    }

    /// Any string.
    public var schema: WireSchema {
        .string
    }
}

extension String: DefaultsSerializable {
    /// As a JSON string.
    public static var defaultsBridge: StringBridge {
        StringBridge()
    }
}

/// Integers as JSON integers.
///
/// What is beyond Int64, as a UInt or UInt64 can be, is the string of its digits, since every JSON integer must fit Int64.
public struct IntegerBridge<Value: FixedWidthInteger & Sendable>: DefaultsBridge {
    /// Every integer has a form.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        if let integer = Int64(exactly: value) { .integer(integer) } else { .string(String(value)) }
    }

    /// Takes an integer in the range of the type, also one written as `1.0`.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        switch json {
        case .integer(let integer):
            guard let value = Value(exactly: integer) else { throw outOfRange(json) }
            return value
        case .double(let double):
            guard let integer = double.exactInteger else { throw BridgeError(expected: "an integer", found: json) }
            return try decode(.integer(integer))
        case .string(let digits) where Self.exceedsInt64:
            guard let value = Value(digits), Int64(exactly: value) == nil, String(value).hasSameBytes(as: digits) else {
                throw BridgeError("must be an integer or the digits of one beyond \(Int64.max)")
            }
            return value
        default:
            throw BridgeError(expected: "an integer", found: json)
        }
    }

    /// An integer in the range of the type.
    public var schema: WireSchema {
        guard let lower = Int64(exactly: Value.min) else {
            return .anyOf([.integer, .string(pattern: "^-?[0-9]{19,}$")])
        }
        guard let upper = Int64(exactly: Value.max) else {
            return .anyOf([
                WireSchema(["type": "integer", "minimum": .integer(lower)]), .string(pattern: "^[0-9]{19,20}$"),
            ])
        }
        return lower == .min && upper == .max ? .integer : .integer(in: lower...upper)
    }

    private static var exceedsInt64: Bool {
        Int64(exactly: Value.max) == nil
    }

    private func outOfRange(_ json: JSONValue) -> BridgeError {
        BridgeError("must be between \(Value.min) and \(Value.max), but is \(json)")
    }
}

extension Double {
    /// This number as an integer, if it is integral and so small that no other integer has the same double: what was
    /// written as `1.0` and meant as `1`.
    var exactInteger: Int64? {
        magnitude <= 0x1p53 ? Int64(exactly: self) : nil
    }
}

extension DefaultsSerializable where Self: FixedWidthInteger & Codable {
    /// As a JSON integer.
    public static var defaultsBridge: IntegerBridge<Self> {
        IntegerBridge()
    }
}

extension Int: DefaultsSerializable {}
extension Int8: DefaultsSerializable {}
extension Int16: DefaultsSerializable {}
extension Int32: DefaultsSerializable {}
extension Int64: DefaultsSerializable {}
extension UInt: OwnJSONForm {}
extension UInt8: DefaultsSerializable {}
extension UInt16: DefaultsSerializable {}
extension UInt32: DefaultsSerializable {}
extension UInt64: OwnJSONForm {}

/// Doubles and floats as JSON numbers.
///
/// A float is written with its own shortest digits, `0.1` and not `0.10000000149011612`. Numbers that are not finite
/// have no JSON form unless the key opts in; then they are the strings `Infinity`, `-Infinity` and `NaN`.
public struct FloatingPointBridge<Value: SettingFloat>: DefaultsBridge {
    private var allowsNonFinite = false

    /// Throws for a number that is not finite, unless that is allowed.
    public func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        if value.isFinite { return .double(Self.shortestDouble(value)) }
        guard allowsNonFinite else {
            throw BridgeError("must be a finite number, but is \(value); a key may opt in to others")
        }
        return .string(value.isNaN ? Self.nan : (value > 0 ? Self.infinity : Self.minusInfinity))
    }

    /// Takes any number that the type can hold, rounded to the nearest.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        switch json {
        case .integer(let integer):
            return Value(integer)
        case .double(let double):
            let value = Value(double)
            guard value.isFinite else {
                throw BridgeError("must be between ±\(Value.greatestFiniteMagnitude), but is \(double)")
            }
            return value
        case .string(Self.nan) where allowsNonFinite:
            return .nan
        case .string(Self.infinity) where allowsNonFinite:
            return .infinity
        case .string(Self.minusInfinity) where allowsNonFinite:
            return -.infinity
        default:
            throw BridgeError(expected: "a number", found: json)
        }
    }

    /// A number, or one of the three strings if those are allowed.
    public var schema: WireSchema {
        var number = WireSchema.number
        let limit = Self.shortestDouble(.greatestFiniteMagnitude)
        if limit < .greatestFiniteMagnitude {
            number.document["minimum"] = .double(-limit)
            number.document["maximum"] = .double(limit)
        }
        guard allowsNonFinite else { return number }
        return .anyOf([number, .oneOf([.string(Self.infinity), .string(Self.minusInfinity), .string(Self.nan)])])
    }

    /// A bridge that writes numbers that are not finite as strings.
    public func allowingNonFinite() -> Self {
        var bridge = self
        bridge.allowsNonFinite = true
        return bridge
    }

    /// The double with the fewest digits that rounds to the value.
    private static func shortestDouble(_ value: Value) -> Double {
        if let short = Double(value.description), Value(short) == value { short } else { Double(value) }
    }

    private static var infinity: String {
        "Infinity"
    }

    private static var minusInfinity: String {
        "-Infinity"
    }

    private static var nan: String {
        "NaN"
    }
}

/// The floating-point types of settings: `Double` and `Float`.
public protocol SettingFloat: BinaryFloatingPoint, LosslessStringConvertible, Codable, DefaultsSerializable {}

extension SettingFloat {
    /// As a JSON number.
    public static var defaultsBridge: FloatingPointBridge<Self> {
        FloatingPointBridge()
    }
}

extension Double: SettingFloat {}
extension Float: SettingFloat {}
