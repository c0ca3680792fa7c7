public import SettingsClient
public import SettingsKeys

/// `Setting` with its name in the library SwiftyUserDefaults.
///
///     @SwiftyUserDefault(keyPath: \.theme, in: Defaults, options: [.cached, .observed]) var theme
public typealias SwiftyUserDefault<Value: DefaultsSerializable> = Setting<Value>

extension Setting {
    /// Creates the setting of a key in an adapter or in a nested store.
    public init<Access: KeyedAccess>(
        keyPath path: KeyPath<Access.KeyStore, DefaultsKey<Value>>, in access: Access, options: SettingOptions = []
    ) {
        self.init(path, in: access, options: options)
    }

    // This module cannot see a global variable `Defaults` that the program declares, and the variable `Defaults` of
    // SettingsClient may have another suite.
    /// Not available. The property has to name its adapter.
    @available(*, unavailable, message: "name the adapter: @SwiftyUserDefault(keyPath: \\.name, in: Defaults)")
    public init(keyPath path: KeyPath<DefaultsKeys, DefaultsKey<Value>>, options: SettingOptions = []) {
        fatalError("unavailable")  // Never runs: the compiler refuses every use.
    }
}
