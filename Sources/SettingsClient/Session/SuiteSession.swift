internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite as this program knows it: the replica, the queue of the program's own writes, the outbox file and the cache file.
///
/// One lock guards the state. It is never held during a request, a file operation or a call of a handler. Tasks on the client
/// thread load the suite, follow it and send the writes. Getters and setters block only their own thread, and only where they
/// wait for such a task.
final class SuiteSession: Sendable {
    /// The functions of an adapter that its session calls, on any thread and without a lock.
    struct Handlers: Sendable {
        /// Reports an issue that no call of the adapter throws.
        var report: @Sendable (DefaultsIssue) -> Void = { _ in }
        /// Starts the observers that wait for the suite.
        var onLoaded: @Sendable () -> Void = {}
    }

    struct State: Sendable {
        var replica = ReplicaState()
        var availability = Availability()
        var loading = Loading()
        var schema = SchemaState()
        var sending = Sending()
        var saving = Saving()
        /// True once the adapter is gone. Then no task pauses any more.
        var hasLeft = false
        fileprivate var handlers = Handlers()
        fileprivate(set) var listeners: [UInt64: @Sendable ([ReplicaNews]) -> Void] = [:]
        fileprivate var lastListener: UInt64 = 0
        /// The cells that the program's own writes have changed, until the change is announced.
        fileprivate var ownChanges: [KeyCell] = []
        /// True while a thread delivers news. Other threads leave their news to it, which keeps the order.
        fileprivate var isDelivering = false
    }

    struct Options: Sendable {
        /// How long a getter waits for the first load, and a confirmed write for its answer.
        var timeout = Duration.seconds(2)
        /// How long callers wait for a daemon that has stopped answering. Nil for the timeout.
        var outageTimeout: Duration?
        /// The interval at which the session searches again for files that other programs had locked.
        var orphanSearchInterval = Duration.seconds(10)
        /// The shortest interval between two saves of the cache.
        var saveInterval = Duration.seconds(1)
        /// The time of the pauses between attempts.
        var clock: any SessionClock = RealSessionClock()
    }

    let suite: SuiteName
    let backend: any SuiteBackend
    let state = Mutex(State())
    let outbox: Mutex<OutboxStore>
    let outboxFillLevel: OutboxFillLevel
    /// Fulfilled when the session has adopted the writes of programs that have ended.
    let outboxOpening = Promise<Void>()
    let hasBegunOpening = Atomic(false)
    /// True if the suite is loaded and followed. The atomic copy spares a getter the lock.
    let loaded = Atomic(false)
    /// Serializes changes in place.
    let changeTurn = ChangeTurn()
    /// The replica on disk, for a start without a daemon. Nil if it is not saved.
    let cache: CacheFile?
    let options: Options

    init(
        _ backend: any SuiteBackend, outbox: OutboxStore? = nil, cache: CacheFile? = nil, options: Options = Options()
    ) {
        suite = backend.suite
        self.backend = backend
        let owner = FileOwner(server: "", suite: backend.suite)
        let store = outbox ?? OutboxStore(in: nil, of: owner)
        outboxFillLevel = store.fillLevel
        self.outbox = Mutex(store)
        self.cache = cache
        self.options = options
        SessionsAtExit.add(self)
    }

    deinit {
        leave()
        saveCache()
    }

    /// Sets the functions of the adapter. Called before everything else.
    func join(_ handlers: Handlers) {
        state.withLock { $0.handlers = handlers }
    }

    /// Ends following and all pauses when the adapter is gone. The tasks of the session then end by themselves.
    func leave() {
        let (following, pauses) = state.withLock { state in
            state.hasLeft = true
            return (state.loading.following, [state.loading.pause, state.sending.pause])
        }
        following?.stop()
        for pause in pauses { pause?.fulfill(()) }
    }

    func report(_ error: DefaultsError, _ key: KeyName? = nil, _ attempt: DefaultsIssue.Attempt) {
        let issue = DefaultsIssue(suite: suite, key: key?.text, attempt: attempt, error: error)
        state.withLock { $0.handlers }.report(issue)
    }

    func startWaitingObservers() {
        state.withLock { $0.handlers }.onLoaded()
    }

    /// The deadline of a call that begins now.
    var deadline: ContinuousClock.Instant { .now + options.timeout }
}

extension SuiteSession {
    /// A session with files of this machine.
    ///
    /// - Parameters:
    ///   - outbox: the place of the outbox.
    ///   - cache: the place of the cache.
    ///   - server: the owner of the files. Writes for one server are not sent to another.
    ///   - timeout: how long a caller waits.
    convenience init(
        _ backend: any SuiteBackend, outbox: FileLocation, cache: FileLocation, of server: ServerAddress,
        timeout: Duration
    ) {
        let owner = FileOwner(server: server.description, suite: backend.suite)
        let store = OutboxStore(in: outbox.directory(for: .outbox, of: owner), of: owner)
        let file = cache.directory(for: .cache, of: owner).map { CacheFile(in: $0, of: owner) }
        self.init(backend, outbox: store, cache: file, options: Options(timeout: timeout.bounded))
        if outbox == .usual, !store.isPersistent { state.withLock { $0.sending.lacksDirectory = true } }
    }
}

/// Reading the replica. These calls never wait.
extension SuiteSession {
    func visible(_ key: KeyName) -> VisibleSetting {
        state.withLock { $0.replica.visible(key) }
    }

    /// Returns the state of several keys at one moment.
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

    /// Announces a change of every key to Swift's Observation.
    func announceAllKeys() {
        announce(state.withLock { $0.replica.cells }, isOwnChange: false)
    }

    func forgetUnusedEntries() {
        state.withLock { $0.replica.forgetUnusedEntries() }
    }

    /// The commit that set the current schema. Nil if it is not known.
    var schema: Cursor? {
        state.withLock { $0.replica.schema }
    }

    /// The place in history up to which the replica knows every change.
    var cursor: Cursor? {
        state.withLock { $0.replica.cursor }
    }
}

/// Changing the state, and delivering the changes that readers can see.
extension SuiteSession {
    /// Changes the state, then calls the listeners and the tracking functions without the lock, and plans to save the cache.
    ///
    /// - Parameter isOwnChange: true if the caller makes the change for the program, and calls ``announceOwnChanges()``
    ///   later.
    func mutate<Result: Sendable>(isOwnChange: Bool = false, _ body: (inout State) -> Result) -> Result {
        let (result, cells, isDeliverer, pause, needsSchema) = state.withLock { state in
            let version = state.replica.version
            let result = body(&state)
            if state.listeners.isEmpty { state.replica.news.removeAll() }
            let isDeliverer = !state.replica.news.isEmpty && !state.isDelivering
            if isDeliverer { state.isDelivering = true }
            let pause =
                cache != nil && state.replica.version != version
                ? state.saving.plan(after: options.saveInterval) : nil
            var cells = state.replica.changedCells
            state.replica.changedCells = []
            if isOwnChange {
                state.ownChanges += cells
                cells = []
            }
            return (result, cells, isDeliverer, pause, state.loading.isLoaded && !state.isSchemaKnown)
        }
        if isDeliverer { deliver() }
        announce(cells, isOwnChange: false)
        if let pause {
            ClientThread.shared.schedule(at: .now + pause) { [weak self] in self?.saveAsPlanned() }
        }
        if needsSchema { fetchSchemaInBackground() }
        return result
    }

    /// Announces the changes that the program has made on the calling thread. The tracking functions may use settings, so the
    /// write is stored by then, and the caller holds no turn.
    func announceOwnChanges() {
        let cells = state.withLock { state in
            defer { state.ownChanges = [] }
            return state.ownChanges
        }
        announce(cells, isOwnChange: !ClientThread.shared.isCurrent)
    }

    private func announce(_ cells: [KeyCell], isOwnChange: Bool) {
        ChangeAnnouncer.shared.announce(cells.compactMap { $0.takeTracker() }, isOwnChange: isOwnChange)
    }

    /// Changes the replica.
    func change<Result: Sendable>(isOwnChange: Bool = false, _ body: (inout ReplicaState) -> Result) -> Result {
        mutate(isOwnChange: isOwnChange) { body(&$0.replica) }
    }

    func apply(_ observation: SettingsObservation) {
        change { replica in
            switch observation {
            case .state(let state): replica.adopt(state)
            case .changes(let changes): replica.apply(changes)
            }
        }
    }

    /// Calls the handler with all later changes that readers can see, in order, until ``stopListening(_:)`` is called with the
    /// returned number. The handler must be short, because the calling thread may be in a setter.
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

/// Tasks of the session, and callers that wait for them.
extension SuiteSession {
    /// Starts a task on the client thread.
    func startTask(_ body: @escaping @Sendable () async -> Void) {
        Task(executorPreference: ClientThread.shared, operation: body)
    }

    /// Runs an asynchronous operation on the client thread, and blocks the calling thread until it has finished.
    func blocking<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ operation: @escaping @Sendable () async throws(BackendError) -> Value
    ) throws(BackendError) -> Value {
        guard !ClientThread.shared.isCurrent else {
            throw .unreachable("a bridge must not wait for other settings", outcome: .notDone)
        }
        let result = Promise<Result<Value, BackendError>>()
        startTask {
            do throws(BackendError) {
                result.fulfill(.success(try await operation()))
            } catch {
                result.fulfill(.failure(error))
            }
        }
        guard let result = result.wait(until: deadline) else { throw .timedOut }
        return try result.get()
    }
}

extension BackendError {
    /// The error of a caller whose time is over before there is an answer.
    static let timedOut = BackendError.unreachable("the daemon did not answer in time")
}
