internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// Somebody who observes.
protocol SettingObserver: AnyObject, Sendable {
    /// What the table knows it by.
    var id: UInt64 { get }
    /// The keys that are observed; nil for all.
    var keys: [KeyName]? { get }
    /// Whether it is told on the adapter's queue, in its turn; else at once, on the thread of whoever has news, which it
    /// may not hold up.
    var isQueued: Bool { get }

    /// Tells it something. One call after the other; before it began, what it is told is not for it.
    func take(_ notice: ObserverNotice)

    /// Nothing is told any more.
    ///
    /// - Parameter waits: whether a call of a handler that is under way on another thread has ended when this returns.
    func end(waits: Bool)
}

/// Those who observe an adapter's suite, and what handlers have still to be told.
///
/// All news come in the order in which readers could see them, and that somebody begins to observe is one of them: so
/// what came before is not for them, and nothing that came after is missed.
final class ObserverTable: Sendable {
    /// Where handlers run.
    let queue = DispatchQueue(label: "observers of an adapter")

    private let session: SuiteSession
    private let shared = Mutex(Shared())
    private let lastID = Atomic<UInt64>(0)

    fileprivate struct Shared {
        var observers: [UInt64: any SettingObserver] = [:]
        /// In the order in which they came.
        var byKey: [KeyName: [any SettingObserver]] = [:]
        var ofAll: [any SettingObserver] = []
        /// Those who begin when the suite is there.
        var waiting: [any SettingObserver] = []
        /// What is registered, as of the last news.
        var registered: [KeyName: JSONValue] = [:]
        var backlog = NoticeBacklog()
        var isDraining = false
        var listener: UInt64?
    }

    init(_ session: SuiteSession) {
        self.session = session
    }

    /// How many observe.
    var count: Int {
        shared.withLock { $0.observers.count }
    }

    /// How much waits to be told to handlers.
    var backlogCount: Int {
        shared.withLock { $0.backlog.count }
    }

    /// A number for an observer, that none had before.
    func nextID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Adds somebody who is about to begin, or will wait for the suite.
    func add(_ observer: any SettingObserver) {
        shared.withLock { shared in
            shared.observers[observer.id] = observer
            if let keys = observer.keys {
                for key in Set(keys) { shared.byKey[key, default: []].append(observer) }
            } else {
                shared.ofAll.append(observer)
            }
            guard shared.listener == nil else { return }
            shared.listener = session.listenForNews { [weak self] in self?.take($0) }
        }
    }

    /// Lets somebody wait for the suite who is there.
    func wait(_ observer: any SettingObserver) {
        shared.withLock { shared in
            if shared.observers[observer.id] != nil { shared.waiting.append(observer) }
        }
    }

    /// Removes somebody, if they are there.
    func remove(_ observer: any SettingObserver) {
        // What the observer holds may use the table when it goes, so that happens outside the lock.
        let removed = shared.withLock { shared -> (any SettingObserver)? in
            guard let removed = shared.observers.removeValue(forKey: observer.id) else { return nil }
            for key in Set(removed.keys ?? []) {
                shared.byKey[key]?.removeAll { $0.id == removed.id }
                if shared.byKey[key]?.isEmpty ?? false { shared.byKey[key] = nil }
            }
            shared.ofAll.removeAll { $0.id == removed.id }
            shared.waiting.removeAll { $0.id == removed.id }
            if removed.isQueued { shared.backlog.removeAll(for: removed.id) }
            guard shared.observers.isEmpty, let listener = shared.listener else { return removed }
            session.stopListening(listener)
            shared.listener = nil
            shared.registered = [:]
            shared.backlog.removeAll()
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Those who have waited for the suite; they are not waiting any more.
    func takeWaiting() -> [any SettingObserver] {
        shared.withLock { shared in
            defer { shared.waiting = [] }
            return shared.waiting
        }
    }
}

/// Telling.
extension ObserverTable {
    /// Takes news from the replica, which calls this one after the other.
    private func take(_ news: [ReplicaNews]) {
        let (told, isDrainer) = shared.withLock { shared in
            var told: [(any SettingObserver, ObserverNotice)] = []
            for item in news {
                let (notice, observers, observer) = shared.notice(of: item)
                for observer in observers where !observer.isQueued { told.append((observer, notice)) }
                if observers.contains(where: \.isQueued) { shared.backlog.append(notice, for: observer) }
            }
            let isDrainer = shared.backlog.count > 0 && !shared.isDraining
            if isDrainer { shared.isDraining = true }
            return (told, isDrainer)
        }
        for (observer, notice) in told { observer.take(notice) }
        if isDrainer { queue.async { [weak self] in self?.drain() } }
    }

    /// Tells handlers what waits for them.
    private func drain() {
        while true {
            let next = shared.withLock { shared -> (ObserverNotice, [any SettingObserver])? in
                guard let item = shared.backlog.popFirst() else {
                    shared.isDraining = false
                    return nil
                }
                return (item.notice, shared.observers(of: item.notice, for: item.observer).filter(\.isQueued))
            }
            guard let (notice, observers) = next else { return }
            for observer in observers { observer.take(notice) }
        }
    }
}

extension ObserverTable.Shared {
    /// News as a notice, whom it is for, and who is the only one, if it is for one.
    fileprivate mutating func notice(
        of news: ReplicaNews
    ) -> (notice: ObserverNotice, observers: [any SettingObserver], only: UInt64?) {
        let notice: ObserverNotice
        var only: UInt64?
        switch news {
        case .changed(let change):
            notice = .saw(
                ObservedSetting(key: change.key, visible: change.new, registered: registered[change.key]))
        case .registered(let setting):
            registered[setting.key] = setting.registered
            notice = .saw(setting)
        case .began(let id, let found):
            for setting in found { registered[setting.key] = setting.registered }
            only = id
            notice = .began(found)
        }
        return (notice, observers(of: notice, for: only), only)
    }

    /// Whom a notice is for, in the order in which they came.
    fileprivate func observers(of notice: ObserverNotice, for only: UInt64?) -> [any SettingObserver] {
        if let only { return observers[only].map { [$0] } ?? [] }
        guard case .saw(let setting) = notice else { return [] }
        let ofKey = byKey[setting.key] ?? []
        guard !ofAll.isEmpty else { return ofKey }
        return (ofKey + ofAll).sorted { $0.id < $1.id }
    }
}
