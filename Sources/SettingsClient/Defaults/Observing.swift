public import SettingsKeys
internal import SettingsModel
internal import Synchronization

// A key path may not leave its isolation, so each is resolved at once.

extension KeyedAccess {
    /// Calls a handler with every new value of a key, until the returned observation is dropped or cancelled.
    ///
    ///     let observation = Defaults.observe(\.theme, options: [.initial, .old, .new]) { update in
    ///         print(update.oldValue as Any, update.newValue)
    ///     }
    ///
    /// Handlers of an adapter run one after the other on a queue of its own, in the order of the changes: the program's own
    /// writes come when readers see them, which is before they are acknowledged, others' when they arrive. A write that is
    /// rolled back is another change. Reading, writing and cancelling are allowed within a handler. Slow handlers get every
    /// update as long as no more than about a thousand changes wait; beyond that, of each key the newest.
    ///
    /// The suite is loaded first, if it was not, as a getter does. If that fails, it is an issue, and observing begins when the
    /// suite is loaded. A stored value that is no value of the key is an issue, too, and no update.
    public func observe<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference(path).observe(options, handler)
    }

    /// Calls a handler with every new value of a key, until the returned observation is dropped or cancelled.
    public func observe<Value>(
        key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference(key: key).observe(options, handler)
    }

    /// Calls a handler with every new value of several keys; each update says of which: `update[\.volume]?.newValue`.
    public func observe<First, Second, each More>(
        _ first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (KeyedUpdate<KeyStore>) -> Void
    ) -> DefaultsObservation {
        core.observe(Self.scope(of: self).sources(first, second, repeat each more, options: options), options, handler)
    }

    /// Every new value of a key, from here on: nothing is missed between this call and the loop.
    ///
    ///     for await update in Defaults.updates(of: \.theme) { apply(update.newValue) }
    ///
    /// It gets the updates that a handler of ``observe(_:options:handler:)`` gets, but the call never waits. If the suite is not
    /// loaded, it is loaded in the background. A stored value that is not the default is then the first update; with the
    /// option ``ObservingOptions/initial`` the loop begins with the loaded value.
    public func updates<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference(path).updates(options)
    }

    /// Every new value of a key, from here on.
    public func updates<Value>(
        key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference(key: key).updates(options)
    }

    /// Every new value of several keys, from here on; each update says of which: `update[\.volume]?.newValue`.
    public func updates<First, Second, each More>(
        of first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<KeyedUpdate<KeyStore>> {
        core.updates(Self.scope(of: self).sources(first, second, repeat each more, options: options), options)
    }
}

extension DefaultsAdapter {
    /// Calls a handler with every new value of the suite, of whatever key.
    public func observe(
        options: ObservingOptions = [.old, .new], handler: @escaping @Sendable (UntypedUpdate) -> Void
    ) -> DefaultsObservation {
        core.observe([core.source(options)], options, handler)
    }

    /// Every new value of the suite, of whatever key, from here on.
    public func updates(options: ObservingOptions = [.old, .new]) -> DefaultsUpdates<UntypedUpdate> {
        core.updates([core.source(options)], options)
    }
}

extension DefaultsReference {
    func observe(
        _ options: ObservingOptions, _ handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        core.observe([source(options) { $0 }], options, handler)
    }

    func updates(_ options: ObservingOptions) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        core.updates([source(options) { $0 }], options)
    }

    fileprivate func source<Update: Sendable>(
        _ options: ObservingOptions, _ make: @escaping @Sendable (DefaultsUpdate<Value>) -> Update
    ) -> UpdateSource<Update> {
        if core.session.isLoaded { takeOver() }
        let follower = KeyFollower(self, options)
        return UpdateSource(keys: resolved.name.map { [$0] } ?? []) { notice in
            follower.follow(notice).map { [make($0)] } ?? []
        }
    }
}

extension DefaultsScope {
    fileprivate func sources<each Value>(
        _ paths: repeat KeyPath<KeyStore, DefaultsKey<each Value>>, options: ObservingOptions
    ) -> [UpdateSource<KeyedUpdate<KeyStore>>] {
        var sources: [UpdateSource<KeyedUpdate<KeyStore>>] = []
        let keyStore = keyStore
        for path in repeat each paths {
            sources.append(reference(path).source(options) { KeyedUpdate($0, of: keyStore) })
        }
        return sources
    }
}

extension AdapterCore {
    fileprivate func source(_ options: ObservingOptions) -> UpdateSource<UntypedUpdate> {
        let follower = SuiteFollower(self, options)
        return UpdateSource(keys: nil) { follower.follow($0) }
    }

    fileprivate func observe<Update: Sendable>(
        _ sources: [UpdateSource<Update>], _ options: ObservingOptions, _ handler: @escaping @Sendable (Update) -> Void
    ) -> DefaultsObservation {
        let observer = Observer(self, sources, handler: handler)
        observers.add(observer)
        do {
            try load(until: session.deadline)
        } catch {
            reportUnread(error, observer.keys?.first?.text)
        }
        start(observer, options)
        return DefaultsObservation(observer)
    }

    fileprivate func updates<Update: Sendable>(
        _ sources: [UpdateSource<Update>], _ options: ObservingOptions
    ) -> DefaultsUpdates<Update> {
        let observer = Observer(self, sources, handler: nil)
        observers.add(observer)
        start(observer, options)
        return DefaultsUpdates(observer)
    }

    /// Starts an observer: at once, or when the suite is loaded if the observer begins with the loaded value.
    private func start(_ observer: any AnyObserver, _ options: ObservingOptions) {
        guard options.contains(.initial) else {
            // At once, so that no later change is missed. A value whose source is not known counts as stored.
            mark(observer, false)
            return session.isLoaded ? () : session.loadForObservers()
        }
        if session.isLoaded { return begin(observer) }
        observers.wait(observer)
        session.loadForObservers()
        // The suite may have been loaded before the observer waited.
        if session.isLoaded { observers.beginWaiting() }
    }

    /// Marks the place in the news at which an observer begins. The sources of values under registered defaults are needed at
    /// that place, so they are fetched first.
    func begin(_ observer: any AnyObserver, isLate: Bool = false) {
        let registered = session.registered
        let unsure = (observer.keys ?? Array(registered.keys)).filter {
            registered[$0] != nil && session.visible($0).source == nil
        }
        if unsure.isEmpty { return mark(observer, isLate) }
        session.startTask { [self] in
            for key in unsure.sorted() {
                // If the daemon does not answer, the value counts as stored.
                guard (try? await fetchSource(key)) != nil else { break }
            }
            mark(observer, isLate)
        }
    }

    private func mark(_ observer: any AnyObserver, _ isLate: Bool) {
        session.change { $0.begin(observer.id, observer.keys, isLate: isLate) }
    }
}
