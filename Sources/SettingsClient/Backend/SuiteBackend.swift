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
    func news(since place: Cursor) throws(BackendError) -> Observation

    /// Tells everything that happens after a place in history, in order, until it is stopped. The handler is called on a
    /// thread of the backend's, never from within another call.
    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (Observation) -> Void) -> any Following
}

extension SuiteBackend {
    func news(since place: Cursor) throws(BackendError) -> Observation {
        .state(try load())
    }
}

/// Following that can be stopped.
protocol Following: Sendable {
    /// Ends it. A call of the handler that is under way goes on; none comes after that.
    func stop()
}

/// Why a backend could not do what it was asked to.
enum BackendError: Error, Hashable, Sendable {
    /// It was refused.
    case refused(Problem)
    /// There was no answer, for this reason.
    case unreachable(String)
}
