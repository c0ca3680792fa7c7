internal import Dispatch
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
            beginObserving()
        } catch {
            reportUnread(error, observer.keys?.first?.text)
            if observers.beginRetrying() { retryLoading(after: BackOff()) }
        }
    }

    /// Lets those who wait for the suite begin.
    func beginObserving() {
        for observer in observers.takeWaiting() {
            replica.change { state in
                state.begin(observer.id, observer.keys, registered: registered.withLock { $0 })
            }
        }
    }

    /// Tries to load the suite from time to time, until nobody waits for it.
    private func retryLoading(after backOff: BackOff) {
        var backOff = backOff
        var generator = SystemRandomNumberGenerator()
        let pause = backOff.next(using: &generator)
        observers.queue.asyncAfter(deadline: .now() + pause.timeInterval) { [weak self, backOff] in
            guard let self, !observers.endRetrying() else { return }
            // The first failure was reported; whoever succeeds lets them begin.
            try? load(unlessFailedSince: .now)
            if !observers.endRetrying() { retryLoading(after: backOff) }
        }
    }
}

extension Duration {
    /// For the clocks of Dispatch, which know nothing finer than what this keeps.
    fileprivate var timeInterval: DispatchTimeInterval {
        .nanoseconds(Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
    }
}
