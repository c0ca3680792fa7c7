import SettingsKeys

// Types that conform to `DefaultsSerializable` without code of their own, because they have a raw value or conform to
// `Codable`.

enum Fruit: String, CaseIterable, DefaultsSerializable, DefaultsDictionaryKey {
    case apple, pear
}

enum Priority: Int, DefaultsSerializable, DefaultsDictionaryKey {
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

/// Has a raw value and conforms to `Codable`. The bridge uses the raw value.
enum Tagged: String, Codable, DefaultsSerializable {
    case plain
}

struct Window: Codable, DefaultsSerializable, Equatable {
    var title: String?
    var size: [Double]
}
