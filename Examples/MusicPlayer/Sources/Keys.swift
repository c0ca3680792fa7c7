import SettingsClient

// All settings of this program, each with its name, its type, its default and its limits. The compiler checks the
// types. `publishSchema` sends the names, types and limits to the daemon as a schema, which the daemon enforces for all
// programs.

enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark
}

struct Song: Codable, DefaultsSerializable, Hashable {
    var title: String
    var minutes: Double
}

extension DefaultsKeys {
    /// An optional key: its value is nil until a value is stored.
    var listener: DefaultsKey<String?> { .init("listener", maxLength: 40) }
    /// A key that is not optional needs a default.
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0, in: 0...) }
    /// The raw values of the cases are the allowed values in the schema.
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    /// The value can be of any `Codable` type.
    var queue: DefaultsKey<[Song]> { .init("queue", defaultValue: []) }
    /// A nested store of keys: `Defaults.player.volume`.
    var player: PlayerKeys { PlayerKeys() }
}

struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"

    /// `Self["volume"]` is the name "player.volume".
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
    /// With the merge rule `sum`, no increment is lost if several programs increment the number at the same time.
    var songsPlayed: DefaultsKey<Int> { .init(Self["songsPlayed"], defaultValue: 0, in: 0..., merge: .sum) }
}
