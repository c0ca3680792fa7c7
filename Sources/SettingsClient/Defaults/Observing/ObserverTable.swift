internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// An observer of settings, as the table knows it.
protocol SettingObserver: AnyObject, Sendable {
    var id: UInt64 { get }
    var core: AdapterCore { get }
    /// The keys that are observed; nil for all.
    var keys: [KeyName]? { get }
    /// True if its notices come on the adapter's queue; else at once, on the thread that changed the replica, which it must
    /// not block.
    var isQueued: Bool { get }

    /// Takes a notice. Called with one after the other; those before ``ObserverNotice/began(_:)`` are not for it.
    func take(_ notice: ObserverNotice)

    /// Ends observing.
    ///
    /// - Parameter waits: true to return only when a call of the handler on another thread has ended.
    func end(waits: Bool)
}

/// A table of the observers of an adapter, with the notices that wait for handlers.
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
        var observers: [UInt64: any SettingObserver] = [:]
        /// In the order in which they were added.
        var byKey: [KeyName: [any SettingObserver]] = [:]
        var ofAll: [any SettingObserver] = []
        /// The observers that begin when the suite is loaded.
        var waiting: [any SettingObserver] = []
        /// The registered defaults, as of the last news.
        var registered: [KeyName: JSONValue] = [:]
        var backlog = NoticeBacklog()
        var isDraining = false
        var listener: UInt64?
    }

    init(_ session: SuiteSession) {
        self.session = session
    }

    var count: Int {
        shared.withLock { $0.observers.count }
    }

    /// The number of notices that wait for handlers.
    var backlogCount: Int {
        shared.withLock { $0.backlog.count }
    }

    /// Makes a number for an observer, that none had before.
    func nextID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

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

    /// Lets an observer wait for the suite, unless it was removed.
    func wait(_ observer: any SettingObserver) {
        shared.withLock { shared in
            if shared.observers[observer.id] != nil { shared.waiting.append(observer) }
        }
    }

    func remove(_ observer: any SettingObserver) {
        // What the observer retains may use the table when it is freed: not under the lock.
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

    /// Lets the observers begin that wait for the suite.
    func beginWaiting() {
        let waiting = shared.withLock { shared in
            defer { shared.waiting = [] }
            return shared.waiting
        }
        for observer in waiting { observer.core.begin(observer) }
    }
}

/// Delivering.
extension ObserverTable {
    /// Takes news from the replica. Calls come one after the other.
    private func take(_ news: [ReplicaNews]) {
        let (direct, isDrainer) = shared.withLock { shared in
            var direct: [(any SettingObserver, ObserverNotice)] = []
            for item in news {
                let (notice, observers, observer) = shared.notice(of: item)
                for observer in observers where !observer.isQueued { direct.append((observer, notice)) }
                if observers.contains(where: \.isQueued) { shared.backlog.append(notice, for: observer) }
            }
            let isDrainer = shared.backlog.count > 0 && !shared.isDraining
            if isDrainer { shared.isDraining = true }
            return (direct, isDrainer)
        }
        for (observer, notice) in direct { observer.take(notice) }
        if isDrainer { queue.async { [weak self] in self?.drain() } }
    }

    /// Delivers the notices that wait for handlers.
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
    /// The notice of news, its observers, and the only observer if it is for one.
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

    /// The observers of a notice, in the order in which they were added.
    fileprivate func observers(of notice: ObserverNotice, for only: UInt64?) -> [any SettingObserver] {
        if let only { return observers[only].map { [$0] } ?? [] }
        guard case .saw(let setting) = notice else { return [] }
        let ofKey = byKey[setting.key] ?? []
        guard !ofAll.isEmpty else { return ofKey }
        return (ofKey + ofAll).sorted { $0.id < $1.id }
    }
}

/// A queue of notices for slow observers. It is bounded: beyond that, of each key only the newest is kept, so there are
/// never more than twice as many as keys and observers, or the bound.
struct NoticeBacklog: Sendable {
    struct Item: Sendable {
        /// The only observer that it is for; nil for all of the key.
        let observer: UInt64?
        let notice: ObserverNotice
    }

    /// So many may wait before any is left out.
    static let usualBound = 1024

    private let bound: Int
    private var items: [Item] = []
    private var first = 0
    private var limit: Int

    init(bound: Int = usualBound) {
        self.bound = bound
        limit = bound
    }

    var count: Int { items.count - first }

    mutating func append(_ notice: ObserverNotice, for observer: UInt64? = nil) {
        if count >= limit { thinOut() }
        items.append(Item(observer: observer, notice: notice))
    }

    mutating func popFirst() -> Item? {
        guard first < items.count else { return nil }
        let item = items[first]
        first += 1
        // Only as often as there are as many to keep as to take away.
        if first == items.count || first >= Self.usualBound && first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return item
    }

    /// Removes the notices for one observer alone.
    mutating func removeAll(for observer: UInt64) {
        guard items[first...].contains(where: { $0.observer == observer }) else { return }
        items.removeFirst(first)
        first = 0
        items.removeAll { $0.observer == observer }
    }

    mutating func removeAll() {
        self = NoticeBacklog(bound: bound)
    }

    /// Keeps the newest of each key, in its place. Beginnings of observers are kept: they hold the first old values.
    private mutating func thinOut() {
        var seen: Set<KeyName> = []
        var kept: [Item] = []
        for item in items[first...].reversed() {
            if case .saw(let setting) = item.notice, !seen.insert(setting.key).inserted { continue }
            kept.append(item)
        }
        items = kept.reversed()
        first = 0
        limit = max(bound, 2 * items.count)
    }
}
