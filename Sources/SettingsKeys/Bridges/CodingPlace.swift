internal import SettingsModel

/// A place in a value where a coder stands.
///
/// The keys that lead there are a list from the inside out. All parts of a container share its outer part, so that one
/// step further in costs the same at any depth. They become an array only for errors and for code that asks.
struct CodingPlace: Sendable {
    /// A place that has parts. Made once for a container.
    final class Enclosure: Sendable {
        let place: CodingPlace

        init(_ place: CodingPlace) {
            self.place = place
        }
    }

    static let root = CodingPlace()

    /// The number of arrays and objects around the place.
    let depth: Int
    private let last: (key: any CodingKey, enclosure: Enclosure)?

    private init() {
        depth = 0
        last = nil
    }

    init(_ key: any CodingKey, in enclosure: Enclosure) {
        depth = enclosure.place.depth + 1
        last = (key, enclosure)
    }

    /// The keys from the outside in.
    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        path.reserveCapacity(depth)
        var step = last
        while let (key, enclosure) = step {
            path.append(key)
            step = enclosure.place.last
        }
        return path.reversed()
    }

    var pointer: JSONPointer {
        JSONPointer(codingPath.map(\.stringValue))
    }

    /// True if an array or object may stand here.
    var hasRoomForLevel: Bool {
        depth < JSONValue.maximumDepth
    }

    /// An error for JSON of another kind, or another value, than the reader expects.
    func mismatch(_ failure: BridgeError, for type: any Any.Type, found json: JSONValue) -> DecodingError {
        let context = DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason)
        return json.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// An error for JSON that no reader can read.
    func corruption(_ failure: BridgeError) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    /// An error for a value without a JSON form.
    func refusal(_ failure: BridgeError, of value: Any) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    private func path(to failure: BridgeError) -> [any CodingKey] {
        codingPath + failure.pointer.tokens.map(PlainKey.name)
    }
}

/// A key that is just its text or its number.
enum PlainKey: CodingKey {
    case name(String)
    case index(Int)

    /// The member in which a class keeps what its superclass encodes, unless it names another.
    static let superclass = PlainKey.name("super")

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
final class CodingSession {
    /// The limit of values that code each other. A value that codes another as its only part adds no level of JSON, but
    /// fills the stack; this leaves room for two of those around each level.
    static let maximumCalls = 3 * JSONValue.maximumDepth

    let allowsNonFinite: Bool
    private var origin: (failure: BridgeError, text: String)?

    init(allowsNonFinite: Bool) {
        self.allowsNonFinite = allowsNonFinite
    }

    /// Remembers the place of an error that does not name its own. Each value that the error passes calls this on its
    /// way out; the first of them is the place.
    func note(_ error: any Error, at place: CodingPlace) {
        guard !Self.namesPlace(error) else { return }
        let (text, outer) = (String(describing: error), place.pointer)
        if let origin, origin.text == text,
            JSONPointer(Array(origin.failure.pointer.tokens.prefix(outer.tokens.count))) == outer
        {
            return
        }
        origin = (Self.failure(error, inside: outer), text)
    }

    /// Makes the error for the caller. Coding throws `DecodingError` and `EncodingError`, as types that try one form
    /// after the other expect.
    func bridgeError(for error: any Error) -> BridgeError {
        if let origin, !Self.namesPlace(error), origin.text == String(describing: error) { return origin.failure }
        return Self.failure(error, inside: .root)
    }

    private static func namesPlace(_ error: any Error) -> Bool {
        (error is DecodingError || error is EncodingError) && failure(error, inside: .root).pointer != .root
    }

    private static func failure(_ error: any Error, inside place: JSONPointer) -> BridgeError {
        func failure(_ path: [any CodingKey], _ text: String, _ cause: (any Error)? = nil) -> BridgeError {
            let reason = text.isEmpty ? cause.map { String(describing: $0) } ?? "was refused without a reason" : text
            return BridgeError(at: JSONPointer(place.tokens + path.map(\.stringValue)), reason)
        }
        switch error {
        case let error as BridgeError:
            return place.tokens.reversed().reduce(error) { $0.inside($1) }
        case DecodingError.keyNotFound(let key, let context):
            let pointer = JSONPointer(place.tokens + context.codingPath.map(\.stringValue))
            return BridgeError(missingMember: key.stringValue, at: pointer)
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            return failure(context.codingPath, context.debugDescription, context.underlyingError)
        case EncodingError.invalidValue(_, let context):
            return failure(context.codingPath, context.debugDescription, context.underlyingError)
        default:
            return failure([], String(describing: error))
        }
    }
}

extension BridgeError {
    /// An error for more levels of arrays and objects than JSON text may have.
    static var nestedTooDeep: BridgeError {
        BridgeError("is nested more than \(JSONValue.maximumDepth) levels deep")
    }
}

/// A standard type whose JSON is its bridge's wherever it stands, also as a part of a Codable value.
///
/// `Codable` alone would lose something, or write what other languages cannot read: a date as seconds since 2001, data
/// as a list of numbers, a decimal as its bits.
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

/// A collection that has its elements in another order each time it is made.
///
/// Its JSON is put in canonical order, so that a value that did not change is the same text again. Of a dictionary,
/// keys with one name, or names with one key (two spellings of é, `1` and `01`), are refused, as its own coding would
/// lose a value.
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
    /// Returns the encoded value in canonical order. Throws if keys are missing.
    func ordered(_ json: JSONValue) throws(BridgeError) -> JSONValue {
        switch json {
        case .object(let members):
            if Self.isDictionary && members.count < count { throw BridgeError("has two keys of the same name") }
            return JSONObject(members.sortedMembers).map(JSONValue.object) ?? json
        case .array(let elements) where Self.isDictionary:
            // Keys that are no names stand in the array, each before its value.
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
    func check(decodedFrom json: JSONValue) throws(BridgeError) {
        let keys =
            switch json {
            case .object(let members): members.count
            case .array(let elements): elements.count / 2
            default: 0
            }
        if Self.isDictionary && count < keys { throw BridgeError("has two members of the same key") }
    }
}
