internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite of a daemon. Each call ends at its deadline.
final class RemoteBackend: SuiteBackend {
    let suite: SuiteName
    private let server: SharedServer
    private let timeout: Duration
    private let following = Mutex(WeakSubscription())

    private struct WeakSubscription {
        weak var subscription: RemoteFollower.Subscription?
    }

    init(suite: SuiteName, server: SharedServer, timeout: Duration) {
        self.suite = suite
        self.server = server
        self.timeout = timeout.bounded
    }

    func load() async throws(BackendError) -> ObservedState {
        let call = Endpoint.observe(watched, since: nil, wait: nil, limit: nil, latest: false)
        guard case .state(let state) = try await ask({ await server.send(call, by: $0) }) else {
            throw failure("the daemon answers with changes to a request for the state")
        }
        guard subscription.map({ $0.history.isAt(state.cursor.epoch) }) ?? true else {
            throw failure(Self.isAnother)
        }
        return state
    }

    func news(since place: Cursor) async throws(BackendError) -> SettingsObservation {
        let call = Endpoint.observe(watched, since: .cursor(place), wait: .zero, limit: nil, latest: false)
        let news = try await ask { await server.send(call, by: $0) }
        // Only the follower begins anew with a state of another history.
        if case .changes = news { return news }
        return .state(try await load())
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try await ask {
            let answer = await server.send(.setting(key, in: suite), by: $0)
            let result = answer.result.map(\.body).flatMapError { error in
                SettingState(suite: suite, key: key, ifToldBy: error).map { .success($0) } ?? .failure(error)
            }
            return ServerAnswer(result: result, epoch: answer.epoch)
        }
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        let options = WriteOptions(requestKey: change.requestKey)
        let call: Endpoint<Answer<WriteSummary>> =
            switch change.action {
            case .transaction(let transaction): .commit(transaction, options)
            case .reset: .reset(suite, prefix: nil, options)
            }
        return try await ask { await server.send(call, by: $0) }.body
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try await ask {
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
        return try await ask { await server.sendRepeatedly(call, by: $0) }.body
    }

    func send<Output>(_ call: PastCall<Output>) async throws(BackendError) -> Output {
        try await ask { deadline in
            call.endpoint.isWrite
                ? await server.sendRepeatedly(call.endpoint, by: deadline)
                : await server.send(call.endpoint, by: deadline)
        }
    }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        let address = server.address
        let subscription = server.follow(
            suite, from: cursor,
            onTrouble: { error in
                switch error {
                case .problem(let problem, _): onTrouble(.refused(problem))
                case .unusableToken(let reason, _): onTrouble(.unusableToken(reason))
                default: onTrouble(.unreachable("\(address): \(error)"))
                }
            }, handler)
        following.withLock { $0.subscription = subscription }
        return subscription
    }

    private var subscription: RemoteFollower.Subscription? { following.withLock { $0.subscription } }

    /// Sends a request until its answer is from the history that the follower has delivered.
    private func ask<Output>(
        _ send: (ContinuousClock.Instant) async -> ServerAnswer<Output>
    ) async throws(BackendError) -> Output {
        let deadline = ContinuousClock.now + timeout
        let subscription = subscription
        while true {
            let moves = subscription?.history.moves ?? 0
            let answer = await send(deadline)
            if let subscription, let epoch = answer.epoch, !subscription.history.isAt(epoch) {
                // Epochs have no order. The answer is the older one if the follower has moved meanwhile.
                if subscription.history.moves == moves {
                    subscription.refresh()
                    await subscription.history.waitForMove(after: moves, until: deadline)
                }
                if !subscription.history.isAt(epoch) {
                    // Its revisions must not be compared with those of the replica, so it counts as no answer.
                    guard ContinuousClock.now < deadline else { throw failure(Self.isAnother) }
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

    private static let isAnother = "the daemon has another history, which the follower was not told in time"

    private func failure(_ reason: String, outcome: Problem.Outcome = .unknown) -> BackendError {
        .unreachable("\(server.address): \(reason)", outcome: outcome)
    }

    private func failure(_ answer: SettingsError, retryAfter: Duration) -> BackendError {
        .unavailable("\(server.address): \(answer)", retryAfter: retryAfter)
    }

    /// The suite as one of several: one that does not exist is then an answer with a place in history, and no refusal.
    private var watched: Watched {
        Watched(scope: .several([suite]))
    }
}

extension SettingState {
    /// The setting that a refusal describes: it has no value, or one that does not fit the schema.
    fileprivate init?(suite: SuiteName, key: KeyName, ifToldBy error: SettingsError) {
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
/// A daemon may be replaced by a daemon with other data. An answer may then come from a history that the follower has not
/// delivered yet, or late from the history before. Revisions of different histories cannot be compared, so an answer waits until
/// the follower has delivered its history.
final class DeliveredHistory: Sendable {
    private struct State {
        /// Nil while the follower delivers the first state of another history.
        var epoch: Epoch?
        var moves = 0
        /// Fulfilled at the next move.
        var nextMove = Promise<Void>()
    }

    private let state: Mutex<State>

    init(_ epoch: Epoch) {
        state = Mutex(State(epoch: epoch))
    }

    /// The number of moves to another history.
    var moves: Int { state.withLock { $0.moves } }

    func isAt(_ epoch: Epoch) -> Bool {
        state.withLock { $0.epoch == epoch }
    }

    /// Delivers an observation of a history. Called by one thread at a time.
    func deliver(of epoch: Epoch, _ body: () -> Void) {
        let isMove = state.withLock { state in
            guard state.epoch != epoch else { return false }
            state.epoch = nil
            return true
        }
        body()
        guard isMove else { return }
        let move = state.withLock { state in
            state.epoch = epoch
            state.moves += 1
            defer { state.nextMove = Promise() }
            return state.nextMove
        }
        move.fulfill(())
    }

    /// Waits until there were more moves than the given number, or until the deadline.
    func waitForMove(after moves: Int, until deadline: ContinuousClock.Instant) async {
        let move = state.withLock { $0.moves > moves ? nil : $0.nextMove }
        _ = await move?.value(until: deadline)
    }
}
