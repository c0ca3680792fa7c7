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
