internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// Follows a suite of a server until it is stopped: one long-poll after the other, each on the thread that reads for the
/// whole process, over a connection of its own.
///
/// While it goes on it keeps itself: whoever lets go of it without `stop` has it go on for ever.
final class RemoteFollower: Following {
    private struct State {
        var place: ObservedPlace
        /// The request that is under way, or goes out later.
        var poll: LongPoll?
        /// When the last request went out, or will.
        var asked = ContinuousClock.now
        var isStopped = false
        /// Whether it was told that following fails, and it has not worked since.
        var isTroubled = false

        /// Whether there is something to tell of a failure: trying again is not likely to help, or not soon.
        mutating func isNewTrouble(_ step: ObservedPlace.Step, _ error: SettingsError) -> Bool {
            if case .again = step, error.code != .tooManyWatchers { return false }
            defer { isTroubled = true }
            return !isTroubled
        }
    }

    private let watched: Watched
    private let server: SharedServer
    private let pool: ConnectionPool
    private let reader: AnswerReader
    private let handler: @Sendable (SettingsObservation) -> Void
    private let onTrouble: @Sendable (SettingsError) -> Void
    private let state: Mutex<State>
    /// Which history the handler has been told of.
    let history: ToldHistory

    /// How long the daemon is asked to wait with its answers.
    private static let wait = Duration.seconds(60)
    /// How much longer than that an answer may take.
    private static let timeout = Duration.seconds(10)
    /// How far a request is from the one before, at least, once all is told. Of changes that come faster several are told in
    /// one answer: what a program changes is told to it, too, and to ask after each costs as much as to make it.
    static let pace = Duration.milliseconds(2)
    private let longPause: Duration

    /// `longPause` is how long it stays away after what trying again is not likely to help against: another program may
    /// have the address, or a proxy a mind of its own. `onTrouble` is told why, once until it works again.
    init(
        _ watched: Watched, _ server: SharedServer, from cursor: Cursor, reader: AnswerReader = .shared,
        longPause: Duration = .seconds(5), onTrouble: @escaping @Sendable (SettingsError) -> Void = { _ in },
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) {
        self.watched = watched
        self.server = server
        self.reader = reader
        self.longPause = longPause
        self.handler = handler
        self.onTrouble = onTrouble
        pool = ConnectionPool(server.address, keeping: 1, idleLimit: nil)
        state = Mutex(State(place: ObservedPlace(since: .cursor(cursor))))
        history = ToldHistory(cursor.epoch)
    }

    /// To be called once.
    func start() {
        ask()
    }

    func stop() {
        let poll = state.withLock { state in
            state.isStopped = true
            defer { state.poll = nil }
            return state.poll
        }
        poll?.cancel()
        pool.close()
    }

    /// Asks at once, over a new connection: the daemon may be another one.
    func askAnew() {
        state.withLock { $0.poll }?.cancel()
    }

    deinit {
        server.setLater(nil, of: ObjectIdentifier(self))
    }

    /// Asks what comes next, after a pause.
    ///
    /// - Parameter isAway: whether the pause is one because the daemon could not be had: then it ends when it can.
    private func ask(after pause: Duration = .zero, isAway: Bool = false) {
        let next = state.withLock { state -> (APICall<SettingsObservation>, LongPoll)? in
            guard !state.isStopped else { return nil }
            let call = APICall.observe(
                watched, since: state.place.since, wait: Self.wait, limit: nil, latest: false)
            let now = ContinuousClock.now
            let poll = LongPoll(
                call.request, pool, from: pause > .zero ? now + pause : nil,
                by: now + pause + Self.wait + Self.timeout, reader: reader)
            state.poll = poll
            state.asked = now + pause
            return (call, poll)
        }
        guard let (call, poll) = next else { return }
        server.setLater(isAway ? poll : nil, of: ObjectIdentifier(self))
        poll.start { [self] result in take(Result { () throws(SettingsError) in try call.read(result.get()) }) }
    }

    /// On the thread of the reader, unless the system has none.
    private func take(_ result: Result<SettingsObservation, SettingsError>) {
        var generator = SystemRandomNumberGenerator()
        let (step, trouble) = state.withLock { state -> (ObservedPlace.Step?, SettingsError?) in
            guard !state.isStopped else { return (nil, nil) }
            state.poll = nil
            switch result {
            case .success(let observation):
                state.isTroubled = false
                return (state.place.step(observation), nil)
            case .failure(.cancelled): return (.again(after: .zero), nil)
            case .failure(let error):
                let step = state.place.step(error, using: &generator)
                return (step, state.isNewTrouble(step, error) ? error : nil)
            }
        }
        if let trouble { onTrouble(trouble) }
        switch (step, result) {
        case (nil, _): return
        case (_, .failure(.cancelled)): ask()
        case (.deliver(let observation), _):
            history.tell(of: observation.cursor.epoch) { handler(observation) }
            goOn(after: state.withLock { $0.place.pause }, hasMore: observation.hasMore)
        case (.again, .success(let observation)):
            // It tells how far everything is known: what waits for a place waits for that, too.
            history.tell(of: observation.cursor.epoch) { handler(observation) }
            goOn(after: state.withLock { $0.place.pause }, hasMore: false)
        case (.again(let pause), .failure(let error)): ask(afterFailure: pause, isAway: !error.isLoad)
        case (.fail, _): ask(afterFailure: longPause, isAway: false)
        }
    }

    /// After an answer. A pause is one that a daemon asks for that goes down.
    private func goOn(after pause: Duration, hasMore: Bool) {
        if pause == .zero { server.answered() }
        let next = hasMore ? .now : state.withLock { $0.asked } + Self.pace
        ask(after: max(pause, next - .now, .zero), isAway: pause > .zero)
    }

    private func ask(afterFailure pause: Duration, isAway: Bool) {
        guard reader.isRunning else {
            // The system had no thread to wait in either, and may have none for a while.
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in ask() }
            return
        }
        ask(after: pause, isAway: isAway)
    }
}

extension SettingsError {
    /// Whether a daemon says that it has too much to do. It is there, and that it answers others says nothing of that.
    var isLoad: Bool {
        switch code {
        case .tooManyConnections, .tooManyWatchers, .tooManyRequests, .overloaded: true
        default: false
        }
    }
}

extension SettingsObservation {
    /// Whether there are more changes than were told.
    fileprivate var hasMore: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
