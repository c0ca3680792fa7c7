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
