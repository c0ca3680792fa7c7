/// Where in a value a coder stands.
///
/// The keys that lead there are a list from the inside out whose outer part all parts of one container share, so that
/// going one step further in costs the same at any depth. They become an array only for code that asks, as errors do.
struct CodingPlace: Sendable {
    /// A place that has parts. Made once for a container, not for each of its parts.
    final class Enclosure: Sendable {
        let place: CodingPlace

        init(_ place: CodingPlace) {
            self.place = place
        }
    }

    /// How many arrays and objects are around the place.
    let depth: Int
    private let last: (key: any CodingKey, enclosure: Enclosure)?

    /// The whole value.
    static let root = CodingPlace()

    private init() {
        depth = 0
        last = nil
    }

    /// The part of this key.
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
        JSONPointer(codingPath: codingPath)
    }

    /// Whether an array or object may stand here.
    var hasRoomForLevel: Bool {
        depth < JSONValue.maximumDepth
    }
}

extension JSONPointer {
    /// The place that the keys of a coder lead to.
    init(codingPath: [any CodingKey]) {
        self.init(codingPath.map(\.stringValue))
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
        switch self {
        case .name: nil
        case .index(let index): index
        }
    }
}

/// What an error that was thrown while coding says: why, and by which keys.
///
/// Coding throws `DecodingError` and `EncodingError`, as types that try one form and then another expect; only what
/// reaches the outside becomes a ``BridgeError``, here.
struct CodingFailure {
    /// The keys that lead to the place, as far as the error knows them.
    let path: [any CodingKey]
    /// What is wrong there.
    let reason: String

    private init(_ context: DecodingError.Context) {
        path = context.codingPath
        reason = Self.reason(context.debugDescription, context.underlyingError)
    }

    private init(_ context: EncodingError.Context) {
        path = context.codingPath
        reason = Self.reason(context.debugDescription, context.underlyingError)
    }

    private init(path: [any CodingKey] = [], reason: String) {
        self.path = path
        self.reason = reason
    }

    init(_ error: any Error) {
        switch error {
        case let error as BridgeError:
            self.init(path: error.pointer.tokens.map(PlainKey.name), reason: error.reason)
        case DecodingError.keyNotFound(let key, let context):
            self.init(path: context.codingPath, reason: "is missing the member \"\(key.stringValue)\"")
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            self.init(context)
        case EncodingError.invalidValue(_, let context):
            self.init(context)
        default:
            self.init(reason: String(describing: error))
        }
    }

    /// The error as one about the whole of what was coded, for one that was thrown inside the part at `place`.
    func bridgeError(inside place: CodingPlace) -> BridgeError {
        BridgeError(at: JSONPointer(codingPath: place.codingPath + path), reason)
    }

    /// Whether the error itself says where it happened, counted from the outside.
    static func knowsPlace(of error: any Error) -> Bool {
        (error is DecodingError || error is EncodingError) && !CodingFailure(error).path.isEmpty
    }

    private static func reason(_ text: String, _ cause: (any Error)?) -> String {
        if !text.isEmpty { text } else { cause.map { String(describing: $0) } ?? "was refused without a reason" }
    }
}

extension CodingPlace {
    /// An error for a reader of this place who was promised another kind of JSON than is there, or another value.
    func mismatch(_ failure: BridgeError, for type: any Any.Type, found json: JSONValue) -> DecodingError {
        let context = DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason)
        return json.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// An error for JSON that nobody can read, whatever they expect.
    func corruption(_ failure: BridgeError) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    /// An error for a value that has no JSON form.
    func refusal(_ failure: BridgeError, of value: Any) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path(to: failure), debugDescription: failure.reason))
    }

    private func path(to failure: BridgeError) -> [any CodingKey] {
        codingPath + failure.pointer.tokens.map(PlainKey.name)
    }
}

extension BridgeError {
    /// For what would nest more arrays and objects than JSON text may.
    static var nestedTooDeep: BridgeError {
        BridgeError("is nested more than \(JSONValue.maximumDepth) levels deep")
    }
}
