/// What a handler observes with: when it is dropped, the handler is not called any more.
///
/// It keeps the adapter alive. A handler that captures whoever holds the observation keeps both alive: capture weakly.
public final class DefaultsObservation: Sendable {
    private let observer: any SettingObserver

    init(_ observer: some SettingObserver) {
        self.observer = observer
    }

    deinit {
        // Whoever drops it may hold a lock that the handler waits for.
        observer.end(waits: false)
    }

    /// Ends observing. When this returns, the handler is not running and is not called again; if it is running on
    /// another thread, this waits for it, so do not call it while holding what the handler waits for. Within the handler
    /// itself it returns at once.
    public func dispose() {
        observer.end(waits: true)
    }
}

/// ``DefaultsObservation`` under the name that users of typed user defaults know.
public typealias DefaultsDisposable = DefaultsObservation
