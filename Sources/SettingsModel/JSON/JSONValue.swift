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

extension JSONValue {
    /// The kind of this value in a sentence: `an integer`, `a string`.
    var kindPhrase: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .double: "a floating-point number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue {
    /// The value in a sentence, as its JSON where that is short and as its kind and size where it is not.
    package var briefPhrase: String {
        switch self {
        case .string(let text) where text.utf8.count > Self.briefLength:
            "a string of \(Plural.count(text.unicodeScalars.count, "character"))"
        case .array(let elements) where !elements.isEmpty:
            "an array of \(Plural.count(elements.count, "element"))"
        case .object(let object) where !object.isEmpty:
            "an object of \(Plural.count(object.count, "member"))"
        default:
            description
        }
    }

    /// The value if it is a scalar and short enough to be repeated in a message.
    var briefScalar: JSONValue? {
        switch self {
        case .string(let text) where text.utf8.count > Self.briefLength: nil
        case .array, .object: nil
        default: self
        }
    }

    /// Whether the value is short enough to be repeated whole, containers included. Looks at no more than it takes.
    package var isShort: Bool {
        var budget = Self.shortSize
        return takes(from: &budget)
    }

    /// What it costs to look at all of the value: one for each value in it, and more for long texts.
    var extent: Int {
        switch self {
        case .string(let text): 1 + text.utf8.count / 64
        case .array(let elements): elements.reduce(1) { $0 + $1.extent }
        case .object(let object): object.members.reduce(1) { $0 + $1.name.utf8.count / 64 + $1.value.extent }
        default: 1
        }
    }

    private static let briefLength = 80
    private static let shortSize = 1_000

    /// Takes about the length of the value's text from a budget; false when that does not suffice.
    private func takes(from budget: inout Int) -> Bool {
        budget -= 4
        switch self {
        case .string(let text):
            budget -= text.utf8.count
        case .array(let elements):
            for element in elements where !element.takes(from: &budget) { return false }
        case .object(let object):
            for member in object {
                budget -= member.name.utf8.count
                if !member.value.takes(from: &budget) { return false }
            }
        default:
            break
        }
        return budget >= 0
    }
}
