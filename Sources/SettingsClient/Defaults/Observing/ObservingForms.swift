public import SettingsModel

// Key paths are turned into what they mean at once, as they may not leave their isolation.

extension KeyedAccess {
    /// Calls a handler with every new value of a key, until what is returned is dropped or disposed of.
    ///
    ///     let observation = Defaults.observe(\.theme, options: [.initial, .old, .new]) { update in
    ///         print(update.oldValue as Any, update.newValue)
    ///     }
    ///
    /// Handlers of an adapter run one after the other on a queue of its own, in the order of what they are told: the program's own
    /// writes when readers see them, which is before they are acknowledged, others' when they arrive. One that is taken back
    /// is told again. Reading, writing and disposing are fine within a handler. Handlers that are slow are told everything
    /// as long as no more than about a thousand changes wait; beyond that, of each key the newest.
    ///
    /// The suite is loaded first, if it was not, as a getter does. If it cannot be, that is an issue, and observing begins
    /// when it can. Values that are none of the key are issues, too, and passed over.
    public func observe<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        core.observe(slot(path), options, handler)
    }

    /// Calls a handler with every new value of a key, until what is returned is dropped or disposed of.
    public func observe<Value>(
        _: Void = (), key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        core.observe(core.slots.slot(for: key, withDefault: true), options, handler)
    }

    /// Calls a handler with every new value of several keys; each update says of which: `update[\.volume]?.newValue`.
    public func observe<First, Second, each More>(
        _ first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (KeyedUpdate<KeyStore>) -> Void
    ) -> DefaultsObservation {
        core.observe(core.trails(first, second, repeat each more, in: place, options: options), handler)
    }

    /// Every new value of a key, from here on: nothing is missed between this call and the loop.
    ///
    ///     for await update in Defaults.updates(of: \.theme) { apply(update.newValue) }
    ///
    /// It is told what a handler of ``observe(_:options:handler:)`` is told.
    public func updates<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        core.updates(slot(path), options)
    }

    /// Every new value of a key, from here on.
    public func updates<Value>(
        _: Void = (), key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        core.updates(core.slots.slot(for: key, withDefault: true), options)
    }

    /// Every new value of several keys, from here on; each update says of which: `update[\.volume]?.newValue`.
    public func updates<First, Second, each More>(
        of first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<KeyedUpdate<KeyStore>> {
        core.updates(core.trails(first, second, repeat each more, in: place, options: options))
    }
}

extension DefaultsAdapter {
    /// Calls a handler with every new value of the suite, of whatever key.
    public func observe(
        options: ObservingOptions = [.old, .new], handler: @escaping @Sendable (UntypedUpdate) -> Void
    ) -> DefaultsObservation {
        core.observe([SuiteTrail(core, options)], handler)
    }

    /// Every new value of the suite, of whatever key, from here on.
    public func updates(options: ObservingOptions = [.old, .new]) -> DefaultsUpdates<UntypedUpdate> {
        core.updates([SuiteTrail(core, options)])
    }
}

extension AdapterCore {
    func observe<Value>(
        _ slot: Slot<Value>, _ options: ObservingOptions,
        _ handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        observe([KeyTrail(self, slot, options) { $0 }], handler)
    }

    func updates<Value>(_ slot: Slot<Value>, _ options: ObservingOptions) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        updates([KeyTrail(self, slot, options) { $0 }])
    }

    /// The trails of several keys.
    fileprivate func trails<Store, each Value>(
        _ paths: repeat KeyPath<Store, DefaultsKey<each Value>>, in place: StorePlace<Store>,
        options: ObservingOptions
    ) -> [any SettingTrail<KeyedUpdate<Store>>] {
        var trails: [any SettingTrail<KeyedUpdate<Store>>] = []
        for path in repeat each paths {
            trails.append(KeyTrail(self, slot(path, in: place), options) { KeyedUpdate($0, in: place) })
        }
        return trails
    }
}
