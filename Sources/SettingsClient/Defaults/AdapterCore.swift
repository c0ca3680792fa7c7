internal import Dispatch
internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The state that an adapter shares with its scopes (``DefaultsScope``), references and observers: the resolved keys,
/// the command line arguments, and the session of the suite.
package final class AdapterCore: Sendable {
    let session: SuiteSession
    let arguments: LaunchArguments
    /// The key store of the adapter itself, not of one of its scopes.
    let keyStore: any Sendable
    let keys: KeyTable
    let issues: IssueReporter
    /// The type that uses each namespace. A namespace is the prefix of the names of a type's settings.
    let namespaces = Mutex(NamespaceRegistry())
    /// The differences between each key and the schema that the adapter reported last, by the name of the key.
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
        let issues = IssueReporter(log: log)
        self.issues = issues
        let suite = session.suite
        keys = KeyTable(session: session, arguments: self.arguments) { key, error in
            issues.report(DefaultsIssue(suite: suite, key: key, attempt: .read, error: error))
        }
        session.setHandlers(
            SuiteSession.Handlers(
                report: { issues.report($0) },
                // A weak reference to the core would make reads slow: each read retains and releases the core, and this
                // takes longer for an object with weak references. So the closure refers weakly to the observer table.
                onLoaded: { [weak observers] in observers?.startWaitingObservers() }))
    }

    deinit {
        session.close()
    }

    var suite: SuiteName { session.suite }

    package func report(_ error: DefaultsError, _ key: String?, _ attempt: DefaultsIssue.Attempt) {
        issues.report(DefaultsIssue(suite: suite, key: key, attempt: attempt, error: error))
    }

    /// Reports that a value could not be read. Many reads may get the error of one failed attempt to load the suite, so
    /// the method reports this error only once.
    func reportReadFailure(_ error: DefaultsError, _ key: String?) {
        if session.mustReport(error) { report(error, key, .read) }
    }
}

/// Calls of the session that throw `DefaultsError` instead of `BackendError`.
extension AdapterCore {
    /// Loads the suite for a getter. Blocks the calling thread, unless the client already knows the value of the key.
    func load(for key: KeyName? = nil, until deadline: ContinuousClock.Instant) throws(DefaultsError) {
        do throws(BackendError) {
            try session.load(for: key, until: deadline)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Loads the suite for an async method.
    nonisolated(nonsending) func load() async throws(DefaultsError) {
        try await throwingDefaultsError { () async throws(BackendError) in
            try await session.load(until: session.deadline)
        }
    }

    /// Waits until the daemon has answered all writes, and the replica contains all changes that the daemon stored
    /// before the call. Then waits until the log has all reported issues, also after a failure.
    nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        let deadline = session.deadline
        let result = await Result { () async throws(BackendError) in try await session.synchronize(until: deadline) }
        await issues.waitUntilLoggedWithoutBlocking(until: deadline)
        if case .failure(let error) = result { throw DefaultsError(error) }
    }

    /// Adds the write of a setter to the queue. In the mode `confirmed`, waits for the answer.
    ///
    /// - Parameters:
    ///   - start: the time at which the setter began. The timeout of the setter counts from this time.
    ///   - holdsLock: true if the calling code holds the lock of changes in place (`ChangeLock`). The calling code then
    ///     announces the change to Swift's Observation after it has released the lock.
    ///   - isAllowed: returns true if the key allows a value that the session computed to resolve a conflict.
    func submit(
        _ change: PendingChange, since start: ContinuousClock.Instant = .now, holdsLock: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(DefaultsError) {
        do throws(BackendError) {
            switch writeMode {
            case .background: try session.enqueue(change, holdsLock: holdsLock, isAllowed: isAllowed)
            case .confirmed:
                let deadline = start + session.options.timeout
                _ = try session.commitBlocking(
                    change, until: deadline, holdsLock: holdsLock, isAllowed: isAllowed)
            }
        } catch {
            // If the daemon already has a value, a set-if-absent write has nothing to do. This is not a failure.
            if case .refused(let problem) = error, change.onConflict == .keepStoredValue, problem.conflicting != nil {
                return
            }
            throw DefaultsError(error)
        }
    }

    /// Adds the write of an async method to the queue, and waits for the answer.
    @discardableResult
    nonisolated(nonsending) func commit(_ change: PendingChange) async throws(DefaultsError) -> WriteSummary {
        try await throwingDefaultsError { () async throws(BackendError) in try await session.commit(change) }
    }

    /// Runs a setter, and reports an error as an issue, because a setter cannot throw. Ignores the error `kept`: the
    /// write waits in the queue and has not failed.
    func runSetter(for key: String?, _ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            if case .kept = error { return }
            report(error, key, .write)
        }
    }
}

/// Runs a call of the session, and converts its error into a `DefaultsError`.
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
