public import SettingsModel

// The same access in each place: by key path, by key, as a member. `=` runs `set`; every change in place runs `_modify`,
// which writes after the change, so that one that throws writes nothing.

extension DefaultsScope {
    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<Keys, DefaultsKey<Value>>) -> Value {
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
        get { core.value(key) }
        nonmutating set { core.assign(newValue, to: core.slots.slot(for: key)) }
        nonmutating _modify {
            var change = core.begin(core.slots.slot(for: key), default: key.defaultValue)
            yield &change.value
            core.finish(change)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, DefaultsKey<Value>>) -> Value {
        @inlinable get { core.value(path) }
        nonmutating set { core.assign(newValue, to: core.slot(path)) }
        nonmutating _modify {
            var change = core.begin(core.slot(path))
            yield &change.value
            core.finish(change)
        }
    }

    /// The keys of a store within this one: `Defaults.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<Keys, Inner>) -> DefaultsScope<Inner> {
        @inlinable get { DefaultsScope<Inner>(core: core) }
    }
}

// What the operators `?=` and `++` work on. Where a value is asked for, the subscripts above win.
extension DefaultsScope {
    /// A key as what an operator works on.
    @_disfavoredOverload
    public subscript<Value>(_ path: KeyPath<Keys, DefaultsKey<Value>>) -> DefaultsReference<Value> {
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
        dynamicMember path: KeyPath<Keys, DefaultsKey<Value>>
    ) -> DefaultsReference<Value> {
        DefaultsReference(core: core, slot: core.slot(path))
    }
}
