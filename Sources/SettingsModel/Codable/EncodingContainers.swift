/// A value encoded as an object, member by member. Where a name comes twice, the last value holds, in the place of the
/// first.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let encoder: ValueEncoder

    init(into encoder: ValueEncoder) {
        self.encoder = encoder
    }

    var codingPath: [any CodingKey] {
        encoder.codingPath
    }

    func encodeNil(forKey key: Key) throws {
        try encoder.set(key.stringValue, to: .null)
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: .bool(value))
    }

    func encode(_ value: String, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: .string(value))
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(of: value, at: place(of: key)))
    }

    func encode(_ value: Float, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(of: value, at: place(of: key)))
    }

    func encode<Integer: FixedWidthInteger & Encodable & Sendable>(_ value: Integer, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(ofInteger: value, at: place(of: key)))
    }

    func encode(_ value: Int128, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(ofInteger: value, at: place(of: key)))
    }

    func encode(_ value: UInt128, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(ofInteger: value, at: place(of: key)))
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(of: value, at: place(of: key)))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.part(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.part(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.part(PlainKey.superclass)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        encoder.part(key)
    }

    private func place(of key: Key) -> CodingPlace {
        CodingPlace(key, in: encoder.enclosure)
    }
}

/// A value encoded as an array, element by element.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    private let encoder: ValueEncoder

    init(into encoder: ValueEncoder) {
        self.encoder = encoder
    }

    var codingPath: [any CodingKey] {
        encoder.codingPath
    }

    var count: Int {
        encoder.elementCount
    }

    func encodeNil() throws {
        try encoder.append(.null)
    }

    func encode(_ value: Bool) throws {
        try encoder.append(.bool(value))
    }

    func encode(_ value: String) throws {
        try encoder.append(.string(value))
    }

    func encode(_ value: Double) throws {
        try encoder.append(encoder.json(of: value, at: nextPlace))
    }

    func encode(_ value: Float) throws {
        try encoder.append(encoder.json(of: value, at: nextPlace))
    }

    func encode<Integer: FixedWidthInteger & Encodable & Sendable>(_ value: Integer) throws {
        try encoder.append(encoder.json(ofInteger: value, at: nextPlace))
    }

    func encode(_ value: Int128) throws {
        try encoder.append(encoder.json(ofInteger: value, at: nextPlace))
    }

    func encode(_ value: UInt128) throws {
        try encoder.append(encoder.json(ofInteger: value, at: nextPlace))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try encoder.append(encoder.json(of: value, at: nextPlace))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.nextElement().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        encoder.nextElement().unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.nextElement()
    }

    private var nextPlace: CodingPlace {
        CodingPlace(PlainKey.index(count), in: encoder.enclosure)
    }
}

/// A value that is one other value: a null, a scalar, or whatever else is encoded at its place.
extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws {
        try setSingle(to: .null)
    }

    func encode(_ value: Bool) throws {
        try setSingle(to: .bool(value))
    }

    func encode(_ value: String) throws {
        try setSingle(to: .string(value))
    }

    func encode(_ value: Double) throws {
        try setSingle(to: json(of: value, at: place))
    }

    func encode(_ value: Float) throws {
        try setSingle(to: json(of: value, at: place))
    }

    func encode<Integer: FixedWidthInteger & Encodable & Sendable>(_ value: Integer) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode(_ value: Int128) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode(_ value: UInt128) throws {
        try setSingle(to: json(ofInteger: value, at: place))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try setSingle(to: json(of: value, at: place))
    }
}
