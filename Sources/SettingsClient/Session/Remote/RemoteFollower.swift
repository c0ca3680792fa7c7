internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A follower of one suite of a server, shared by all sessions of the process: it sends one long poll after the other, over
/// a connection of its own. Answers come on the thread of the reader.
///
/// Retains itself while it has subscriptions. Call `stop()` on each of them to end it.
final class RemoteFollower: Sendable {
    /// One session that follows, until `stop()` is called.
    final class Subscription: Following {
        let history: DeliveredHistory
        fileprivate let handler: @Sendable (SettingsObservation) -> Void
        fileprivate let onTrouble: @Sendable (SettingsError) -> Void
        private let follower: RemoteFollower
        private let id: UInt64

        fileprivate init(
            _ id: UInt64, of follower: RemoteFollower, from place: Cursor,
            _ onTrouble: @escaping @Sendable (SettingsError) -> Void,
            _ handler: @escaping @Sendable (SettingsObservation) -> Void
        ) {
            (self.id, self.follower, self.onTrouble, self.handler) = (id, follower, onTrouble, handler)
            history = DeliveredHistory(place.epoch)
        }

        func stop() {
            follower.remove(id)
        }

        func refresh() {
            follower.askAnew()
        }
    }

    private struct State {
        /// Paces the requests.
        var place: ObservedPlace
        /// The subscriptions, each with the place up to which everything was delivered to it.
        var subscriptions: [UInt64: (subscription: Subscription, place: Cursor)] = [:]
        var lastID: UInt64 = 0
        /// The place from which the last request asks.
        var origin: Cursor
        /// The place of the last answer.
        var newest: Cursor
        /// The request that is on its way, or goes out later.
        var poll: LongPoll?
        /// When the last request went out, or will.
        var asked = ContinuousClock.now
        /// True if the daemon is to answer the next request without waiting.
        var isUrgent = false
        var isStarted = false
        var isStopped = false
        /// The failure that was reported, until following works again.
        var trouble: SettingsError?

        /// True if a failure is to be reported: a retry is not likely to help soon.
        mutating func isNewTrouble(_ step: ObservedPlace.Step, _ error: SettingsError) -> Bool {
            if case .again = step, error.code != .tooManyWatchers { return false }
            defer { trouble = error }
            return trouble == nil
        }

        /// The place from which an answer is news to all. One in an older history has no order with the others, so it goes
        /// first: the answer is a state to begin anew with.
        var oldestPlace: Cursor {
            let places = subscriptions.values.map(\.place)
            return places.first { $0.epoch != newest.epoch } ?? places.min { $0.revision < $1.revision } ?? newest
        }

        /// Takes an answer in, and returns the subscriptions that miss nothing before it. The next request is for the others.
        mutating func receivers(of observation: SettingsObservation) -> [Subscription] {
            newest = observation.cursor
            var receivers: [Subscription] = []
            for (id, (subscription, place)) in subscriptions.sorted(by: { $0.key < $1.key }) {
                switch observation {
                case .changes:
                    guard place.epoch == origin.epoch, place.revision >= origin.revision else { continue }
                case .state:
                    // One that is further on in the same history can still have every change.
                    let isAsked = place.epoch == origin.epoch && place.revision <= origin.revision
                    guard isAsked || place.epoch != newest.epoch else { continue }
                }
                receivers.append(subscription)
                if place.epoch != newest.epoch || place.revision < newest.revision {
                    subscriptions[id]?.place = newest
                }
            }
            return receivers
        }
    }

    private let watched: Watched
    private let server: SharedServer
    private let pool: ConnectionPool
    private let reader: AnswerReader
    private let state: Mutex<State>

    /// How long the daemon is asked to wait with its answers.
    private static let wait = Duration.seconds(60)
    /// How much longer than that an answer may take.
    private static let timeout = Duration.seconds(10)
    private let pace: Duration
    private let longPause: Duration

    /// - Parameters:
    ///   - cursor: the place from which the first subscription follows.
    ///   - pace: the shortest time from one request to the next. A program that writes gets its own changes, too: a request
    ///     after each would cost as much as the write.
    ///   - longPause: the pause after a failure that a retry is not likely to help against, as another program has the
    ///     address.
    init(
        _ watched: Watched, _ server: SharedServer, from cursor: Cursor, reader: AnswerReader = .shared,
        pace: Duration = .milliseconds(2), longPause: Duration = .seconds(5)
    ) {
        self.watched = watched
        self.server = server
        self.reader = reader
        self.pace = pace
        self.longPause = longPause
        pool = ConnectionPool(server.address, keeping: 1, idleLimit: nil, token: server.token)
        state = Mutex(State(place: ObservedPlace(since: .cursor(cursor)), origin: cursor, newest: cursor))
    }

    /// Calls a handler with everything that happens after a place in history. Calls `onTrouble` with the reason if that
    /// fails, once until it works again. Nil once the follower has ended.
    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (SettingsError) -> Void = { _ in },
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> Subscription? {
        typealias Begun = (Subscription, behind: LongPoll?, trouble: SettingsError?, isFirst: Bool)
        let begun = state.withLock { state -> Begun? in
            guard !state.isStopped else { return nil }
            state.lastID += 1
            let subscription = Subscription(state.lastID, of: self, from: cursor, onTrouble, handler)
            state.subscriptions[state.lastID] = (subscription, cursor)
            let isBehind = cursor.epoch != state.origin.epoch || cursor.revision < state.origin.revision
            defer { state.isStarted = true }
            return (subscription, isBehind ? state.poll : nil, state.trouble, !state.isStarted)
        }
        guard let (subscription, behind, trouble, isFirst) = begun else { return nil }
        if isFirst { ask() }
        // The request on its way asks from a later place.
        behind?.cancel()
        if let trouble { onTrouble(trouble) }
        return subscription
    }

    private func remove(_ id: UInt64) {
        let poll = state.withLock { state -> LongPoll?? in
            state.subscriptions[id] = nil
            guard state.subscriptions.isEmpty, !state.isStopped else { return nil }
            state.isStopped = true
            defer { state.poll = nil }
            return state.poll
        }
        guard let poll else { return }
        poll?.cancel()
        pool.close()
    }

    /// Asks at once, over a new connection, for an answer that does not wait: the daemon may be another one, or further on.
    func askAnew() {
        let poll = state.withLock { state in
            state.isUrgent = true
            return state.poll
        }
        poll?.cancel()
    }

    deinit {
        server.setLater(nil, of: ObjectIdentifier(self))
    }

    /// Sends the next request, after a pause.
    ///
    /// - Parameter isAway: true if the daemon could not be reached: then the pause ends with the first answer of any request.
    private func ask(after pause: Duration = .zero, isAway: Bool = false) {
        let next = state.withLock { state -> (Endpoint<SettingsObservation>, LongPoll)? in
            guard !state.isStopped else { return nil }
            state.origin = state.oldestPlace
            let call = Endpoint.observe(
                watched, since: .cursor(state.origin), wait: state.isUrgent ? .zero : Self.wait, limit: nil,
                latest: false)
            let now = ContinuousClock.now
            let poll = LongPoll(
                call.request, pool, from: pause > .zero ? now + pause : nil,
                by: now + pause + Self.wait + Self.timeout, reader: reader)
            state.isUrgent = false
            state.poll = poll
            state.asked = now + pause
            return (call, poll)
        }
        guard let (call, poll) = next else { return }
        server.setLater(isAway ? poll : nil, of: ObjectIdentifier(self))
        poll.start { [self] result in
            take(Result { () throws(SettingsError) in try server.read(result.get(), of: call) })
        }
    }

    /// On the thread of the reader, unless the system has none.
    private func take(_ result: Result<SettingsObservation, SettingsError>) {
        typealias Taken = (step: ObservedPlace.Step?, receivers: [Subscription], trouble: SettingsError?)
        var generator = SystemRandomNumberGenerator()
        let (step, receivers, trouble) = state.withLock { state -> Taken in
            guard !state.isStopped else { return (nil, [], nil) }
            state.poll = nil
            switch result {
            case .success(let observation):
                state.trouble = nil
                return (state.place.step(observation), state.receivers(of: observation), nil)
            case .failure(.cancelled):
                state.isUrgent = true
                return (.again(after: .zero), [], nil)
            case .failure(let error):
                // A daemon that is back says at once how far everything is known.
                if !error.isLoad { state.isUrgent = true }
                let step = state.place.step(error, using: &generator)
                guard state.isNewTrouble(step, error) else { return (step, [], nil) }
                return (step, state.subscriptions.values.map(\.subscription), error)
            }
        }
        if let trouble { for subscription in receivers { subscription.onTrouble(trouble) } }
        switch (step, result) {
        case (nil, _): return
        case (_, .failure(.cancelled)): ask()
        case (_, .success(let observation)):
            // One without changes says how far everything is known, which callers may wait for.
            for subscription in receivers {
                subscription.history.deliver(of: observation.cursor.epoch) { subscription.handler(observation) }
            }
            goOn(after: state.withLock { $0.place.pause }, hasMore: observation.isPartial)
        case (.again(let pause), .failure(let error)): ask(afterFailure: pause, isAway: !error.isLoad)
        case (_, .failure): ask(afterFailure: longPause, isAway: false)
        }
    }

    /// Goes on after an answer. A daemon that goes down asks for a pause.
    private func goOn(after pause: Duration, hasMore: Bool) {
        if pause == .zero { server.noteAnswer() }
        let next = hasMore ? .now : state.withLock { $0.asked } + pace
        ask(after: max(pause, next - .now, .zero), isAway: pause > .zero)
    }

    private func ask(afterFailure pause: Duration, isAway: Bool) {
        guard reader.isRunning else {
            // The system has no thread for the reader, and may have none for a while.
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in ask() }
            return
        }
        ask(after: pause, isAway: isAway)
    }
}

extension SettingsError {
    /// True if a daemon says that it has too much to do, or is behind others: that it answers other requests says nothing of
    /// that.
    var isLoad: Bool {
        switch code {
        case .tooManyConnections, .tooManyWatchers, .tooManyRequests, .overloaded, .behind: true
        default: false
        }
    }
}
