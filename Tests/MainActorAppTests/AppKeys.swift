import SettingsClient
import SettingsClientTesting

// What a program declares whose module belongs to the main actor unless it says otherwise. Keys are used from anywhere,
// and so are the types of their values.

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
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
}

/// The program's own global, in place of the ready-made one.
// swift-format-ignore: AlwaysUseLowerCamelCase
nonisolated let Defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
