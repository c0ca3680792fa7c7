/// The JSON of Swift's plain types: what their bridges say.
struct ScalarForm: Sendable {
    private let doubles: FloatingPointBridge<Double>
    private let floats: FloatingPointBridge<Float>

    init(allowsNonFinite: Bool) {
        doubles = allowsNonFinite ? Double.defaultsBridge.allowingNonFinite() : Double.defaultsBridge
        floats = allowsNonFinite ? Float.defaultsBridge.allowingNonFinite() : Float.defaultsBridge
    }

    func json(_ value: Double) throws(BridgeError) -> JSONValue {
        // A double that is finite is its own shortest form, which the bridge would go and look for.
        value.isFinite ? .double(value) : try doubles.encode(value)
    }

    func json(_ value: Float) throws(BridgeError) -> JSONValue {
        try floats.encode(value)
    }

    /// An integer of up to 64 bits by its bridge; a wider one has no form but that of an Int64.
    func json<Integer: FixedWidthInteger & Sendable>(_ value: Integer) throws(BridgeError) -> JSONValue {
        guard Integer.bitWidth > 64 else { return try IntegerBridge<Integer>().encode(value) }
        guard let integer = Int64(exactly: value) else {
            throw BridgeError("must be between \(Int64.min) and \(Int64.max), but is \(value)")
        }
        return .integer(integer)
    }

    /// The form of a value that only generic code knows; nil if its type is none of the most frequent.
    func json<Value>(ifPlain value: Value) throws(BridgeError) -> JSONValue? {
        if Value.self == String.self, let text = value as? String { return .string(text) }
        if Value.self == Int.self, let integer = value as? Int { return try json(integer) }
        if Value.self == Double.self, let double = value as? Double { return try json(double) }
        if Value.self == Bool.self, let bool = value as? Bool { return .bool(bool) }
        return nil
    }

    func read(_ type: String.Type, from json: JSONValue) throws(BridgeError) -> String {
        try String.defaultsBridge.decode(json)
    }

    func read(_ type: Bool.Type, from json: JSONValue) throws(BridgeError) -> Bool {
        try Bool.defaultsBridge.decode(json)
    }

    func read(_ type: Double.Type, from json: JSONValue) throws(BridgeError) -> Double {
        try doubles.decode(json)
    }

    func read(_ type: Float.Type, from json: JSONValue) throws(BridgeError) -> Float {
        try floats.decode(json)
    }

    func read<Integer: FixedWidthInteger & Sendable>(
        _ type: Integer.Type, from json: JSONValue
    ) throws(BridgeError) -> Integer {
        guard Integer.bitWidth > 64 else { return try IntegerBridge<Integer>().decode(json) }
        guard let value = Integer(exactly: try IntegerBridge<Int64>().decode(json)) else {
            throw BridgeError("must be between \(Integer.min) and \(Integer.max), but is \(json)")
        }
        return value
    }

    /// A value of a type that only generic code knows; nil if it is none of the most frequent.
    func readPlain<Value>(_ type: Value.Type, from json: JSONValue) throws(BridgeError) -> Value? {
        if type == String.self { return try read(String.self, from: json) as? Value }
        if type == Int.self { return try read(Int.self, from: json) as? Value }
        if type == Double.self { return try read(Double.self, from: json) as? Value }
        if type == Bool.self { return try read(Bool.self, from: json) as? Value }
        return nil
    }
}

/// A dictionary, whose own coding lets the last of equal keys or names hold.
///
/// Names that differ in their bytes may be one key: two Unicode spellings of é as strings, `1` and `01` as integers.
/// Keys that differ may have one name. Rather than lose a value, either is refused.
protocol CountedDictionary {
    var count: Int { get }
}

extension Dictionary: CountedDictionary {}

enum DictionaryLoss {
    /// Throws if the value is a dictionary of more keys than the JSON that was made of it has names.
    static func check<Value>(encoding value: Value, as json: JSONValue) throws(BridgeError) {
        guard case .object(let members) = json, Value.self is any CountedDictionary.Type,
            let dictionary = value as? any CountedDictionary, members.count < dictionary.count
        else { return }
        throw BridgeError("has two keys of the same name")
    }

    /// Throws if the value is a dictionary of fewer keys than the JSON that it was made of has.
    static func check<Value>(decoding json: JSONValue, as value: Value) throws(BridgeError) {
        guard let keyCount = keyCount(of: json), Value.self is any CountedDictionary.Type,
            let dictionary = value as? any CountedDictionary, dictionary.count < keyCount
        else { return }
        throw BridgeError("has two members of the same key")
    }

    /// Keys that are no names stand in an array, each before its value.
    private static func keyCount(of json: JSONValue) -> Int? {
        switch json {
        case .object(let members): members.count
        case .array(let elements): elements.count / 2
        default: nil
        }
    }
}
