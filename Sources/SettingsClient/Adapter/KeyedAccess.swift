public import SettingsModel

/// A place where settings are read and written by the keys of a store: an adapter, or a scope of one.
///
/// The same access in each place: by key path, by key, as a member. `=` runs `set`; every change in place runs `_modify`,
/// which writes after the change, so that one that throws writes nothing.
@dynamicMemberLookup
public protocol KeyedAccess<KeyStore>: Sendable {
    /// Where the keys are defined.
    associatedtype KeyStore: DefaultsKeyStore

    /// What the settings are reached through. It is asked of the type, as a member of the value would win over a key of
    /// the same name.
    static func core(of access: Self) -> AdapterCore

    /// The keys of a store within this one: `Defaults.player.volume`.
    subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> { get }
}

extension KeyedAccess {
    @inlinable var core: AdapterCore { Self.core(of: self) }

    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        @inlinable get { core.value(path) }
        nonmutating set { core.assign(newValue, to: core.slot(path)) }
        nonmutating _modify {
            var change = core.begin(core.slot(path))
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(key key: DefaultsKey<Value>) -> Value {
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
        @inlinable get { core.value(path) }
        nonmutating set { core.assign(newValue, to: core.slot(path)) }
        // Not by way of `self[path]`: that would be written after a change that throws, too.
        nonmutating _modify {
            var change = core.begin(core.slot(path))
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
        DefaultsReference(core: core, slot: core.slot(path))
    }

    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(key key: DefaultsKey<Value>) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: core.slots.slot(for: key), default: key.defaultValue)
    }

    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(
        dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: core.slot(path))
    }
}
