internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// One server as all adapters of the process share it: the connection for what is asked, and whether anybody is there.
///
/// It lasts as long as an adapter that uses it, and its connections with it.
final class SharedServer: Sendable {
    let address: ServerAddress
    /// One connection, save while several threads ask at the same time.
    private let pool: ConnectionPool
    /// Whether a write waited until its deadline for somebody to be there. Until somebody is, others do not wait too.
    private let isAway = Atomic(false)
    /// Requests that go out later, as there was no answer last time, by who waits with them.
    private let later = Mutex<[ObjectIdentifier: LongPoll]>([:])
    private let hasLater = Atomic(false)
    /// The suites that are followed.
    private let followers = Mutex<[SuiteName: WeakFollower]>([:])

    private struct WeakFollower {
        weak var follower: RemoteFollower?
    }

    private struct Entry {
        weak var server: SharedServer?
    }

    private static let known = Mutex<[ServerAddress: Entry]>([:])

    /// The server at an address.
    static func at(_ address: ServerAddress) -> SharedServer {
        known.withLock { known in
            if let server = known[address]?.server { return server }
            let server = SharedServer(address)
            known[address] = Entry(server: server)
            return server
        }
    }

    /// One that only its owner uses.
    init(_ address: ServerAddress) {
        self.address = address
        pool = ConnectionPool(address, keeping: 1)
    }

    deinit {
        let address = address
        // Somebody may have asked for the same address meanwhile and have got another object. That is let go of outside
        // the lock, as this may be its last moment too.
        _ = Self.known.withLock { known in
            let other = known[address]?.server
            if other == nil { known[address] = nil }
            return other
        }
    }
}

/// What a server answered, and the history that this is from.
struct ServerAnswer<Output: Sendable>: Sendable {
    let result: Result<Output, SettingsError>
    /// Nil if there was no answer, or one that says nothing of it.
    let epoch: Epoch?
}

/// Asking, on the thread that calls.
extension SharedServer {
    func read<Output>(_ call: Endpoint<Output>, by deadline: ContinuousClock.Instant) -> ServerAnswer<Output> {
        do throws(SettingsError) {
            let reply = try pool.exchange(call.request, by: deadline)
            if !reply.isFromGateway { answered() }
            let epoch = reply.cursor?.epoch
            return ServerAnswer(
                result: Result { () throws(SettingsError) in try read(reply, of: call) }, epoch: epoch)
        } catch {
            return ServerAnswer(result: .failure(error), epoch: nil)
        }
    }

    /// Reads an answer. That of a gateway without a daemon behind it is none.
    func read<Output>(_ reply: Reply, of call: Endpoint<Output>) throws(SettingsError) -> Output {
        guard !reply.isFromGateway else {
            throw .unreachable(
                "a gateway answers \(reply.status), as it gets no answer of the daemon behind it",
                outcome: call.isWrite ? .unknown : .notDone)
        }
        return try call.read(reply)
    }

    /// Sends a write that has a request key, again and again if need be, until it is known what became of it or the time
    /// is over.
    func write<Output>(_ call: Endpoint<Output>, by deadline: ContinuousClock.Instant) -> ServerAnswer<Output> {
        var repeats = WriteRepeats(waitsForServer: !isAway.load(ordering: .relaxed))
        var generator = SystemRandomNumberGenerator()
        while true {
            let answer = read(call, by: deadline)
            guard case .failure(let error) = answer.result else { return answer }
            if let pause = repeats.pause(after: error, using: &generator) {
                let next = ContinuousClock.now + pause
                if next < deadline {
                    _ = PollSet.wait(for: [], on: -1, until: next)
                    continue
                }
                if case .unreachable = error { isAway.store(true, ordering: .relaxed) }
            }
            return ServerAnswer(result: .failure(repeats.summary(of: error)), epoch: answer.epoch)
        }
    }
}

/// Who is there, and who waits for that.
extension SharedServer {
    /// Somebody had an answer.
    func answered() {
        // A store would take the line of memory from other threads each time.
        if isAway.load(ordering: .relaxed) { isAway.store(false, ordering: .relaxed) }
        guard hasLater.load(ordering: .acquiring) else { return }
        let polls = later.withLock { later in
            hasLater.store(false, ordering: .relaxed)
            defer { later = [:] }
            return later.values
        }
        for poll in polls { poll.hurry() }
    }

    /// Has a request go out as soon as somebody has an answer, if it has not gone out by then; nil for none.
    func setLater(_ poll: LongPoll?, of follower: ObjectIdentifier) {
        later.withLock { later in
            later[follower] = poll
            hasLater.store(!later.isEmpty, ordering: .releasing)
        }
    }
}

/// Following suites.
extension SharedServer {
    /// Follows a suite from a place in history, over the follower that all adapters of the suite share. Calls `onTrouble`
    /// with the reason if that fails, once until it works again.
    func follow(
        _ suite: SuiteName, from cursor: Cursor, onTrouble: @escaping @Sendable (SettingsError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> RemoteFollower.Subscription {
        while true {
            let follower = follower(of: suite, from: cursor)
            if let subscription = follower.follow(from: cursor, onTrouble: onTrouble, handler) { return subscription }
            // Its last subscription ended just now.
            followers.withLock { followers in
                if followers[suite]?.follower === follower { followers[suite] = nil }
            }
        }
    }

    private func follower(of suite: SuiteName, from cursor: Cursor) -> RemoteFollower {
        followers.withLock { followers in
            if let follower = followers[suite]?.follower { return follower }
            // The suite is asked for as one of several: so one that does not exist is an answer, and no refusal.
            let follower = RemoteFollower(Watched(scope: .several([suite])), self, from: cursor)
            followers[suite] = WeakFollower(follower: follower)
            return follower
        }
    }
}

/// Whether a write is sent again that was not answered, under the same request key. It does no input and output.
struct WriteRepeats: Sendable {
    /// Whether it is worth waiting for a server that is not there: it may be about to come back.
    let waitsForServer: Bool
    /// Whether one of the attempts may have been done.
    private(set) var mayBeDone = false
    /// Why nobody was reached, the last time that this could be said.
    private var reason: String?
    private var attempts = 0
    private var backOff = BackOff()

    init(waitsForServer: Bool) {
        self.waitsForServer = waitsForServer
    }

    /// When to send it again, after an attempt that failed; nil for never.
    mutating func pause(
        after error: SettingsError, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        attempts += 1
        if error.outcome == .unknown { mayBeDone = true }
        switch error {
        case .unreachable(let reason, _):
            self.reason = reason
            guard mayBeDone || waitsForServer else { return nil }
            // A server that lost a connection is likely to be there.
            return attempts == 1 && mayBeDone ? .zero : backOff.next(using: &generator)
        case .problem(let problem, _):
            guard problem.isTransient else { return nil }
            let asked = BackOff.asked(milliseconds: problem.retryAfterMs)
            return backOff.next(notBefore: asked, using: &generator)
        case .timedOut, .malformedAnswer, .cancelled: return nil
        }
    }

    /// The last failure, with what is known of all attempts. What is refused for what it is, is known: if an earlier attempt
    /// had been done, its answer would have been given again.
    func summary(of error: SettingsError) -> SettingsError {
        let outcome = mayBeDone ? .unknown : error.outcome
        // That the time is over in the middle of an attempt says less than why those before it failed.
        if case .timedOut = error, let reason { return .unreachable(reason, outcome: outcome) }
        guard mayBeDone else { return error }
        return switch error {
        case .unreachable(let reason, _): .unreachable(reason, outcome: .unknown)
        case .timedOut(let reason, _): .timedOut(reason, outcome: .unknown)
        case .malformedAnswer(let reason, _): .malformedAnswer(reason, outcome: .unknown)
        case .cancelled: .cancelled(outcome: .unknown)
        case .problem(let problem, let revision): .problem(problem.afterAttemptThatMayBeDone, revision: revision)
        }
    }
}
