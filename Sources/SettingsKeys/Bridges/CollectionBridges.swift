internal import SettingsModel

/// Arrays as JSON arrays.
struct ArrayBridge<Element: DefaultsBridge>: DefaultsBridge {
    /// The bridge of the elements.
    let element: Element

    func encode(_ value: [Element.Value]) throws(BridgeError) -> JSONValue {
        var elements: [JSONValue] = []
        elements.reserveCapacity(value.count)
        for (index, part) in value.enumerated() {
            do { elements.append(try element.encode(part)) } catch { throw error.inside(String(index)) }
        }
        return .array(elements)
    }

    func decode(_ json: JSONValue) throws(BridgeError) -> [Element.Value] {
        guard case .array(let elements) = json else { throw BridgeError(expected: "an array", found: json) }
        var value: [Element.Value] = []
        value.reserveCapacity(elements.count)
        for (index, part) in elements.enumerated() {
            do { value.append(try element.decode(part)) } catch { throw error.inside(String(index)) }
        }
        return value
    }

    var schema: WireSchema {
        .array(of: element.schema)
    }

    func allowingNonFinite() -> Self {
        ArrayBridge(element: element.allowingNonFinite())
    }
}

extension Array: DefaultsSerializable where Element: DefaultsSerializable {
    /// A JSON array.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        ArrayBridge(element: Element.defaultsBridge)
    }
}

/// Sets as JSON arrays in canonical order, so that equal sets have equal JSON text.
struct SetBridge<Element: DefaultsBridge>: DefaultsBridge where Element.Value: Hashable {
    /// The bridge of an array of the elements.
    let elements: ArrayBridge<Element>

    /// Encodes the elements in order: numbers by size, text by its bytes. Throws if two elements are equal in JSON, for
    /// example `1` and `1.0`.
    func encode(_ value: Set<Element.Value>) throws(BridgeError) -> JSONValue {
        let sorted = (try elements.encode(Array(value)).array ?? []).canonicallySorted()
        guard Set(sorted.map(MathematicalJSON.init)).count == sorted.count else {
            throw BridgeError("must not contain two elements with the same JSON form")
        }
        return .array(sorted)
    }

    /// Decodes an array in any order. Throws if an element is repeated.
    func decode(_ json: JSONValue) throws(BridgeError) -> Set<Element.Value> {
        var value: Set<Element.Value> = []
        for (index, element) in try elements.decode(json).enumerated() where !value.insert(element).inserted {
            throw BridgeError(at: JSONPointer([String(index)]), "must not repeat an earlier element")
        }
        return value
    }

    var schema: WireSchema {
        var schema = elements.schema
        schema.document["uniqueItems"] = true
        return schema
    }

    func allowingNonFinite() -> Self {
        SetBridge(elements: elements.allowingNonFinite())
    }
}

extension Set: DefaultsSerializable where Element: DefaultsSerializable {
    /// A sorted JSON array.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        SetBridge(elements: ArrayBridge(element: Element.defaultsBridge))
    }
}

/// A type of dictionary keys whose dictionaries are stored as JSON objects.
///
/// An enumeration whose raw value is a string or an `Int` conforms without code. Any other type implements
/// `CodingKeyRepresentable`. The text of the coding key is the name of the member.
public protocol DefaultsDictionaryKey: CodingKeyRepresentable, Hashable, Sendable {}

extension String: DefaultsDictionaryKey {}

extension DefaultsDictionaryKey {
    /// The name of the member for the key. For a string, no coding key is created.
    fileprivate var memberName: String {
        if Self.self == String.self, let name = self as? String { name } else { codingKey.stringValue }
    }

    fileprivate init?(memberName name: String) {
        if Self.self == String.self, let key = name as? Self {
            self = key
        } else {
            self.init(codingKey: MemberCodingKey(stringValue: name))
        }
    }
}

/// The coding key for the name of a member.
private struct MemberCodingKey: CodingKey {
    let stringValue: String
    /// The integer that the name denotes, for a type of keys whose raw value is an integer.
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        // Another spelling of the integer, such as `01`, would be a second name of the same key.
        intValue = Int(stringValue).flatMap { String($0) == stringValue ? $0 : nil }
    }

    init(intValue: Int) {
        (self.stringValue, self.intValue) = (String(intValue), intValue)
    }
}

/// Dictionaries as JSON objects. The members are sorted by the bytes of their names.
struct DictionaryBridge<Key: DefaultsDictionaryKey, Element: DefaultsBridge>: DefaultsBridge {
    /// The bridge of the dictionary's values.
    fileprivate let element: Element

    /// Throws if two keys have the same name.
    func encode(_ value: [Key: Element.Value]) throws(BridgeError) -> JSONValue {
        var members = JSONObject()
        for (key, part) in value {
            let name = key.memberName
            let json: JSONValue
            do { json = try element.encode(part) } catch { throw error.inside(name) }
            guard members.append(JSONObject.Member(name: name, value: json)) else {
                throw BridgeError("contains the key \(name) twice")
            }
        }
        return .object(JSONObject(members.sortedMembers) ?? members)
    }

    /// Throws if a name is not a valid key, or if two names are the same key.
    func decode(_ json: JSONValue) throws(BridgeError) -> [Key: Element.Value] {
        guard case .object(let members) = json else { throw BridgeError(expected: "an object", found: json) }
        var value: [Key: Element.Value] = [:]
        value.reserveCapacity(members.count)
        for member in members {
            guard let key = Key(memberName: member.name) else {
                throw BridgeError(
                    at: JSONPointer([member.name]), "has a name that is not a valid key of type \(Key.self)")
            }
            let part: Element.Value
            do { part = try element.decode(member.value) } catch { throw error.inside(member.name) }
            // Names are compared by their bytes. Keys are compared with `==`, for which two spellings of é are equal.
            guard value.updateValue(part, forKey: key) == nil else {
                throw BridgeError(at: JSONPointer([member.name]), "is a second name of the same key")
            }
        }
        return value
    }

    /// The schema of the objects. If the type of the keys is `CaseIterable`, the schema lists the allowed names.
    var schema: WireSchema {
        var schema = WireSchema.object(of: element.schema)
        if let keys = CaseList.cases(of: Key.self) {
            schema.document["propertyNames"] = WireSchema.oneOf(keys.map { .string($0.memberName) }).json
        }
        return schema
    }

    func allowingNonFinite() -> Self {
        DictionaryBridge(element: element.allowingNonFinite())
    }
}

extension Dictionary: DefaultsSerializable where Key: DefaultsDictionaryKey, Value: DefaultsSerializable {
    /// A JSON object.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        DictionaryBridge(element: Value.defaultsBridge)
    }
}

/// Optionals. As the value of a key, `nil` means that no value is stored. As a part of another value, `nil` is `null`.
///
/// If the wrapped type decodes `null`, as `JSONValue` does, a stored `null` is a value of the wrapped type. Inside an
/// array or a dictionary, an optional of such a type cannot distinguish `nil` from this value.
struct OptionalBridge<Wrapped: DefaultsBridge>: DefaultsBridge {
    let wrapped: Wrapped

    func encode(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue {
        try encodeStored(value) ?? .null
    }

    func encodeStored(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue? {
        guard let value else { return nil }
        return try wrapped.encode(value)
    }

    func decode(_ json: JSONValue) throws(BridgeError) -> Wrapped.Value? {
        json.isNull && !wrapped.readsNull ? nil : try wrapped.decode(json)
    }

    var schema: WireSchema {
        wrapped.readsNull ? wrapped.schema : wrapped.schema.orNull
    }

    var storedSchema: WireSchema {
        wrapped.schema
    }

    var readsNull: Bool {
        true
    }

    func allowingNonFinite() -> Self {
        OptionalBridge(wrapped: wrapped.allowingNonFinite())
    }
}

extension Optional: DefaultsSerializable where Wrapped: DefaultsSerializable {
    /// The JSON form of the wrapped type, or no value for `nil`.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        OptionalBridge(wrapped: Wrapped.defaultsBridge)
    }
}

/// A range type with two bounds.
protocol BoundedRange<Bound> {
    associatedtype Bound: Comparable

    var lowerBound: Bound { get }
    var upperBound: Bound { get }

    init(uncheckedBounds bounds: (lower: Bound, upper: Bound))
}

extension Range: BoundedRange {}
extension ClosedRange: BoundedRange {}

/// Ranges as `{"lowerBound":…,"upperBound":…}`.
struct RangeBridge<Value: BoundedRange, Bound: DefaultsBridge>: DefaultsBridge
where Bound.Value == Value.Bound {
    /// The bridge of both bounds.
    fileprivate let bound: Bound

    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        var members = JSONObject()
        for (name, value) in [("lowerBound", value.lowerBound), ("upperBound", value.upperBound)] {
            do { members[name] = try bound.encode(value) } catch { throw error.inside(name) }
        }
        return .object(members)
    }

    /// Throws if the lower bound is above the upper bound.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        guard case .object(let members) = json, members.count == 2 else { throw Self.badForm }
        let (lower, upper) = (try decodedBound("lowerBound", members), try decodedBound("upperBound", members))
        guard lower <= upper else {
            throw BridgeError("must have a lowerBound that is not greater than its upperBound")
        }
        return Value(uncheckedBounds: (lower, upper))
    }

    private func decodedBound(_ name: String, _ members: JSONObject) throws(BridgeError) -> Value.Bound {
        guard let json = members[name] else { throw Self.badForm }
        do { return try bound.decode(json) } catch { throw error.inside(name) }
    }

    private static var badForm: BridgeError { BridgeError("must be an object with lowerBound and upperBound") }

    var schema: WireSchema {
        .object(exactly: ["lowerBound": bound.schema, "upperBound": bound.schema])
    }

    func allowingNonFinite() -> Self {
        RangeBridge(bound: bound.allowingNonFinite())
    }
}

extension Range: DefaultsSerializable where Bound: DefaultsSerializable {
    /// A JSON object with the members `lowerBound` and `upperBound`.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RangeBridge(bound: Bound.defaultsBridge)
    }
}

extension ClosedRange: DefaultsSerializable where Bound: DefaultsSerializable {
    /// A JSON object with the members `lowerBound` and `upperBound`.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RangeBridge(bound: Bound.defaultsBridge)
    }
}
