internal import Dispatch
internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The state that an adapter shares with its scopes, references and observers: resolved keys, the layers over and under the
/// stored values, and the session of the suite.
package final class AdapterCore: Sendable {
    let session: SuiteSession
    let arguments: LaunchArguments
    /// The adapter's own key store.
    let keyStore: any Sendable
    let keys: KeyTable
    let issues: IssueBoard
    let namespaces = Mutex(NamespaceRegistry())
    /// The reported differences between keys and the schema.
    let reportedDifferences = Mutex<[UTF8Text: [SchemaDifference]]>([:])
    let observers: ObserverTable
    let writeMode: WriteMode

    init(
        keyStore: any Sendable, session: SuiteSession, arguments: [String], writes: WriteMode,
        log: DefaultsLog?
    ) {
        self.keyStore = keyStore
        self.session = session
        self.arguments = LaunchArguments(arguments)
        writeMode = writes
        observers = ObserverTable(session)
        let issues = IssueBoard(log: log)
        self.issues = issues
        let suite = session.suite
        keys = KeyTable(session: session, arguments: self.arguments) { key, error in
            issues.report(DefaultsIssue(suite: suite, key: key, attempt: .read, error: error))
        }
        session.join(
            SuiteSession.Handlers(
                report: { issues.report($0) },
                // Not weakly to the core: counting references to an object that has weak references is slow, and each read
                // counts.
                onLoaded: { [weak observers] in observers?.beginWaiting() }))
    }

    deinit {
        session.leave()
    }

    var suite: SuiteName { session.suite }

    package func report(_ error: DefaultsError, _ key: String?, _ attempt: DefaultsIssue.Attempt) {
        issues.report(DefaultsIssue(suite: suite, key: key, attempt: attempt, error: error))
    }

    /// Reports that a value could not be read. A failure to load the suite is reported once for each attempt.
    func reportUnread(_ error: DefaultsError, _ key: String?) {
        if session.isNews(error) { report(error, key, .read) }
    }
}

/// The session, with errors of adapters.
extension AdapterCore {
    /// Loads the suite for a getter, which blocks the calling thread.
    func load(for key: KeyName? = nil, until deadline: ContinuousClock.Instant) throws(DefaultsError) {
        do throws(BackendError) {
            try session.load(for: key, until: deadline)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Loads the suite for an async form.
    nonisolated(nonsending) func load() async throws(DefaultsError) {
        try await throwingDefaultsError { () async throws(BackendError) in
            try await session.load(until: session.deadline)
        }
    }

    /// Waits until the daemon has all writes, and brings the replica up to date.
    nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        let result = await Result { () async throws(BackendError) in
            try await session.synchronize(until: session.deadline)
        }
        await issues.finishReportingInBackground(until: session.deadline)
        if case .failure(let error) = result { throw DefaultsError(error) }
    }

    /// Carries out a write of a setter: in the background, or with a wait for the answer.
    ///
    /// - Parameters:
    ///   - start: when the setter began. Its timeout counts from there.
    ///   - isInTurn: true if the caller has the turn of changes in place. The caller then announces the change.
    ///   - isAllowed: returns true if a value that a conflict has merged is a value of the key.
    func submit(
        _ change: PendingChange, since start: ContinuousClock.Instant = .now, isInTurn: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(DefaultsError) {
        do throws(BackendError) {
            switch writeMode {
            case .background: try session.enqueue(change, isInTurn: isInTurn, isAllowed: isAllowed)
            case .confirmed:
                let deadline = start + session.options.timeout
                _ = try session.commitBlocking(
                    change, until: deadline, isInTurn: isInTurn, isAllowed: isAllowed)
            }
        } catch {
            // A write that gives way to a stored value is no error.
            if case .refused(let problem) = error, change.conflict == .yielding, problem.conflicting != nil { return }
            throw DefaultsError(error)
        }
    }

    /// Carries out a write of an async form.
    @discardableResult
    nonisolated(nonsending) func commit(_ change: PendingChange) async throws(DefaultsError) -> WriteSummary {
        try await throwingDefaultsError { () async throws(BackendError) in try await session.commit(change) }
    }

    /// Runs a setter. Errors are reported, because a setter cannot throw. A queued write has not failed.
    func attempt(_ key: String?, _ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            if case .kept = error { return }
            report(error, key, .write)
        }
    }
}

/// Runs a call of the session, whose errors are thrown as the errors of an adapter.
nonisolated(nonsending) func throwingDefaultsError<Result>(
    _ body: nonisolated(nonsending) () async throws(BackendError) -> Result
) async throws(DefaultsError) -> Result {
    do throws(BackendError) {
        return try await body()
    } catch {
        throw DefaultsError(error)
    }
}

extension Result where Success == Void {
    /// Runs an asynchronous call, and returns its error instead of throwing the error.
    nonisolated(nonsending) init(
        _ body: nonisolated(nonsending) () async throws(Failure) -> Void
    ) async {
        do throws(Failure) {
            try await body()
            self = .success(())
        } catch {
            self = .failure(error)
        }
    }
}
