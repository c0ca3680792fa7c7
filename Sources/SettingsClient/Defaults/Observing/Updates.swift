public import SettingsModel

/// The contents that an observer wants in its updates.
public struct ObservingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Options of these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Begin with an update that holds the present value.
    public static let initial = ObservingOptions(rawValue: 1)
    /// Include the value before.
    public static let old = ObservingOptions(rawValue: 2)
    /// Include the new value, as every update does.
    public static let new = ObservingOptions(rawValue: 4)
}

/// A change of a setting's value.
///
/// Both values are what a reader gets: after a removal the default is the new one. A write that leaves a reader's value as
/// it is, as under a launch argument, is no update.
public struct DefaultsUpdate<Value: DefaultsSerializable>: Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: Value?
    /// The new value.
    public let newValue: Value
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
}

extension DefaultsUpdate: Equatable where Value: Equatable {}
extension DefaultsUpdate: Hashable where Value: Hashable {}

/// A change of one of several observed settings. Its subscript gives the values by the path of the key:
///
///     for await update in Defaults.updates(of: \.volume, \.theme) {
///         if let volume = update[\.volume] { player.volume = volume.newValue }
///         if let theme = update[\.theme] { window.theme = theme.newValue }
///     }
public struct KeyedUpdate<KeyStore: Sendable>: Sendable {
    /// The name of the key.
    public let key: String
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
    private let update: any Sendable
    private let keyStore: KeyStore

    init<Value>(_ update: DefaultsUpdate<Value>, of keyStore: KeyStore) {
        self.keyStore = keyStore
        key = update.key
        isInitial = update.isInitial
        self.update = update
    }

    /// The update of a key; nil if it is of another one.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsUpdate<Value>? {
        guard let update = update as? DefaultsUpdate<Value>,
            update.key.utf8.elementsEqual(keyStore[keyPath: path].name.utf8)
        else { return nil }
        return update
    }
}

/// A change of any setting of the suite. The defaults of keys are not known here.
public struct UntypedUpdate: Hashable, Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil if there was none, in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: JSONValue?
    /// The new value; nil if there is none.
    public let newValue: JSONValue?
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
}
