/// A value decoded from an object, member by member.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: JSONObject
    private let scope: DecodingScope

    init(of members: JSONObject, in scope: DecodingScope) {
        self.members = members
        self.scope = scope
    }

    var codingPath: [any CodingKey] {
        scope.enclosure.place.codingPath
    }

    /// The keys of all names that are spelled, byte by byte, as the keys themselves are.
    var allKeys: [Key] {
        members.compactMap { member in
            guard let key = Key(stringValue: member.name), key.stringValue.hasSameBytes(as: member.name) else {
                return nil
            }
            return key
        }
    }

    func contains(_ key: Key) -> Bool {
        members[key.stringValue] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try part(key).decodeNil()
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try part(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try part(key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try part(key).decode(type)
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try part(key).decode(type)
    }

    func decode<Integer: FixedWidthInteger & Decodable & Sendable>(
        _ type: Integer.Type, forKey key: Key
    ) throws -> Integer {
        try part(key).decode(type)
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try part(key).decode(type)
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try part(key).decode(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try part(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try part(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try part(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        try part(PlainKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try part(key)
    }

    private func part(_ key: some CodingKey) throws -> ValueDecoder {
        guard let json = members[key.stringValue] else {
            let reason = "is missing the member \"\(key.stringValue)\""
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: reason))
        }
        return scope.part(json, key)
    }
}
