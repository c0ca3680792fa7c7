/// What one value is decoded from.
struct ValueDecoder: Decoder {
    let json: JSONValue
    let place: CodingPlace
    let session: CodingSession
    let calls: Int

    init(of json: JSONValue, at place: CodingPlace, in session: CodingSession, calls: Int) {
        self.json = json
        self.place = place
        self.session = session
        self.calls = calls
    }

    var codingPath: [any CodingKey] {
        place.codingPath
    }

    var userInfo: [CodingUserInfoKey: Any] {
        [:]
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = json else {
            throw place.mismatch(BridgeError(expected: "an object", found: json), for: [String: Any].self, found: json)
        }
        return KeyedDecodingContainer(KeyedDecoding(of: members, in: try scope()))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = json else {
            throw place.mismatch(BridgeError(expected: "an array", found: json), for: [Any].self, found: json)
        }
        return UnkeyedDecoding(of: elements, in: try scope())
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        self
    }

    private func scope() throws -> DecodingScope {
        guard place.hasRoomForLevel else { throw place.corruption(.nestedTooDeep) }
        return DecodingScope(enclosure: CodingPlace.Enclosure(place), session: session, calls: calls)
    }
}

/// What a container hands to the decoders of its parts.
struct DecodingScope {
    let enclosure: CodingPlace.Enclosure
    let session: CodingSession
    let calls: Int

    func part(_ json: JSONValue, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(of: json, at: CodingPlace(key, in: enclosure), in: session, calls: calls)
    }
}

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

/// A value that is one other value. The containers of parts come here too, with a decoder for each part.
extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        json.isNull
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: String.Type) throws -> String {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Double.Type) throws -> Double {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Float.Type) throws -> Float {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode<Integer: FixedWidthInteger & Decodable & Sendable>(_ type: Integer.Type) throws -> Integer {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        try reading(type) { try $0.read(type, from: json) }
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        try reading(type) { try $0.read(type, from: json) }
    }

    /// A value in its own form if its type has one, else what its `init(from:)` makes of this decoder's JSON.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let plain = try reading(type, { try $0.readPlain(type, from: json) }) { return plain }
        if let form = type as? any OwnJSONForm.Type,
            let own = try reading(type, { _ in try form.init(ownJSON: json) }) as? Value
        {
            return own
        }
        guard calls < CodingSession.maximumCalls else { throw place.corruption(.nestedTooDeep) }
        do {
            let value = try Value(from: ValueDecoder(of: json, at: place, in: session, calls: calls + 1))
            try reading(type) { _ in try DictionaryLoss.check(decoding: json, as: value) }
            return value
        } catch {
            session.note(error, at: place)
            throw error
        }
    }

    private func reading<Value>(
        _ type: Any.Type, _ read: (ScalarForm) throws -> Value
    ) throws -> Value {
        do { return try read(session.scalars) } catch let error as BridgeError {
            throw place.mismatch(error, for: type, found: json)
        }
    }
}
