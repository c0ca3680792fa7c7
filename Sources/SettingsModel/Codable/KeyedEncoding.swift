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
