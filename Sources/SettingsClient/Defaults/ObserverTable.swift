internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// Forwards the events of the replica to the observers of an adapter.
///
/// Events arrive in the order in which the replica changed. The beginning of an observer is an event, too, so the
/// observer can ignore earlier changes and misses no later change.
final class ObserverTable: Sendable {
    /// The queue that calls the handlers of the observers.
    let queue = DispatchQueue(label: "observers of an adapter")

    private let session: SuiteSession
    private let shared = Mutex(Shared())
    private let lastID = Atomic<UInt64>(0)

    fileprivate struct Shared {
        var observers: [UInt64: any AnyObserver] = [:]
        /// The observers of each key, in the order of their identifiers. The observers of the whole suite have the key
        /// nil.
        var byKey: [KeyName?: [any AnyObserver]] = [:]
        /// The observers that start when the suite is loaded, by their identifiers.
        var waiting: [UInt64: any AnyObserver] = [:]
        /// The number of the table's listener in the session.
        var listener: UInt64?
    }

    init(_ session: SuiteSession) {
        self.session = session
        let listener = session.addListener { [weak self] in self?.handle($0) }
        shared.withLock { $0.listener = listener }
    }

    deinit {
        if let listener = shared.withLock({ $0.listener }) { session.removeListener(listener) }
    }

    var count: Int {
        shared.withLock { $0.observers.count }
    }

    func nextID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func add(_ observer: any AnyObserver) {
        shared.withLock { shared in
            shared.observers[observer.id] = observer
            for key in Self.keys(of: observer) {
                let index = shared.index(of: observer.id, under: key)
                shared.byKey[key, default: []].insert(observer, at: index)
            }
        }
    }

    /// Adds an observer to the observers that start when the suite is loaded. Does nothing if the observer was removed.
    func startWhenLoaded(_ observer: any AnyObserver) {
        shared.withLock { shared in
            if shared.observers[observer.id] != nil { shared.waiting[observer.id] = observer }
        }
    }

    func remove(_ observer: any AnyObserver) {
        // The release of the observer may run code that uses the table, so it happens without the lock.
        let removed = shared.withLock { shared -> (any AnyObserver)? in
            guard let removed = shared.observers.removeValue(forKey: observer.id) else { return nil }
            for key in Self.keys(of: removed) {
                let index = shared.index(of: removed.id, under: key)
                shared.byKey[key]?.remove(at: index)
                if shared.byKey[key]?.isEmpty ?? false { shared.byKey[key] = nil }
            }
            shared.waiting[removed.id] = nil
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    private static func keys(of observer: any AnyObserver) -> Set<KeyName?> {
        observer.keys.map { Set($0) } ?? [nil]
    }

    func startWaitingObservers() {
        let waiting = shared.withLock { shared in
            defer { shared.waiting = [:] }
            return shared.waiting.values.sorted { $0.id < $1.id }
        }
        for observer in waiting { observer.core.startAfterLoad(observer, isLate: true) }
    }

    /// Forwards events of the replica. The session makes one call after the other.
    private func handle(_ events: [ReplicaEvent]) {
        for event in events {
            // After `endOfState`, the session waits for the handlers of the events before it.
            if case .endOfState = event { trackHandlers() }
            guard let (notice, observers) = shared.withLock({ $0.notice(of: event) }) else { continue }
            for observer in observers { observer.add(notice) }
        }
    }

    /// Delays the report that this program has applied the state. The group of the session's running handlers ends
    /// after the handlers on the queue have returned, and after each task that iterates over updates has taken its
    /// updates. The table is an initial member of the group, so it calls `leave` once without `enter`.
    private func trackHandlers() {
        guard let handlers = session.runningHandlers else { return }
        let observers = shared.withLock { Array($0.observers.values) }
        // Without observers there is nothing to wait for, and a block on the queue would only start a thread.
        guard !observers.isEmpty else { return handlers.leave() }
        for observer in observers { observer.delayEnd(of: handlers) }
        queue.async { handlers.leave() }
    }
}

extension ObserverTable.Shared {
    /// Returns the index of an observer among the observers of a key, or the index at which to insert the observer.
    /// Uses a binary search, because thousands of observers may end at the same time.
    fileprivate func index(of id: UInt64, under key: KeyName?) -> Int {
        guard let list = byKey[key] else { return 0 }
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the notice of an event, and the observers that get the notice, in the order of their identifiers.
    /// Returns nil for an event without a notice.
    fileprivate func notice(of event: ReplicaEvent) -> (ObserverNotice, [any AnyObserver])? {
        switch event {
        case .endOfState: return nil
        case .began(let id, let settings):
            return (ObserverNotice(isBeginning: true, settings: settings), observers[id].map { [$0] } ?? [])
        case .changed(let setting):
            let ofKey = byKey[setting.key] ?? []
            let ofAll = byKey[nil] ?? []
            let observers = ofAll.isEmpty ? ofKey : (ofKey + ofAll).sorted { $0.id < $1.id }
            return (ObserverNotice(isBeginning: false, settings: [setting]), observers)
        }
    }
}
