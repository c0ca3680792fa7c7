internal import Dispatch
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Observing.
extension AdapterCore {
    /// Has a handler called with updates.
    func observe<Update: Sendable>(
        _ trails: [any SettingTrail<Update>], _ handler: @escaping @Sendable (Update) -> Void
    ) -> DefaultsObservation {
        let observer = HandlerObserver(self, trails, handler)
        start(observer)
        return DefaultsObservation(observer)
    }

    /// Keeps updates until somebody takes them.
    func updates<Update: Sendable>(_ trails: [any SettingTrail<Update>]) -> DefaultsUpdates<Update> {
        let stream = UpdateStream(self, trails)
        start(stream)
        return DefaultsUpdates(stream)
    }

    /// The keys of several trails; nil if one is of all keys.
    static func keys<Update: Sendable>(of trails: [any SettingTrail<Update>]) -> [KeyName]? {
        var keys: [KeyName] = []
        for trail in trails {
            guard let more = trail.keys else { return nil }
            keys += more
        }
        return keys
    }

    /// Has somebody observe: at once, or, if the suite cannot be loaded, as soon as it can.
    private func start(_ observer: some SettingObserver) {
        observers.add(observer)
        do {
            try load()
            begin(observer)
        } catch {
            reportUnread(error, observer.keys?.first?.text)
            observers.wait(observer)
            // Whoever has loaded it meanwhile let those begin who waited then.
            if (try? load()) != nil { beginObserving() }
            session.loadWhenPossible()
        }
    }

    /// Lets those who wait for the suite begin.
    func beginObserving() {
        for observer in observers.takeWaiting() { begin(observer) }
    }

    private func begin(_ observer: any SettingObserver) {
        learnSources(of: observer.keys)
        session.change { state in
            state.begin(observer.id, observer.keys, registered: registered.withLock { $0 })
        }
    }

    /// Asks where values come from that lie over or under what is registered, of these keys or of all. Later nobody
    /// could tell what was there at the beginning.
    private func learnSources(of keys: [KeyName]?) {
        let registered = registered.withLock { $0 }
        for key in keys ?? registered.keys.sorted() where registered[key] != nil {
            // Who does not answer once is not waited for again.
            guard withSource(session.visible(key), key).source != nil else { return }
        }
    }
}
