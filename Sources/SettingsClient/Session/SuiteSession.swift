internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The client's state of one suite: the replica, the queue of the program's writes, the outbox file and the cache file.
///
/// Thread-safe. One lock guards the state. It is never held during a request, a file operation or a call of a handler.
/// Tasks on the client thread load the suite, follow its changes and send the writes. A getter or setter blocks only
/// its own thread, and only while it waits for one of these tasks.
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
        var loading = LoadingState()
        var schema = SchemaState()
        var sending = SendingState()
        var saving = SavingState()
        var applying = ApplyingState()
        /// True after the adapter was released. The tasks of the session then make no further attempts.
        var isClosed = false
        fileprivate var handlers = Handlers()
        fileprivate(set) var listeners: [UInt64: @Sendable ([ReplicaEvent]) -> Void] = [:]
        fileprivate var lastListener: UInt64 = 0
        /// The cells (``KeyCell``) of the keys that the program has changed, by the thread that made the change. The
        /// thread announces the change to Swift's Observation after it has written the outbox file.
        fileprivate var localChanges: [UInt: [KeyCell]] = [:]
        /// True while a thread delivers events. This thread also delivers the events of other threads, so that the
        /// listeners get the events in order.
        fileprivate var isDelivering = false
    }

    struct Options: Sendable {
        /// The maximum time for which a getter waits for the load, and for which a call waits for the answer to a
        /// write.
        var timeout = Duration.seconds(2)
        /// The duration of an outage after which getters and writes no longer wait for the daemon. Nil means `timeout`.
        var outageTimeout: Duration?
        /// The interval at which the session searches again for files that other programs had locked.
        var abandonedFileSearchInterval = Duration.seconds(10)
        /// The minimum time between two saves of the cache file.
        var saveInterval = Duration.seconds(1)
        /// The clock of the pauses between attempts.
        var clock: any SessionClock = RealSessionClock()
    }

    let suite: SuiteName
    let backend: any SuiteBackend
    let state = Mutex(State())
    let outbox: Mutex<OutboxStore>
    let outboxFillLevel: OutboxFillLevel
    /// Fulfilled when the session has adopted the writes of programs that have ended.
    let outboxOpening = Promise<Void>()
    /// True after a thread has begun to adopt the writes of programs that have ended.
    let hasBegunOpening = Atomic(false)
    /// True if the suite is loaded and the session follows its changes. It is atomic so that a getter needs no lock.
    let loaded = Atomic(false)
    let changeLock = ChangeLock()
    /// The cache file, for a start without a daemon. Nil if the replica is not saved.
    let cache: CacheFile?
    let options: Options

    init(
        _ backend: any SuiteBackend, outbox: OutboxStore? = nil, cache: CacheFile? = nil, options: Options = Options()
    ) {
        suite = backend.suite
        self.backend = backend
        // An outbox store without a directory has no file, so its owner is not used.
        let owner = FileOwner(server: "", suite: backend.suite)
        let store = outbox ?? OutboxStore(in: nil, of: owner)
        outboxFillLevel = store.fillLevel
        self.outbox = Mutex(store)
        self.cache = cache
        self.options = options
        SessionsAtExit.add(self)
    }

    deinit {
        close()
        saveCache()
    }

    /// Sets the functions of the adapter. Must be called before all other methods.
    func setHandlers(_ handlers: Handlers) {
        state.withLock { $0.handlers = handlers }
    }

    /// Ends the subscription and all pauses when the adapter is released. The tasks of the session then end.
    func close() {
        let (subscription, pauses) = state.withLock { state in
            state.isClosed = true
            return (state.loading.subscription, [state.loading.pause, state.sending.pause])
        }
        subscription?.stop()
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
    /// Creates a session with an outbox file and a cache file.
    ///
    /// - Parameters:
    ///   - outbox: the location of the outbox file.
    ///   - cache: the location of the cache file.
    ///   - server: the server to which the writes in the outbox belong. They are not sent to another server.
    ///   - timeout: the maximum time for which a getter or a write waits. The time is limited to 68 years (`bounded`), so that the
    ///     computation of a deadline cannot overflow.
    convenience init(
        _ backend: any SuiteBackend, outbox: FileLocation, cache: FileLocation, server: ServerAddress,
        timeout: Duration
    ) {
        let owner = FileOwner(server: server.description, suite: backend.suite)
        let store = OutboxStore(in: outbox.directory(for: .outbox, of: owner), of: owner)
        let file = cache.directory(for: .cache, of: owner).map { CacheFile(in: $0, of: owner) }
        self.init(backend, outbox: store, cache: file, options: Options(timeout: timeout.bounded))
        if outbox == .usual, !store.isPersistent { state.withLock { $0.sending.lacksDirectory = true } }
    }
}

/// Reads of the replica, which never wait.
extension SuiteSession {
    /// Returns a setting with the program's pending writes applied.
    func visibleSetting(_ key: KeyName) -> ReplicaSetting {
        state.withLock { $0.replica.visible(key) }
    }

    /// Returns true if the daemon may have a value for a key without a visible value: the suite is not loaded, or the
    /// key has a pending write, for example a removal after which the key may have a default of the schema. False for a
    /// secret that the program may not read.
    func mayHaveUnknownValue(_ key: KeyName) -> Bool {
        state.withLock { $0.replica.cursor == nil || $0.replica.entries[key]?.pending.isEmpty == false }
    }

    /// Returns several settings at one moment, with the program's pending writes applied.
    func visibleSettings(_ keys: [KeyName]) -> [KeyName: ReplicaSetting] {
        state.withLock { state in
            Dictionary(keys.map { ($0, state.replica.visible($0)) }, uniquingKeysWith: { $1 })
        }
    }

    /// The values of ``DefaultsAdapter/register(defaults:)``.
    var registeredDefaults: [KeyName: JSONValue] {
        state.withLock { $0.replica.registered }
    }

    /// Returns true if the key can be read before the suite is loaded.
    func isKnown(_ key: KeyName) -> Bool {
        state.withLock { $0.replica.isKnown(key) }
    }

    func cell(for key: KeyName) -> KeyCell {
        state.withLock { $0.replica.cell(for: key) }
    }

    /// Announces a change of every key to Swift's Observation.
    func announceAllKeys() {
        announce(state.withLock { $0.replica.cells }, onCallingThread: false)
    }

    func forgetUnusedEntries() {
        state.withLock { $0.replica.forgetUnusedEntries() }
    }

    /// The last commit that set or removed the schema. The revision is zero if the suite never had a schema or does
    /// not exist. Nil if the suite is not loaded.
    var schemaCursor: Cursor? {
        state.withLock { $0.replica.schemaCursor }
    }

    /// The cursor up to which the replica contains every change. Nil if the suite is not loaded.
    var cursor: Cursor? {
        state.withLock { $0.replica.cursor }
    }
}

/// Changing the state, and delivering the changes that readers can see.
extension SuiteSession {
    /// Changes the state. Then, without the lock, calls the listeners, announces the changes to Swift's Observation,
    /// schedules a save of the cache, and fetches the schema if the suite is loaded and the schema is not known.
    ///
    /// - Parameter isLocalChange: true if this program makes the change. The calling code then announces the change
    ///   with ``announceLocalChanges()``. A remote change is announced by this method, on another thread.
    func mutate<Result: Sendable>(isLocalChange: Bool = false, _ body: (inout State) -> Result) -> Result {
        let (result, cells, isDeliverer, pause, needsSchema) = state.withLock { state in
            let version = state.replica.version
            let result = body(&state)
            if state.listeners.isEmpty { state.replica.events.removeAll() }
            let isDeliverer = !state.replica.events.isEmpty && !state.isDelivering
            if isDeliverer { state.isDelivering = true }
            let pause =
                cache != nil && state.replica.version != version
                ? state.saving.plan(after: options.saveInterval) : nil
            var cells = state.replica.changedCells
            state.replica.changedCells = []
            if isLocalChange, !cells.isEmpty {
                state.localChanges[CurrentThread.identifier, default: []] += cells
                cells = []
            }
            return (result, cells, isDeliverer, pause, state.loading.isLoaded && !state.isSchemaKnown)
        }
        if isDeliverer { deliver() }
        announce(cells, onCallingThread: false)
        if let pause {
            ClientThread.shared.schedule(at: .now + pause) { [weak self] in self?.saveAsPlanned() }
        }
        if needsSchema { fetchSchemaInBackground() }
        return result
    }

    /// Announces the changes that the program has made on the calling thread.
    ///
    /// A function that tracks a value may wait for another setting, and must not block the client thread or a thread
    /// that holds the lock of changes in place. On these threads, the functions are therefore called on another thread.
    func announceLocalChanges() {
        let thread = CurrentThread.identifier
        guard let cells = state.withLock({ $0.localChanges.removeValue(forKey: thread) }) else { return }
        announce(cells, onCallingThread: !ClientThread.shared.isCurrent && !changeLock.isHeldByCurrentThread)
    }

    private func announce(_ cells: [KeyCell], onCallingThread: Bool) {
        ChangeAnnouncer.shared.announce(cells.compactMap { $0.removeTracker() }, onCallingThread: onCallingThread)
    }

    /// Changes the replica. See ``mutate(isLocalChange:_:)``.
    func change<Result: Sendable>(isLocalChange: Bool = false, _ body: (inout ReplicaState) -> Result) -> Result {
        mutate(isLocalChange: isLocalChange) { body(&$0.replica) }
    }

    /// Applies an answer of the daemon to the replica, and reports the new state to the daemon when the handlers of
    /// this state have returned (``trackHandlers(of:)``).
    func apply(_ observation: SettingsObservation) {
        trackHandlers { replica in
            let (cursor, schema) = (replica.cursor, replica.schemaCursor)
            switch observation {
            case .state(let state):
                replica.adopt(state)
                // The replica ignores a state that is not newer.
                return replica.cursor != cursor
            case .changes(let changes):
                replica.apply(changes)
                return !changes.changes.isEmpty || replica.schemaCursor != schema
            }
        }
    }

    /// Calls the handler with all later events of the replica, in order, until ``removeListener(_:)`` is called with
    /// the returned number. The handler must return soon, because it may run within a setter.
    func addListener(_ handler: @escaping @Sendable ([ReplicaEvent]) -> Void) -> UInt64 {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = handler
            return state.lastListener
        }
    }

    func removeListener(_ listener: UInt64) {
        state.withLock { $0.listeners[listener] = nil }
    }

    /// Calls the listeners until there are no more events.
    private func deliver() {
        while true {
            let (events, listeners) = state.withLock { state in
                let events = state.replica.events
                state.replica.events.removeAll()
                if events.isEmpty { state.isDelivering = false }
                return (events, state.listeners.sorted { $0.key < $1.key }.map(\.value))
            }
            guard !events.isEmpty else { return }
            for listener in listeners { listener(events) }
        }
    }
}

/// Tasks on the client thread, and calls that wait for the tasks.
extension SuiteSession {
    func startTask(_ body: @escaping @Sendable () async -> Void) {
        Task(executorPreference: ClientThread.shared, operation: body)
    }

    /// Runs an asynchronous operation on the client thread, and blocks the calling thread until it has finished.
    func blocking<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ operation: @escaping @Sendable () async throws(BackendError) -> Value
    ) throws(BackendError) -> Value {
        guard !ClientThread.shared.isCurrent else {
            // The client thread also decodes values, and the program's code that decodes a value may read another
            // setting.
            throw .unreachable(
                "the conversion of a value cannot wait for another setting; read the other setting first",
                outcome: .notDone)
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
    /// The error of a call whose deadline has passed without an answer.
    static let timedOut = BackendError.unreachable("the daemon did not answer in time")
}
