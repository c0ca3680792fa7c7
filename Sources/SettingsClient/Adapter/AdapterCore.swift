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
    let waitingRenames = WaitingRenames()
    let observers: ObserverTable

    private let loading = Mutex(Loading())
    private let isLoaded = Atomic(false)
    /// Where async forms wait for the backend, so that they block no thread of the pool.
    private let queue = DispatchQueue(label: "settings of an adapter")

    private struct Loading {
        var following: (any Following)?
        var failure: (error: BackendError, until: ContinuousClock.Instant)?
        /// Whether a getter has reported the failure.
        var isFailureTold = false
    }

    /// How long getters do not try again after the suite could not be loaded.
    private static let pauseAfterFailure = Duration.seconds(1)

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
        backend.hear { [replica, issues] news in
            replica.apply(news)
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
    /// Has the suite loaded and followed. The first caller does it, others wait for that.
    ///
    /// - Parameter insists: whether to try though it failed just before.
    func load(insists: Bool = false) throws(DefaultsError) {
        guard !isLoaded.load(ordering: .acquiring) else { return }
        do throws(BackendError) {
            let hasLoaded = try loading.withLock { loading throws(BackendError) in
                guard loading.following == nil else { return false }
                if let failure = loading.failure, !insists, failure.until > ContinuousClock.now { throw failure.error }
                do throws(BackendError) {
                    let state = try beginning()
                    replica.apply(.state(state))
                    loading.following = backend.follow(from: state.cursor) {
                        [weak replica, waitingRenames] observation in
                        guard let replica else { return }
                        replica.apply(observation)
                        waitingRenames.resume(in: replica)
                    }
                    isLoaded.store(true, ordering: .releasing)
                    return true
                } catch {
                    loading.failure = (error, ContinuousClock.now + Self.pauseAfterFailure)
                    loading.isFailureTold = false
                    throw error
                }
            }
            // It may ask, and report: nothing is locked meanwhile.
            if hasLoaded { beginObserving() }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// The same for somebody who wants one key. It need not be loaded where the program's own writes say what is there.
    func load(for key: KeyName, insists: Bool = false) throws(DefaultsError) {
        do {
            try load(insists: insists)
        } catch {
            guard replica.isCovered(key) else { throw error }
        }
    }

    /// The suite as it is, or else as it was known last.
    private func beginning() throws(BackendError) -> ObservedState {
        do {
            return try backend.load()
        } catch {
            guard !error.isVerdict, let state = backend.lastKnown() else { throw error }
            return state
        }
    }

    /// Reports that something could not be read; that the suite could not be loaded, once for each time that was tried:
    /// a program reads far more often.
    func reportUnread(_ error: DefaultsError, _ key: String?) {
        let isTold = loading.withLock { loading in
            guard let failure = loading.failure, DefaultsError(failure.error) == error else { return false }
            defer { loading.isFailureTold = true }
            return loading.isFailureTold
        }
        if !isTold { report(error, key, .read) }
    }

    /// Brings the backend what is kept for it, and the replica to where the backend is, by every change that leads there:
    /// observers miss none.
    func synchronize() throws(DefaultsError) {
        try load(insists: true)
        defer { issues.finishReporting() }
        do throws(BackendError) {
            try backend.sendKept()
            try catchUp()
            waitingRenames.resume(in: replica)
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
            hasMore = if case .changes(let changes) = news { changes.hasMore } else { false }
        }
    }

    /// Does something that blocks away from the threads of the pool, one after the other.
    nonisolated(nonsending) func offload<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DefaultsError) -> Value
    ) async throws(DefaultsError) -> Value {
        let result: Result<Value, DefaultsError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
