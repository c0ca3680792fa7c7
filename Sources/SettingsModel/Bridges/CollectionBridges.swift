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
