public import SettingsClient
public import SettingsKeys

/// `Setting` under the name that users of typed user defaults know.
///
///     @SwiftyUserDefault(keyPath: \.theme, options: [.cached, .observed]) var theme
public typealias SwiftyUserDefault<Value: DefaultsSerializable> = Setting<Value>

extension Setting {
    /// The setting of a key in the ready-made `Defaults`. A program with an adapter of its own gives that: `in: Defaults`.
    public init(keyPath path: KeyPath<DefaultsKeys, DefaultsKey<Value>>, options: SettingOptions = []) {
        self.init(path, in: Defaults, options: options)
    }

    /// The setting of a key in an adapter, or in a store within an adapter's.
    public init<Place: KeyedAccess>(
        keyPath path: KeyPath<Place.KeyStore, DefaultsKey<Value>>, in place: Place,
        options: SettingOptions = []
    ) {
        self.init(path, in: place, options: options)
    }
}
