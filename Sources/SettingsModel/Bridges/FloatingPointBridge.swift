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
