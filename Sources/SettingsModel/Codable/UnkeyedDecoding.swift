/// A value decoded from an array, element by element. An element that cannot be decoded stays the next one.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    private let elements: [JSONValue]
    private let scope: DecodingScope
    private(set) var currentIndex = 0

    init(of elements: [JSONValue], in scope: DecodingScope) {
        self.elements = elements
        self.scope = scope
    }

    var codingPath: [any CodingKey] {
        scope.enclosure.place.codingPath
    }

    var count: Int? {
        elements.count
    }

    var isAtEnd: Bool {
        currentIndex >= elements.count
    }

    /// Goes on to the next element only if this one is null.
    mutating func decodeNil() throws -> Bool {
        guard try part(for: Any?.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode<Integer: FixedWidthInteger & Decodable & Sendable>(_ type: Integer.Type) throws -> Integer {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try next(type) { try $0.decode(type) }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([Any].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next((any Decoder).self) { $0 }
    }

    private mutating func next<Value>(_ type: Any.Type, _ decode: (ValueDecoder) throws -> Value) throws -> Value {
        let value = try decode(part(for: type))
        currentIndex += 1
        return value
    }

    private func part(for type: Any.Type) throws -> ValueDecoder {
        guard !isAtEnd else {
            let reason = "is missing the element \(currentIndex)"
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: codingPath, debugDescription: reason))
        }
        return scope.part(elements[currentIndex], PlainKey.index(currentIndex))
    }
}
