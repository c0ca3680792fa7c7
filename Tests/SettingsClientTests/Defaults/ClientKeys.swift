import Foundation
import SettingsClient

enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark
}

struct Account: Codable, DefaultsSerializable, Hashable {
    var name: String
    var ports: [Int] = []
}

struct Permissions: OptionSet, DefaultsSerializable {
    let rawValue: UInt8
    static let read = Permissions(rawValue: 1)
    static let write = Permissions(rawValue: 2)
}

/// The keys of most tests in this module. The tests rely on the defaults, limits and merge rules.
struct ClientKeys: DefaultsKeyStore {
    var username: DefaultsKey<String?> { .init("username") }
    var nickname: DefaultsKey<String?> { .init("nickname", defaultValue: "anonymous") }
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
    var ratio: DefaultsKey<Double> { .init("ratio", defaultValue: 3.14) }
    var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: []) }
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    var account: DefaultsKey<Account?> { .init("account") }
    var accounts: DefaultsKey<[String: Account]> { .init("accounts", defaultValue: [:]) }
    var permissions: DefaultsKey<Permissions> { .init("permissions", defaultValue: []) }
    var skipLogin: DefaultsKey<Bool> { .init("skipLogin", defaultValue: false) }
    var loginTries: DefaultsKey<Int> { .init("loginTries", defaultValue: 1) }
    var lastGameTime: DefaultsKey<Double?> { .init("lastGameTime") }
    var token: DefaultsKey<String?> { .init("token", maxLength: 4, secret: true) }
    var visits: DefaultsKey<Int> { .init("visits", defaultValue: 0, merge: .sum) }
    var meters: DefaultsKey<Double> { .init("meters", defaultValue: 0, in: 0...100, merge: .sum) }
    var recent: DefaultsKey<[String]> { .init("recent", defaultValue: ["start"], merge: .append) }
    var tags: DefaultsKey<Set<String>> { .init("tags", defaultValue: [], merge: .append) }
    var value: DefaultsKey<Int> { .init("value", defaultValue: 7) }
    /// A key whose default is outside its limits.
    var unusable: DefaultsKey<Int> { .init("unusable", defaultValue: 5, in: 0...1) }
    var player: PlayerKeys { PlayerKeys() }
    var limited: LimitedKeys { LimitedKeys() }
}

/// `Self["volume"]` adds the prefix: `limited.volume`.
struct LimitedKeys: DefaultsKeyStore {
    static let prefix = "limited"
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
}

/// `player.volume` is also the setting of `ClientKeys.volume`, but without its limits.
struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5) }
    var queue: DefaultsKey<[String]> { .init(Self["queue"], defaultValue: []) }
    var equalizer: EqualizerKeys { EqualizerKeys() }
}

struct EqualizerKeys: DefaultsKeyStore {
    static let prefix = "player.equalizer"
    var bass: DefaultsKey<Int> { .init(Self["bass"], defaultValue: 0) }
    var bands: DefaultsKey<[Int]> { .init(Self["bands"], defaultValue: []) }
}

/// Changes a value in place with the body. The body can also change the setting with another adapter, to cause a
/// conflict.
func changeInPlace<Value>(_ value: inout Value, _ body: (inout Value) throws -> Void) rethrows {
    try body(&value)
}
