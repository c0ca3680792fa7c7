public import SettingsKeys

/// An object with which a program reads and writes settings by their keys: an adapter, or a scope of an adapter.
///
/// A program can use a key path, a key or a member with the same result. An assignment runs the accessor `set` of a
/// subscript. A change in place runs the accessor `_modify`, which writes after the change, so a change that throws
/// writes nothing.
///
/// For a misspelt key path, as in `remove(\.vloume)`, the compiler (Swift 6.3) must report that the store has no such
/// member. If a method had only the argument `key`, the compiler would choose this method, and would report a missing
/// label instead. Therefore, such a method has a parameter of the type `Void` before the key.
@dynamicMemberLookup
public protocol KeyedAccess<KeyStore>: Sendable {
    /// The store that defines the keys.
    associatedtype KeyStore: Sendable

    /// Returns the scope that contains the keys. The method is static because an instance member would hide a key of
    /// the same name.
    static func scope(of access: Self) -> DefaultsScope<KeyStore>

    // `scope(of:)` would be enough to read a value. The protocol requires this method, too, because a read through
    // `scope(of:)` would retain the core of the adapter. Concurrent reads would then be slow, because all threads would
    // change the same reference count.
    /// Reads the value of a key.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - access: the adapter or the scope.
    static func read<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>, in access: Self) -> Value
}

extension KeyedAccess {
    var core: AdapterCore { Self.scope(of: self).core }
    /// The core, for the module SettingsClientCompatibility.
    package var adapterCore: AdapterCore { core }

    package func reference<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsReference<Value> {
        Self.scope(of: self).reference(path)
    }

    package func reference<Value>(key: DefaultsKey<Value>) -> DefaultsReference<Value> {
        let core = core
        return DefaultsReference(core: core, resolved: core.keys.resolve(key), defaultValue: key.defaultValue)
    }

    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        get { Self.read(path, in: self) }
        nonmutating set { reference(path).assign(newValue) }
        nonmutating _modify {
            var change = reference(path).beginChange()
            defer { change.end() }
            yield &change.value
            change.write()
        }
    }

    /// The value of a key.
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> Value {
        get { reference(key: key).value }
        nonmutating set { reference(key: key).assign(newValue) }
        nonmutating _modify {
            var change = reference(key: key).beginChange()
            defer { change.end() }
            yield &change.value
            change.write()
        }
    }

    /// The value of a key, with the syntax of a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        get { Self.read(path, in: self) }
        nonmutating set { reference(path).assign(newValue) }
        // An implementation with `self[path]` would write even if the change throws.
        nonmutating _modify {
            var change = reference(path).beginChange()
            defer { change.end() }
            yield &change.value
            change.write()
        }
    }

    /// The keys of a nested store: `Defaults.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        Self.scope(of: self).nestedScope(path)
    }
}

extension KeyedAccess {
    /// Returns true if a key has a value on the command line of the program, a stored value or a default of
    /// ``DefaultsAdapter/register(defaults:)``. Ignores the defaults of the key and of the schema.
    public func hasKey<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        reference(path).hasKey()
    }

    /// Returns true if a key has a value on the command line of the program, a stored value or a default of
    /// ``DefaultsAdapter/register(defaults:)``. Ignores the defaults of the key and of the schema.
    public func hasKey<Value>(_: Void = (), key: DefaultsKey<Value>) -> Bool {
        reference(key: key).hasKey()
    }

    /// Returns true if a value is stored for a key.
    public func isSet<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        reference(path).isSet()
    }

    /// Returns true if a value is stored for a key.
    public func isSet<Value>(_: Void = (), key: DefaultsKey<Value>) -> Bool {
        reference(key: key).isSet()
    }

    /// Removes the stored value of a key, so that the default applies. Does nothing if no value is stored.
    public func remove<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) {
        reference(path).remove()
    }

    /// Removes the stored value of a key.
    public func remove<Value>(_: Void = (), key: DefaultsKey<Value>) {
        reference(key: key).remove()
    }
}

// The async methods block no thread. A method that writes returns when the daemon has confirmed the write. If the
// daemon does not answer in time, the method throws `DefaultsError.kept`, and the write stays in the outbox, the
// queue of unanswered writes. A write with a deadline does not use the outbox.
extension KeyedAccess {
    /// Returns the value of a key. Throws if the suite cannot be loaded, or if the stored value is not a valid value of
    /// the key.
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Value {
        try await reference(path).readValue()
    }

    // With only one overload for key paths, the compiler would report no useful error for a misspelt key path.
    /// Not available. Use the overload whose result is not optional.
    @available(*, unavailable)
    @_disfavoredOverload
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Value? {
        try await reference(path).readValue()
    }

    /// Returns the value of a key. Throws if the suite cannot be loaded, or if the stored value is not a valid value of
    /// the key.
    public nonisolated(nonsending) func value<Value>(
        _: Void = (), key: DefaultsKey<Value>
    ) async throws(DefaultsError) -> Value {
        try await reference(key: key).readValue()
    }

    /// Stores a value and waits until the daemon has confirmed the write. Throws ``DefaultsError/kept(_:)`` if the
    /// confirmation takes longer than the timeout of the adapter.
    public nonisolated(nonsending) func set<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ value: Value
    ) async throws(DefaultsError) {
        try await reference(path).set(value)
    }

    /// Stores a value and waits until the daemon has confirmed the write. Throws ``DefaultsError/kept(_:)`` if the
    /// confirmation takes longer than the timeout of the adapter.
    public nonisolated(nonsending) func set<Value>(
        key: DefaultsKey<Value>, _ value: Value
    ) async throws(DefaultsError) {
        try await reference(key: key).set(value)
    }

    /// Stores a value that the daemon reverts at the deadline (with `.confirm`, unless the program confirms the
    /// change), or schedules a write of the value at the deadline.
    ///
    ///     let pending = try await Defaults.set(\.volume, 0.8, .confirm(within: .seconds(120)))
    ///     try await pending?.confirm()
    ///
    /// Returns when the daemon has answered. The outbox never contains a write with a deadline: if the daemon does not
    /// answer, the method throws, and the client does not send the write later.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - value: the value.
    ///   - deadline: the time at which the daemon reverts the change or makes the change.
    /// - Returns: the pending action. Nil if the value is stored already, so that the daemon has nothing to revert. A
    ///   scheduled write always has an action.
    @discardableResult
    public nonisolated(nonsending) func set<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ value: Value, _ deadline: DefaultsDeadline
    ) async throws(DefaultsError) -> DefaultsPendingAction? {
        try await reference(path).set(value, deadline)
    }

    /// Stores a value that the daemon reverts at the deadline, or schedules a write of the value at the deadline.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - value: the value.
    ///   - deadline: the time at which the daemon reverts the change or makes the change.
    /// - Returns: the pending action. Nil if the value is stored already, so that the daemon has nothing to revert. A
    ///   scheduled write always has an action.
    @discardableResult
    public nonisolated(nonsending) func set<Value>(
        key: DefaultsKey<Value>, _ value: Value, _ deadline: DefaultsDeadline
    ) async throws(DefaultsError) -> DefaultsPendingAction? {
        try await reference(key: key).set(value, deadline)
    }

    /// Changes a value and waits until the daemon has confirmed the change. If another program changes the value in the
    /// meantime, the body runs again.
    public nonisolated(nonsending) func update<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: (inout Value) throws -> Void
    ) async throws {
        try await Self.scope(of: self).transaction { try body(&$0[path]) }
    }

    /// Changes a value and waits until the daemon has confirmed the change. If another program changes the value in the
    /// meantime, the body runs again.
    public nonisolated(nonsending) func update<Value>(
        key: DefaultsKey<Value>, _ body: (inout Value) throws -> Void
    ) async throws {
        try await Self.scope(of: self).transaction { try body(&$0[key: key]) }
    }

    /// Stores a value if nothing is stored. The daemon checks this condition. Returns true if the daemon stored the
    /// value.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - body: returns the value. The body runs only if the client knows of no stored value.
    @discardableResult
    public nonisolated(nonsending) func setIfAbsent<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        try await reference(path).setIfAbsent(body)
    }

    /// Stores a value if nothing is stored. The daemon checks this condition. Returns true if the daemon stored the
    /// value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - body: returns the value. The body runs only if the client knows of no stored value.
    @discardableResult
    public nonisolated(nonsending) func setIfAbsent<Value>(
        key: DefaultsKey<Value>, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        try await reference(key: key).setIfAbsent(body)
    }
}

// These methods must hide no key of the same name, so their extension has a constraint (see `DefaultsAdapter`).
extension KeyedAccess where KeyStore: DefaultsKeyStore {
    /// Removes the stored value of a key, so that the default applies, and waits until the daemon has confirmed the
    /// removal.
    public nonisolated(nonsending) func unset<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) {
        try await reference(path).unset()
    }

    /// Removes the stored value of a key, and waits until the daemon has confirmed the removal.
    public nonisolated(nonsending) func unset<Value>(
        _: Void = (), key: DefaultsKey<Value>
    ) async throws(DefaultsError) {
        try await reference(key: key).unset()
    }

    /// Returns true if a value is stored for a key. Unlike ``isSet(_:)``, loads the suite without blocking the thread,
    /// and throws an error if the suite cannot be loaded.
    public nonisolated(nonsending) func isStored<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Bool {
        try await reference(path).isStored()
    }

    /// Returns true if a value is stored for a key. Unlike ``isSet(_:)``, loads the suite without blocking the thread,
    /// and throws an error if the suite cannot be loaded.
    public nonisolated(nonsending) func isStored<Value>(
        _: Void = (), key: DefaultsKey<Value>
    ) async throws(DefaultsError) -> Bool {
        try await reference(key: key).isStored()
    }

    /// Returns true if a key has a value on the command line of the program, a stored value or a default of
    /// ``DefaultsAdapter/register(defaults:)``. Ignores the defaults of the key and of the schema. Unlike
    /// ``hasKey(_:)``, loads the suite without blocking the thread, and throws an error if the suite cannot be loaded.
    public nonisolated(nonsending) func hasValue<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Bool {
        try await reference(path).hasValue()
    }

    /// Returns true if a key has a value on the command line of the program, a stored value or a default of
    /// ``DefaultsAdapter/register(defaults:)``. Ignores the defaults of the key and of the schema. Unlike
    /// ``hasKey(_:)``, loads the suite without blocking the thread, and throws an error if the suite cannot be loaded.
    public nonisolated(nonsending) func hasValue<Value>(
        _: Void = (), key: DefaultsKey<Value>
    ) async throws(DefaultsError) -> Bool {
        try await reference(key: key).hasValue()
    }
}

/// The keys of a nested store, for example `Defaults.player`.
///
/// A scope has the same members for keys as the adapter. If a key has the name of a method such as `value`, use its key
/// path: `Defaults.player[\.value]`.
@dynamicMemberLookup
public struct DefaultsScope<KeyStore: Sendable>: KeyedAccess {
    let core: AdapterCore
    /// The nested store. Nil for the adapter's own store, and for a store without stored properties, all of whose
    /// instances have the same keys.
    let instance: StoreInstance?

    /// Returns the scope itself.
    public static func scope(of access: DefaultsScope) -> DefaultsScope { access }

    /// Reads the value of a key.
    public static func read<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>, in access: DefaultsScope) -> Value {
        guard let reading = access.core.keys.reading(path, in: access.instance) else {
            return access.readAndCache(path)
        }
        return reading.value(as: Value.self)
    }

    /// The store, from which key paths read the keys.
    var keyStore: KeyStore {
        if let store = (instance?.store ?? core.keyStore) as? KeyStore { return store }
        // A nested store without stored properties has no instance. All stores of its type have the same keys.
        guard let newStore = (KeyStore.self as? any DefaultsKeyStore.Type)?.init() as? KeyStore else {
            preconditionFailure("the nested key store \(KeyStore.self) must conform to DefaultsKeyStore")
        }
        return newStore
    }

    func reference<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsReference<Value> {
        let key = keyStore[keyPath: path]
        return DefaultsReference(core: core, resolved: core.keys.resolve(key), defaultValue: key.defaultValue)
    }

    /// Reads the value of a key, and caches the reading for the next read with the same key path. A change of the value
    /// invalidates the cached reading (``CachedReading``).
    func readAndCache<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        let reference = reference(path)
        let value = reference.value
        if let reading = reference.resolved.cachedReading {
            let reading = CachedReading(reading, by: path, defaultValue: reference.defaultValue)
            core.keys.cache(reading, by: path, in: instance)
        }
        return value
    }

    /// Returns the scope of a nested store. The method consumes this scope, because a copy would change a reference
    /// count. The change would cost about half the time of a read.
    consuming func nestedScope<Inner: DefaultsKeyStore>(_ path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        if MemoryLayout<Inner>.size == 0 {
            assertHasPrefix(Inner.self)
            return DefaultsScope<Inner>(core: core, instance: nil)
        }
        let inner = core.keys.storeInstance(path, in: instance) {
            assertHasPrefix(Inner.self)
            return keyStore[keyPath: path]
        }
        return DefaultsScope<Inner>(core: core, instance: inner)
    }

    /// Stops a debug build if the nested store has no prefix for the names of its keys, because its keys could then
    /// have the names of keys of the outer store.
    private func assertHasPrefix(_ inner: any DefaultsKeyStore.Type) {
        assert(prefixProblem(inner) == nil, prefixProblem(inner) ?? "")
    }

    private func prefixProblem(_ inner: any DefaultsKeyStore.Type) -> String? {
        (KeyStore.self as? any DefaultsKeyStore.Type).flatMap { nestedStoreProblem(inner, in: $0) }
    }
}
