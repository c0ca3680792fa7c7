public import SettingsModel

/// A place where settings are read and written by the keys of a store: an adapter, or a scope of one.
///
/// The same access in each place: by key path, by key, as a member. `=` runs `set`; every change in place runs `_modify`,
/// which writes after the change, so that one that throws writes nothing.
///
/// Forms that take a key have a parameter before it that takes nothing. It keeps the compiler from considering them where
/// a key path is given: so it says of a key path with a typo that the store has no such member, and not that the path is
/// no key.
@dynamicMemberLookup
public protocol KeyedAccess<KeyStore>: Sendable {
    /// Where the keys are defined.
    associatedtype KeyStore: Sendable

    /// What the settings are reached through. It is asked of the type, as a member of the value would win over a key of
    /// the same name.
    static func core(of access: Self) -> AdapterCore

    /// The store whose keys these are, which lives at least as long as the access.
    static func place(of access: Self) -> Unmanaged<StorePlace<KeyStore>>

    /// The keys of a store within this one: `Defaults.player.volume`.
    subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> { get }
}

extension KeyedAccess {
    @inlinable var core: AdapterCore { Self.core(of: self) }

    /// The store whose keys these are.
    var place: StorePlace<KeyStore> { Self.place(of: self).takeUnretainedValue() }

    func slot<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Slot<Value> {
        core.slot(path, in: place)
    }

    /// The value for a plain getter.
    @inlinable
    func value<Value>(of path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        let known = Self.place(of: self)._withUnsafeGuaranteedRef { core.cachedValue(path, inPlace: $0.number) }
        return known ?? core.missedValue(path, in: Self.place(of: self))
    }

    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        @inlinable get { value(of: path) }
        nonmutating set { core.assign(newValue, to: slot(path)) }
        nonmutating _modify {
            var change = core.begin(slot(path))
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> Value {
        @inlinable get { core.value(key) }
        nonmutating set { core.assign(newValue, to: core.slots.slot(for: key)) }
        nonmutating _modify {
            var change = core.begin(core.slots.slot(for: key), default: key.defaultValue)
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        @inlinable get { value(of: path) }
        nonmutating set { core.assign(newValue, to: slot(path)) }
        // Not by way of `self[path]`: that would be written after a change that throws, too.
        nonmutating _modify {
            var change = core.begin(slot(path))
            yield &change.value
            core.finish(change)
        }
    }
}

// What the operators `?=` and `++` work on. Where a value is asked for, the subscripts above win.
extension KeyedAccess {
    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: slot(path))
    }

    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: core.slots.slot(for: key), default: key.defaultValue)
    }

    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(
        dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: slot(path))
    }
}

extension KeyedAccess {
    /// True if a key has a value that is not a default: from the command line, stored, or registered.
    public func hasKey<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        core.hasKey(slot(path))
    }

    /// True if a key has a value that is not a default.
    public func hasKey<Value>(_: Void = (), key: DefaultsKey<Value>) -> Bool {
        core.hasKey(core.slots.slot(for: key))
    }

    /// True if a value is stored for a key.
    public func isSet<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        core.isSet(slot(path))
    }

    /// True if a value is stored for a key.
    public func isSet<Value>(_: Void = (), key: DefaultsKey<Value>) -> Bool {
        core.isSet(core.slots.slot(for: key))
    }

    /// Takes what is stored for a key away, so that the default holds; that nothing is stored is fine.
    public func remove<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) {
        core.remove(slot(path))
    }

    /// Takes what is stored for a key away.
    public func remove<Value>(_: Void = (), key: DefaultsKey<Value>) {
        core.remove(core.slots.slot(for: key))
    }
}
