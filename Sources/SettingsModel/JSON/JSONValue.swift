/// A JSON value that is kept exactly as it was written.
///
/// Integers and floating-point numbers stay apart, and objects keep the order of their members. A value reads back equal
/// after it was written.
///
/// There are two equalities. `==` compares the kinds and bits of numbers, the UTF-8 bytes of strings and the members of
/// objects in any order. ``isMathematicallyEqual(to:)`` is JSON Schema's: `1` and `1.0` are one number there.
///
/// Parsed values nest to a limit (``maximumDepth``), as comparing, writing and freeing a value recurse. Values made in code
/// should keep to it.
///
/// Literals of Swift are values, except `nil`: write `.null`. A missing value and `null` are different, and
/// `condition ? value : nil` must never turn one into the other.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction and exponent.
    case integer(Int64)
    /// A number written with a fraction or an exponent. Always finite in a parsed value; any other is written as `null`.
    case double(Double)
    /// Text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// Named values in their order.
    case object(JSONObject)
}

extension JSONValue {
    /// True if this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer, if this is one. A double is not, even `1.0`.
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
    /// A boolean.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// An integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A floating-point number, also for `1.0`.
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

    /// An object with its members in the order of the literal. The last of two members with one name wins.
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
    /// The kind in a sentence: `an integer`, `a string`.
    package var kindPhrase: String {
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
    /// The value in a sentence: its JSON if that is short, else its kind and size.
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

    /// The value if it is a scalar that is short enough for a message.
    var briefScalar: JSONValue? {
        switch self {
        case .string(let text) where text.utf8.count > Self.briefLength: nil
        case .array, .object: nil
        default: self
        }
    }

    /// True if the whole value is short enough for a message. Reads only as much as it takes to decide.
    package var isShort: Bool {
        var budget = Self.shortSize
        return takes(from: &budget)
    }

    /// The cost of reading all of the value: one for each value in it, and more for long texts.
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

    /// Takes about the length of the value's text from a budget. Returns false if the budget is too small.
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
