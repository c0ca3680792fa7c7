internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// A table that hands the news of a suite to the observers of an adapter.
///
/// News come in the order in which readers could see them, and the beginning of an observer is one of them: so it gets
/// nothing that came before, and misses nothing that came after.
final class ObserverTable: Sendable {
    /// The queue on which handlers run.
    let queue = DispatchQueue(label: "observers of an adapter")

    private let session: SuiteSession
    private let shared = Mutex(Shared())
    private let lastID = Atomic<UInt64>(0)

    fileprivate struct Shared {
        var observers: [UInt64: any AnyObserver] = [:]
        /// The observers of each key, in the order of their numbers. The observers of all keys are under nil.
        var byKey: [KeyName?: [any AnyObserver]] = [:]
        /// The observers that begin when the suite is loaded, by their numbers.
        var waiting: [UInt64: any AnyObserver] = [:]
        var listener: UInt64?
    }

    init(_ session: SuiteSession) {
        self.session = session
        let listener = session.listenForNews { [weak self] in self?.take($0) }
        shared.withLock { $0.listener = listener }
    }

    deinit {
        if let listener = shared.withLock({ $0.listener }) { session.stopListening(listener) }
    }

    var count: Int {
        shared.withLock { $0.observers.count }
    }

    /// Makes a number for an observer, that none had before.
    func nextID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func add(_ observer: any AnyObserver) {
        shared.withLock { shared in
            shared.observers[observer.id] = observer
            for key in Self.places(of: observer) {
                let index = shared.index(of: observer.id, under: key)
                shared.byKey[key, default: []].insert(observer, at: index)
            }
        }
    }

    /// Lets an observer wait for the suite, unless it was removed.
    func wait(_ observer: any AnyObserver) {
        shared.withLock { shared in
            if shared.observers[observer.id] != nil { shared.waiting[observer.id] = observer }
        }
    }

    func remove(_ observer: any AnyObserver) {
        // What the observer retains may use the table when it is freed: not under the lock.
        let removed = shared.withLock { shared -> (any AnyObserver)? in
            guard let removed = shared.observers.removeValue(forKey: observer.id) else { return nil }
            for key in Self.places(of: removed) {
                let index = shared.index(of: removed.id, under: key)
                shared.byKey[key]?.remove(at: index)
                if shared.byKey[key]?.isEmpty ?? false { shared.byKey[key] = nil }
            }
            shared.waiting[removed.id] = nil
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    private static func places(of observer: any AnyObserver) -> Set<KeyName?> {
        observer.keys.map { Set($0) } ?? [nil]
    }

    /// Lets the observers begin that wait for the suite.
    func beginWaiting() {
        let waiting = shared.withLock { shared in
            defer { shared.waiting = [:] }
            return shared.waiting.values.sorted { $0.id < $1.id }
        }
        for observer in waiting { observer.core.begin(observer, isLate: true) }
    }

    /// Takes news from the replica. Calls come one after the other.
    private func take(_ news: [ReplicaNews]) {
        for item in news {
            let (notice, observers) = shared.withLock { $0.notice(of: item) }
            for observer in observers { observer.add(notice) }
        }
    }
}

extension ObserverTable.Shared {
    /// Returns the index of the observer among the observers of a key. Uses a binary search, because thousands of observers may
    /// end at the same time.
    fileprivate func index(of id: UInt64, under key: KeyName?) -> Int {
        guard let list = byKey[key] else { return 0 }
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The notice of news, with its observers in the order in which they were added.
    fileprivate func notice(of news: ReplicaNews) -> (ObserverNotice, [any AnyObserver]) {
        switch news {
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
