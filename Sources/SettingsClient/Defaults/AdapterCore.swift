internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// What all views of one adapter share: the replica, the layers over and under it, and the way to the backend. Nothing of
/// it is for programs.
public final class AdapterCore: Sendable {
    let backend: any SuiteBackend
    let replica = Replica()
    let arguments: LaunchArguments
    @usableFromInline let slots: SlotTable
    let issues: IssueBoard
    let requestKeys = RequestKeySource()
    /// What was registered: the layer under what is stored.
    let registered = Mutex<[KeyName: JSONValue]>([:])
    let namespaces = Mutex(NamespaceRegistry())
    let serverSchema = Mutex(ServerSchema())
    /// What was reported of the keys that disagree with the schema.
    let toldDifferences = Mutex<[UTF8Text: [SchemaDifference]]>([:])
    /// Held while the schema is asked for.
    let askingSchema = Mutex<Void>(())
    let absence = Absence()
    let observers: ObserverTable

    let loading = Mutex(Loading())
    /// Held while the suite is loaded.
    let attempting = Mutex<Void>(())
    let loaded = Atomic(false)
    /// Where loading is tried again while nobody is there.
    let retrying = DispatchQueue(label: "settings loading", qos: .utility)
    /// Where async forms wait for the backend, so that they block no thread of the pool.
    let work = KeyedWork()

    init(backend: any SuiteBackend, arguments: [String], log: @escaping IssueBoard.Log) {
        self.backend = backend
        self.arguments = LaunchArguments(arguments)
        observers = ObserverTable(replica)
        let issues = IssueBoard(log: log)
        self.issues = issues
        let suite = backend.suite
        slots = SlotTable(replica: replica, arguments: self.arguments) { key, error in
            issues.report(DefaultsIssue(suite: suite, key: key, attempt: .read, error: error))
        }
        backend.hear { [weak self, replica, issues] news in
            let leavesOpen = news.leavesOpen(in: replica)
            replica.apply(news)
            if leavesOpen { self?.refresh() }
            if let issue = news.issue(in: suite) { issues.reportLater(issue) }
        }
    }

    deinit {
        loading.withLock { $0.following }?.stop()
    }

    var suite: SuiteName { backend.suite }

    func report(_ error: DefaultsError, _ key: String?, _ attempt: DefaultsIssue.Attempt) {
        issues.report(DefaultsIssue(suite: suite, key: key, attempt: attempt, error: error))
    }
}

extension AdapterCore {
    /// Brings the backend what is kept for it, and the replica to where the backend is, by every change that leads there:
    /// observers miss none.
    func synchronize(since moment: ContinuousClock.Instant = .now) throws(DefaultsError) {
        try load(unlessFailedSince: moment)
        defer { issues.finishReporting() }
        do throws(BackendError) {
            try backend.sendKept()
            try catchUp()
            absence.end(in: replica)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Brings the replica to where the backend is.
    func catchUp() throws(BackendError) {
        var hasMore = true
        while hasMore, let cursor = replica.cursor {
            let news = try backend.news(since: cursor)
            replica.apply(news)
            hasMore = news.isPartial
            if hasMore, replica.cursor == cursor {
                throw .unreachable("the daemon says that there are more changes, and does not tell them")
            }
        }
    }

    /// Does something that blocks away from the threads of the pool, behind what is to be done about the same keys.
    nonisolated(nonsending) func offload<Value: Sendable>(
        about keys: Set<KeyName> = [], _ body: @escaping @Sendable () throws(DefaultsError) -> Value
    ) async throws(DefaultsError) -> Value {
        try await offload(body) { [work] in work.add(about: keys, $0) }
    }

    /// Does something that blocks behind all that is to be done.
    nonisolated(nonsending) func offloadBehindAll(
        _ body: @escaping @Sendable () throws(DefaultsError) -> Void
    ) async throws(DefaultsError) {
        try await offload(body) { [work] in work.addBehindAll($0) }
    }

    /// What was not begun when the task was cancelled is not done.
    private nonisolated(nonsending) func offload<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DefaultsError) -> Value, _ add: (@escaping @Sendable () -> Void) -> Void
    ) async throws(DefaultsError) -> Value {
        let mark = CancellationMark()
        let result: Result<Value, DefaultsError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                add { continuation.resume(returning: mark.isSet ? .failure(.cancelled) : Result(catching: body)) }
            }
        } onCancel: {
            mark.set()
        }
        return try result.get()
    }
}

/// Whether a task was cancelled, for work that is not the task's own.
private final class CancellationMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() {
        mark.store(true, ordering: .releasing)
    }
}

extension SettingsObservation {
    /// Whether more has happened than this tells.
    var isPartial: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
