internal import SettingsModel

/// Decodes Decodable values from JSON.
///
/// The decoder ignores members that the type does not decode, so that a newer version of a type may have fewer fields.
/// Names are compared by their bytes.
struct ValueDecoder: Decoder {
    let json: JSONValue
    let position: CodingPosition
    let state: CodingState
    /// The number of calls of `init(from:)` around this decoder.
    let callDepth: Int

    /// Decodes a whole value. Throws an error with its position if a member is missing, if JSON has another type than
    /// expected, if the code of the type throws, or if the nesting is too deep.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from json: JSONValue, allowsNonFinite: Bool
    ) throws(BridgeError) -> Value {
        let state = CodingState(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueDecoder(json: json, position: .root, state: state, callDepth: 0).decode(type)
        } catch {
            throw state.bridgeError(for: error)
        }
    }

    var codingPath: [any CodingKey] {
        position.codingPath
    }

    var userInfo: [CodingUserInfoKey: Any] {
        [:]
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = json else {
            throw position.mismatch(
                BridgeError(expected: "an object", found: json), for: [String: Any].self, found: json)
        }
        return KeyedDecodingContainer(KeyedDecoding(members: members, parts: try partDecoders()))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = json else {
            throw position.mismatch(BridgeError(expected: "an array", found: json), for: [Any].self, found: json)
        }
        return UnkeyedDecoding(elements: elements, parts: try partDecoders())
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        self
    }

    /// Returns the decoders of the members or elements. Throws if the nesting is too deep.
    private func partDecoders() throws -> PartDecoders {
        guard position.allowsContainer else { throw position.corruption(.nestedTooDeep) }
        return PartDecoders(parent: CodingPosition.Parent(position), state: state, callDepth: callDepth)
    }
}

/// Decoding a single value. The keyed and unkeyed containers also use these methods, with a decoder for each part.
extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        json.isNull
    }

    /// Decodes a value. If this module defines the JSON form of the type (a ``StandardForm`` such as Int or Date), uses
    /// this form, otherwise `init(from:)`.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // The result must be unwrapped before the cast, because the cast of nil to an optional type succeeds.
        if let standard = try decodedStandardForm(of: type), let value = standard as? Value { return value }
        guard callDepth < CodingState.maximumCallDepth else { throw position.corruption(.nestedTooDeep) }
        do {
            let value = try Value(
                from: ValueDecoder(json: json, position: position, state: state, callDepth: callDepth + 1))
            try checkKeyCount(of: value)
            return value
        } catch {
            state.recordError(error, at: position)
            throw error
        }
    }

    /// Throws if a dictionary has fewer keys than its JSON, because two names are the same key.
    private func checkKeyCount<Value>(of value: Value) throws {
        guard Value.self is any UnorderedCollection.Type, let collection = value as? any UnorderedCollection else {
            return
        }
        try convertingErrors(for: Value.self) { () throws(BridgeError) in
            try collection.checkKeyCount(decodedFrom: json)
        }
    }

    /// Decodes a value of a type that is a ``StandardForm``. Returns nil for other types. The function is not
    /// generic, because the compiler would then add a specialized copy of the function for each standard type.
    private func decodedStandardForm(of type: any Decodable.Type) throws -> Any? {
        try convertingErrors(for: type) { () throws(BridgeError) in
            // The most frequent types come first, because the lookup of a conformance takes longer.
            if type == String.self { return try String.defaultsBridge.decode(json) }
            if type == Int.self { return try Int.defaultsBridge.decode(json) }
            if type == Bool.self { return try Bool.defaultsBridge.decode(json) }
            return try (type as? any StandardForm.Type)?
                .init(json: json, allowsNonFinite: state.allowsNonFinite)
        }
    }

    private func convertingErrors<Value>(
        for type: Any.Type, _ decode: () throws(BridgeError) -> Value
    ) throws -> Value {
        do { return try decode() } catch { throw position.mismatch(error, for: type, found: json) }
    }
}

/// Makes the decoders of the members of an object, or of the elements of an array.
struct PartDecoders {
    let parent: CodingPosition.Parent
    let state: CodingState
    let callDepth: Int

    var codingPath: [any CodingKey] {
        parent.position.codingPath
    }

    func decoder(of json: JSONValue, at key: any CodingKey) -> ValueDecoder {
        ValueDecoder(json: json, position: CodingPosition(key, in: parent), state: state, callDepth: callDepth)
    }
}

/// Decodes the members of an object.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: JSONObject
    let parts: PartDecoders

    var codingPath: [any CodingKey] {
        parts.codingPath
    }

    /// The keys of the members. Leaves out a member if `Key` has no key for its name, or only a key whose name has other
    /// bytes.
    var allKeys: [Key] {
        members.compactMap { member in
            Key(stringValue: member.name).flatMap { $0.stringValue.hasSameBytes(as: member.name) ? $0 : nil }
        }
    }

    func contains(_ key: Key) -> Bool {
        members[key.stringValue] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try decoder(for: key).decodeNil()
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(for: key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(for: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(for: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        try decoder(for: AnyCodingKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try decoder(for: key)
    }

    private func decoder(for key: some CodingKey) throws -> ValueDecoder {
        guard let json = members[key.stringValue] else {
            let reason = BridgeError(missingMember: key.stringValue, at: .root).reason
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: reason))
        }
        return parts.decoder(of: json, at: key)
    }
}

/// Decodes the elements of an array. If an element cannot be decoded, the container stays at this element.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let parts: PartDecoders
    private(set) var currentIndex = 0

    init(elements: [JSONValue], parts: PartDecoders) {
        self.elements = elements
        self.parts = parts
    }

    var codingPath: [any CodingKey] {
        parts.codingPath
    }

    var count: Int? {
        elements.count
    }

    var isAtEnd: Bool {
        currentIndex >= elements.count
    }

    /// Advances to the next element only if the element is null.
    mutating func decodeNil() throws -> Bool {
        guard try nextDecoder(for: Any?.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decodeNext(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decodeNext(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try decodeNext([Any].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try decodeNext((any Decoder).self) { $0 }
    }

    private mutating func decodeNext<Value>(_ type: Any.Type, _ decode: (ValueDecoder) throws -> Value) throws -> Value
    {
        let value = try decode(nextDecoder(for: type))
        currentIndex += 1
        return value
    }

    private func nextDecoder(for type: Any.Type) throws -> ValueDecoder {
        guard !isAtEnd else {
            let reason = "is missing the element \(currentIndex)"
            throw DecodingError.valueNotFound(type, .init(codingPath: codingPath, debugDescription: reason))
        }
        return parts.decoder(of: elements[currentIndex], at: AnyCodingKey.index(currentIndex))
    }
}
