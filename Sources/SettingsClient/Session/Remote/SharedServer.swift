internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The connections to one server, and the followers of its suites. All sessions of the process with the same server,
/// token and client name share these connections and followers. The last session releases them.
final class SharedServer: Sendable {
    let address: ServerAddress
    /// Nil for the token of the environment: `SETTINGS_TOKEN_FILE` or `SETTINGS_TOKEN`.
    let token: AccessToken?
    /// The name under which the process reports the states that it has applied. Nil to report nothing.
    let client: ClientName?
    /// The connections for all requests except long polls. The pool keeps one idle connection. Concurrent requests open
    /// further connections.
    private let pool: ConnectionPool
    /// The long polls that are sent after a pause, because the last request failed or the daemon shuts down.
    /// ``recordAnswer()`` ends these pauses.
    private let waitingPolls = Mutex<[ObjectIdentifier: AsyncRequest]>([:])
    private let hasWaitingPolls = Atomic(false)
    private let followers = Mutex<[SuiteName: WeakFollower]>([:])

    private struct WeakFollower {
        weak var follower: RemoteFollower?
    }

    private struct Key: Hashable {
        let address: ServerAddress
        let token: DefaultsToken?
        let client: ClientName?
    }

    private struct Entry {
        weak var server: SharedServer?
    }

    /// The shared servers of the process.
    private static let servers = Mutex<[Key: Entry]>([:])
    private let key: Key

    /// Returns the shared server for an address, a token and a client name. Creates it if necessary.
    static func at(
        _ address: ServerAddress, token: DefaultsToken? = nil, client: ClientName? = nil
    ) -> SharedServer {
        let key = Key(address: address, token: token, client: client)
        return servers.withLock { servers in
            if let server = servers[key]?.server { return server }
            let server = SharedServer(address, token: token, client: client)
            servers[key] = Entry(server: server)
            return server
        }
    }

    /// Creates a server. Only ``at(_:token:client:)`` adds a server to the shared servers of the process.
    init(_ address: ServerAddress, token: DefaultsToken? = nil, client: ClientName? = nil) {
        self.address = address
        self.client = client
        self.token = token?.accessToken
        key = Key(address: address, token: token, client: client)
        pool = ConnectionPool(address, keeping: 1, token: self.token)
    }

    deinit {
        let key = key
        // Another thread may have created another server for the same key in the meantime. The closure returns the
        // other server, because the release of its last reference under the lock would cause a deadlock.
        _ = Self.servers.withLock { servers in
            let other = servers[key]?.server
            if other == nil { servers[key] = nil }
            return other
        }
    }
}

/// The answer to a request, or the reason why there is none.
struct ServerAnswer<Output: Sendable>: Sendable {
    let result: Result<Output, SettingsError>
    /// The epoch of the history that the daemon had when it answered. Nil if there was no answer, or if the answer has
    /// no cursor.
    let epoch: Epoch?
}

extension SharedServer {
    /// Sends a request once.
    func send<Output>(_ call: Endpoint<Output>, by deadline: ContinuousClock.Instant) async -> ServerAnswer<Output> {
        do throws(SettingsError) {
            let reply = try await pool.exchange(call.request, by: deadline)
            if !reply.isFromGateway { recordAnswer() }
            let epoch = reply.cursor?.epoch
            return ServerAnswer(
                result: Result { () throws(SettingsError) in try read(reply, of: call) }, epoch: epoch)
        } catch {
            return ServerAnswer(result: .failure(error), epoch: nil)
        }
    }

    /// Reads an answer. Throws for the answer of a gateway that cannot reach the daemon.
    func read<Output>(_ reply: Reply, of call: Endpoint<Output>) throws(SettingsError) -> Output {
        guard !reply.isFromGateway else {
            throw .unreachable(
                "a gateway answered \(reply.status) because it cannot reach the daemon",
                outcome: call.isWrite ? .unknown : .notDone)
        }
        return try call.read(reply)
    }

    /// Sends a write that has a request key. Repeats the write after a failure that a retry may fix, until the
    /// deadline.
    func sendRepeatedly<Output>(
        _ call: Endpoint<Output>, by deadline: ContinuousClock.Instant
    ) async -> ServerAnswer<Output> {
        var repeats = WriteRetries()
        var generator = SystemRandomNumberGenerator()
        while true {
            let answer = await send(call, by: deadline)
            guard case .failure(let error) = answer.result else { return answer }
            if let pause = repeats.pause(after: error, using: &generator), .now + pause < deadline {
                _ = await Promise<Void>().value(until: .now + pause)
                continue
            }
            return ServerAnswer(result: .failure(repeats.summary(of: error)), epoch: answer.epoch)
        }
    }
}

extension SharedServer {
    /// Ends the pauses of the waiting long polls, because the server can be reached. Called after an answer of
    /// the daemon, but not after the answer of a gateway, and not after the answer to a long poll if the daemon has
    /// refused the long poll or shuts down.
    func recordAnswer() {
        guard hasWaitingPolls.load(ordering: .acquiring) else { return }
        let polls = waitingPolls.withLock { waitingPolls in
            hasWaitingPolls.store(false, ordering: .relaxed)
            defer { waitingPolls = [:] }
            return waitingPolls.values
        }
        for poll in polls { poll.sendNow() }
    }

    /// Sets the long poll of a follower that is sent as soon as another request gets an answer. Nil if the
    /// follower has no long poll that waits for the end of a pause.
    func setWaitingPoll(_ poll: AsyncRequest?, of follower: ObjectIdentifier) {
        waitingPolls.withLock { waitingPolls in
            waitingPolls[follower] = poll
            hasWaitingPolls.store(!waitingPolls.isEmpty, ordering: .releasing)
        }
    }
}

extension SharedServer {
    /// Subscribes to all changes of a suite after a cursor. All subscriptions of a suite share one follower. Calls
    /// `onFailure` as ``RemoteFollower/follow(from:onFailure:_:)`` does.
    func follow(
        _ suite: SuiteName, from cursor: Cursor, onFailure: @escaping @Sendable (SettingsError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> RemoteFollower.Subscription {
        while true {
            let follower = follower(of: suite, from: cursor)
            if let subscription = follower.follow(from: cursor, onFailure: onFailure, handler) { return subscription }
            // The last subscription of the follower has ended, so a new follower is necessary.
            followers.withLock { followers in
                if followers[suite]?.follower === follower { followers[suite] = nil }
            }
        }
    }

    private func follower(of suite: SuiteName, from cursor: Cursor) -> RemoteFollower {
        followers.withLock { followers in
            if let follower = followers[suite]?.follower { return follower }
            let follower = RemoteFollower(suite, self, from: cursor)
            followers[suite] = WeakFollower(follower: follower)
            return follower
        }
    }
}

/// Decides when a write is sent again with the same request key. A state machine without I/O.
struct WriteRetries: Sendable {
    /// True if the daemon may have carried out one of the attempts.
    private(set) var mayBeDone = false
    /// The last reason why the server could not be reached.
    private var reason: String?
    private var attempts = 0
    private var backOff = BackOff()

    init() {}

    /// Records a failed attempt. Returns the pause before the next attempt, or nil if a retry would not help.
    mutating func pause(
        after error: SettingsError, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        attempts += 1
        if error.outcome == .unknown { mayBeDone = true }
        switch error {
        case .unreachable(let reason, _):
            self.reason = reason
            // If the first attempt failed after the request was sent, the server has probably closed an idle
            // connection, so the write is sent again immediately over a new connection.
            return attempts == 1 && mayBeDone ? .zero : backOff.next(using: &generator)
        case .problem(let problem, _):
            guard problem.isTransient else { return nil }
            let requestedPause = BackOff.requestedPause(milliseconds: problem.retryAfterMs)
            return backOff.next(notBefore: requestedPause, using: &generator)
        case .timedOut, .unusableToken, .malformedAnswer, .cancelled: return nil
        }
    }

    /// Returns the last failure with the outcome of all attempts. If an earlier attempt has no known outcome, the write
    /// may have been carried out.
    func summary(of error: SettingsError) -> SettingsError {
        let outcome = mayBeDone ? .unknown : error.outcome
        // The reason of an earlier attempt tells the user more than the timeout of the last attempt.
        if case .timedOut = error, let reason { return .unreachable(reason, outcome: outcome) }
        guard mayBeDone else { return error }
        return switch error {
        case .unreachable(let reason, _): .unreachable(reason, outcome: .unknown)
        case .timedOut(let reason, _): .timedOut(reason, outcome: .unknown)
        case .unusableToken(let reason, _): .unusableToken(reason, outcome: .unknown)
        case .malformedAnswer(let reason, _): .malformedAnswer(reason, outcome: .unknown)
        case .cancelled: .cancelled(outcome: .unknown)
        case .problem(let problem, let revision): .problem(problem.afterUnansweredAttempt, revision: revision)
        }
    }
}

extension SettingsError {
    /// True if the daemon has refused the request because of its load, or because it lags behind other daemons. If
    /// another request gets an answer, the daemon may still refuse this request.
    var isOverload: Bool {
        switch code {
        case .tooManyConnections, .tooManyWatchers, .tooManyRequests, .overloaded, .behind: true
        default: false
        }
    }
}
