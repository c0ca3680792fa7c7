/// Arrays as JSON arrays.
public struct ArrayBridge<Element: DefaultsBridge>: DefaultsBridge {
    private let element: Element

    init(_ element: Element) {
        self.element = element
    }

    /// Element by element, in order.
    public func encode(_ value: [Element.Value]) throws(BridgeError) -> JSONValue {
        var elements: [JSONValue] = []
        elements.reserveCapacity(value.count)
        for (index, part) in value.enumerated() {
            do { elements.append(try element.encode(part)) } catch { throw error.inside(String(index)) }
        }
        return .array(elements)
    }

    /// Takes an array of which every element can be taken.
    public func decode(_ json: JSONValue) throws(BridgeError) -> [Element.Value] {
        guard case .array(let elements) = json else { throw BridgeError(expected: "an array", found: json) }
        var value: [Element.Value] = []
        value.reserveCapacity(elements.count)
        for (index, part) in elements.enumerated() {
            do { value.append(try element.decode(part)) } catch { throw error.inside(String(index)) }
        }
        return value
    }

    /// An array of what the elements look like.
    public var schema: WireSchema {
        .array(of: element.schema)
    }

    /// The array of the element's bridge that allows it.
    public func allowingNonFinite() -> Self {
        ArrayBridge(element.allowingNonFinite())
    }
}

/// Sets as JSON arrays in canonical order, so that equal sets are equal text.
public struct SetBridge<Element: DefaultsBridge>: DefaultsBridge where Element.Value: Hashable {
    private let elements: ArrayBridge<Element>

    init(_ element: Element) {
        elements = ArrayBridge(element)
    }

    private init(_ elements: ArrayBridge<Element>) {
        self.elements = elements
    }

    /// Sorted: numbers by size, text by its bytes. Throws if two elements are one to JSON, as the values `1` and `1.0`
    /// are or two that are no number, since no schema tells them apart.
    public func encode(_ value: Set<Element.Value>) throws(BridgeError) -> JSONValue {
        guard case .array(let encoded) = try elements.encode(Array(value)) else { return [] }
        let sorted = encoded.sorted { $0.precedesCanonically($1) }
        guard Set(sorted.map(MathematicalJSON.init)).count == sorted.count else {
            throw BridgeError("must not hold two elements that are the same in JSON")
        }
        return .array(sorted)
    }

    /// Takes an array in any order of which no two elements are equal.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Set<Element.Value> {
        var value: Set<Element.Value> = []
        for (index, element) in try elements.decode(json).enumerated() where !value.insert(element).inserted {
            throw BridgeError(at: JSONPointer([String(index)]), "must not repeat an element that came before")
        }
        return value
    }

    /// An array of unique items.
    public var schema: WireSchema {
        var schema = elements.schema
        schema.document["uniqueItems"] = true
        return schema
    }

    /// The set of the element's bridge that allows it.
    public func allowingNonFinite() -> Self {
        SetBridge(elements.allowingNonFinite())
    }
}

extension Array: DefaultsSerializable where Element: DefaultsSerializable {
    /// As a JSON array.
    public static var defaultsBridge: ArrayBridge<Element.Bridge> {
        ArrayBridge(Element.defaultsBridge)
    }
}

extension Set: DefaultsSerializable where Element: DefaultsSerializable {
    /// As a sorted JSON array.
    public static var defaultsBridge: SetBridge<Element.Bridge> {
        SetBridge(Element.defaultsBridge)
    }
}

/// A type that can name the members of a JSON object.
///
/// An enumeration whose raw value is a string conforms without code.
public protocol DefaultsDictionaryKey: Hashable, Sendable {
    /// The name.
    var memberName: String { get }

    /// The key of this name; nil if there is none.
    init?(memberName: String)
}

extension DefaultsDictionaryKey where Self: RawRepresentable, RawValue == String {
    /// The raw value.
    public var memberName: String {
        rawValue
    }

    /// By the raw value.
    public init?(memberName: String) {
        self.init(rawValue: memberName)
    }
}

extension String: DefaultsDictionaryKey {
    /// The string itself.
    public var memberName: String {
        self
    }

    /// Any name is a string.
    public init?(memberName: String) {
        self = memberName
    }
}

/// Dictionaries as JSON objects, members ordered by the bytes of their names.
public struct DictionaryBridge<Key: DefaultsDictionaryKey, Element: DefaultsBridge>: DefaultsBridge {
    private let element: Element

    init(_ element: Element) {
        self.element = element
    }

    /// Name by name.
    public func encode(_ value: [Key: Element.Value]) throws(BridgeError) -> JSONValue {
        var members = JSONObject()
        for (name, part) in value.map({ (UTF8Text($0.memberName), $1) }).sorted(by: { $0.0 < $1.0 }) {
            let encoded: JSONValue
            do { encoded = try element.encode(part) } catch { throw error.inside(name.string) }
            guard members.append(JSONObject.Member(name: name.string, value: encoded)) else {
                throw BridgeError("has two keys of the name \(name.string)")
            }
        }
        return .object(members)
    }

    /// Takes an object whose names are keys, each another one, with values that can be taken.
    public func decode(_ json: JSONValue) throws(BridgeError) -> [Key: Element.Value] {
        guard case .object(let members) = json else { throw BridgeError(expected: "an object", found: json) }
        var value: [Key: Element.Value] = [:]
        value.reserveCapacity(members.count)
        for member in members {
            guard let key = Key(memberName: member.name) else {
                throw BridgeError(at: JSONPointer([member.name]), "is not the name of a \(Key.self)")
            }
            let part: Element.Value
            do { part = try element.decode(member.value) } catch { throw error.inside(member.name) }
            // Names are told apart by their bytes, keys by their own equality: two spellings of é would fall together.
            guard value.updateValue(part, forKey: key) == nil else {
                throw BridgeError(at: JSONPointer([member.name]), "is the same key as another name")
            }
        }
        return value
    }

    /// An object of what the elements look like; with the keys listed where they can be.
    public var schema: WireSchema {
        var schema = WireSchema.object(of: element.schema)
        if let keys = CaseList.cases(of: Key.self) {
            schema.document["propertyNames"] = WireSchema.oneOf(keys.map { .string($0.memberName) }).json
        }
        return schema
    }

    /// The dictionary of the element's bridge that allows it.
    public func allowingNonFinite() -> Self {
        DictionaryBridge(element.allowingNonFinite())
    }
}

extension Dictionary: DefaultsSerializable where Key: DefaultsDictionaryKey, Value: DefaultsSerializable {
    /// As a JSON object.
    public static var defaultsBridge: DictionaryBridge<Key, Value.Bridge> {
        DictionaryBridge(Value.defaultsBridge)
    }
}
