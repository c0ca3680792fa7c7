/// What one value encodes itself into: an object, an array or a single value, whichever it asks for first.
///
/// Asking for a container cannot fail, so a value that asks for a second kind gets a container all the same, and an
/// error from whatever it does next: each call that can throw, and ``finished()``, look for it first.
final class ValueEncoder: Encoder {
    private enum Shape: String {
        case object = "an object"
        case array = "an array"
        case single = "a single value"
    }

    /// A part that is encoded piece by piece and taken in at the end, when all pieces are there. Meanwhile null stands
    /// in its place.
    private struct OpenPart {
        /// Nil for an element.
        let name: String?
        let index: Int
        let encoder: ValueEncoder
    }

    let place: CodingPlace
    let session: CodingSession
    /// What the parts of this value stand in.
    private(set) lazy var enclosure = CodingPlace.Enclosure(place)

    let calls: Int
    private var shape: Shape?
    private var members = JSONObject()
    private var elements: [JSONValue] = []
    private var single = JSONValue.null
    private var openParts: [OpenPart] = []
    /// Why nothing that is encoded here can be good any more.
    private(set) var failure: EncodingError?

    init(at place: CodingPlace, in session: CodingSession, calls: Int) {
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

    var elementCount: Int {
        elements.count
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        take(.object)
        return KeyedEncodingContainer(KeyedEncoding(into: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        take(.array)
        return UnkeyedEncoding(into: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

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

    func setSingle(to json: JSONValue) throws {
        take(.single)
        if let failure { throw failure }
        single = json
    }

    /// The encoder of a member that is encoded piece by piece. Asking for the same name again goes on with it.
    func part(_ key: any CodingKey) -> ValueEncoder {
        let name = key.stringValue
        if failure != nil { return self }
        if members[name] != nil, let open = openParts.first(where: { $0.name?.hasSameBytes(as: name) == true }) {
            return open.encoder
        }
        members[name] = .null
        return open(OpenPart(name: name, index: 0, encoder: encoder(of: key)))
    }

    /// The encoder of a new last element that is encoded piece by piece.
    func nextElement() -> ValueEncoder {
        if failure != nil { return self }
        let index = elements.count
        elements.append(.null)
        return open(OpenPart(name: nil, index: index, encoder: encoder(of: PlainKey.index(index))))
    }

    /// The whole of what was encoded.
    func finished() throws -> JSONValue {
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

    private func encoder(of key: any CodingKey) -> ValueEncoder {
        ValueEncoder(at: CodingPlace(key, in: enclosure), in: session, calls: calls)
    }

    private func open(_ part: OpenPart) -> ValueEncoder {
        openParts.append(part)
        return part.encoder
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
}

/// From a value, whatever its type, to its JSON.
extension ValueEncoder {
    /// The JSON of a value at this place or inside it: its type's own form if there is one, else what it encodes.
    func json<Value: Encodable>(of value: Value, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        if let failure { throw failure }
        if let plain = try form(of: value, at: place(), { try $0.json(ifPlain: value) }) { return plain }
        let place = place()
        if let own = value as? any OwnJSONForm {
            return try form(of: value, at: place) { _ in try own.ownJSON(at: place) }
        }
        guard calls < CodingSession.maximumCalls else { throw place.refusal(.nestedTooDeep, of: value) }
        let encoder = ValueEncoder(at: place, in: session, calls: calls + 1)
        do {
            try value.encode(to: encoder)
            let json = try encoder.finished()
            try form(of: value, at: place) { _ in try DictionaryLoss.check(encoding: value, as: json) }
            return StableOrder.of(json, from: Value.self)
        } catch {
            session.note(error, at: place)
            throw error
        }
    }

    func json(of value: Double, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    func json(of value: Float, at place: @autoclosure () -> CodingPlace) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    func json<Integer: FixedWidthInteger & Sendable>(
        ofInteger value: Integer, at place: @autoclosure () -> CodingPlace
    ) throws -> JSONValue {
        try form(of: value, at: place()) { try $0.json(value) }
    }

    private func form<Value, Form>(
        of value: Value, at place: @autoclosure () -> CodingPlace, _ make: (ScalarForm) throws -> Form
    ) throws -> Form {
        do { return try make(session.scalars) } catch let error as BridgeError {
            throw place().refusal(error, of: value)
        }
    }
}

extension OwnJSONForm {
    /// The value in its own form, if that does not go too deep from here.
    fileprivate func ownJSON(at place: CodingPlace) throws(BridgeError) -> JSONValue {
        let json = try ownJSON
        guard json.isNested(atMost: JSONValue.maximumDepth - place.depth) else { throw .nestedTooDeep }
        return json
    }
}

/// A collection that has its elements in another order each time it is made.
///
/// Its JSON is put in canonical order, so that a value that did not change is the same text again.
protocol UnorderedCollection {}

extension Set: UnorderedCollection {}
extension Dictionary: UnorderedCollection {}

enum StableOrder {
    /// What a value was encoded as, in canonical order if the value's own order means nothing.
    static func of<Value>(_ json: JSONValue, from type: Value.Type) -> JSONValue {
        guard type is any UnorderedCollection.Type else { return json }
        switch json {
        case .object(let members):
            return JSONObject(members.sortedMembers).map(JSONValue.object) ?? json
        case .array(let elements) where type is any CountedDictionary.Type:
            return .array(sortedPairs(elements))
        case .array(let elements):
            return .array(elements.sorted { $0.precedesCanonically($1) })
        default:
            return json
        }
    }

    /// Keys that are no names stand in an array, each before its value.
    private static func sortedPairs(_ elements: [JSONValue]) -> [JSONValue] {
        let pairs = stride(from: 0, to: elements.count, by: 2).map { elements[$0..<min($0 + 2, elements.count)] }
        return pairs.sorted { JSONValue.array(Array($0)).precedesCanonically(.array(Array($1))) }.flatMap { $0 }
    }
}
