public import SettingsKeys
internal import Synchronization

/// What a ``Setting`` caches.
public struct SettingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Options of these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Read once, and keep that value until the property itself is written, whatever others write.
    public static let cached = SettingOptions(rawValue: 1)
    /// Follow every write. Alone or with ``cached``, each read gives the newest value, as without options: the adapter
    /// caches the decoded value until the next write.
    public static let observed = SettingOptions(rawValue: 2)
}

/// A setting as a property.
///
///     struct Appearance {
///         @Setting(\.theme, in: Defaults) var theme
///         @Setting(\.fontSize, in: Defaults, options: [.cached, .observed]) var fontSize
///     }
///     appearance.theme = .dark                            // stored
///     for await update in appearance.$theme.updates() {}   // $theme is the setting itself
///
/// A property is a variable, which a Sendable class cannot have, nor a type a static one that belongs to no actor; and a
/// global has no wrapper. There a constant does the same:
///
///     final class Model: Sendable { let theme = Setting(\.theme, in: Defaults) }
///     enum Shared { static let theme = Setting(\.theme, in: Defaults) }
///     let theme = Setting(\.theme, in: Defaults)
///     theme.value = .dark
///
/// Copies are one setting. It may be used from any thread; a change in place is done to what is stored, also where something
/// older is kept. Only of a property that is declared within a function Swift makes a read and a write: there, say
/// `$theme.value` to change it in place.
///
/// So do for a change that may throw: of a property what such a change left is stored, of `$theme.value` nothing. The
/// property's accessors are made by the compiler, which resumes those of the wrapper in the same way after a change that
/// threw as after one that returned, and calls a setter after both (Swift 6.3). So the wrapper cannot tell the two apart.
@propertyWrapper
public struct Setting<Value: DefaultsSerializable>: Sendable {
    private let reference: DefaultsReference<Value>
    private let kept: KeptValue<Value>?

    private init(_ reference: DefaultsReference<Value>, _ options: SettingOptions) {
        self.reference = reference
        kept = options == .cached ? KeptValue() : nil
    }

    /// The setting of a key in an adapter, or in a store within an adapter's.
    public init<Place: KeyedAccess>(
        _ path: KeyPath<Place.KeyStore, DefaultsKey<Value>>, in place: Place, options: SettingOptions = []
    ) {
        self.init(place.reference(path), options)
    }

    /// The setting of a key.
    public init(key: DefaultsKey<Value>, in place: some KeyedAccess, options: SettingOptions = []) {
        self.init(place.reference(key: key), options)
    }

    /// The value.
    public var wrappedValue: Value {
        get { value }
        nonmutating set { value = newValue }
        // Not by way of `value`: that would be written after a change that throws, too.
        nonmutating _modify {
            var change = reference.begin()
            defer { change.end() }
            yield &change.value
            kept?.forget()
            change.write()
            kept?.forget()
        }
    }

    /// The setting itself: `$theme.updates()`, `$theme.remove()`.
    public var projectedValue: Setting<Value> { self }

    /// The value.
    public var value: Value {
        get {
            if let kept {
                // The kept value is read without the adapter.
                reference.resolved.registerRead()
                return kept.value { reference.value }
            }
            return reference.value
        }
        nonmutating set {
            // Functions that track the value read it before the assignment returns.
            kept?.forget()
            reference.assign(newValue)
            kept?.forget()
        }
        nonmutating _modify {
            var change = reference.begin()
            defer { change.end() }
            yield &change.value
            kept?.forget()
            change.write()
            kept?.forget()
        }
    }
}

extension Setting {
    /// The name of the key.
    public var key: String { reference.name }

    /// True if a value is stored.
    public var isSet: Bool {
        reference.isSet()
    }

    /// Removes what is stored, so that the default holds.
    public func remove() {
        reference.remove()
        kept?.forget()
    }

    /// Calls a handler with every new value, until the returned observation is dropped or cancelled.
    public func observe(
        options: ObservingOptions = [.old, .new], handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference.observe(options, handler)
    }

    /// Every new value, from here on.
    public func updates(options: ObservingOptions = [.old, .new]) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference.updates(options)
    }
}

/// A cache of one value, which is read once and kept until it is forgotten.
private final class KeptValue<Value: Sendable>: Sendable {
    private let shared = Mutex(Shared())

    private struct Shared {
        var value: Value?
        /// Counts how often it was forgotten: a value read before that is not kept.
        var generation = 0
    }

    func value(_ read: () -> Value) -> Value {
        let (known, generation) = shared.withLock { ($0.value, $0.generation) }
        if let known { return known }
        let value = read()
        return shared.withLock { shared in
            // Threads that read at the same time all get the value of the first.
            if let first = shared.value { return first }
            if shared.generation == generation { shared.value = value }
            return value
        }
    }

    func forget() {
        // The old value may run code of the program when it is freed: not under the lock.
        let old = shared.withLock { shared in
            shared.generation += 1
            return shared.value.take()
        }
        withExtendedLifetime(old) {}
    }
}
