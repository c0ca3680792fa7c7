internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// What all views of one adapter share: the replica, the layers over and under it, and the way to the backend. Nothing of
/// it is for programs.
public final class AdapterCore: Sendable {
    let session: SuiteSession
    let arguments: LaunchArguments
    @usableFromInline let slots: SlotTable
    let issues: IssueBoard
    /// What was registered: the layer under what is stored.
    let registered = Mutex<[KeyName: JSONValue]>([:])
    let namespaces = Mutex(NamespaceRegistry())
    /// What was reported of the keys that disagree with the schema.
    let toldDifferences = Mutex<[UTF8Text: [SchemaDifference]]>([:])
    let observers: ObserverTable

    /// Where async forms wait for the backend, so that they block no thread of the pool.
    let work = KeyedWork()

    init(session: SuiteSession, arguments: [String], log: @escaping IssueBoard.Log) {
        self.session = session
        self.arguments = LaunchArguments(arguments)
        observers = ObserverTable(session)
        let issues = IssueBoard(log: log)
        self.issues = issues
        let suite = session.suite
        slots = SlotTable(session: session, arguments: self.arguments) { key, error in
            issues.report(DefaultsIssue(suite: suite, key: key, attempt: .read, error: error))
        }
        session.join(
            SuiteSession.Handlers(
                report: { issues.reportLater($0) }, onLoaded: { [weak self] in self?.beginObserving() }))
    }

    deinit {
        session.leave()
    }

    var suite: SuiteName { session.suite }

    func report(_ error: DefaultsError, _ key: String?, _ attempt: DefaultsIssue.Attempt) {
        issues.report(DefaultsIssue(suite: suite, key: key, attempt: attempt, error: error))
    }
}

/// The session, with errors of adapters.
extension AdapterCore {
    var isLoaded: Bool { session.isLoaded }

    func load(unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(DefaultsError) {
        do throws(BackendError) {
            try session.load(unlessFailedSince: moment)
        } catch {
            throw DefaultsError(error)
        }
    }

    func load(for key: KeyName, unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(DefaultsError) {
        do throws(BackendError) {
            try session.load(for: key, unlessFailedSince: moment)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Sends what is kept and brings the replica to where the server is.
    func synchronize(since moment: ContinuousClock.Instant = .now) throws(DefaultsError) {
        defer { issues.finishReporting() }
        do throws(BackendError) {
            try session.synchronize(since: moment)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Reports that something could not be read; that the suite could not be loaded, once for each attempt.
    func reportUnread(_ error: DefaultsError, _ key: String?) {
        if session.isToBeReported(error) { report(error, key, .read) }
    }
}

extension AdapterCore {
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
