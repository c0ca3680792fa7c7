internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel

/// Where one suite lives: a daemon, or memory.
///
/// All calls block until there is an answer, and may come from any thread.
protocol SuiteBackend: AnyObject, Sendable {
    /// The suite.
    var suite: SuiteName { get }

    /// The suite as it is; one that does not exist is empty.
    func load() throws(BackendError) -> ObservedState

    /// One setting as it is, with what a state does not tell: its source and its revision.
    func setting(_ key: KeyName) throws(BackendError) -> SettingState

    /// Does a transaction. A condition that does not hold is a problem that tells what is there. The same request key
    /// again is the same write.
    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary

    /// Takes all stored values away.
    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary

    /// The schema in force, with the commit that set it; nil if there is none.
    func schema() throws(BackendError) -> SchemaDocument?

    /// Says what the suite may hold from here on. The same request key again is the same write.
    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary

    /// What happened after a place in history, or the beginning of that; where history does not tell, the suite as it is.
    func news(since place: Cursor) throws(BackendError) -> SettingsObservation

    /// Calls the handler with everything that happens after a place in history, in order, until it is stopped. Calls
    /// `onTrouble` with the reason if that fails and is not likely to work soon, once until it works again. Both are called
    /// on a thread of the backend's, never from within another call.
    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following
}

/// Following that can be stopped.
protocol Following: Sendable {
    /// Ends it: nobody is asked any more. What is being told on another thread goes on, so one more call of the handler
    /// may begin after this has returned.
    func stop()

    /// Has the handler told soon how far everything is known, though nothing may have happened.
    func refresh()
}

/// Why a backend could not do what it was asked to.
enum BackendError: Error, Hashable, Sendable {
    /// It was refused.
    case refused(Problem)
    /// There was no answer, for this reason; and whether it may have been done nevertheless.
    case unreachable(String, outcome: Problem.Outcome = .unknown)
    /// Somebody is there, but cannot do it at present, or says nothing that is an answer, for this reason. To ask again
    /// before so long is in vain.
    case unavailable(String, retryAfter: Duration)
    /// There was no answer, for this reason; the write is kept and will be done.
    case kept(String)
}
