internal import SettingsModel

/// Integers as JSON integers.
///
/// Every JSON integer of the daemon must fit into an Int64. A larger UInt or UInt64 is a string of its digits.
struct IntegerBridge<Value: FixedWidthInteger & Sendable>: DefaultsBridge {
    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        if let integer = Int64(exactly: value) { .integer(integer) } else { .string(String(value)) }
    }

    /// Decodes an integer. A number without a fraction, such as `1.0`, is an integer, too.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        if case .string(let digits) = json, Int64(exactly: Value.max) == nil { return try value(ofDigits: digits) }
        guard let integer = json.exactInteger else { throw BridgeError(expected: "an integer", found: json) }
        guard let value = Value(exactly: integer) else {
            throw BridgeError(outside: Value.min.description, Value.max.description, found: .integer(integer))
        }
        return value
    }

    private func value(ofDigits digits: String) throws(BridgeError) -> Value {
        guard let value = Value(digits), Int64(exactly: value) == nil, String(value).hasSameBytes(as: digits) else {
            throw BridgeError("must be an integer, or a string of digits for an integer greater than \(Int64.max)")
        }
        return value
    }

    /// The schema. An integer beyond Int64 is a string of at least 19 digits, and of at most 20 for a UInt64.
    var schema: WireSchema {
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
}

extension DefaultsSerializable where Self: FixedWidthInteger & Codable {
    /// A JSON integer. An integer beyond Int64 is a string of its digits.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        IntegerBridge()
    }
}

// With `StandardForm`, an integer in a `Codable` value has the JSON form of its bridge.
extension Int: NumericSetting, StandardForm {}
extension Int8: NumericSetting, StandardForm {}
extension Int16: NumericSetting, StandardForm {}
extension Int32: NumericSetting, StandardForm {}
extension Int64: NumericSetting, StandardForm {}
extension UInt: NumericSetting, StandardForm {}
extension UInt8: NumericSetting, StandardForm {}
extension UInt16: NumericSetting, StandardForm {}
extension UInt32: NumericSetting, StandardForm {}
extension UInt64: NumericSetting, StandardForm {}

/// Doubles and floats as JSON numbers.
///
/// A Float is encoded with its shortest digits: `0.1` and not `0.10000000149011612`. A number that is not finite has a
/// JSON form only if the key has `nonFinite: true`. It is then one of the strings `Infinity`, `-Infinity` and `NaN`.
struct FloatingPointBridge<Value: BinaryFloatingPoint & LosslessStringConvertible & Sendable>: DefaultsBridge {
    private static var nonFinite: [(name: String, value: Value)] {
        [("Infinity", .infinity), ("-Infinity", -.infinity), ("NaN", .nan)]
    }

    private var allowsNonFinite = false

    /// Throws for a number that is not finite, unless such numbers are allowed.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        if value.isFinite { return .double(Self.shortestDouble(value)) }
        guard allowsNonFinite else {
            throw BridgeError(
                "must be a finite number (got \(value)); to store such numbers, give the key nonFinite: true")
        }
        return .string(value.isNaN ? "NaN" : value > 0 ? "Infinity" : "-Infinity")
    }

    /// Decodes a number in the range of the type, and rounds it to the nearest value of the type.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        switch json {
        case .integer(let integer):
            return Value(integer)
        case .double(let double):
            let value = Value(double)
            guard value.isFinite else {
                throw BridgeError("must be between ±\(Value.greatestFiniteMagnitude) (got \(double))")
            }
            return value
        case .string(let text) where allowsNonFinite:
            if let named = Self.nonFinite.first(where: { $0.name.hasSameBytes(as: text) }) { return named.value }
        default:
            break
        }
        throw BridgeError(expected: "a number", found: json)
    }

    var schema: WireSchema {
        var number = WireSchema.number
        let limit = Self.shortestDouble(.greatestFiniteMagnitude)
        if limit < .greatestFiniteMagnitude {
            number.document["minimum"] = .double(-limit)
            number.document["maximum"] = .double(limit)
        }
        return allowsNonFinite ? .anyOf([number, .oneOf(Self.nonFinite.map { .string($0.name) })]) : number
    }

    func allowingNonFinite() -> Self {
        var bridge = self
        bridge.allowsNonFinite = true
        return bridge
    }

    /// Returns the double with the fewest digits that rounds to the value.
    private static func shortestDouble(_ value: Value) -> Double {
        if let double = value as? Double { return double }
        return Double(value.description).flatMap { Value($0) == value ? $0 : nil } ?? Double(value)
    }
}

extension Double: NumericSetting {
    /// A JSON number.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        FloatingPointBridge()
    }
}

extension Float: NumericSetting {
    /// A JSON number.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        FloatingPointBridge()
    }
}
