internal import SettingsModel

/// An encoder of one value into an object, an array or a single value, whichever the value asks for first.
///
/// Asking for a container cannot fail. So a value that asks for a second kind gets a container all the same, and the
/// next call that can throw, or ``finished()``, throws the error.
final class ValueEncoder: Encoder {
    private enum Shape: String {
        case object = "an object"
        case array = "an array"
        case single = "a single value"
    }

    /// A part that is encoded piece by piece. Null stands in its place until the end.
    private struct OpenPart {
        /// Nil for an element.
        let name: String?
        let index: Int
        let encoder: ValueEncoder
    }

    let place: CodingPlace
    private let session: CodingSession
    private let calls: Int
    private lazy var enclosure = CodingPlace.Enclosure(place)
    private var shape: Shape?
    private var members = JSONObject()
    private var elements: [JSONValue] = []
    private var single = JSONValue.null
    private var openParts: [OpenPart] = []
    /// The first mistake, after which nothing encoded here can be valid.
    private var failure: EncodingError?

    init(at place: CodingPlace, in session: CodingSession, calls: Int) {
        self.place = place
        self.session = session
        self.calls = calls
    }

    /// Encodes a whole value by its `encode(to:)`: a keyed container as an object with its members in the order of the
    /// calls, an unkeyed one as an array. Throws the value's own errors with their place, and for more levels than
    /// `JSONValue.maximumDepth` or containers of different kinds at one place.
    static func encode(_ value: some Encodable, allowsNonFinite: Bool) throws(BridgeError) -> JSONValue {
        let session = CodingSession(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueEncoder(at: .root, in: session, calls: 0).json(of: value)
        } catch {
            throw session.bridgeError(for: error)
        }
    }

    var codingPath: [any CodingKey] {
        place.codingPath
    }

    var userInfo: [CodingUserInfoKey: Any] {
        [:]
    }

    var elementCount: Int {
        elements.count
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        take(.object)
        return KeyedEncodingContainer(KeyedEncoding(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        take(.array)
        return UnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    /// Sets a member. A value of a name that was encoded already takes its place.
    func set(_ name: String, to json: JSONValue) throws {
        if let failure { throw failure }
        if !openParts.isEmpty, members[name] != nil {
            openParts.removeAll { $0.name?.hasSameBytes(as: name) == true }
        }
        members[name] = json
    }

    func append(_ json: JSONValue) throws {
        if let failure { throw failure }
        elements.append(json)
    }

    private func setSingle(to json: JSONValue) throws {
        take(.single)
        if let failure { throw failure }
        single = json
    }

    /// Returns the encoder of a member that is encoded piece by piece: the same for the same name.
    func part(_ key: any CodingKey) -> ValueEncoder {
        let name = key.stringValue
        if failure != nil { return self }
        if members[name] != nil, let open = openParts.first(where: { $0.name?.hasSameBytes(as: name) == true }) {
            return open.encoder
        }
        members[name] = .null
        return openPart(name, 0, key)
    }

    /// Returns the encoder of a new last element that is encoded piece by piece.
    func nextElement() -> ValueEncoder {
        if failure != nil { return self }
        elements.append(.null)
        return openPart(nil, elements.count - 1, PlainKey.index(elements.count - 1))
    }

    private func openPart(_ name: String?, _ index: Int, _ key: any CodingKey) -> ValueEncoder {
        let encoder = ValueEncoder(at: CodingPlace(key, in: enclosure), in: session, calls: calls)
        openParts.append(OpenPart(name: name, index: index, encoder: encoder))
        return encoder
    }

    private func finished() throws -> JSONValue {
        if let failure { throw failure }
        for part in openParts {
            let json = try part.encoder.finished()
            if let name = part.name { members[name] = json } else { elements[part.index] = json }
        }
        return switch shape {
        case .object, nil: .object(members)
        case .array: .array(elements)
        case .single: single
        }
    }

    private func take(_ wanted: Shape) {
        switch shape {
        case .none:
            shape = wanted
            if wanted != .single && !place.hasRoomForLevel { fail(.nestedTooDeep) }
        case .single where wanted == .single:
            fail(BridgeError("is encoded as a single value twice"))
        case let taken? where taken != wanted:
            fail(BridgeError("is encoded both as \(taken.rawValue) and as \(wanted.rawValue)"))
        default:
            break
        }
    }

    private func fail(_ error: BridgeError) {
        if failure == nil { failure = place.refusal(error, of: single) }
    }

    /// Encodes a value at this place, or inside it under a key: by its standard form if its type has one, else by its
    /// `encode(to:)`.
    ///
    /// Takes any type in one function, as a generic one would be compiled again for each standard type.
    func json(of value: any Encodable, under key: (any CodingKey)? = nil) throws -> JSONValue {
        if let failure { throw failure }
        if let plain = Self.plainForm(of: value) { return plain }
        let place = key.map { CodingPlace($0, in: enclosure) } ?? place
        if let standard = try standardForm(of: value, at: place) { return standard }
        guard calls < CodingSession.maximumCalls else { throw place.refusal(.nestedTooDeep, of: value) }
        let encoder = ValueEncoder(at: place, in: session, calls: calls + 1)
        do {
            try value.encode(to: encoder)
            return try encoder.finished(as: value)
        } catch {
            session.note(error, at: place)
            throw error
        }
    }

    /// Returns the form of the most frequent types, without a search for their conformance.
    private static func plainForm(of value: any Encodable) -> JSONValue? {
        let type = type(of: value)
        if type == String.self, let text = value as? String { return .string(text) }
        if type == Int.self, let integer = value as? Int { return .integer(Int64(integer)) }
        if type == Bool.self, let bool = value as? Bool { return .bool(bool) }
        if type == Double.self, let double = value as? Double, double.isFinite { return .double(double) }
        return nil
    }

    private func standardForm(of value: any Encodable, at place: CodingPlace) throws -> JSONValue? {
        do throws(BridgeError) {
            guard let value = value as? any StandardForm else { return nil }
            let json = try value.json(allowsNonFinite: session.allowsNonFinite)
            guard json.isNested(atMost: JSONValue.maximumDepth - place.depth) else { throw .nestedTooDeep }
            return json
        } catch {
            throw place.refusal(error, of: value)
        }
    }

    /// Returns the whole of what a value was encoded as, in canonical order if its own order means nothing.
    private func finished(as value: any Encodable) throws -> JSONValue {
        let json = try finished()
        guard let collection = value as? any UnorderedCollection else { return json }
        do { return try collection.ordered(json) } catch { throw place.refusal(error, of: value) }
    }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws {
        try setSingle(to: .null)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try setSingle(to: json(of: value))
    }
}

/// A writer of the members of an object. Where a name comes twice, the last value holds, in the place of the first.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] {
        encoder.codingPath
    }

    func encodeNil(forKey key: Key) throws {
        try encoder.set(key.stringValue, to: .null)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try encoder.set(key.stringValue, to: encoder.json(of: value, under: key))
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
}

/// A writer of the elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] {
        encoder.codingPath
    }

    var count: Int {
        encoder.elementCount
    }

    func encodeNil() throws {
        try encoder.append(.null)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try encoder.append(encoder.json(of: value, under: PlainKey.index(count)))
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
}
