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
