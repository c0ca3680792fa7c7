internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel

/// A place where one suite lives: a daemon, or memory.
///
/// All calls block until there is an answer, and may come from any thread.
protocol SuiteBackend: AnyObject, Sendable {
    var suite: SuiteName { get }

    /// Returns the suite as it is; one that does not exist is empty.
    func load() throws(BackendError) -> ObservedState

    /// Returns one setting as it is, with what a state does not tell: its source and its revision.
    func setting(_ key: KeyName) throws(BackendError) -> SettingState

    /// Commits a change. A condition that does not hold is a refusal that tells what is there. The same request key again
    /// is the same write.
    func write(_ change: PendingChange) throws(BackendError) -> WriteSummary

    /// Returns the schema in force, with the commit that set it; nil if there is none.
    func schema() throws(BackendError) -> SchemaDocument?

    /// Sets the schema. The same request key again is the same write.
    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary

    /// Returns the changes after a place in history, or the first of them; where history does not reach back, the state.
    func news(since place: Cursor) throws(BackendError) -> SettingsObservation

    /// Sends a call about the past.
    func send<Output>(_ call: PastCall<Output>) throws(BackendError) -> Output

    /// Calls the handler with everything that happens after a place in history, in order, until it is stopped. Calls
    /// `onTrouble` with the reason if that fails and is not likely to work soon, once until it works again. Both are called
    /// on a thread of the backend's, never from within another call.
    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following
}

/// A subscription that can be stopped.
protocol Following: Sendable {
    /// Ends it. A call of the handler on another thread goes on, and one more may begin after this has returned.
    func stop()

    /// Has the handler called soon with how far everything is known, even if nothing has happened.
    func refresh()
}

/// The reason why a backend could not do what was asked.
enum BackendError: Error, Equatable, Sendable {
    case refused(Problem)
    /// There was no answer, for this reason.
    case unreachable(String, outcome: Problem.Outcome = .unknown)
    /// The server cannot do it at present, or what came is no answer. Asking again before the pause is over is in vain.
    case unavailable(String, retryAfter: Duration)
    /// There was no answer, for this reason; the write is in the outbox.
    case kept(String)
}

/// A backend for a suite that cannot be found: every call throws the reason.
final class NoBackend: SuiteBackend {
    let suite: SuiteName
    private let error: BackendError

    init(suite: SuiteName, reason: String) {
        self.suite = suite
        error = .unreachable(reason)
    }

    func load() throws(BackendError) -> ObservedState { throw error }
    func setting(_ key: KeyName) throws(BackendError) -> SettingState { throw error }
    func write(_ change: PendingChange) throws(BackendError) -> WriteSummary { throw error }
    func schema() throws(BackendError) -> SchemaDocument? { throw error }
    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary { throw error }
    func news(since place: Cursor) throws(BackendError) -> SettingsObservation { throw error }
    func send<Output>(_ call: PastCall<Output>) throws(BackendError) -> Output { throw error }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following { Nothing() }

    private struct Nothing: Following {
        func stop() {}
        func refresh() {}
    }
}

/// An outcome of sending a write that is kept.
enum SendOutcome: Equatable, Sendable {
    case done(WriteSummary)
    case refused(Problem)
    /// It is sent again, at the earliest after a pause.
    case waits(reason: String, atLeast: Duration, isAnswer: Bool)
    /// It has met a conflict, and its plan may have another form for what is there; nil if that was not told.
    case conflict(Problem, current: SettingState?)

    /// The longest pause that a server may ask for: it may be a proxy.
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
                self = .conflict(problem, current: problem.conflicting.flatMap { $0.isConcealed ? nil : $0 })
            } else {
                self = .refused(problem)
            }
        }
    }
}

extension Problem {
    /// The setting as it is instead of what the first condition asked for.
    var conflicting: SettingState? {
        guard code == .preconditionFailed, case .setting(let setting)? = self.failed.first?.current else { return nil }
        return setting
    }

    /// True if it says nothing about what was asked: it cannot be done at the moment, or a proxy says it, as a daemon gives
    /// everything a code.
    var isNoVerdict: Bool {
        isTransient || self.status >= 500 && self.status != 501 && self.status != 505
            || self.codeName.isEmpty
    }
}

extension BackendError {
    /// True if the server would say the same again.
    var isVerdict: Bool {
        if case .refused(let problem) = self { !problem.isNoVerdict } else { false }
    }
}

/// The start of the timeout of a getter or setter, which all of its requests share.
enum WaitingTime {
    @TaskLocal private static var start: ContinuousClock.Instant?

    /// Returns the deadline of a request that is sent now.
    static func deadline(after timeout: Duration) -> ContinuousClock.Instant {
        (start ?? .now) + timeout
    }

    /// Runs a body whose requests share one timeout. Inside another such body they share that one's.
    ///
    /// - Parameter spent: the part of the timeout that was spent before.
    static func sharing<Result, Failure: Error>(
        spent: Duration = .zero, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard start == nil else { return try body() }
        let result = $start.withValue(.now - spent) {
            Swift.Result { () throws(Failure) in try body() }
        }
        return try result.get()
    }

    /// Runs a body whose requests have timeouts of their own. A task that it starts inherits task-local values, and would
    /// count its timeouts from the start of a getter that is long over.
    static func apart(_ body: () -> Void) {
        $start.withValue(nil, operation: body)
    }

    /// Runs a body, and returns the time that it took.
    static func measuring<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> (result: Result, spent: Duration) {
        let begin = ContinuousClock.now
        let result = try sharing(body)
        return (result, .now - begin)
    }
}
