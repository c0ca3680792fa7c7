package import SettingsAPI
package import SettingsHTTP
package import SettingsModel

/// The storage of one suite: a daemon, or the memory of the program.
///
/// Each call returns when the backend has an answer, or when the timeout of the backend is over. No call blocks a
/// thread.
package protocol SuiteBackend: AnyObject, Sendable {
    var suite: SuiteName { get }

    /// Returns the current state of the suite. A suite that does not exist is empty.
    func load() async throws(BackendError) -> ObservedState

    /// Returns the current state of one setting with its source and its revision, which an ``ObservedState`` lacks.
    func setting(_ key: KeyName) async throws(BackendError) -> SettingState

    /// Commits a change. If a condition does not hold, the refusal contains the current setting. A second call with the
    /// same request key returns the result of the first call.
    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary

    /// Returns the current schema with the commit that set it. Returns nil if there is no schema.
    func schema() async throws(BackendError) -> SchemaDocument?

    /// Sets the schema. A second call with the same request key returns the result of the first call.
    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary

    /// Returns the changes after a cursor, or only the first of many changes. If the history does not reach back to the
    /// cursor, returns the state.
    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation

    /// Sends a request that does not use the queue of writes.
    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output

    /// Calls the handler with all changes after a cursor, in order, until the caller stops the subscription. Calls
    /// `onFailure` with the reason when the backend gets no changes and a retry is not likely to succeed soon, once for
    /// each outage. The backend calls the handler on its own thread, one call after the other. `onFailure` may also run
    /// on the calling thread before this method returns.
    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription
}

/// A subscription to the changes of a suite, see ``SuiteBackend/follow(from:onFailure:_:)``.
package protocol BackendSubscription: Sendable {
    /// Ends the subscription. A call of the handler on another thread continues, and one more call may begin after this
    /// method returns.
    func stop()

    /// Asks the backend to call the handler soon with the current cursor, even if nothing has changed.
    func refresh()

    /// Tells the daemon which state the program has applied, in the background.
    func report(_ report: ClientReport)
}

extension BackendSubscription {
    package func report(_ report: ClientReport) {}
}

/// The reason why a backend has not carried out a request.
package enum BackendError: Error, Equatable, Sendable {
    case refused(Problem)
    /// There is no answer. The outcome says whether the daemon may have carried out the request.
    case unreachable(String, outcome: Problem.Outcome = .unknown)
    /// The daemon cannot carry out the request at present, or the answer is not from a daemon. A retry before
    /// `retryAfter` is over will probably fail.
    case unavailable(String, retryAfter: Duration)
    /// The write stays in the queue, because the daemon has not answered yet. The text is the reason.
    case queued(String)
    case cancelled
    /// The address or the name of the suite cannot be used.
    case unusable(String)
    /// The request was not sent, because its token cannot be read or is not a valid token.
    case unusableToken(String)
}

/// A backend for a suite whose address or name is not valid. Every request throws the reason. `follow` never calls its
/// functions.
final class NoBackend: SuiteBackend {
    let suite: SuiteName
    let error: BackendError

    init(suite: SuiteName, reason: String) {
        self.suite = suite
        error = .unusable(reason)
    }

    func load() throws(BackendError) -> ObservedState { throw error }
    func setting(_ key: KeyName) throws(BackendError) -> SettingState { throw error }
    func write(_ change: PendingChange) throws(BackendError) -> WriteSummary { throw error }
    func schema() throws(BackendError) -> SchemaDocument? { throw error }
    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary { throw error }
    func changes(since cursor: Cursor) throws(BackendError) -> SettingsObservation { throw error }
    func send<Output>(_ call: DirectRequest<Output>) throws(BackendError) -> Output { throw error }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription { NoSubscription() }

    private struct NoSubscription: BackendSubscription {
        func stop() {}
        func refresh() {}
    }
}

/// The outcome of an attempt to send a queued write.
enum SendOutcome: Equatable, Sendable {
    case done(WriteSummary)
    case refused(Problem)
    /// The write stays at the head of the queue and is sent again after a pause.
    case waits(SendDelay)
    /// A condition does not hold, but the client can compute the change again from the current value. The current
    /// setting is nil if the refusal does not contain the setting with its value.
    case conflict(Problem, current: SettingState?)

    /// The longest pause that an answer can ask for. Without this limit, a wrong answer of a proxy could stop the
    /// queue.
    private static let maxRequestedPause = Duration.seconds(300)

    init(_ result: Result<WriteSummary, BackendError>, of change: PendingChange) {
        switch result {
        case .success(let summary): self = .done(summary)
        case .failure(.unreachable(let reason, _)), .failure(.queued(let reason)):
            self = .waits(SendDelay(reason: reason, isReachable: false))
        case .failure(.unusable(let reason)): self = .refused(Problem(.badRequest, reason))
        case .failure(.unusableToken(let reason)):
            self = .waits(SendDelay(reason: reason, isReachable: false, needsIntervention: true))
        case .failure(.cancelled): self = .waits(SendDelay(reason: "the request was cancelled", isReachable: false))
        case .failure(.unavailable(let reason, let pause)):
            self = .waits(
                SendDelay(reason: reason, isReachable: true, atLeast: min(max(.zero, pause), Self.maxRequestedPause)))
        case .failure(.refused(let problem)):
            if problem.allowsLaterSuccess {
                let pause = Duration.milliseconds(max(0, problem.retryAfterMs ?? 0))
                self = .waits(
                    SendDelay(
                        reason: problem.description, isReachable: true, atLeast: min(pause, Self.maxRequestedPause),
                        needsIntervention: problem.code == .unauthorized))
            } else if change.isConflict(problem) {
                self = .conflict(problem, current: problem.conflicting.flatMap { $0.isConcealed ? nil : $0 })
            } else {
                self = .refused(problem)
            }
        }
    }
}

/// The reason for which a write waits before the next attempt to send it.
struct SendDelay: Equatable, Sendable {
    let reason: String
    /// True if a server has answered, but the write has to wait: the daemon does not accept the write at present, the
    /// answer is not from a daemon, or the outbox file cannot be written.
    let isReachable: Bool
    /// The shortest pause.
    var atLeast = Duration.zero
    /// True if the cause does not end by itself, for example because a person has to install another token.
    var needsIntervention = false
}

extension Problem {
    /// The current setting of the first condition that did not hold.
    var conflicting: SettingState? {
        guard code == .preconditionFailed, case .setting(let setting)? = self.failed.first?.current else { return nil }
        return setting
    }

    /// True if the same request may succeed later, because the cause is not the request itself: the daemon cannot carry
    /// out the request at present, the token is missing or has expired, or the answer is from a proxy. A refusal
    /// without a code is from a proxy, because a daemon gives each refusal a code.
    var allowsLaterSuccess: Bool {
        switch code {
        case .unauthorized: true
        // The refusal by a quota contains the limit, and a retry fails. A full disk may have room later.
        case .insufficientStorage: self.limit == nil
        // 501 and 505 say that the server will never carry out such a request.
        default: isTransient || self.status >= 500 && self.status != 501 && self.status != 505 || self.codeName.isEmpty
        }
    }
}

extension BackendError {
    /// True if a repetition of the request would probably get the same answer.
    var isFinal: Bool {
        switch self {
        case .refused(let problem): !problem.allowsLaterSuccess || problem.code == .unauthorized
        case .unusable: true
        case .unreachable, .unavailable, .queued, .cancelled, .unusableToken: false
        }
    }
}
