public import SettingsKeys
internal import Synchronization

/// Determines how a ``Setting`` caches its value.
public struct SettingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Creates options from bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The setting reads the value once, and returns this value until the property itself is written.
    public static let cached = SettingOptions(rawValue: 1)
    /// Each read returns the newest value, with or without ``cached``. The setting then behaves as without options, and
    /// the adapter caches the decoded value until the next change.
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
/// A property with a wrapper is a variable. Swift allows no stored variable in a Sendable class, no static variable
/// without an actor, and no wrapper of a global variable. Use a constant in these places:
///
///     final class Model: Sendable { let theme = Setting(\.theme, in: Defaults) }
///     enum Shared { static let theme = Setting(\.theme, in: Defaults) }
///     let theme = Setting(\.theme, in: Defaults)
///     theme.value = .dark
///
/// All copies of a setting access the same value. A change in place starts from the current value, even with the option
/// ``SettingOptions/cached``. Thread-safe.
///
/// Use `$theme.value` instead of `theme` for a change in place in two cases:
///
/// - The property is a local variable of a function. The compiler then replaces a change in place by a read and a
///   write.
/// - The change may throw an error. A change of `theme` stores the value even if the change throws, because the
///   compiler (Swift 6.3) does not tell the wrapper about the error. A change of `$theme.value` that throws stores
///   nothing.
@propertyWrapper
public struct Setting<Value: DefaultsSerializable>: Sendable {
    private let reference: DefaultsReference<Value>
    private let cache: ValueCache<Value>?

    private init(_ reference: DefaultsReference<Value>, _ options: SettingOptions) {
        self.reference = reference
        cache = options == .cached ? ValueCache() : nil
    }

    /// Creates the setting of a key in an adapter or in a nested store.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - access: the adapter, or the scope of a nested store.
    ///   - options: determines whether the setting caches its value.
    public init<Access: KeyedAccess>(
        _ path: KeyPath<Access.KeyStore, DefaultsKey<Value>>, in access: Access, options: SettingOptions = []
    ) {
        self.init(access.reference(path), options)
    }

    /// Creates the setting of a key.
    public init(key: DefaultsKey<Value>, in access: some KeyedAccess, options: SettingOptions = []) {
        self.init(access.reference(key: key), options)
    }

    /// The value.
    public var wrappedValue: Value {
        get { value }
        nonmutating set { value = newValue }
        // If a change of `$theme.wrappedValue` throws, this accessor writes nothing. An accessor with `yield &value`
        // would write.
        nonmutating _modify {
            var change = reference.beginChange()
            defer { change.end() }
            yield &change.value
            cache?.beginWrite()
            defer { cache?.endWrite() }
            change.write()
        }
    }

    /// The setting itself: `$theme.updates()`, `$theme.remove()`.
    public var projectedValue: Setting<Value> { self }

    /// The value.
    public var value: Value {
        get {
            if let cache {
                // The adapter registers reads with Swift's Observation, but does not see a read of a cached value.
                reference.resolved.registerRead()
                return cache.value { reference.value }
            }
            return reference.value
        }
        nonmutating set {
            cache?.beginWrite()
            defer { cache?.endWrite() }
            reference.assign(newValue)
        }
        nonmutating _modify {
            var change = reference.beginChange()
            defer { change.end() }
            yield &change.value
            cache?.beginWrite()
            defer { cache?.endWrite() }
            change.write()
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

    /// Removes the stored value, so that the setting has its default.
    public func remove() {
        cache?.beginWrite()
        defer { cache?.endWrite() }
        reference.remove()
    }

    /// Calls a handler with every new value, until the returned observation is released or cancelled.
    public func observe(
        options: ObservingOptions = [.old, .new], handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference.observe(options, handler)
    }

    /// Returns a sequence of every new value.
    public func updates(options: ObservingOptions = [.old, .new]) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference.updates(options)
    }
}

/// A cache of one value. It returns the value of the first read until the program writes the setting. It caches nothing
/// during a write, because functions that observe the value may read the value before the write has ended.
private final class ValueCache<Value: Sendable>: Sendable {
    private let shared = Mutex(Shared())

    private struct Shared {
        var value: Value?
        var writeCount = 0
        /// Incremented at the beginning and at the end of each write. A value is cached only if the generation has not
        /// changed since the read of the value began.
        var generation = 0
    }

    /// Returns the cached value. If there is no cached value, reads the value.
    func value(_ read: () -> Value) -> Value {
        let (cached, generation) = shared.withLock { ($0.value, $0.generation) }
        if let cached { return cached }
        let value = read()
        return shared.withLock { shared in
            // Threads that read at the same time all return the value of the first thread.
            if let first = shared.value { return first }
            if shared.generation == generation, shared.writeCount == 0 { shared.value = value }
            return value
        }
    }

    /// Clears the cache until the end of the write.
    func beginWrite() {
        // The release of the old value may run code of the program, so it happens without the lock.
        let old = shared.withLock { shared in
            shared.generation += 1
            shared.writeCount += 1
            return shared.value.take()
        }
        withExtendedLifetime(old) {}
    }

    func endWrite() {
        shared.withLock { shared in
            shared.generation += 1
            shared.writeCount -= 1
        }
    }
}
