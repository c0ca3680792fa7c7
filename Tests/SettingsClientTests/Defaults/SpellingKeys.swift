import Foundation
import SettingsClient

// Keys as a program declares them, one key of each kind, for `SpellingTests` and for tests of the global `Defaults`.

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
    var nickname: DefaultsKey<String?> { .init("nickname", defaultValue: "anonymous") }
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
    var ratio: DefaultsKey<Double> { .init("ratio", defaultValue: 3.14) }
    var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: []) }
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    var skipLogin: DefaultsKey<Bool> { .init("skipLogin", defaultValue: false) }
    var loginTries: DefaultsKey<Int> { .init("loginTries", defaultValue: 1) }
    var lastGameTime: DefaultsKey<Double?> { .init("lastGameTime") }
    var player: PlayerKeys { PlayerKeys() }

    // Types that conform to DefaultsSerializable without code, and `Color`, which has its own bridge. Most are in
    // `ValueTableTests.swift`, and `Account` is in `ClientKeys.swift`.
    var level: DefaultsKey<Level?> { .init("level") }
    var account: DefaultsKey<Account?> { .init("account") }
    var bookmark: DefaultsKey<Bookmark?> { .init("bookmark") }
    var color: DefaultsKey<Color?> { .init("color") }
    var colors: DefaultsKey<[String: [Color?]]> { .init("colors", defaultValue: [:]) }

    // Keys with limits.
    var age: DefaultsKey<Int?> { .init("age", in: 0..<150) }
    var tries: DefaultsKey<Int> { .init("tries", defaultValue: 1, in: 1...) }
    var scale: DefaultsKey<Double> { .init("scale", defaultValue: 1, in: ...2) }
    var month: DefaultsKey<UInt8?> { .init("month", in: ..<13) }
    var code: DefaultsKey<String?> { .init("code", maxLength: 3) }
    var word: DefaultsKey<String> { .init("word", defaultValue: "a", matching: "^[a-z]+$") }
    var port: DefaultsKey<Int> { .init("port", defaultValue: 80, allowed: [80, 443]) }
}

enum Side: String, DefaultsDictionaryKey {
    case left, right
}

/// A key of each type that conforms to DefaultsSerializable in SettingsKeys.
struct TypeKeys: DefaultsKeyStore {
    let string = DefaultsKey<String>("string", defaultValue: "a")
    let int = DefaultsKey<Int>("int", defaultValue: .min)
    let double = DefaultsKey<Double>("double", defaultValue: 0.1)
    let bool = DefaultsKey<Bool>("bool", defaultValue: true)
    let data = DefaultsKey<Data>("data", defaultValue: Data([1, 2]))
    let date = DefaultsKey<Date>("date", defaultValue: Date(timeIntervalSinceReferenceDate: 0.1))
    let url = DefaultsKey<URL>("url", defaultValue: URL(fileURLWithPath: "/tmp"))
    let json = DefaultsKey<[String: JSONValue]>("json", defaultValue: ["a": [1, "b", .null]])
    let float = DefaultsKey<Float>("float", defaultValue: 0.1)
    let int8 = DefaultsKey<Int8>("int8", defaultValue: -8)
    let int16 = DefaultsKey<Int16>("int16", defaultValue: -16)
    let int32 = DefaultsKey<Int32>("int32", defaultValue: -32)
    let int64 = DefaultsKey<Int64>("int64", defaultValue: .max)
    let uint = DefaultsKey<UInt>("uint", defaultValue: 1)
    let uint8 = DefaultsKey<UInt8>("uint8", defaultValue: 8)
    let uint16 = DefaultsKey<UInt16>("uint16", defaultValue: 16)
    let uint32 = DefaultsKey<UInt32>("uint32", defaultValue: 32)
    let uint64 = DefaultsKey<UInt64>("uint64", defaultValue: .max)
    let uuid = DefaultsKey<UUID>("uuid", defaultValue: UUID())
    let decimal = DefaultsKey<Decimal>("decimal", defaultValue: Decimal(sign: .minus, exponent: -3, significand: 7))
    let permissions = DefaultsKey<Permissions>("permissions", defaultValue: [.read, .write])
    let set = DefaultsKey<Set<String>>("set", defaultValue: ["b", "a"])
    let range = DefaultsKey<Range<Int>>("range", defaultValue: 1..<3)
    let closedRange = DefaultsKey<ClosedRange<Double>>("closedRange", defaultValue: 0...0.5)
    let levels = DefaultsKey<[Side: Int]>("levels", defaultValue: [.left: 1])
    let infinite = DefaultsKey<Double>("infinite", defaultValue: -.infinity, nonFinite: true)
    let nested = DefaultsKey<[String: [[Int?]]?]>("nested", defaultValue: ["a": [[1, nil]], "b": nil])
    let optionals = DefaultsKey<[String?]?>("optionals", defaultValue: [nil, "a"])
}
