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
