import SettingsKeys

// Types of every kind that conform without code.

enum Fruit: String, CaseIterable, DefaultsSerializable, DefaultsDictionaryKey {
    case apple, pear
}

enum Priority: Int, DefaultsSerializable {
    case low = 1
    case high = 10
}

struct Permissions: OptionSet, DefaultsSerializable {
    let rawValue: UInt8
    static let read = Permissions(rawValue: 1)
    static let write = Permissions(rawValue: 2)
    static let all: Permissions = [.read, .write]
}

struct Meters: RawRepresentable, DefaultsSerializable, Equatable {
    let rawValue: Double
}

/// Both raw and Codable. The raw value has precedence.
enum Tagged: String, Codable, DefaultsSerializable {
    case plain
}

struct Window: Codable, DefaultsSerializable, Equatable {
    var title: String?
    var size: [Double]
}
