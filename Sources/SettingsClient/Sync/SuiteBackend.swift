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

/// In place of a suite that nobody can tell where to find: every call says why.
final class NoBackend: SuiteBackend {
    let suite: SuiteName
    private let reason: String

    init(suite: SuiteName, reason: String) {
        self.suite = suite
        self.reason = reason
    }

    func load() throws(BackendError) -> ObservedState { throw .unreachable(reason) }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState { throw .unreachable(reason) }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        throw .unreachable(reason)
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary { throw .unreachable(reason) }

    func schema() throws(BackendError) -> SchemaDocument? { throw .unreachable(reason) }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        throw .unreachable(reason)
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        throw .unreachable(reason)
    }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        Nothing()
    }

    private struct Nothing: Following {
        func stop() {}
        func refresh() {}
    }
}

/// What an answer, or that there was none, means for a write that is kept. It does no input and output.
enum SendOutcome: Hashable, Sendable {
    /// It is done.
    case done(WriteSummary)
    /// It is refused.
    case refused(Problem)
    /// It is tried again, at the earliest after so long.
    case waits(reason: String, atLeast: Duration, isAnswer: Bool)
    /// It has met a conflict, and may be done in another form: what is there has to be known for that.
    case conflict(Problem, current: SettingState?)

    /// Nobody knows who answered, so nobody is obeyed for ever.
    private static let longestAsked = Duration.seconds(300)

    init(_ result: Result<WriteSummary, BackendError>, of change: PendingChange) {
        switch result {
        case .success(let summary): self = .done(summary)
        case .failure(.unreachable(let reason, _)), .failure(.kept(let reason)):
            self = .waits(reason: reason, atLeast: .zero, isAnswer: false)
        case .failure(.unavailable(let reason, let asked)):
            self = .waits(reason: reason, atLeast: min(max(.zero, asked), Self.longestAsked), isAnswer: true)
        case .failure(.refused(let problem)):
            if problem.isNoVerdict {
                let asked = Duration.milliseconds(max(0, problem.retryAfterMs ?? 0))
                self = .waits(reason: problem.description, atLeast: min(asked, Self.longestAsked), isAnswer: true)
            } else if change.isConflict(problem) {
                let current = BackendError.refused(problem).current
                self = .conflict(problem, current: current.flatMap { $0.isConcealed ? nil : $0 })
            } else {
                self = .refused(problem)
            }
        }
    }
}

extension Problem {
    /// Whether it says nothing about what was asked: only that it cannot be done at the moment, or it is somebody else who
    /// says it, as a daemon gives everything a code.
    var isNoVerdict: Bool {
        isTransient || self.status >= 500 && self.status != 501 && self.status != 505 || self.codeName.isEmpty
    }
}

extension BackendError {
    /// Whether it is what the server says about what was asked, and would say again.
    var isVerdict: Bool {
        if case .refused(let problem) = self { !problem.isNoVerdict } else { false }
    }
}
