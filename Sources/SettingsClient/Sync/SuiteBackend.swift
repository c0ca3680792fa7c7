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

    /// Tells everything that happens after a place in history, in order, until it is stopped. The handler is called on a
    /// thread of the backend's, never from within another call.
    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (SettingsObservation) -> Void) -> any Following

    /// Takes over the writes that earlier programs left to be sent, and tells of them; once, the first time it is called.
    func inherit()

    /// Does a write. One that could not be sent may be kept, to be done later; then `kept` is thrown.
    func perform(_ write: SuiteWrite) throws(BackendError) -> WriteSummary

    /// Has the handler told of writes that are kept and of what fails by itself, from whatever thread. It must be
    /// short, and neither read nor write anything here. It is to be called once, before all else.
    func hear(_ handler: @escaping @Sendable (KeptWriteNews) -> Void)

    /// Sends what is kept, and waits until nothing is.
    func sendKept() throws(BackendError)

    /// The state that was known last, perhaps to an earlier run of the program: for when the suite cannot be loaded.
    func lastKnown() -> ObservedState?
}

/// A backend keeps nothing unless it says so.
extension SuiteBackend {
    func perform(_ write: SuiteWrite) throws(BackendError) -> WriteSummary {
        switch write.action {
        case .transaction(let transaction): try commit(transaction, requestKey: write.requestKey)
        case .reset: try reset(requestKey: write.requestKey)
        }
    }

    func inherit() {}

    func hear(_ handler: @escaping @Sendable (KeptWriteNews) -> Void) {}

    func sendKept() throws(BackendError) {}

    func lastKnown() -> ObservedState? { nil }
}

/// What happens to writes that are kept, and what fails though nobody asked for it just then.
enum KeptWriteNews: Hashable, Sendable {
    /// A write waits from here on: one that was just asked for, or that an earlier program left behind. Told before it is
    /// sent, and in the order in which they will be.
    case kept(SuiteWrite, isInherited: Bool)
    /// It was done. The write is the one that was kept, whatever had to be sent in its place.
    case done(SuiteWrite, WriteSummary)
    /// It was refused; whether whoever asked for it is there still, and is told.
    case refused(SuiteWrite, Problem, isAwaited: Bool)
    /// Somebody is there, but takes nothing at present.
    case stalled(String)
    /// A file that belongs to the suite cannot be used as it is.
    case trouble(path: String, reason: String)
    /// What others write is not told, for this reason, which is not likely to pass soon. Told once until it passes.
    case unfollowed(BackendError)
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
