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
    public static subscript(leaf: String) -> String {
        prefix.isEmpty ? leaf : "\(prefix).\(leaf)"
    }
}

/// The keys of a program: extend it with them.
public struct DefaultsKeys: DefaultsKeyStore {
    /// The store.
    public init() {}
}
