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
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// Makes an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// Makes a floating-point number, also of `1.0`.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// Makes a string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// Makes an object with its members in the order of the literal. The last of two members with one name wins.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(literal: elements))
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

    private static let briefLength = 80
}

/// Measures of a value. Each stops as soon as the answer is known.
extension JSONValue {
    /// An error that names the limit that a value exceeds.
    package enum Excess: Error {
        case depth
        case extent
    }

    /// Checks the depth of the value, and subtracts the extent of the value from a limit.
    ///
    /// The extent is one unit for each value, and one for each eight bytes of text. Reading, comparing or writing any unit takes about the same
    /// time.
    package func measure(levels: Int, subtractingFrom remaining: inout Int) throws(Excess) {
        remaining -= 1
        switch self {
        case .string(let text):
            remaining -= text.utf8.count / 8
        case .array(let elements):
            guard levels > 0 else { throw .depth }
            for element in elements { try element.measure(levels: levels - 1, subtractingFrom: &remaining) }
        case .object(let object):
            guard levels > 0 else { throw .depth }
            for member in object.members {
                remaining -= member.name.utf8.count / 8
                try member.value.measure(levels: levels - 1, subtractingFrom: &remaining)
            }
        case .null, .bool, .integer, .double:
            break
        }
        if remaining < 0 { throw .extent }
    }

    /// True if the value nests at most so many levels, a scalar being at level 0.
    package func isNested(atMost levels: Int) -> Bool {
        var remaining = Int.max
        return levels >= 0 && (try? measure(levels: levels, subtractingFrom: &remaining)) != nil
    }

    /// Subtracts the extent of the value from a limit. Returns false if the value exceeds the limit.
    package func subtractExtent(from remaining: inout Int) -> Bool {
        (try? measure(levels: .max, subtractingFrom: &remaining)) != nil
    }

    /// The extent of the value. If the extent exceeds a limit, returns any number above the limit.
    package func extent(upTo limit: Int) -> Int {
        var remaining = limit
        _ = subtractExtent(from: &remaining)
        return limit - remaining
    }

    /// True if the value is short enough for a message.
    package var isShort: Bool {
        var remaining = 125
        return subtractExtent(from: &remaining)
    }

    /// The extent of the whole value.
    var extent: Int { extent(upTo: .max) }
}
