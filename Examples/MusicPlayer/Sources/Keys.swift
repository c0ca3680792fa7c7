import SettingsClient

// All settings of this program, each with its name, its type, its default and its limits. From these come the types that
// the compiler checks, and the schema to which the daemon holds all programs.

enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark
}

struct Song: Codable, DefaultsSerializable, Hashable {
    var title: String
    var minutes: Double
}

extension DefaultsKeys {
    /// Optional: nil until one is stored.
    var listener: DefaultsKey<String?> { .init("listener", maxLength: 40) }
    /// Not optional, so it has a default.
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0, in: 0...) }
    /// The cases are the schema's `enum`.
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    /// Any `Codable` value.
    var queue: DefaultsKey<[Song]> { .init("queue", defaultValue: []) }
    /// A store of its own: `Defaults.player.volume`.
    var player: PlayerKeys { PlayerKeys() }
}

struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"

    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
    /// If several programs count at the same time, what each of them added is added.
    var songsPlayed: DefaultsKey<Int> { .init(Self["songsPlayed"], defaultValue: 0, in: 0..., merge: .sum) }
}
