public import SettingsModel
internal import Synchronization

// A key path may not leave its isolation, so each is resolved at once.

extension KeyedAccess {
    /// Calls a handler with every new value of a key, until what is returned is dropped or disposed of.
    ///
    ///     let observation = Defaults.observe(\.theme, options: [.initial, .old, .new]) { update in
    ///         print(update.oldValue as Any, update.newValue)
    ///     }
    ///
    /// Handlers of an adapter run one after the other on a queue of its own, in the order of the changes: the program's own
    /// writes come when readers see them, which is before they are acknowledged, others' when they arrive. A write that is
    /// rolled back is another change. Reading, writing and disposing are fine within a handler. Slow handlers get every
    /// update as long as no more than about a thousand changes wait; beyond that, of each key the newest.
    ///
    /// The suite is loaded first, if it was not, as a getter does. If that fails, it is an issue, and observing begins
    /// when the suite could be loaded. Stored values that are none of the key are issues, too, and passed over.
    public func observe<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        core.observe(reference(path).slot, options, handler)
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
        core.observe(Self.scope(of: self).trails(first, second, repeat each more, options: options), handler)
    }

    /// Every new value of a key, from here on: nothing is missed between this call and the loop.
    ///
    ///     for await update in Defaults.updates(of: \.theme) { apply(update.newValue) }
    ///
    /// It gets the updates that a handler of ``observe(_:options:handler:)`` gets.
    public func updates<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        core.updates(reference(path).slot, options)
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
        core.updates(Self.scope(of: self).trails(first, second, repeat each more, options: options))
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
    /// Calls a handler with updates.
    fileprivate func observe<Update: Sendable>(
        _ trails: [any SettingTrail<Update>], _ handler: @escaping @Sendable (Update) -> Void
    ) -> DefaultsObservation {
        let observer = HandlerObserver(self, trails, handler)
        start(observer)
        return DefaultsObservation(observer)
    }

    /// Keeps updates until a task takes them.
    fileprivate func updates<Update: Sendable>(_ trails: [any SettingTrail<Update>]) -> DefaultsUpdates<Update> {
        let stream = UpdateStream(self, trails)
        start(stream)
        return DefaultsUpdates(stream)
    }

    func observe<Value>(
        _ slot: Slot<Value>, _ options: ObservingOptions,
        _ handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        observe([KeyTrail(self, slot, options) { $0 }], handler)
    }

    func updates<Value>(_ slot: Slot<Value>, _ options: ObservingOptions) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        updates([KeyTrail(self, slot, options) { $0 }])
    }
}

extension DefaultsScope {
    /// The trails of several keys.
    fileprivate func trails<each Value>(
        _ paths: repeat KeyPath<KeyStore, DefaultsKey<each Value>>, options: ObservingOptions
    ) -> [any SettingTrail<KeyedUpdate<KeyStore>>] {
        var trails: [any SettingTrail<KeyedUpdate<KeyStore>>] = []
        let keyStore = keyStore
        for path in repeat each paths {
            trails.append(KeyTrail(core, slot(of: path), options) { KeyedUpdate($0, of: keyStore) })
        }
        return trails
    }
}

/// Beginning to observe.
extension AdapterCore {
    /// Lets an observer begin: at once, or if the suite cannot be loaded, as soon as it can.
    private func start(_ observer: some SettingObserver) {
        observers.add(observer)
        do {
            try load()
            begin(observer)
        } catch {
            reportUnread(error, observer.keys?.first?.text)
            observers.wait(observer)
            // A thread that loaded it meanwhile let only those begin that waited then.
            if (try? load()) != nil { observers.beginWaiting() }
            session.loadWhenPossible()
        }
    }

    /// Notes the place in the news at which an observer begins.
    func begin(_ observer: any SettingObserver) {
        learnSources(of: observer.keys)
        session.change { state in
            state.begin(observer.id, observer.keys, registered: registered.withLock { $0 })
        }
    }

    /// Asks for the sources of the values of registered keys, of these or of all. Later the source at the beginning
    /// cannot be asked for any more.
    private func learnSources(of keys: [KeyName]?) {
        let registered = registered.withLock { $0 }
        for key in keys ?? registered.keys.sorted() where registered[key] != nil {
            // After one question without an answer no other is asked.
            guard withSource(session.visible(key), key).source != nil else { return }
        }
    }
}
