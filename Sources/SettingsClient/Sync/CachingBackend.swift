internal import Dispatch
internal import Glibc
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite of which a file on this machine holds what was known last, for when nobody is there at the next start.
final class CachingBackend: SuiteBackend {
    private let inner: any SuiteBackend
    private let file: CacheFile
    /// How long it takes from one saving to the next, at least.
    private let interval: Duration
    private let shared = Mutex(Shared())
    /// Held while the file is written.
    private let saving = Mutex<Void>(())
    private let queue = DispatchQueue(label: "settings cache", qos: .utility)

    private struct Shared {
        var snapshot: SuiteSnapshot?
        /// Whether the file does not hold that.
        var isChanged = false
        var isPlanned = false
        var lastSaved: ContinuousClock.Instant?
        /// Whether it was told that it cannot be saved, and it has not been since.
        var isTroubled = false
        /// Who is told.
        var tell: (@Sendable (KeptWriteNews) -> Void)?
    }

    init(_ inner: any SuiteBackend, _ file: CacheFile, interval: Duration = .seconds(1)) {
        self.inner = inner
        self.file = file
        self.interval = interval
        CachesAtExit.add(self)
    }

    deinit {
        save()
    }

    var suite: SuiteName { inner.suite }

    func load() throws(BackendError) -> ObservedState {
        let state = try inner.load()
        note { snapshot in
            if snapshot == nil {
                snapshot = SuiteSnapshot(state, of: suite)
            } else {
                snapshot?.take(.state(state))
            }
        }
        return state
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        try inner.setting(key)
    }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        let summary = try inner.commit(transaction, requestKey: requestKey)
        note { $0?.take(summary) }
        return summary
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        let summary = try inner.reset(requestKey: requestKey)
        note { $0?.take(summary) }
        return summary
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        try inner.schema()
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        let summary = try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
        note { $0?.take(summary) }
        return summary
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        let news = try inner.news(since: place)
        note { $0?.take(news) }
        return news
    }

    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (SettingsObservation) -> Void) -> any Following {
        inner.follow(from: cursor) { [weak self] observation in
            self?.note { $0?.take(observation) }
            handler(observation)
        }
    }

    func lastKnown() -> ObservedState? {
        guard let state = file.read() else { return nil }
        shared.withLock { shared in
            if shared.snapshot == nil { shared.snapshot = SuiteSnapshot(state, of: suite) }
        }
        return state
    }

    func hear(_ handler: @escaping @Sendable (KeptWriteNews) -> Void) {
        shared.withLock { $0.tell = handler }
        inner.hear(handler)
    }

    private func note(_ body: (inout SuiteSnapshot?) -> Void) {
        let pause = shared.withLock { shared -> Duration? in
            let version = shared.snapshot?.version
            body(&shared.snapshot)
            if shared.snapshot?.version != version { shared.isChanged = true }
            guard shared.isChanged, !shared.isPlanned else { return nil }
            shared.isPlanned = true
            return shared.lastSaved.map { max(.zero, $0 + interval - .now) } ?? .zero
        }
        if let pause { plan(after: pause) }
    }

    private func plan(after pause: Duration) {
        queue.asyncAfter(deadline: .after(pause)) { [weak self] in
            guard let self else { return }
            shared.withLock { $0.isPlanned = false }
            save()
        }
    }

    /// Saves what the file does not hold. What does not work now is tried with the next change.
    fileprivate func save() {
        saving.withLock { _ in
            let snapshot = shared.withLock { shared -> SuiteSnapshot? in
                guard shared.isChanged else { return nil }
                shared.isChanged = false
                shared.lastSaved = .now
                return shared.snapshot
            }
            guard let snapshot else { return }
            do throws(StateFileError) {
                let isSaved = try file.save(snapshot.state)
                shared.withLock { shared in
                    if isSaved { shared.isTroubled = false } else { shared.isChanged = true }
                }
            } catch {
                noteTrouble(error.reason)
            }
        }
    }

    /// It is told once until it can be saved again: it is tried with each change.
    private func noteTrouble(_ reason: String) {
        let tell = shared.withLock { shared in
            shared.isChanged = true
            defer { shared.isTroubled = true }
            return shared.isTroubled ? nil : shared.tell
        }
        tell?(.trouble(path: file.path, reason: reason))
    }
}

/// Caches that are there when the program ends: globals are never let go of, so nobody else would save them.
private enum CachesAtExit {
    private struct Entry {
        weak var cache: CachingBackend?
    }

    private static let caches = Mutex<[Entry]>([])
    private static let isAsked: Bool = atexit { CachesAtExit.saveAll() } == 0

    static func add(_ cache: CachingBackend) {
        _ = isAsked
        caches.withLock { caches in
            caches.removeAll { $0.cache == nil }
            caches.append(Entry(cache: cache))
        }
    }

    private static func saveAll() {
        for cache in caches.withLock({ $0.compactMap(\.cache) }) { cache.save() }
    }
}
