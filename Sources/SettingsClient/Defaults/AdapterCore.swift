internal import Dispatch
internal import SettingsKeys
internal import Synchronization

/// The state that an adapter shares with its scopes, references and observers: resolved keys, the layers over and under
/// what is stored, and the session of the suite.
final class AdapterCore: Sendable {
    let session: SuiteSession
    let arguments: LaunchArguments
    /// The adapter's own key store.
    let keyStore: any Sendable
    let slots: SlotTable
    /// The values that were read last.
    let values = ValueCache()
    let issues: IssueBoard
    let namespaces = Mutex(NamespaceRegistry())
    /// The reported differences between keys and the schema.
    let reportedDifferences = Mutex<[UTF8Text: [SchemaDifference]]>([:])
    let observers: ObserverTable

    /// Where async forms wait for the backend, so that they block no thread of the pool.
    let work = KeyedWork()

    init(
        keyStore: any Sendable, session: SuiteSession, arguments: [String], log: @escaping IssueBoard.Log
    ) {
        self.keyStore = keyStore
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
                report: { issues.reportLater($0) },
                // Not weakly to the core: references to an object that has weak ones are slow to count, and each read does.
                onLoaded: { [weak observers] in observers?.beginWaiting() }))
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
    func load(for key: KeyName? = nil, unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(DefaultsError) {
        try throwingDefaultsError { () throws(BackendError) in try session.load(for: key, unlessFailedSince: moment) }
    }

    /// Sends what is kept and brings the replica to where the server is.
    func synchronize(since moment: ContinuousClock.Instant = .now) throws(DefaultsError) {
        defer { issues.finishReporting() }
        try throwingDefaultsError { () throws(BackendError) in try session.synchronize(since: moment) }
    }

    /// Reports that something could not be read; that the suite could not be loaded, once for each attempt.
    func reportUnread(_ error: DefaultsError, _ key: String?) {
        if session.isToBeReported(error) { report(error, key, .read) }
    }
}
