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
