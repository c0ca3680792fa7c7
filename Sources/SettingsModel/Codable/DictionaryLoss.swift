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
