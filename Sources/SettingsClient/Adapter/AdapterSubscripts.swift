public import SettingsModel

// The same access in each place: by key path, by key, as a member. `=` runs `set`; every change in place runs `_modify`,
// which writes after the change, so that one that throws writes nothing.

extension DefaultsAdapter {
    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        @inlinable get { core.value(path) }
        set { core.assign(newValue, to: core.slot(path)) }
        _modify {
            var change = core.begin(core.slot(path))
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(key key: DefaultsKey<Value>) -> Value {
        get { core.value(key) }
        set { core.assign(newValue, to: core.slots.slot(for: key)) }
        _modify {
            var change = core.begin(core.slots.slot(for: key), default: key.defaultValue)
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        @inlinable get { core.value(path) }
        set { core.assign(newValue, to: core.slot(path)) }
        _modify {
            var change = core.begin(core.slot(path))
            yield &change.value
            core.finish(change)
        }
    }

    /// The keys of a store within this one: `Defaults.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        @inlinable get { DefaultsScope<Inner>(core: core) }
    }
}

// What the operators `?=` and `++` work on. Where a value is asked for, the subscripts above win.
extension DefaultsAdapter {
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
