public import SettingsClient
internal import SettingsClientTesting

/// The keys of a library (the kit) that several programs share.
public struct KitKeys: DefaultsKeyStore {
    /// Creates the store of the keys.
    public init() {}

    /// How often the kit was used.
    public var uses: DefaultsKey<Int> { .init("kit.uses", defaultValue: 0) }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The settings of the kit. The variable has the same name as the global `Defaults` of SettingsClient. The module
/// exists only for tests of programs that import both variables.
public let Defaults = DefaultsAdapter.inMemory(keyStore: KitKeys())
