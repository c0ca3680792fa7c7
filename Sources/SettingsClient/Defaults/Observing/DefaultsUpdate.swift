public import SettingsModel

/// What an observer wants to be told.
public struct ObservingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Options of these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Begin with an update that tells the value there is.
    public static let initial = ObservingOptions(rawValue: 1)
    /// Tell the value before.
    public static let old = ObservingOptions(rawValue: 2)
    /// Tell the value by now, as is always done.
    public static let new = ObservingOptions(rawValue: 4)
}

/// A setting has another value.
///
/// Both values are what a reader gets: after a removal the default is the new one. Writes that leave a reader's value as it
/// is, as under a launch argument, are no update.
public struct DefaultsUpdate<Value: DefaultsSerializable>: Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: Value?
    /// The value by now.
    public let newValue: Value
    /// Whether nothing has changed yet: it tells the value there was when observing began.
    public let isInitial: Bool
}

extension DefaultsUpdate: Equatable where Value: Equatable {}
extension DefaultsUpdate: Hashable where Value: Hashable {}

/// One of several observed settings has another value. Asked with the path of the key, it gives the values:
///
///     for await update in Defaults.updates(of: \.volume, \.theme) {
///         if let volume = update[\.volume] { player.volume = volume.newValue }
///         if let theme = update[\.theme] { window.theme = theme.newValue }
///     }
public struct KeyedUpdate<KeyStore: Sendable>: Sendable {
    /// The name of the key.
    public let key: String
    /// Whether nothing has changed yet: it tells the value there was when observing began.
    public let isInitial: Bool
    private let update: any Sendable
    private let place: StorePlace<KeyStore>

    init<Value>(_ update: DefaultsUpdate<Value>, in place: StorePlace<KeyStore>) {
        self.place = place
        key = update.key
        isInitial = update.isInitial
        self.update = update
    }

    /// The update of a key; nil if it is of another one.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsUpdate<Value>? {
        guard let update = update as? DefaultsUpdate<Value>,
            update.key.utf8.elementsEqual(place.store[keyPath: path].name.utf8)
        else { return nil }
        return update
    }
}

/// A setting of the suite, of whatever key, has another value. A key's own default is not known here.
public struct UntypedUpdate: Hashable, Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil if there was none, in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: JSONValue?
    /// The value by now; nil if there is none.
    public let newValue: JSONValue?
    /// Whether nothing has changed yet: it tells the value there was when observing began.
    public let isInitial: Bool
}
