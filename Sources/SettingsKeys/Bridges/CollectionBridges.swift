internal import SettingsModel

/// Arrays as JSON arrays.
struct ArrayBridge<Element: DefaultsBridge>: DefaultsBridge {
    let element: Element

    /// Encodes element by element.
    func encode(_ value: [Element.Value]) throws(BridgeError) -> JSONValue {
        var elements: [JSONValue] = []
        elements.reserveCapacity(value.count)
        for (index, part) in value.enumerated() {
            do { elements.append(try element.encode(part)) } catch { throw error.inside(String(index)) }
        }
        return .array(elements)
    }

    /// Decodes an array.
    func decode(_ json: JSONValue) throws(BridgeError) -> [Element.Value] {
        guard case .array(let elements) = json else { throw BridgeError(expected: "an array", found: json) }
        var value: [Element.Value] = []
        value.reserveCapacity(elements.count)
        for (index, part) in elements.enumerated() {
            do { value.append(try element.decode(part)) } catch { throw error.inside(String(index)) }
        }
        return value
    }

    /// An array of the elements' form.
    var schema: WireSchema {
        .array(of: element.schema)
    }

    /// Returns the array of the element's bridge that allows it.
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

/// Sets as JSON arrays in canonical order, so that equal sets are equal text.
struct SetBridge<Element: DefaultsBridge>: DefaultsBridge where Element.Value: Hashable {
    let elements: ArrayBridge<Element>

    /// Encodes the elements in order: numbers by size, text by its bytes. Throws if no schema tells two elements apart,
    /// as `1` and `1.0`, or two that are not a number.
    func encode(_ value: Set<Element.Value>) throws(BridgeError) -> JSONValue {
        let sorted = (try elements.encode(Array(value)).array ?? []).canonicallySorted()
        guard Set(sorted.map(MathematicalJSON.init)).count == sorted.count else {
            throw BridgeError("must not hold two elements that are the same in JSON")
        }
        return .array(sorted)
    }

    /// Decodes an array in any order. Throws if an element is repeated.
    func decode(_ json: JSONValue) throws(BridgeError) -> Set<Element.Value> {
        var value: Set<Element.Value> = []
        for (index, element) in try elements.decode(json).enumerated() where !value.insert(element).inserted {
            throw BridgeError(at: JSONPointer([String(index)]), "must not repeat an element that came before")
        }
        return value
    }

    /// An array of unique items.
    var schema: WireSchema {
        var schema = elements.schema
        schema.document["uniqueItems"] = true
        return schema
    }

    /// Returns the set of the element's bridge that allows it.
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

/// A type whose values name the members of a JSON object, as keys of a dictionary.
///
/// An enumeration whose raw value is a string conforms without code. Any other type implements
/// `CodingKeyRepresentable`; the text of the coding key is the name of the member.
public protocol DefaultsDictionaryKey: CodingKeyRepresentable, Hashable, Sendable {}

extension String: DefaultsDictionaryKey {}

extension DefaultsDictionaryKey {
    /// The name of the member. A string names itself, without the cost of a coding key.
    fileprivate var nameOfMember: String {
        if Self.self == String.self, let name = self as? String { name } else { codingKey.stringValue }
    }

    fileprivate init?(nameOfMember name: String) {
        if Self.self == String.self, let key = name as? Self {
            self = key
        } else {
            self.init(codingKey: PlainKey.name(name))
        }
    }
}

/// Dictionaries as JSON objects, members ordered by the bytes of their names.
struct DictionaryBridge<Key: DefaultsDictionaryKey, Element: DefaultsBridge>: DefaultsBridge {
    fileprivate let element: Element

    /// Encodes name by name. Throws if two keys have one name.
    func encode(_ value: [Key: Element.Value]) throws(BridgeError) -> JSONValue {
        var members = JSONObject()
        for (key, part) in value {
            let name = key.nameOfMember
            let json: JSONValue
            do { json = try element.encode(part) } catch { throw error.inside(name) }
            guard members.append(JSONObject.Member(name: name, value: json)) else {
                throw BridgeError("has two keys of the name \(name)")
            }
        }
        return .object(JSONObject(members.sortedMembers) ?? members)
    }

    /// Decodes an object. Throws if a name is no key, or the same key as another name.
    func decode(_ json: JSONValue) throws(BridgeError) -> [Key: Element.Value] {
        guard case .object(let members) = json else { throw BridgeError(expected: "an object", found: json) }
        var value: [Key: Element.Value] = [:]
        value.reserveCapacity(members.count)
        for member in members {
            guard let key = Key(nameOfMember: member.name) else {
                throw BridgeError(at: JSONPointer([member.name]), "is not the name of a \(Key.self)")
            }
            let part: Element.Value
            do { part = try element.decode(member.value) } catch { throw error.inside(member.name) }
            // Names are compared by their bytes, keys by their own equality, which takes two spellings of é for one.
            guard value.updateValue(part, forKey: key) == nil else {
                throw BridgeError(at: JSONPointer([member.name]), "is the same key as another name")
            }
        }
        return value
    }

    /// An object of the elements' form, with the keys listed where they can be.
    var schema: WireSchema {
        var schema = WireSchema.object(of: element.schema)
        if let keys = CaseList.cases(of: Key.self) {
            schema.document["propertyNames"] = WireSchema.oneOf(keys.map { .string($0.nameOfMember) }).json
        }
        return schema
    }

    /// Returns the dictionary of the element's bridge that allows it.
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

/// Optionals: `nil` as `null` inside other values, as nothing stored for a key.
///
/// Where the wrapped type itself reads `null`, as `JSONValue` does, a stored `null` is that type's; inside an array
/// or a dictionary such an optional cannot tell its own `nil` from it.
struct OptionalBridge<Wrapped: DefaultsBridge>: DefaultsBridge {
    let wrapped: Wrapped

    /// Encodes `null` for nil.
    func encode(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue {
        try encodeStored(value) ?? .null
    }

    /// Encodes nothing for nil.
    func encodeStored(_ value: Wrapped.Value?) throws(BridgeError) -> JSONValue? {
        guard let value else { return nil }
        return try wrapped.encode(value)
    }

    /// Decodes nil from `null`.
    func decode(_ json: JSONValue) throws(BridgeError) -> Wrapped.Value? {
        json.isNull && !wrapped.readsNull ? nil : try wrapped.decode(json)
    }

    /// The wrapped type's form, or `null`.
    var schema: WireSchema {
        wrapped.readsNull ? wrapped.schema : wrapped.schema.orNull
    }

    /// The wrapped type's form, as nothing is stored for nil.
    var storedSchema: WireSchema {
        wrapped.schema
    }

    /// True, for nil.
    var readsNull: Bool {
        true
    }

    /// Returns the optional of the wrapped bridge that allows it.
    func allowingNonFinite() -> Self {
        OptionalBridge(wrapped: wrapped.allowingNonFinite())
    }
}

extension Optional: DefaultsSerializable where Wrapped: DefaultsSerializable {
    /// Nil or the form of the wrapped type.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        OptionalBridge(wrapped: Wrapped.defaultsBridge)
    }
}

/// A range that has two ends: `Range` and `ClosedRange`.
protocol BoundedRange<Bound> {
    /// The type of the ends.
    associatedtype Bound: Comparable

    /// The lower end.
    var lowerBound: Bound { get }
    /// The upper end.
    var upperBound: Bound { get }

    /// Makes the range between two ends that are in order.
    init(uncheckedBounds bounds: (lower: Bound, upper: Bound))
}

extension Range: BoundedRange {}
extension ClosedRange: BoundedRange {}

/// Ranges as `{"lowerBound":…,"upperBound":…}`.
struct RangeBridge<Value: BoundedRange, Bound: DefaultsBridge>: DefaultsBridge
where Bound.Value == Value.Bound {
    fileprivate let bound: Bound

    /// Encodes both ends.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        var members = JSONObject()
        for (name, end) in [("lowerBound", value.lowerBound), ("upperBound", value.upperBound)] {
            do { members[name] = try bound.encode(end) } catch { throw error.inside(name) }
        }
        return .object(members)
    }

    /// Decodes two ends. Throws if they are not in order.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        guard case .object(let members) = json, members.count == 2 else { throw Self.badForm }
        let (lower, upper) = (try end("lowerBound", members), try end("upperBound", members))
        guard lower <= upper else { throw BridgeError("must have a lowerBound that is not above its upperBound") }
        return Value(uncheckedBounds: (lower, upper))
    }

    private func end(_ name: String, _ members: JSONObject) throws(BridgeError) -> Value.Bound {
        guard let json = members[name] else { throw Self.badForm }
        do { return try bound.decode(json) } catch { throw error.inside(name) }
    }

    private static var badForm: BridgeError { BridgeError("must be an object of lowerBound and upperBound") }

    /// An object of the two ends.
    var schema: WireSchema {
        .object(exactly: ["lowerBound": bound.schema, "upperBound": bound.schema])
    }

    /// Returns the range of the bound's bridge that allows it.
    func allowingNonFinite() -> Self {
        RangeBridge(bound: bound.allowingNonFinite())
    }
}

extension Range: DefaultsSerializable where Bound: DefaultsSerializable {
    /// An object of the two ends.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RangeBridge(bound: Bound.defaultsBridge)
    }
}

extension ClosedRange: DefaultsSerializable where Bound: DefaultsSerializable {
    /// An object of the two ends.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RangeBridge(bound: Bound.defaultsBridge)
    }
}
