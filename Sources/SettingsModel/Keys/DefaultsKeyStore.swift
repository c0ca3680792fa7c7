/// A place where keys are defined, as properties.
///
/// The ready-made one is ``DefaultsKeys``; a namespace is another one with a prefix, reached through a property:
///
///     struct PlayerKeys: DefaultsKeyStore {
///         static let prefix = "player"
///         var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
///     }
///     extension DefaultsKeys {
///         var player: PlayerKeys { PlayerKeys() }       // \.player.volume is stored as player.volume
///     }
public protocol DefaultsKeyStore: Sendable {
    /// What the names of all keys in this store begin with, without the dot; empty for none.
    static var prefix: String { get }

    /// The store. It holds nothing but keys, so making one is free.
    init()
}

extension DefaultsKeyStore {
    /// No prefix.
    public static var prefix: String {
        ""
    }

    /// The full name of a key in this store: after the prefix and a dot.
    public static subscript<Name: SettingName>(leaf: Name) -> String {
        prefix.isEmpty ? String(leaf) : "\(prefix).\(leaf)"
    }
}

/// Text of any kind, as a name: a literal, a `String`, a `Substring`.
///
/// Access by such names stands beside access by key path. Of a key path with a typo the compiler reports what is wrong
/// with the overload that it finds nearest, and an overload that only wants a `String` is nearer than the right one. So it
/// wants more.
public typealias SettingName = StringProtocol & RangeReplaceableCollection & TextOutputStream & CustomReflectable

/// The keys of a program: extend it with them.
public struct DefaultsKeys: DefaultsKeyStore {
    /// The store.
    public init() {}
}
