public import SettingsKeys
internal import SettingsModel
internal import Synchronization

// The methods resolve key paths before they return, because a handler is Sendable and a key path is not.

extension KeyedAccess {
    /// Calls a handler with every new value of a key, until the returned observation is released or cancelled.
    ///
    ///     let observation = Defaults.observe(\.theme, options: [.initial, .old, .new]) { update in
    ///         print(update.oldValue as Any, update.newValue)
    ///     }
    ///
    /// The handlers of an adapter run one after the other on a queue of the adapter, in the order of the changes. A
    /// write of the program causes an update before the daemon has confirmed the write. If the adapter rolls the write
    /// back, the rollback causes another update. A handler may read and write settings, and may cancel its observation.
    /// A slow handler gets every update unless more than about a thousand changes wait. The handler then gets only the
    /// newest change of each key.
    ///
    /// If the suite is not loaded, the method first loads the suite, as a getter does. If the load fails, the adapter
    /// reports an issue and loads the suite in the background. If the loaded value is not the default, the handler then
    /// gets the loaded value as its first update. If a stored value is not a valid value of the key, the adapter
    /// reports an issue instead of an update.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - options: the contents of the updates. With ``ObservingOptions/initial``, the first update contains the
    ///     present value.
    ///   - handler: the function that the adapter calls with each update.
    public func observe<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference(path).observe(options, handler)
    }

    /// Calls a handler with every new value of a key, until the returned observation is released or cancelled.
    public func observe<Value>(
        key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        reference(key: key).observe(options, handler)
    }

    /// Calls a handler with every new value of several keys. The subscript of an update has the value of the key that
    /// has changed: `update[\.volume]?.newValue`.
    public func observe<First, Second, each More>(
        _ first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new],
        handler: @escaping @Sendable (KeyedUpdate<KeyStore>) -> Void
    ) -> DefaultsObservation {
        core.observe(
            Self.scope(of: self).conversions(first, second, repeat each more, options: options), options, handler)
    }

    /// Returns a sequence of every new value of a key. Observing begins with this call, so a loop over the sequence
    /// misses no later change.
    ///
    ///     for await update in Defaults.updates(of: \.theme) { apply(update.newValue) }
    ///
    /// The sequence has the same updates as a handler of ``observe(_:options:handler:)``, but this method never waits.
    /// If the suite is not loaded, the adapter loads the suite in the background. If the loaded value is not the
    /// default, the first update contains the loaded value. With the option ``ObservingOptions/initial``, the first
    /// update always contains the loaded value.
    public func updates<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference(path).updates(options)
    }

    /// Returns a sequence of every new value of a key.
    public func updates<Value>(
        key: DefaultsKey<Value>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        reference(key: key).updates(options)
    }

    /// Returns a sequence of every new value of several keys. The subscript of an update has the value of the key that
    /// has changed: `update[\.volume]?.newValue`.
    public func updates<First, Second, each More>(
        of first: KeyPath<KeyStore, DefaultsKey<First>>, _ second: KeyPath<KeyStore, DefaultsKey<Second>>,
        _ more: repeat KeyPath<KeyStore, DefaultsKey<each More>>, options: ObservingOptions = [.old, .new]
    ) -> DefaultsUpdates<KeyedUpdate<KeyStore>> {
        core.updates(Self.scope(of: self).conversions(first, second, repeat each more, options: options), options)
    }
}

extension DefaultsAdapter {
    /// Calls a handler with every new value of any key of the suite.
    public func observe(
        options: ObservingOptions = [.old, .new], handler: @escaping @Sendable (UntypedUpdate) -> Void
    ) -> DefaultsObservation {
        core.observe([core.conversion(options)], options, handler)
    }

    /// Returns a sequence of every new value of any key of the suite.
    public func updates(options: ObservingOptions = [.old, .new]) -> DefaultsUpdates<UntypedUpdate> {
        core.updates([core.conversion(options)], options)
    }
}

extension DefaultsReference {
    func observe(
        _ options: ObservingOptions, _ handler: @escaping @Sendable (DefaultsUpdate<Value>) -> Void
    ) -> DefaultsObservation {
        core.observe([conversion(options) { $0 }], options, handler)
    }

    func updates(_ options: ObservingOptions) -> DefaultsUpdates<DefaultsUpdate<Value>> {
        core.updates([conversion(options) { $0 }], options)
    }

    /// Returns the conversion of notices about this key into updates. `makeUpdate` converts an update into the type
    /// that the observer delivers.
    fileprivate func conversion<Update: Sendable>(
        _ options: ObservingOptions, _ makeUpdate: @escaping @Sendable (DefaultsUpdate<Value>) -> Update
    ) -> NoticeConversion<Update> {
        // The value of a renamed key may still be under a former name (see `ValueMove`).
        if core.session.isLoaded { startMove() }
        let converter = KeyNoticeConverter(self, options)
        return NoticeConversion(keys: resolved.name.map { [$0] } ?? []) { notice in
            converter.update(for: notice).map { [makeUpdate($0)] } ?? []
        }
    }
}

extension DefaultsScope {
    fileprivate func conversions<each Value>(
        _ paths: repeat KeyPath<KeyStore, DefaultsKey<each Value>>, options: ObservingOptions
    ) -> [NoticeConversion<KeyedUpdate<KeyStore>>] {
        var conversions: [NoticeConversion<KeyedUpdate<KeyStore>>] = []
        let keyStore = keyStore
        for path in repeat each paths {
            conversions.append(reference(path).conversion(options) { KeyedUpdate($0, of: keyStore) })
        }
        return conversions
    }
}

extension AdapterCore {
    fileprivate func conversion(_ options: ObservingOptions) -> NoticeConversion<UntypedUpdate> {
        let converter = SuiteNoticeConverter(self, options)
        return NoticeConversion(keys: nil) { converter.updates(for: $0) }
    }

    fileprivate func observe<Update: Sendable>(
        _ conversions: [NoticeConversion<Update>], _ options: ObservingOptions,
        _ handler: @escaping @Sendable (Update) -> Void
    ) -> DefaultsObservation {
        let observer = Observer(self, conversions, handler: handler)
        observers.add(observer)
        do {
            try load(until: session.deadline)
        } catch {
            reportReadFailure(error, observer.keys?.first?.text)
        }
        start(observer, options)
        return DefaultsObservation(observer)
    }

    fileprivate func updates<Update: Sendable>(
        _ conversions: [NoticeConversion<Update>], _ options: ObservingOptions
    ) -> DefaultsUpdates<Update> {
        let observer = Observer(self, conversions, handler: nil)
        observers.add(observer)
        start(observer, options)
        return DefaultsUpdates(observer)
    }

    /// Starts an observer. With the option `initial`, the observer starts when the suite is loaded.
    private func start(_ observer: any AnyObserver, _ options: ObservingOptions) {
        guard options.contains(.initial) else {
            // The observer starts now, even if the suite is not loaded, so that it misses no later change. It does not
            // wait until the client knows the sources of all values: a value with an unknown source counts as stored.
            addBeginning(of: observer, isLate: false)
            return session.isLoaded ? () : session.loadForObservers()
        }
        if session.isLoaded { return startAfterLoad(observer) }
        observers.startWhenLoaded(observer)
        session.loadForObservers()
        // If the suite was loaded before the observer was added to the waiting observers, no other call starts the
        // observer.
        if session.isLoaded { observers.startWaitingObservers() }
    }

    /// Starts an observer after the suite is loaded. If a key has a registered default, its effective value depends on
    /// the source of its value, so the method first fetches unknown sources.
    ///
    /// - Parameter isLate: true if the observer has waited for the load of the suite. It then begins with the confirmed
    ///   settings, and the program's pending writes follow as changes.
    func startAfterLoad(_ observer: any AnyObserver, isLate: Bool = false) {
        let registered = session.registeredDefaults
        let withoutSource = (observer.keys ?? Array(registered.keys)).filter {
            registered[$0] != nil && session.visibleSetting($0).source == nil
        }
        if withoutSource.isEmpty { return addBeginning(of: observer, isLate: isLate) }
        session.startTask { [self] in
            for key in withoutSource.sorted() {
                // If the daemon does not answer, the remaining values count as stored.
                guard (try? await fetchSource(key)) != nil else { break }
            }
            addBeginning(of: observer, isLate: isLate)
        }
    }

    /// Adds the event that an observer begins (``ReplicaEvent/began(_:_:)``) to the events of the replica.
    private func addBeginning(of observer: any AnyObserver, isLate: Bool) {
        session.change { $0.beginObserving(observer.id, observer.keys, isLate: isLate) }
    }
}
