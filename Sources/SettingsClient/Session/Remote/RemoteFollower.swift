internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Follows the changes of one suite of a daemon. The follower sends one long poll after the other, over its own
/// connection. All sessions of the process with the same suite, daemon, token and client name share a follower. The
/// long polls also report which state of the suite the program has applied, that is, whose handlers have returned
/// (``ApplyingState``).
///
/// Thread-safe. The handlers of subscriptions run on the thread of the `AnswerReader`, which receives the answers to
/// all long polls. The follower retains itself while it has subscriptions. It ends when `stop()` of each subscription
/// was called.
final class RemoteFollower: Sendable {
    /// The subscription of one session.
    final class Subscription: BackendSubscription {
        /// The epoch of the observations that the handler has received.
        let history: DeliveredHistory
        fileprivate let handler: @Sendable (SettingsObservation) -> Void
        fileprivate let onFailure: @Sendable (SettingsError) -> Void
        private let follower: RemoteFollower
        private let id: UInt64

        fileprivate init(
            _ id: UInt64, of follower: RemoteFollower, from cursor: Cursor,
            _ onFailure: @escaping @Sendable (SettingsError) -> Void,
            _ handler: @escaping @Sendable (SettingsObservation) -> Void
        ) {
            (self.id, self.follower, self.onFailure, self.handler) = (id, follower, onFailure, handler)
            history = DeliveredHistory(cursor.epoch)
        }

        func stop() {
            follower.remove(id)
        }

        func refresh() {
            follower.restartPoll()
        }

        func report(_ report: ClientReport) {
            follower.record(report, of: id)
        }
    }

    struct State {
        /// The state of the sequence of long polls. It determines when the next request is sent.
        var progress: ObservationProgress
        /// The subscriptions, each with its last report. A subscription has received all changes up to its cursor.
        var subscriptions: [UInt64: (subscription: Subscription, cursor: Cursor, report: ClientReport)] = [:]
        var reporting: ClientReporting
        var lastID: UInt64 = 0
        /// The cursor that the last request contained.
        var requestCursor: Cursor
        /// The cursor of the last answer.
        var newestCursor: Cursor
        /// The request that waits for its answer, or for the moment at which it is sent.
        var poll: AsyncRequest?
        /// The time at which the last request was or will be sent.
        var requestTime = ContinuousClock.now
        /// The time at which the request would have been sent without the wait for the handlers of the newest state.
        /// Nil if the request does not wait for handlers.
        var timeWithoutHandlerWait: ContinuousClock.Instant?
        /// True if the request was cancelled to end its wait for handlers, because there is a newer report.
        var endsHandlerWait = false
        /// True if the next request tells the daemon to answer without waiting for a change.
        var wantsImmediateAnswer = false
        var isStarted = false
        var isStopped = false
        /// The failure that the subscriptions were told about. Nil after an answer.
        var reportedFailure: SettingsError?

        /// Returns true if a failure must be reported: a retry is not likely to succeed soon, and this is the first
        /// failure of the outage. The step `again` means that a retry may succeed soon.
        mutating func mustReport(_ step: ObservationProgress.Step, _ error: SettingsError) -> Bool {
            // A daemon with too many watchers refuses every retry until another watcher has ended.
            if case .again = step, error.code != .tooManyWatchers { return false }
            defer { reportedFailure = error }
            return reportedFailure == nil
        }

        /// The cursor for the next request: the oldest cursor of all subscriptions. Cursors of different histories have
        /// no order. A cursor of a previous history comes first, because its subscription needs the whole state.
        var oldestCursor: Cursor {
            let cursors = subscriptions.values.map(\.cursor)
            return cursors.first { $0.epoch != newestCursor.epoch } ?? cursors.min { $0.revision < $1.revision }
                ?? newestCursor
        }

        /// Records an answer, and returns the subscriptions that get the answer. Changes are for the subscriptions that
        /// have all earlier changes, and a state is for the subscriptions that need the whole state. The other
        /// subscriptions get the next answer.
        mutating func recordObservation(_ observation: SettingsObservation) -> [Subscription] {
            newestCursor = observation.cursor
            var receivers: [Subscription] = []
            for (id, (subscription, cursor, _)) in subscriptions.sorted(by: { $0.key < $1.key }) {
                switch observation {
                case .changes:
                    guard cursor.epoch == requestCursor.epoch, cursor.revision >= requestCursor.revision else {
                        continue
                    }
                case .state:
                    // A subscription with a later cursor of the same history needs the changes instead of the state.
                    let isRequested = cursor.epoch == requestCursor.epoch && cursor.revision <= requestCursor.revision
                    guard isRequested || cursor.epoch != newestCursor.epoch else { continue }
                }
                receivers.append(subscription)
                if cursor.epoch != newestCursor.epoch || cursor.revision < newestCursor.revision {
                    subscriptions[id]?.cursor = newestCursor
                }
            }
            return receivers
        }
    }

    let suite: SuiteName
    let server: SharedServer
    private let pool: ConnectionPool
    private let reader: AnswerReader
    let state: Mutex<State>

    /// The time for which the daemon waits for a change before it answers.
    private static let wait = Duration.seconds(60)
    /// The time that an answer may take in addition to the wait.
    static let timeout = Duration.seconds(10)
    /// The maximum time for which the next request waits for the handlers of the last state, so that the request can
    /// report the state. A later report needs a request of its own.
    private static let maxHandlerWait = Duration.milliseconds(20)
    // See the parameters of the initializer.
    private let pace: Duration
    private let longPause: Duration

    /// - Parameters:
    ///   - cursor: the cursor after which the first subscription gets the changes.
    ///   - pace: the minimum time from one request to the next. The follower also gets the program's own changes.
    ///     Without a minimum, each of the program's writes would cause a long poll, which costs as much as the write.
    ///   - longPause: the pause after a failure that a retry is not likely to fix, for example if another program
    ///     listens at the address.
    init(
        _ suite: SuiteName, _ server: SharedServer, from cursor: Cursor, reader: AnswerReader = .shared,
        pace: Duration = .milliseconds(2), longPause: Duration = .seconds(5)
    ) {
        self.suite = suite
        self.server = server
        self.reader = reader
        self.pace = pace
        self.longPause = longPause
        // The pool keeps one connection for the next long poll, until the follower closes the pool.
        pool = ConnectionPool(server.address, keeping: 1, idleLimit: nil, token: server.token)
        state = Mutex(
            State(
                progress: ObservationProgress(since: .cursor(cursor)), reporting: ClientReporting(server.client),
                requestCursor: cursor, newestCursor: cursor))
    }

    /// Subscribes to all changes after a cursor. Calls `onFailure` with the reason when the follower gets no changes
    /// and a retry is not likely to succeed soon, once for each outage. Returns nil if the follower has ended.
    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (SettingsError) -> Void = { _ in },
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> Subscription? {
        typealias Started = (Subscription, outdatedPoll: AsyncRequest?, failure: SettingsError?, isFirst: Bool)
        let started = state.withLock { state -> Started? in
            guard !state.isStopped else { return nil }
            state.lastID += 1
            let subscription = Subscription(state.lastID, of: self, from: cursor, onFailure, handler)
            state.subscriptions[state.lastID] = (subscription, cursor, ClientReport())
            state.reporting.restart()
            let isBehind = cursor.epoch != state.requestCursor.epoch || cursor.revision < state.requestCursor.revision
            defer { state.isStarted = true }
            return (subscription, isBehind ? state.poll : nil, state.reportedFailure, !state.isStarted)
        }
        guard let (subscription, outdatedPoll, failure, isFirst) = started else { return nil }
        if isFirst { sendPoll(waitsForHandlers: true) }
        // If the request in progress asks for changes after a later cursor, another request replaces it.
        outdatedPoll?.cancel()
        if let failure { onFailure(failure) }
        return subscription
    }

    /// Removes a subscription. The follower ends with its last subscription.
    private func remove(_ id: UInt64) {
        // Nil if the follower has other subscriptions, and `.some(nil)` if it ends without a request in progress.
        let poll = state.withLock { state -> AsyncRequest?? in
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

    /// Cancels the request in progress, and sends a request that the daemon answers at once, over a new connection.
    /// Called when the daemon may have been replaced, or may have changes that the follower has not received.
    func restartPoll() {
        let poll = state.withLock { state in
            state.wantsImmediateAnswer = true
            return state.poll
        }
        poll?.cancel()
    }

    deinit {
        server.setWaitingPoll(nil, of: ObjectIdentifier(self))
    }

    /// Sends the next request, after a pause.
    ///
    /// - Parameters:
    ///   - endsPauseOnAnswer: true if the pause ends as soon as any other request gets an answer. True if the daemon
    ///     shuts down, and after a failure that a retry may fix soon, except an overload of the daemon. The answer to
    ///     the other request then shows that the daemon can be reached.
    ///   - waitsForHandlers: true to wait up to ``maxHandlerWait`` for the handlers of the newest state.
    ///     ``record(_:of:)`` ends this wait when the handlers have returned.
    private func sendPoll(
        after pause: Duration = .zero, endsPauseOnAnswer: Bool = false, waitsForHandlers: Bool = false
    ) {
        // The request names a list with one suite, because the daemon refuses a request for a single suite that does
        // not exist, but not a request for a list.
        let watched = ObservedSubject(scope: .several([suite]))
        let next = state.withLock { state -> (Endpoint<SettingsObservation>, AsyncRequest)? in
            guard !state.isStopped else { return nil }
            state.requestCursor = state.oldestCursor
            let report = state.report
            let call = Endpoint.observe(
                watched, since: .cursor(state.requestCursor), wait: state.wantsImmediateAnswer ? .zero : Self.wait,
                limit: nil, latest: false, by: state.reporting.client, report: report)
            state.reporting.sent = report
            let now = ContinuousClock.now
            let mustWait = waitsForHandlers && state.reporting.client != nil && !state.isReportUpToDate
            state.timeWithoutHandlerWait = mustWait ? now + pause : nil
            let pause = mustWait ? max(pause, Self.maxHandlerWait) : pause
            let poll = AsyncRequest(
                call.request, pool, from: pause > .zero ? now + pause : nil,
                by: now + pause + Self.wait + Self.timeout, reader: reader)
            state.wantsImmediateAnswer = false
            state.poll = poll
            state.requestTime = now + pause
            return (call, poll)
        }
        guard let (call, poll) = next else { return }
        server.setWaitingPoll(endsPauseOnAnswer ? poll : nil, of: ObjectIdentifier(self))
        poll.start { [self] result in
            handle(Result { () throws(SettingsError) in try server.read(result.get(), of: call) })
        }
    }

    /// Handles the answer to a request. Runs on the thread of the `AnswerReader`, unless the system could not create
    /// the thread.
    private func handle(_ result: Result<SettingsObservation, SettingsError>) {
        typealias Handled = (step: ObservationProgress.Step?, receivers: [Subscription], failure: SettingsError?)
        var generator = SystemRandomNumberGenerator()
        let (step, receivers, failure) = state.withLock { state -> Handled in
            guard !state.isStopped else { return (nil, [], nil) }
            state.poll = nil
            defer { (state.timeWithoutHandlerWait, state.endsHandlerWait) = (nil, false) }
            switch result {
            case .success(let observation):
                state.reportedFailure = nil
                return (state.progress.step(observation), state.recordObservation(observation), nil)
            case .failure(.cancelled) where state.endsHandlerWait:
                return (.again(after: max(.zero, (state.timeWithoutHandlerWait ?? .now) - .now)), [], nil)
            case .failure(let error) where state.reporting.recoverFromRefusal(error):
                state.wantsImmediateAnswer = true
                return (.again(after: .zero), [], nil)
            case .failure(.cancelled):
                state.wantsImmediateAnswer = true
                return (.again(after: .zero), [], nil)
            case .failure(let error):
                // After an outage, the first answer should come at once.
                if !error.isOverload { state.wantsImmediateAnswer = true }
                let step = state.progress.step(error, using: &generator)
                guard state.mustReport(step, error) else { return (step, [], nil) }
                return (step, state.subscriptions.values.map(\.subscription), error)
            }
        }
        if let failure { for subscription in receivers { subscription.onFailure(failure) } }
        switch (step, result) {
        case (nil, _): return
        case (.again(let pause), .failure(.cancelled)): sendPoll(after: pause)
        case (_, .success(let observation)):
            if let error = state.withLock({ $0.reporting.removeNameChangeError() }) {
                // Several adapters may share the follower, so the log of the process gets the message.
                IssueReporter(log: nil).report(
                    DefaultsIssue(suite: suite, key: nil, attempt: .check, error: error))
            }
            // An observation without changes is delivered, too, because its cursor tells the session which acknowledged
            // writes the replica contains.
            for subscription in receivers {
                subscription.history.deliver(of: observation.cursor.epoch) { subscription.handler(observation) }
            }
            continuePolling(after: state.withLock { $0.progress.pause }, hasMore: observation.isPartial)
        case (.again(let pause), .failure(let error)):
            pollAgain(afterFailure: pause, endsPauseOnAnswer: !error.isOverload)
        case (_, .failure): pollAgain(afterFailure: longPause, endsPauseOnAnswer: false)
        }
    }

    /// Sends the next request after an answer. A daemon that shuts down asks for a pause.
    private func continuePolling(after pause: Duration, hasMore: Bool) {
        if pause == .zero { server.recordAnswer() }
        let next = hasMore ? .now : state.withLock { $0.requestTime } + pace
        sendPoll(
            after: max(pause, next - .now, .zero), endsPauseOnAnswer: pause > .zero,
            waitsForHandlers: pause == .zero && !hasMore)
    }

    /// Sends the next request after a failure.
    private func pollAgain(afterFailure pause: Duration, endsPauseOnAnswer: Bool) {
        guard reader.isRunning else {
            // The system could not create the thread of the reader, so the reader cannot wait for the end of a pause.
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in sendPoll() }
            return
        }
        sendPoll(after: pause, endsPauseOnAnswer: endsPauseOnAnswer)
    }
}
