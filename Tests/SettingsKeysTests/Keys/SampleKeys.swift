import SettingsKeys

/// A key store with every kind of key. It is separate from `DefaultsKeys`, which other tests extend. `Fruit` and
/// `Window` are in `BridgedTypes.swift`.
struct SampleKeys: DefaultsKeyStore {
    var username: DefaultsKey<String?> { .init("username") }
    var nickname: DefaultsKey<String?> { .init("nickname", defaultValue: "anonymous") }
    var launchCount: DefaultsKey<Int> {
        .init("launchCount", defaultValue: 0, description: "Times the app was started")
    }
    var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
    var gain: DefaultsKey<Float?> { .init("gain", in: ..<0) }
    var retries: DefaultsKey<UInt8> { .init("retries", defaultValue: 3, in: 1..<10) }
    var ceiling: DefaultsKey<Int?> { .init("ceiling", defaultValue: 7, in: ...100) }
    var ratio: DefaultsKey<Double> { .init("ratio", defaultValue: .infinity, nonFinite: true) }
    var code: DefaultsKey<String> { .init("code", defaultValue: "AB1", maxLength: 3, matching: "^[A-Z]{2}[0-9]$") }
    var slug: DefaultsKey<String?> { .init("slug", matching: "^[a-z-]+$") }
    var motto: DefaultsKey<String?> { .init("motto", maxLength: 5) }
    var fruit: DefaultsKey<Fruit> { .init("fruit", defaultValue: .apple, allowed: [.apple]) }
    var size: DefaultsKey<Int> { .init("size", defaultValue: 2, allowed: [1, 2, 4]) }
    var token: DefaultsKey<String?> { .init("token", maxLength: 4, secret: true) }
    var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: [], renamedFrom: ["folders", "paths"]) }
    var extra: DefaultsKey<JSONValue?> { .init("extra") }
    var window: DefaultsKey<Window> { .init("window", defaultValue: Window(title: nil, size: [1, 2])) }
    var visits: DefaultsKey<Int> { .init("visits", defaultValue: 0, in: 0..., merge: .sum) }
    var balance: DefaultsKey<Double?> { .init("balance", merge: .sum) }
    var recent: DefaultsKey<[String]?> { .init("recent", merge: .append) }
    var tags: DefaultsKey<Set<Int>> { .init("tags", defaultValue: [], merge: .append) }
    var equalizer: EqualizerKeys { EqualizerKeys() }
}

/// A nested store whose prefix has two parts.
struct EqualizerKeys: DefaultsKeyStore {
    static let prefix = "player.equalizer"
    var bass: DefaultsKey<Int> { .init(Self["bass"], defaultValue: 0, in: -10...10) }
}
