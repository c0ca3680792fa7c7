import SettingsClient
import SettingsClientTesting

// The keys of a program whose module has the main actor as its default isolation. The keys and the types of their
// values are `nonisolated`, because all threads use them.

nonisolated enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark
}

nonisolated struct Account: Codable, DefaultsSerializable, Equatable {
    var name: String
}

nonisolated extension DefaultsKeys {
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    var account: DefaultsKey<Account?> { .init("account") }
    var player: PlayerKeys { PlayerKeys() }
}

nonisolated struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"
    // `Self["volume"]` is the name with the prefix: `player.volume`.
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
}

/// A global of the program. It shadows the global `Defaults` of SettingsClient.
// swift-format-ignore: AlwaysUseLowerCamelCase
nonisolated let Defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
