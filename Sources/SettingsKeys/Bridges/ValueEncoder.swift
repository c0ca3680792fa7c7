internal import SettingsModel

/// Encodes one value into an object, an array or a single value.
///
/// The first container that the value requests determines the kind. A method that returns a container cannot throw. If
/// the value requests a container of another kind, the encoder records the error, and the next call that can throw
/// throws it.
final class ValueEncoder: Encoder {
    private enum ContainerKind: String {
        case object = "an object"
        case array = "an array"
        case single = "a single value"
    }

    /// A member or element whose encoder may still receive values. The parent contains null for this member or element
    /// until the parent is complete.
    private struct OpenPart {
        /// The name of the member. Nil for an element.
        let name: String?
        /// The index of the element. Not used for a member.
        let index: Int
        let encoder: ValueEncoder
    }

    let position: CodingPosition
    private let state: CodingState
    /// The number of calls of `encode(to:)` around this encoder.
    private let callDepth: Int
    private lazy var parent = CodingPosition.Parent(position)
    private var kind: ContainerKind?
    private var members = JSONObject()
    private var elements: [JSONValue] = []
    private var single = JSONValue.null
    private var openParts: [OpenPart] = []
    /// The first error. After an error, the encoder ignores all values.
    private var failure: EncodingError?

    init(at position: CodingPosition, in state: CodingState, callDepth: Int) {
        self.position = position
        self.state = state
        self.callDepth = callDepth
    }

    /// Encodes a whole value with its `encode(to:)`. The members of an object have the order of the calls. Throws an
    /// error with its position if the code of the value throws, if there are more levels than `JSONValue.maximumDepth`,
    /// or if a value requests containers of different kinds.
    static func encode(_ value: some Encodable, allowsNonFinite: Bool) throws(BridgeError) -> JSONValue {
        let state = CodingState(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueEncoder(at: .root, in: state, callDepth: 0).json(of: value)
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

    var elementCount: Int {
        elements.count
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        useContainer(.object)
        return KeyedEncodingContainer(KeyedEncoding(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        useContainer(.array)
        return UnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    /// Sets a member. Replaces an existing member of the same name.
    func set(_ name: String, to json: JSONValue) throws {
        if let failure { throw failure }
        if !openParts.isEmpty, members[name] != nil {
            openParts.removeAll { $0.name?.hasSameBytes(as: name) == true }
        }
        members[name] = json
    }

    /// Appends an element.
    func append(_ json: JSONValue) throws {
        if let failure { throw failure }
        elements.append(json)
    }

    private func setSingle(to json: JSONValue) throws {
        useContainer(.single)
        if let failure { throw failure }
        single = json
    }

    /// Returns the encoder of a member. Returns the same encoder again for the same name.
    func memberEncoder(for key: any CodingKey) -> ValueEncoder {
        let name = key.stringValue
        if failure != nil { return self }
        if members[name] != nil, let open = openParts.first(where: { $0.name?.hasSameBytes(as: name) == true }) {
            return open.encoder
        }
        members[name] = .null
        return openPart(name: name, index: 0, key)
    }

    /// Appends an element, and returns its encoder.
    func appendElementEncoder() -> ValueEncoder {
        if failure != nil { return self }
        elements.append(.null)
        return openPart(name: nil, index: elements.count - 1, AnyCodingKey.index(elements.count - 1))
    }

    private func openPart(name: String?, index: Int, _ key: any CodingKey) -> ValueEncoder {
        let encoder = ValueEncoder(at: CodingPosition(key, in: parent), in: state, callDepth: callDepth)
        openParts.append(OpenPart(name: name, index: index, encoder: encoder))
        return encoder
    }

    /// Returns the JSON that this encoder and the encoders of its parts have received.
    private func encodedValue() throws -> JSONValue {
        if let failure { throw failure }
        for part in openParts {
            let json = try part.encoder.encodedValue()
            if let name = part.name { members[name] = json } else { elements[part.index] = json }
        }
        return switch kind {
        case .object, nil: .object(members)
        case .array: .array(elements)
        case .single: single
        }
    }

    /// Sets the kind of the value. Records an error if the value has another kind, or is a single value already.
    private func useContainer(_ wanted: ContainerKind) {
        switch kind {
        case .none:
            kind = wanted
            if wanted != .single && !position.allowsContainer { fail(.nestedTooDeep) }
        case .single where wanted == .single:
            fail(BridgeError("is encoded as a single value twice"))
        case let used? where used != wanted:
            fail(BridgeError("is encoded both as \(used.rawValue) and as \(wanted.rawValue)"))
        default:
            break
        }
    }

    private func fail(_ error: BridgeError) {
        // The encoder does not have the value, so the error contains the JSON of the single value that was encoded so
        // far.
        if failure == nil { failure = position.refusal(error, of: single) }
    }

    /// Encodes a value at this position, or at the position of a key within this position. Uses the standard form if
    /// the type of the value is a ``StandardForm``, otherwise `encode(to:)`.
    ///
    /// The function is not generic, because the compiler would then add a specialized copy of the function for each
    /// standard type.
    func json(of value: any Encodable, under key: (any CodingKey)? = nil) throws -> JSONValue {
        if let failure { throw failure }
        if let plain = Self.plainForm(of: value) { return plain }
        let position = key.map { CodingPosition($0, in: parent) } ?? position
        if let standard = try standardForm(of: value, at: position) { return standard }
        guard callDepth < CodingState.maximumCallDepth else { throw position.refusal(.nestedTooDeep, of: value) }
        let encoder = ValueEncoder(at: position, in: state, callDepth: callDepth + 1)
        do {
            try value.encode(to: encoder)
            return try encoder.encodedValue(as: value)
        } catch {
            state.recordError(error, at: position)
            throw error
        }
    }

    /// Returns the JSON of the most frequent types, because the lookup of a conformance takes longer. Returns nil for
    /// other types.
    private static func plainForm(of value: any Encodable) -> JSONValue? {
        let type = type(of: value)
        if type == String.self, let text = value as? String { return .string(text) }
        if type == Int.self, let integer = value as? Int { return .integer(Int64(integer)) }
        if type == Bool.self, let bool = value as? Bool { return .bool(bool) }
        if type == Double.self, let double = value as? Double, double.isFinite { return .double(double) }
        return nil
    }

    private func standardForm(of value: any Encodable, at position: CodingPosition) throws -> JSONValue? {
        do throws(BridgeError) {
            guard let value = value as? any StandardForm else { return nil }
            let json = try value.json(allowsNonFinite: state.allowsNonFinite)
            guard json.isNested(atMost: JSONValue.maximumDepth - position.depth) else { throw .nestedTooDeep }
            return json
        } catch {
            throw position.refusal(error, of: value)
        }
    }

    /// Returns the JSON of a value. Sorts the JSON of a collection that has no order.
    private func encodedValue(as value: any Encodable) throws -> JSONValue {
        let json = try encodedValue()
        guard let collection = value as? any UnorderedCollection else { return json }
        do { return try collection.canonicallyOrdered(json) } catch { throw position.refusal(error, of: value) }
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

/// Encodes the members of an object. If a name is encoded twice, the second value replaces the first value.
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
        encoder.memberEncoder(for: key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.memberEncoder(for: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.memberEncoder(for: AnyCodingKey.superclass)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        encoder.memberEncoder(for: key)
    }
}

/// Encodes the elements of an array.
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
        try encoder.append(encoder.json(of: value, under: AnyCodingKey.index(count)))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.appendElementEncoder().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        encoder.appendElementEncoder().unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.appendElementEncoder()
    }
}
