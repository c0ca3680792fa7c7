/// A JSON value.
///
/// Integers and floating-point numbers are different, and objects keep the order of their members. Parsing the text of
/// a value gives an equal value, unless a number is not finite or the nesting exceeds ``maximumDepth``.
///
/// There are two kinds of equality. `==` compares numbers by kind and bits, strings by their UTF-8 bytes, and the
/// members of objects in any order. ``isMathematicallyEqual(to:)`` is the equality of JSON Schema, which treats `1` and
/// `1.0` as equal.
///
/// The nesting of parsed values is limited (``maximumDepth``), because comparing, writing and freeing a value is
/// recursive. Values made by a program should not exceed the limit.
///
/// Swift literals except `nil` make values; for null, write `.null`. The type is not `ExpressibleByNilLiteral`, because
/// an expression such as `condition ? value : nil` would then make `null` instead of a missing value.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction and exponent.
    case integer(Int64)
    /// A number written with a fraction or an exponent. A parsed number is always finite. A number that is not finite
    /// is written as `null`.
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
    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean; nil for any other value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer; nil for any other value, including a double such as `1.0`.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The number as a double; nil for any other value. An integer beyond 2⁵³ gives the nearest double.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The string; nil for any other value.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements of an array; nil for any other value.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The object; nil for any other value.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member of an object with a name; nil if the object has no such member or the value is not an object.
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

    /// Makes a floating-point number, even if the literal is an integral number such as `1.0`.
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

    /// Makes an object with its members in the order of the literal. If the literal repeats a name, the last value
    /// counts.
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
    /// The kind with an article, for messages: `an integer`, `a string`.
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

    /// The value for messages: its JSON text, or its kind and its size for a long string, or for an array or object
    /// that is not empty.
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

    /// The value if it is a scalar that is short enough for a message; otherwise nil.
    var briefScalar: JSONValue? {
        switch self {
        case .string(let text) where text.utf8.count > Self.briefLength: nil
        case .array, .object: nil
        default: self
        }
    }

    /// The maximum number of bytes of a string that a message shows.
    private static let briefLength = 80
}

/// Measures of a value. Each method stops as soon as its result is known.
extension JSONValue {
    /// An error that names the limit that a value exceeds.
    package enum Excess: Error {
        case depth
        case extent
    }

    /// Checks the depth of the value, and subtracts the extent of the value from a limit.
    ///
    /// The extent is one unit for each value, plus one unit for each eight bytes of text. Reading, comparing or writing
    /// a unit takes about the same time for all kinds of values.
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

    /// True if the value has at most this number of nested levels. A scalar is at level 0.
    package func isNested(atMost levels: Int) -> Bool {
        var remaining = Int.max
        return levels >= 0 && (try? measure(levels: levels, subtractingFrom: &remaining)) != nil
    }

    /// Subtracts the extent of the value from a limit. Returns false if the value exceeds the limit.
    package func subtractExtent(from remaining: inout Int) -> Bool {
        (try? measure(levels: .max, subtractingFrom: &remaining)) != nil
    }

    /// The extent of the value. If the extent exceeds the limit, returns a number above the limit that is not exact.
    package func extent(upTo limit: Int) -> Int {
        var remaining = limit
        _ = subtractExtent(from: &remaining)
        return limit - remaining
    }

    /// True if the value is short enough for a message: its extent is at most 125 units, which is about 1,000 bytes.
    package var isShort: Bool {
        var remaining = 125
        return subtractExtent(from: &remaining)
    }

    /// The complete extent of the value.
    var extent: Int { extent(upTo: .max) }
}
