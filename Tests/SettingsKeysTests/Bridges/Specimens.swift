@testable import SettingsKeys

// Types for the tests of the coder of `Codable` types.

enum Theme: String, Codable, CaseIterable {
    case light, dark, highContrast = "high-contrast"
}

enum Level: Int, Codable {
    case low = 1
    case high = 9
}

enum Shape: Codable, Equatable, Sendable {
    case circle(radius: Double)
    case polygon([Point], closed: Bool)
    case label(String)
    case nothing
    indirect case group(Shape, Shape)
}

struct Point: Codable, Hashable, Sendable {
    var x: Int
    var y: Int
}

struct Account: Codable, Equatable, Sendable {
    var name: String
    var port: UInt16
    var ratio: Double
    var scale: Float
    var isActive: Bool
    var theme: Theme
    var level: Level?
    var note: String?
    var tags: [String]
    var places: [String: Point]
    var counts: [Int: Int64]
    var shapes: [Shape]
    var grid: [[Int8?]]
    var seen: Set<String>
    var nested: [[String: [Theme]]]
    var big: UInt64
    var raw: JSONValue

    /// An account with extreme values in its members.
    static let sample: Account = Account(
        name: "é \u{65}\u{301} \u{0} \"/~\\ 😀", port: 65535, ratio: 0.1, scale: 0.1, isActive: true,
        theme: .highContrast, level: .high, note: nil, tags: ["a", "", "a"], places: ["home": Point(x: -1, y: 2)],
        counts: [-3: .min, 0: .max],
        shapes: [.circle(radius: -0.0), .polygon([Point(x: 0, y: 0)], closed: false), .label("l"), .nothing],
        grid: [[1, nil, -128], []], seen: ["x", "y"], nested: [["a": [.dark]], [:]], big: .max,
        raw: ["z": 1.0, "a": [1, .null, ["deep": -0.0]]])
}

class Animal: Codable {
    var name: String

    init(name: String) {
        self.name = name
    }
}

/// Encodes its superclass in the member `super`.
final class Dog: Animal {
    var tricks: [String]

    enum CodingKeys: String, CodingKey {
        case tricks
    }

    init(name: String, tricks: [String]) {
        self.tricks = tricks
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        tricks = try container.decode([String].self, forKey: .tricks)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tricks, forKey: .tricks)
        try super.encode(to: container.superEncoder())
    }
}

/// Encodes its members and the members of its superclass in one object.
final class Cat: Animal {
    var lives: Int

    enum CodingKeys: String, CodingKey {
        case lives
    }

    init(name: String, lives: Int) {
        self.lives = lives
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        lives = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .lives)
        try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(lives, forKey: .lives)
    }
}

/// A type whose bridge encodes a string such as `0xff`. Its `Codable` implementation would encode an object.
struct Hexadecimal: StandardForm, Codable, Hashable {
    var value: Int

    struct Bridge: DefaultsBridge {
        func encode(_ value: Hexadecimal) throws(BridgeError) -> JSONValue {
            guard value.value >= 0 else { throw BridgeError("must not be negative") }
            return .string("0x" + String(value.value, radix: 16))
        }

        func decode(_ json: JSONValue) throws(BridgeError) -> Hexadecimal {
            guard case .string(let text) = json, text.hasPrefix("0x"), let value = Int(text.dropFirst(2), radix: 16)
            else { throw BridgeError(expected: "hexadecimal digits", found: json) }
            return Hexadecimal(value: value)
        }

        var schema: WireSchema { .string }
    }

    static var defaultsBridge: Bridge { Bridge() }
}

/// A recursive type with one level of JSON for each level in Swift.
final class Chain: Codable {
    var next: Chain?

    init(next: Chain?) {
        self.next = next
    }

    /// Makes a chain of this number of objects.
    static func ofLinks(_ count: Int) -> Chain {
        (1..<count).reduce(Chain(next: nil)) { chain, _ in Chain(next: chain) }
    }
}

/// A recursive type without levels of JSON: a value is encoded as its inner value, without an object or array around
/// it.
final class Shell: Codable {
    var inner: Shell?

    init(inner: Shell?) {
        self.inner = inner
    }

    init(from decoder: any Decoder) throws {
        inner = try decoder.singleValueContainer().decode(Shell.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let inner { try container.encode(inner) } else { try container.encodeNil() }
    }
}
