internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The backend of a session for one suite of a daemon (see ``SuiteBackend``).
final class RemoteBackend: SuiteBackend {
    let suite: SuiteName
    private let server: SharedServer
    private let timeout: Duration
    private let currentSubscription = Mutex(WeakSubscription())

    private struct WeakSubscription {
        weak var subscription: RemoteFollower.Subscription?
    }

    init(suite: SuiteName, server: SharedServer, timeout: Duration) {
        self.suite = suite
        self.server = server
        // `bounded` limits the timeout to 68 years, so that the computation of a deadline cannot overflow.
        self.timeout = timeout.bounded
    }

    func load() async throws(BackendError) -> ObservedState {
        let call = Endpoint.observe(watched, since: nil, wait: nil, limit: nil, latest: false)
        guard case .state(let state) = try await sendWithinHistory({ await server.send(call, by: $0) }) else {
            throw failure("the daemon sent changes in answer to a request for the whole state of the suite")
        }
        // The follower may have delivered another history after `sendWithinHistory` compared the epochs.
        guard subscription.map({ $0.history.isAt(state.cursor.epoch) }) ?? true else {
            throw failure(Self.otherHistoryReason)
        }
        return state
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        let call = Endpoint.observe(watched, since: .cursor(cursor), wait: .zero, limit: nil, latest: false)
        let observation = try await sendWithinHistory { await server.send(call, by: $0) }
        if case .changes = observation { return observation }
        // The daemon has answered with a state. A state that is marked as a reset would replace the replica by another
        // history, which only the follower may do. So this method loads the state again, without a cursor. The loaded
        // state has no mark.
        return .state(try await load())
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try await sendWithinHistory {
            let answer = await server.send(.setting(key, in: suite), by: $0)
            let result = answer.result.map(\.body).flatMapError { error in
                SettingState(suite: suite, key: key, describedBy: error).map { .success($0) } ?? .failure(error)
            }
            return ServerAnswer(result: result, epoch: answer.epoch)
        }
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        let options = WriteOptions(requestKey: change.requestKey)
        let call: Endpoint<Answer<WriteSummary>> =
            switch change.action {
            case .transaction(let transaction): .commit(transaction, options)
            case .removeAll: .reset(suite, prefix: nil, options)
            }
        // The sending task of the session repeats a write without an answer, so `sendRepeatedly` is not necessary.
        return try await sendWithinHistory { await server.send(call, by: $0) }.body
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try await sendWithinHistory {
            let answer = await server.send(.schema(of: suite), by: $0)
            let result = answer.result.map(Optional.some).flatMapError { error in
                error.code == .noSchema || error.code == .unknownSuite ? .success(nil) : .failure(error)
            }
            return ServerAnswer(result: result, epoch: answer.epoch)
        }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        let call = Endpoint.setSchema(document, of: suite, onConflict: policy, WriteOptions(requestKey: requestKey))
        // The request is not in the queue, so no sending task repeats it after a failure that a retry may fix.
        return try await sendWithinHistory { await server.sendRepeatedly(call, by: $0) }.body
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        try await sendWithinHistory { deadline in
            call.endpoint.isWrite
                ? await server.sendRepeatedly(call.endpoint, by: deadline)
                : await server.send(call.endpoint, by: deadline)
        }
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        let address = server.address
        let subscription = server.follow(
            suite, from: cursor,
            onFailure: { error in
                switch error {
                case .problem(let problem, _): onFailure(.refused(problem))
                case .unusableToken(let reason, _): onFailure(.unusableToken(reason))
                default: onFailure(.unreachable("\(address): \(error)"))
                }
            }, handler)
        currentSubscription.withLock { $0.subscription = subscription }
        return subscription
    }

    private var subscription: RemoteFollower.Subscription? { currentSubscription.withLock { $0.subscription } }

    /// Sends a request, and repeats the request until the answer belongs to the history that the follower has
    /// delivered. Throws when the timeout is over.
    private func sendWithinHistory<Output>(
        _ send: (ContinuousClock.Instant) async -> ServerAnswer<Output>
    ) async throws(BackendError) -> Output {
        let deadline = ContinuousClock.now + timeout
        let subscription = subscription
        while true {
            let epochChanges = subscription?.history.epochChanges ?? 0
            let answer = await send(deadline)
            if let subscription, let epoch = answer.epoch, !subscription.history.isAt(epoch) {
                // Epochs have no order, so it is unknown whether the epoch of the answer is older or newer. If the
                // follower has switched to another history since the request was sent, the answer may be from the
                // previous history, so the request is repeated. Otherwise the request waits for the follower.
                if subscription.history.epochChanges == epochChanges {
                    subscription.refresh()
                    await subscription.history.waitForEpochChange(after: epochChanges, until: deadline)
                }
                if !subscription.history.isAt(epoch) {
                    // Revisions of two histories cannot be compared, so the answer cannot be used.
                    guard ContinuousClock.now < deadline else { throw failure(Self.otherHistoryReason) }
                    continue
                }
            }
            do throws(SettingsError) {
                return try answer.result.get()
            } catch {
                switch error {
                case .problem(let problem, _) where !problem.isTransient: throw .refused(problem)
                case .problem(let problem, _):
                    throw failure(error, retryAfter: .milliseconds(problem.retryAfterMs ?? 0))
                case .malformedAnswer: throw failure(error, retryAfter: .zero)
                case .cancelled: throw .cancelled
                case .unusableToken(let reason, _): throw .unusableToken(reason)
                case .unreachable, .timedOut:
                    throw failure(error.description, outcome: error.outcome)
                }
            }
        }
    }

    private static let otherHistoryReason = "the daemon has a new history, and the client could not load it in time"

    private func failure(_ reason: String, outcome: Problem.Outcome = .unknown) -> BackendError {
        .unreachable("\(server.address): \(reason)", outcome: outcome)
    }

    private func failure(_ answer: SettingsError, retryAfter: Duration) -> BackendError {
        .unavailable("\(server.address): \(answer)", retryAfter: retryAfter)
    }

    /// The suite as a list with one suite, because the answer for a list has a cursor even if the suite does not exist.
    private var watched: ObservedSubject {
        ObservedSubject(scope: .several([suite]))
    }
}

extension SettingState {
    /// Creates the setting that the refusal of a read describes: a setting without a value, or with a stored value that
    /// the schema does not allow.
    fileprivate init?(suite: SuiteName, key: KeyName, describedBy error: SettingsError) {
        guard case .problem(let problem, let revision) = error else { return nil }
        let source: Source
        switch problem.code {
        case .notSet, .unknownSuite, .unknownKey: source = .unset
        case .invalidStored: source = .invalid
        default: return nil
        }
        self.init(suite: suite, key: key, value: nil, source: source, revision: revision ?? .zero, modified: nil)
        stored = problem.stored
        errors = problem.errors
    }
}

/// The history that a follower has delivered to its handler.
///
/// A daemon may be replaced by a daemon with other data, which has another history and another epoch. The answer to a
/// request may then belong to a history that the follower has not delivered yet, or to the previous history. Revisions
/// of different histories cannot be compared, so a request waits until the follower has delivered the history of its
/// answer.
final class DeliveredHistory: Sendable {
    private struct State {
        /// Nil while the follower delivers the first state of another history.
        var epoch: Epoch?
        var epochChanges = 0
        var nextEpochChange = Promise<Void>()
    }

    private let state: Mutex<State>

    init(_ epoch: Epoch) {
        state = Mutex(State(epoch: epoch))
    }

    var epochChanges: Int { state.withLock { $0.epochChanges } }

    func isAt(_ epoch: Epoch) -> Bool {
        state.withLock { $0.epoch == epoch }
    }

    /// Calls a function that delivers an observation with this epoch. Only one thread may call this method at a time.
    func deliver(of epoch: Epoch, _ body: () -> Void) {
        let isEpochChange = state.withLock { state in
            guard state.epoch != epoch else { return false }
            state.epoch = nil
            return true
        }
        body()
        guard isEpochChange else { return }
        let change = state.withLock { state in
            state.epoch = epoch
            state.epochChanges += 1
            defer { state.nextEpochChange = Promise() }
            return state.nextEpochChange
        }
        change.fulfill(())
    }

    /// Waits until there are more epoch changes than the given number, or until the deadline.
    func waitForEpochChange(after epochChanges: Int, until deadline: ContinuousClock.Instant) async {
        let change = state.withLock { $0.epochChanges > epochChanges ? nil : $0.nextEpochChange }
        _ = await change?.value(until: deadline)
    }
}
