/// Encodable values as JSON, by what their `encode(to:)` does.
///
/// A keyed container is an object with its members in the order in which they were encoded, an unkeyed one is an
/// array. A value that encodes nothing at all is an empty object. Types with a form of their own keep it everywhere.
struct JSONValueEncoder {
    let allowsNonFinite: Bool

    /// Throws what the value's own code throws, with its place. So does a value that nests more than
    /// `JSONValue.maximumDepth` levels, or that asks for containers of different kinds at one place.
    func encode<Value: Encodable>(_ value: Value) throws(BridgeError) -> JSONValue {
        let session = CodingSession(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueEncoder(at: .root, in: session, calls: 0).json(of: value, at: .root)
        } catch {
            throw session.bridgeError(for: error)
        }
    }
}

/// Decodable values from JSON, by what their `init(from:)` does.
///
/// Members that nobody asks for are ignored, so that a type may lose fields; names are told apart by their bytes.
struct JSONValueDecoder {
    let allowsNonFinite: Bool

    /// Throws, with its place, what is missing, of another kind than the type asks for, or refused by the type's own
    /// code, and JSON that nests more than `JSONValue.maximumDepth` levels where the type follows it.
    func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws(BridgeError) -> Value {
        let session = CodingSession(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueDecoder(of: json, at: .root, in: session, calls: 0).decode(type)
        } catch {
            throw session.bridgeError(for: error)
        }
    }
}

/// JSON as a part of Codable types, also for coders of other formats.
///
/// Settings keep such a part exactly, but as everywhere in `Codable`, a null read as an optional is nil. What another
/// decoder makes of a number is its own affair: one that does not tell `1.0` from `1` gives an integer for both.
extension JSONValue: Codable {
    /// Encodes the value piece by piece.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: PlainKey.self)
            for member in members { try container.encode(member.value, forKey: .name(member.name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .integer(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .double(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    /// Takes whichever kind of value the decoder says that it has.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = decoder.json
        } else if let container = try? decoder.container(keyedBy: PlainKey.self) {
            var members = JSONObject()
            for key in container.allKeys {
                members[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
            }
            self = .object(members)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try Self(scalarIn: decoder.singleValueContainer())
        }
    }

    private init(scalarIn container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }
}

/// What all parts of one encoding or decoding share.
final class CodingSession {
    /// How many values may be under way inside each other. A value that codes another as its only part adds no level
    /// of JSON but fills the stack all the same; this leaves room for two of those around each level.
    static let maximumCalls = 3 * JSONValue.maximumDepth

    let scalars: ScalarForm
    private var origin: (failure: BridgeError, text: String)?

    init(allowsNonFinite: Bool) {
        scalars = ScalarForm(allowsNonFinite: allowsNonFinite)
    }

    /// Remembers the place for an error that does not know its own. To be called on the way out by each value that
    /// the error passes; the first of them is the place.
    func note(_ error: any Error, at place: CodingPlace) {
        guard !CodingFailure.knowsPlace(of: error) else { return }
        let text = String(describing: error)
        if let origin, origin.text == text, origin.failure.pointer.isInside(place.pointer) { return }
        origin = (CodingFailure(error).bridgeError(inside: place), text)
    }

    /// The error for the outside.
    func bridgeError(for error: any Error) -> BridgeError {
        if !CodingFailure.knowsPlace(of: error), let origin, origin.text == String(describing: error) {
            return origin.failure
        }
        return CodingFailure(error).bridgeError(inside: .root)
    }
}

extension JSONPointer {
    /// Whether this place is another one or a part of it.
    fileprivate func isInside(_ other: JSONPointer) -> Bool {
        tokens.count >= other.tokens.count && JSONPointer(Array(tokens.prefix(other.tokens.count))) == other
    }
}
