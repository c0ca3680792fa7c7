public import SettingsClient
public import SettingsKeys

/// `Setting` under the name that SwiftyUserDefaults has for it.
///
///     @SwiftyUserDefault(keyPath: \.theme, in: Defaults, options: [.cached, .observed]) var theme
public typealias SwiftyUserDefault<Value: DefaultsSerializable> = Setting<Value>

extension Setting {
    /// The setting of a key in an adapter, or in a store of an adapter.
    public init<Access: KeyedAccess>(
        keyPath path: KeyPath<Access.KeyStore, DefaultsKey<Value>>, in access: Access, options: SettingOptions = []
    ) {
        self.init(path, in: access, options: options)
    }

    // A module cannot see the global `Defaults` of the program that imports it. The ready-made `Defaults` would be the
    // wrong suite for a program that declares its own.
    /// Not available. The property has to name its adapter.
    @available(*, unavailable, message: "name the adapter: @SwiftyUserDefault(keyPath: \\.name, in: Defaults)")
    public init(keyPath path: KeyPath<DefaultsKeys, DefaultsKey<Value>>, options: SettingOptions = []) {
        fatalError("unavailable")
    }
}
