internal import SettingsModel

/// The position of a part within a value that is encoded or decoded.
///
/// The position is a linked list of coding keys, from the part to the whole value. All parts of an array or object
/// share the list of their parent, so that a position takes constant time at any depth. The list is converted to an
/// array only for errors and for code that reads `codingPath`.
struct CodingPosition: Sendable {
    /// The position of an array or object. It is created once and shared by all parts.
    final class Parent: Sendable {
        let position: CodingPosition

        init(_ position: CodingPosition) {
            self.position = position
        }
    }

    static let root = CodingPosition()

    /// The number of arrays and objects around the part.
    let depth: Int
    private let last: (key: any CodingKey, parent: Parent)?

    private init() {
        depth = 0
        last = nil
    }

    init(_ key: any CodingKey, in parent: Parent) {
        depth = parent.position.depth + 1
        last = (key, parent)
    }

    /// The keys from the whole value to the part.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        path.reserveCapacity(depth)
        var step = last
        while let (key, parent) = step {
            path.append(key)
            step = parent.position.last
        }
        return path.reversed()
    }

    var pointer: JSONPointer {
        JSONPointer(codingPath.map(\.stringValue))
    }

    /// True if the part may be an array or object. False at the maximum depth.
    var allowsContainer: Bool {
        depth < JSONValue.maximumDepth
    }

    /// Returns the error for JSON that is not of the expected type, or that is not one of the expected values.
    func mismatch(_ failure: BridgeError, for type: any Any.Type, found json: JSONValue) -> DecodingError {
        let context = DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason)
        return json.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// Returns the error for JSON whose decoding exceeds `JSONValue.maximumDepth` or `CodingState.maximumCallDepth`.
    func corruption(_ failure: BridgeError) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    /// Returns the error for a value without a JSON form.
    func refusal(_ failure: BridgeError, of value: Any) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    private func path(to failure: BridgeError) -> [any CodingKey] {
        codingPath + failure.pointer.tokens.map(AnyCodingKey.name)
    }
}

/// A coding key that can have any text or number.
enum AnyCodingKey: CodingKey {
    case name(String)
    case index(Int)

    /// The default name of the member that contains the encoded superclass of an object.
    static let superclass = AnyCodingKey.name("super")

    init(stringValue: String) {
        self = .name(stringValue)
    }

    init(intValue: Int) {
        self = .index(intValue)
    }

    var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): String(index)
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }
}

/// The state that all parts of one encoding or decoding share.
final class CodingState {
    /// The limit of nested calls of `encode(to:)` or `init(from:)`, which protects the stack. A wrapper type that codes
    /// its only value as a single value adds a call, but no level of JSON. The limit allows two such wrappers for each
    /// level.
    static let maximumCallDepth = 3 * JSONValue.maximumDepth

    let allowsNonFinite: Bool
    /// The error with its innermost position, and its description. The description identifies the error when an outer
    /// value throws the same error again.
    private var innermostError: (failure: BridgeError, text: String)?

    init(allowsNonFinite: Bool) {
        self.allowsNonFinite = allowsNonFinite
    }

    /// Records the position of an error that does not contain a coding path. Each value that contains the faulty part
    /// calls this method, from the innermost value to the outermost value. The state keeps the position of the first
    /// call.
    func recordError(_ error: any Error, at position: CodingPosition) {
        guard !Self.hasPath(error) else { return }
        let (text, outer) = (String(describing: error), position.pointer)
        // A value around the faulty part reports the same error again.
        if let innermostError, innermostError.text == text,
            JSONPointer(Array(innermostError.failure.pointer.tokens.prefix(outer.tokens.count))) == outer
        {
            return
        }
        innermostError = (Self.bridgeError(error, inside: outer), text)
    }

    /// Converts an error of a coder into the error for the calling code. The coders themselves throw `DecodingError`
    /// and `EncodingError`, because a type that tries several JSON forms catches these errors.
    func bridgeError(for error: any Error) -> BridgeError {
        if let innermostError, !Self.hasPath(error), innermostError.text == String(describing: error) {
            return innermostError.failure
        }
        return Self.bridgeError(error, inside: .root)
    }

    private static func hasPath(_ error: any Error) -> Bool {
        (error is DecodingError || error is EncodingError) && bridgeError(error, inside: .root).pointer != .root
    }

    private static func bridgeError(_ error: any Error, inside position: JSONPointer) -> BridgeError {
        func makeError(_ path: [any CodingKey], _ text: String, _ cause: (any Error)? = nil) -> BridgeError {
            let reason =
                text.isEmpty ? cause.map { String(describing: $0) } ?? "was refused for an unknown reason" : text
            return BridgeError(at: JSONPointer(position.tokens + path.map(\.stringValue)), reason)
        }
        switch error {
        case let error as BridgeError:
            return position.tokens.reversed().reduce(error) { $0.inside($1) }
        case DecodingError.keyNotFound(let key, let context):
            let pointer = JSONPointer(position.tokens + context.codingPath.map(\.stringValue))
            return BridgeError(missingMember: key.stringValue, at: pointer)
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            return makeError(context.codingPath, context.debugDescription, context.underlyingError)
        case EncodingError.invalidValue(_, let context):
            return makeError(context.codingPath, context.debugDescription, context.underlyingError)
        default:
            return makeError([], String(describing: error))
        }
    }
}

extension BridgeError {
    /// The error for more levels of arrays and objects than JSON text may have.
    static var nestedTooDeep: BridgeError {
        BridgeError("is nested more than \(JSONValue.maximumDepth) levels deep")
    }
}

/// A standard type that has the JSON form of its bridge everywhere, even as a part of a Codable value.
///
/// The `Codable` implementations of some of these types lose information, or write JSON that other languages can hardly
/// read: a date as seconds since 2001, data as a list of numbers, a decimal as its bits.
protocol StandardForm: DefaultsSerializable {}

extension StandardForm {
    func json(allowsNonFinite: Bool) throws(BridgeError) -> JSONValue {
        try Self.bridge(allowsNonFinite).encode(self)
    }

    init(json: JSONValue, allowsNonFinite: Bool) throws(BridgeError) {
        self = try Self.bridge(allowsNonFinite).decode(json)
    }

    private static func bridge(_ allowsNonFinite: Bool) -> Bridge {
        allowsNonFinite ? defaultsBridge.allowingNonFinite() : defaultsBridge
    }
}

extension Bool: StandardForm {}
extension String: StandardForm {}
extension Double: StandardForm {}
extension Float: StandardForm {}
extension JSONValue: StandardForm {}

/// A collection whose elements have an arbitrary order.
///
/// Its JSON is sorted, so that an unchanged value has the same text again. If two keys of a dictionary have the same
/// name, or if two names are the same key (two spellings of é, `1` and `01`), the coding throws an error, because it
/// would lose a value.
protocol UnorderedCollection {
    static var isDictionary: Bool { get }
    var count: Int { get }
}

extension Set: UnorderedCollection {
    static var isDictionary: Bool { false }
}

extension Dictionary: UnorderedCollection {
    static var isDictionary: Bool { true }
}

extension UnorderedCollection {
    /// Returns the encoded value in canonical order. Throws if the JSON has fewer members than the dictionary has keys.
    func canonicallyOrdered(_ json: JSONValue) throws(BridgeError) -> JSONValue {
        switch json {
        case .object(let members):
            if Self.isDictionary && members.count < count { throw BridgeError("contains a key twice") }
            return JSONObject(members.sortedMembers).map(JSONValue.object) ?? json
        case .array(let elements) where Self.isDictionary:
            // A dictionary whose keys are not text is an array of alternating keys and values.
            let pairs = stride(from: 0, to: elements.count, by: 2).map {
                JSONValue.array(Array(elements[$0..<min($0 + 2, elements.count)]))
            }
            return .array(pairs.canonicallySorted().flatMap { $0.array ?? [] })
        case .array(let elements):
            return .array(elements.canonicallySorted())
        default:
            return json
        }
    }

    /// Throws if the decoded dictionary has fewer keys than its JSON.
    func checkKeyCount(decodedFrom json: JSONValue) throws(BridgeError) {
        let keys =
            switch json {
            case .object(let members): members.count
            case .array(let elements): elements.count / 2
            default: 0
            }
        if Self.isDictionary && count < keys { throw BridgeError("contains a member twice") }
    }
}
