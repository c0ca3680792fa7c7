public import SettingsClient
internal import SettingsClientTesting

/// A store of a module that several programs share.
public struct KitKeys: DefaultsKeyStore {
    /// The store.
    public init() {}

    /// How often the kit was used.
    public var uses: DefaultsKey<Int> { .init("kit.uses", defaultValue: 0) }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The settings of the kit, under the name of the ready-made ones.
public let Defaults = DefaultsAdapter.inMemory(keyStore: KitKeys())
