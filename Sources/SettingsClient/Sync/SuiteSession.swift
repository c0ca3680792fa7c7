internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite as this program knows it, with the replica, the program's own writes on their way, the outbox and the cache.
///
/// One lock guards the whole state. It is never held during a request, a file operation or a call of a handler. Calls that
/// ask the server block the calling thread.
final class SuiteSession: Sendable {
    /// The functions of an adapter that its session calls, on any thread and without a lock.
    struct Handlers: Sendable {
        /// Reports an issue that no call of the adapter throws, later and on a queue.
        var report: @Sendable (DefaultsIssue) -> Void = { _ in }
        /// Lets observers begin that wait for the suite.
        var onLoaded: @Sendable () -> Void = {}
    }

    struct State: Sendable {
        var replica = ReplicaState()
        var availability = Availability()
        var loading = Loading()
        var schema = ServerSchema()
        var sending = Sending()
        var saving = Saving()
        fileprivate var handlers = Handlers()
        fileprivate(set) var listeners: [UInt64: @Sendable ([ReplicaNews]) -> Void] = [:]
        fileprivate var lastListener: UInt64 = 0
        /// True while a thread delivers news; other threads leave theirs to it, which keeps the order.
        fileprivate var isDelivering = false
    }

    let suite: SuiteName
    let backend: any SuiteBackend
    let state = Mutex(State())
    /// Sends kept writes.
    let queue = DispatchQueue(label: "settings outbox")
    /// Loads the suite again after a failure.
    let retrying = DispatchQueue(label: "settings loading", qos: .utility)
    /// Reads and writes files.
    let disk: DispatchQueue
    /// True if the suite is loaded and followed.
    let loaded = Atomic(false)
    let loadingTurn = Turn()
    let schemaTurn = Turn()

    /// Writes that wait while the server is away; nil if none may.
    let outbox: Outbox?
    /// The replica on disk, for a start without a server; nil if it is not saved.
    let cache: CacheFile?
    let times: Times

    struct Times: Sendable {
        /// How long a setter waits for a write that has others before it.
        var patience = Duration.seconds(2)
        /// The pause before the session looks again for files that other programs had locked.
        var look = Duration.seconds(10)
        /// The shortest time from one saving of the cache to the next.
        var save = Duration.seconds(1)
    }

    init(
        _ backend: any SuiteBackend, outbox: OutboxStore? = nil, cache: CacheFile? = nil, times: Times = Times()
    ) {
        suite = backend.suite
        self.backend = backend
        let disk = DispatchQueue(label: "settings files")
        self.disk = disk
        self.outbox = outbox.map { Outbox($0, on: disk) }
        self.cache = cache
        self.times = times
        if cache != nil { CachesAtExit.add(self) }
    }

    deinit {
        leave()
        saveCache()
    }

    /// Sets the functions of the adapter. Called before everything else.
    func join(_ handlers: Handlers) {
        state.withLock { $0.handlers = handlers }
    }

    /// Ends following when the adapter goes. Another thread may use the session once more.
    func leave() {
        state.withLock { $0.loading.following }?.stop()
    }

    func report(_ error: DefaultsError, _ key: KeyName? = nil, _ attempt: DefaultsIssue.Attempt) {
        let issue = DefaultsIssue(suite: suite, key: key?.text, attempt: attempt, error: error)
        state.withLock { $0.handlers }.report(issue)
    }

    func letObserversBegin() {
        state.withLock { $0.handlers }.onLoaded()
    }
}

extension SuiteSession {
    /// A session with files of this machine.
    ///
    /// - Parameters:
    ///   - outbox: the place of the outbox.
    ///   - cache: the place of the cache.
    ///   - server: the owner of the files: writes for one server are not sent to another.
    ///   - patience: how long a setter waits for a write that has others before it.
    convenience init(
        _ backend: any SuiteBackend, outbox: KeptFiles, cache: KeptFiles, of server: ServerAddress, patience: Duration
    ) {
        let owner = KeptOwner(server: server.description, suite: backend.suite)
        let store = outbox.directory(for: .outbox, of: owner).map { OutboxStore(in: $0, of: owner) }
        let file = cache.directory(for: .cache, of: owner).map { CacheFile(in: $0, of: owner) }
        self.init(backend, outbox: store, cache: file, times: Times(patience: patience.bounded))
    }
}

/// Reading the replica, which never blocks.
extension SuiteSession {
    func visible(_ key: KeyName) -> VisibleSetting {
        state.withLock { $0.replica.visible(key) }
    }

    /// Returns several keys as they are at one moment.
    func visible(_ keys: [KeyName]) -> [KeyName: VisibleSetting] {
        state.withLock { state in
            Dictionary(keys.map { ($0, state.replica.visible($0)) }, uniquingKeysWith: { $1 })
        }
    }

    /// The registered defaults.
    var registered: [KeyName: JSONValue] {
        state.withLock { $0.replica.registered }
    }

    func isKnown(_ key: KeyName) -> Bool {
        state.withLock { $0.replica.isKnown(key) }
    }

    func cell(for key: KeyName) -> KeyCell {
        state.withLock { $0.replica.cell(for: key) }
    }

    /// Lends a cell to a caller that does not keep it.
    func withCell<Result, Failure: Error>(
        for key: KeyName, _ body: (KeyCell) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // When this is left, the cell is released.
        defer { state.withLock { $0.replica.forget(key) } }
        return try body(cell(for: key))
    }

    /// The commit that set the schema in force, as far as it is known.
    var schema: Cursor? {
        state.withLock { $0.replica.schema }
    }

    /// The place in history up to which everything is known.
    var cursor: Cursor? {
        state.withLock { $0.replica.cursor }
    }

    /// Returns the condition of a change that was computed from a value: the revision if it is known, else the value.
    func guardTest(for key: KeyName, base: JSONValue?) -> Transaction.Condition.Test {
        let visible = visible(key)
        if let revision = visible.revision, visible.value == base { return .revision(revision) }
        return base.map { .value($0) } ?? .stored(false)
    }
}

/// Changing the state, and delivering what readers see of that.
extension SuiteSession {
    /// Changes the state, then calls the listeners, outside the lock, and plans to save the cache.
    func mutate<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, isDeliverer, pause) = state.withLock { state in
            let version = state.replica.version
            let result = body(&state)
            if state.listeners.isEmpty { state.replica.news.removeAll() }
            let isDeliverer = !state.replica.news.isEmpty && !state.isDelivering
            if isDeliverer { state.isDelivering = true }
            let pause =
                cache != nil && state.replica.version != version ? state.saving.plan(after: times.save) : nil
            return (result, isDeliverer, pause)
        }
        if isDeliverer { deliver() }
        if let pause { disk.asyncAfter(deadline: .after(pause)) { [weak self] in self?.saveAsPlanned() } }
        return result
    }

    /// Changes the replica.
    func change<Result: Sendable>(_ body: (inout ReplicaState) -> Result) -> Result {
        mutate { body(&$0.replica) }
    }

    func apply(_ observation: SettingsObservation) {
        change { replica in
            switch observation {
            case .state(let state): replica.adopt(state)
            case .changes(let changes): replica.apply(changes)
            }
        }
    }

    /// Calls the handler with all that changes for readers from here on, in order, until the number it returns is given
    /// to ``stopListening(_:)``. Changes just before may be delivered, too. The handler hands over to a queue of its own, as
    /// the calling thread may be in the middle of a write.
    func listenForNews(_ handler: @escaping @Sendable ([ReplicaNews]) -> Void) -> UInt64 {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = handler
            return state.lastListener
        }
    }

    func stopListening(_ listener: UInt64) {
        state.withLock { $0.listeners[listener] = nil }
    }

    private func deliver() {
        while true {
            let (news, listeners) = state.withLock { state in
                let news = state.replica.news
                state.replica.news.removeAll()
                if news.isEmpty { state.isDelivering = false }
                return (news, state.listeners.sorted { $0.key < $1.key }.map(\.value))
            }
            guard !news.isEmpty else { return }
            for listener in listeners { listener(news) }
        }
    }
}
