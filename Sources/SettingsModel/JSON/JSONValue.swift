/// A JSON value, exactly as it was written.
///
/// Integers and floating-point numbers are kept apart, because `1` and `1.0` are different things to whoever typed
/// them; the members of objects keep the order in which they came. A value that was parsed or made by this module
/// reads back equal to itself after it was written.
///
/// There are two equalities. `==` asks whether anything changed: the same kinds and bits of numbers, the same UTF-8
/// bytes of strings, the members of objects in any order. ``isMathematicallyEqual(to:)`` is JSON Schema's: `1` and
/// `1.0` are one number there.
///
/// What is read nests to a limit (``maximumDepth``), as comparing, writing and letting go of a value recurse. A value made
/// in code should keep to it too.
///
/// Literals of Swift are values, save `nil`: write `.null`. What is not there and what is `null` are two things, and
/// `condition ? value : nil` must never turn the one into the other.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction and exponent.
    case integer(Int64)
    /// A number written with a fraction or an exponent. Always finite in a value that was parsed; writing any other
    /// gives `null`, as JSON has no word for it.
    case double(Double)
    /// Text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// Named values in their order.
    case object(JSONObject)
}

extension JSONValue {
    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The truth value, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer, if this is one. A double is none, however round.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The number as a double, if this is a number; an integer beyond 2⁵³ gives the nearest double.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The text, if this is a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, if this is an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member of this name, if this is an object that has one.
    public subscript(name: String) -> JSONValue? {
        object?[name]
    }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A truth value.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// An integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A floating-point number, also where the literal is as round as `1.0`.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// A string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// An object with its members in the order of the literal. The last of two members with one name holds.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON text.
    public var description: String {
        text()
    }
}
