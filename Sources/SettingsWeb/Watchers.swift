internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A set of subscriptions on one loop, which it answers when commits match them.
///
/// A request that finds nothing new is subscribed under the state in which it looked. That state is taken together with the
/// promise to hear of the next publication (`watchedState`), so no commit falls between. A publication makes those due whose
/// topics its commits match. They are looked at in turns, so that many thousands do not hold up the loop.
///
/// Runs on its loop. Streams are in `EventStreams`.
final class Watchers {
    let service: Service
    let loop: EventLoop
    unowned let handler: APIHandler
    private let listener: ListenerID
    var subscriptions = SubscriptionTable()
    private var index: SubscriptionIndex
    /// All commits up to this one were matched against the index.
    private(set) var matched = Revision.zero
    /// Subscriptions to look at, first come first served.
    private var due = Deque<Ticket>()
    private var isTurnScheduled = false
    /// The search for the topics of commits that have many changes, which takes several turns.
    private var search: TopicSearch?
    /// True if something was published during the search.
    private var isSearchDue = false
    private(set) var isStopping = false

    /// How many subscriptions are looked at in one turn. The other processors, which help to send the answers, fall asleep
    /// between turns: with a quarter of this, 10,000 watchers wait a third longer.
    private static let turn = 2048
    /// How many credentials are looked at in one turn, which takes longer.
    private static let credentials = 512
    /// The nanoseconds after which a turn ends.
    private static let turnTime: UInt64 = 3_000_000

    init(_ service: Service, on loop: EventLoop, for handler: APIHandler, _ listener: ListenerID) {
        self.service = service
        self.loop = loop
        self.handler = handler
        self.listener = listener
        index = SubscriptionIndex(service.budget)
    }

    /// Returns the published state. The loop hears of the next one.
    func watchedState() -> State {
        service.store.watch(listener)
    }
}

/// An answer that was given in this turn, for those who ask the same.
private struct GivenAnswer {
    private let topic: Topic
    private let form: Question.Form
    private let place: Revision
    let response: Response

    init(_ subscription: Subscription, _ response: Response) {
        (topic, form, place) = (subscription.topic, subscription.form, subscription.place)
        self.response = response
    }

    func answers(_ subscription: borrowing Subscription) -> Bool {
        guard case .response = subscription.sink else { return false }
        return subscription.topic === topic && subscription.place == place && subscription.form == form
    }
}

/// Subscriptions that come and go.
extension Watchers {
    /// Adds a subscription. Throws 429 if there are too many, 503 if there is no room for its filters.
    func subscribe(
        _ exchange: Exchange, _ question: Question, of caller: Caller?, after place: Revision,
        sink: Subscription.Sink = .response, on state: State
    ) throws(Problem) {
        guard isAdmitted(caller) else { throw .credentialEnded }
        let client: ClientCounts.Client
        do throws(WatcherCount.Excess) {
            client = try service.watchers.add(ClientKey(of: caller, exchange))
        } catch {
            throw Problem(error)
        }
        if subscriptions.count == 0 { matched = state.revision }
        let entry: (topic: Topic, position: Int)
        do throws(Problem) {
            entry = try index.add(exchange.ticket, question.subject)
        } catch {
            service.watchers.remove(client)
            throw error
        }
        subscriptions.insert(
            Subscription(
                topic: entry.topic, client: client, caller: caller, place: place, ticket: exchange.ticket,
                position: UInt32(entry.position), form: question.form, sink: sink))
        handler.noteWaiting(exchange.ticket)
    }

    /// The streams of events, as of now.
    var streamCount: Int {
        subscriptions.tickets.count { ticket in
            if case .stream? = subscriptions[ticket]?.sink { true } else { false }
        }
    }

    func remove(_ ticket: Ticket) {
        if let subscription = subscriptions.remove(ticket, if: { _ in true }) { forget(subscription) }
    }

    private func forget(_ subscription: Subscription) {
        let position = subscription.position
        if let moved = index.remove(subscription.topic, Int(position)) {
            subscriptions.update(moved) { $0.position = position }
        }
        service.watchers.remove(subscription.client)
    }

    /// Sets the end of the wait. Long waits end in their last tenth, so that clients that came together do not all come
    /// back together.
    func setDeadline(_ ticket: Ticket, seconds: Int, of caller: Caller?) {
        let wait = UInt64(seconds) * 1_000_000_000
        // A hash spreads them as well as a random number does, and takes no system call.
        let early = seconds < 10 ? 0 : (UInt64(truncatingIfNeeded: ticket.hashValue) ^ loop.now) % (wait / 10 + 1)
        loop.setAlarm(ticket, at: alarm(in: wait - early, of: caller))
    }

    /// Returns the end of a wait, or the end of the caller's credential if that comes first.
    func alarm(in wait: UInt64, of caller: Caller?) -> UInt64 {
        guard let caller, let left = handler.policies.access?.timeLeft(of: caller) else { return loop.now &+ wait }
        // An alarm does not come early, and the credential must have expired by then.
        return loop.now &+ min(wait, left + 1_000_000)
    }
}

/// Commits that are published.
extension Watchers {
    /// Makes the subscriptions due that the new commits match.
    func published() {
        guard subscriptions.count > 0 else { return }
        guard search == nil else {
            isSearchDue = true
            return
        }
        let state = watchedState()
        if state.history.oldestAvailable <= matched {
            search = TopicSearch(state.history.commits(after: matched), upTo: state.revision)
            goOnSearching()
        } else {
            // A commit was too large to be kept, so it may match any topic.
            found(index.all, upTo: state.revision)
        }
    }

    private func goOnSearching() {
        guard var search = search.take() else { return }
        search.look(in: index)
        guard search.isDone else {
            self.search = search
            return handler.later { $0.watchers.goOnSearching() }
        }
        found(search.topics.values, upTo: search.end)
        guard isSearchDue else { return }
        isSearchDue = false
        published()
    }

    private func found(_ topics: some Sequence<Topic>, upTo revision: Revision) {
        for topic in topics {
            for ticket in topic.members { makeDue(ticket) }
        }
        matched = revision
        takeTurn()
    }

    private func makeDue(_ ticket: Ticket) {
        var becameDue = false
        subscriptions.update(ticket) { subscription in
            guard !subscription.isDue else { return }
            subscription.advance(to: matched)
            subscription.isDue = true
            becameDue = true
        }
        guard becameDue else { return }
        handler.figures.wakeUps += 1
        due.append(ticket)
    }

    private func takeTurn() {
        guard !isTurnScheduled, !due.isEmpty else { return }
        let state = service.store.state
        let end = MonotonicClock.system.now() + Self.turnTime
        var given: GivenAnswer?
        for count in 1...Self.turn {
            guard let ticket = due.popFirst() else {
                due = Deque()
                return
            }
            if let given, let subscription = subscriptions.remove(ticket, if: given.answers) {
                forget(subscription)
                handler.answer(ticket, given.response)
            } else if let kept = keptAnswer(to: ticket, on: state) {
                given = kept
                respond(to: ticket, .answer(kept.response))
            } else {
                look(at: ticket, on: state)
                // One look may take a millisecond.
                if MonotonicClock.system.now() > end { break }
            }
            if count % 16 == 0, MonotonicClock.system.now() > end { break }
        }
        isTurnScheduled = true
        handler.later { handler in
            handler.watchers.isTurnScheduled = false
            handler.watchers.takeTurn()
        }
    }

    /// Returns the answer to a subscription if one before had the same question and place.
    private func keptAnswer(to ticket: Ticket, on state: State) -> GivenAnswer? {
        guard let subscription = subscriptions[ticket], case .response = subscription.sink else { return nil }
        return handler.cache.response(
            to: subscription.question, after: subscription.place, at: state.revision
        )
        .map { GivenAnswer(subscription, $0) }
    }

    /// Answers a subscription if the state has something new for it.
    func look(at ticket: Ticket, on state: State) {
        guard let subscription = subscriptions[ticket] else { return }
        let (question, subject, place) = (subscription.question, subscription.topic.subject, subscription.place)
        let state = state.withCursors(for: subject.reader)
        subscriptions.update(ticket) { $0.isDue = false }
        switch subscription.form {
        case .changes(let limit, let keepsLatest):
            guard state.reaches(subject, after: place) else { return reset(ticket, subject, on: state) }
            let commits = state.commits(for: subject, after: place) ?? []
            guard !commits.isEmpty else { return }
            respond(to: ticket, question, after: place, on: state) {
                rendering(of: subject, commits, after: place, limit: limit, keepsLatest: keepsLatest, on: state)
            }
        case .state(let isReset):
            guard state.isThere(subject) else { return }
            respond(to: ticket, question, on: state) { state.rendering(of: subject, isReset: isReset) }
        case .reading(let reading, let known, let hadSuite):
            do throws(Problem) {
                let result = try reading.result(on: state)
                let isGone = hadSuite && result.tag == nil
                guard isGone || !result.isKnown(by: known) else { return }
                respond(to: ticket, question, on: state) { result.rendering }
            } catch {
                respond(to: ticket, .answer(Response(error, cursor: state.cursor)))
            }
        case .stateEvent, .commitEvents: lookAtStream(subscription, on: state)
        case .noChanges, .flags: break
        }
    }

    /// Answers a long poll that history does not reach back to with the state. If the suite is gone, and how it went is
    /// forgotten, the long poll waits for another suite of that name.
    private func reset(_ ticket: Ticket, _ subject: WatchSubject, on state: State) {
        let question = Question(subject, .state(isReset: true))
        guard state.isThere(subject) else { return subscriptions.update(ticket) { $0.form = question.form } }
        respond(to: ticket, question, on: state) { state.rendering(of: subject, isReset: true) }
    }
}

/// Waits that end.
extension Watchers {
    /// The deadline of a subscription has come.
    func alarm(_ ticket: Ticket) {
        guard let subscription = subscriptions[ticket] else { return }
        if !isAdmitted(subscription.caller) { return expel(subscription) }
        if case .stream = subscription.sink { keepAlive(subscription) } else { end(ticket) }
    }

    /// Ends the subscriptions of callers whose credentials do not hold any more, in turns.
    func endRevokedSubscriptions() { endRevoked(among: subscriptions.tickets[...]) }

    private func endRevoked(among tickets: ArraySlice<Ticket>) {
        for ticket in tickets.prefix(Self.credentials) {
            if let subscription = subscriptions[ticket], !isAdmitted(subscription.caller) { expel(subscription) }
        }
        let rest = tickets.dropFirst(Self.credentials)
        if !rest.isEmpty { handler.later { $0.watchers.endRevoked(among: rest) } }
    }

    /// True if the credential of a caller holds. One that came before there was access control has none.
    func isAdmitted(_ caller: Caller?) -> Bool {
        guard let access = handler.policies.access else { return true }
        return caller.map(access.stillHolds) ?? false
    }

    /// Answers a subscription 401, or ends its stream.
    private func expel(_ subscription: Subscription) {
        let ticket = subscription.ticket
        guard case .response = subscription.sink else {
            remove(ticket)
            _ = loop.push(ticket, [], isLast: true)
            return
        }
        let response = Response(toObserver: .credentialEnded, cursor: nil)
        respond(to: ticket, .answer(response))
    }

    /// The daemon stops: all subscriptions are answered, and no request waits from now on.
    func stopping() {
        isStopping = true
        for ticket in subscriptions.tickets { end(ticket) }
    }

    /// Answers a subscription with what there is, which most often is nothing new.
    func end(_ ticket: Ticket) {
        // One state for both looks: nothing may be published between them.
        var state = service.store.state
        subscriptions.update(ticket) { $0.advance(to: matched) }
        look(at: ticket, on: state)
        guard let subscription = subscriptions[ticket] else { return }
        let (subject, place) = (subscription.topic.subject, subscription.place)
        state = state.withCursors(for: subject.reader)
        if case .stream = subscription.sink {
            guard subscription.isBehind, !isStopping else { return endStream(subscription, on: state) }
            return subscriptions.update(ticket) { $0.isEnding = true }
        }
        switch subscription.form {
        case .state:
            respond(to: ticket, Rendering(Response(toObserver: state.absence(of: subject), cursor: state.cursor)))
        case .reading(let reading, let known, _):
            do throws(Problem) {
                respond(to: ticket, try reading.result(on: state).answer(to: known, state.cursor))
            } catch {
                respond(to: ticket, Rendering(Response(error, cursor: state.cursor)))
            }
        default: respond(to: ticket, Rendering(noChanges(subject, after: place, on: state)))
        }
    }

    /// The answer when nothing has happened.
    func noChanges(_ subject: WatchSubject, after place: Revision, on state: State) -> Response {
        guard state.isThere(subject) else {
            return Response(toObserver: state.absence(of: subject), cursor: state.cursor)
        }
        var changes = state.observed(subject, [], from: place)
        guard !isStopping else {
            // Not shared, so that the clients do not all come back at once.
            changes.retryAfterMs = Int64.random(in: 100...3000)
            var response = Response(toObserver: changes.jsonBytes(), cursor: state.cursor)
            response.closes = true
            return response
        }
        let question = Question(subject, .noChanges)
        let place = max(place, state.revision)
        if let response = handler.cache.response(to: question, after: place, at: state.revision) { return response }
        let response = Response(toObserver: changes.jsonBytes(), cursor: state.cursor)
        keep(response, for: question, after: place, on: state)
        return response
    }
}

/// Answers.
extension Watchers {
    /// Answers a question from the cache, or has the answer rendered: on the loop if it is cheap, otherwise in the background.
    func answer(
        _ question: Question, after place: Revision = .zero, on state: State, to ticket: Ticket,
        for client: ClientKey?, _ rendering: () -> Rendering
    ) -> Handling {
        if let response = handler.cache.response(to: question, after: place, at: state.revision) {
            return .answer(response)
        }
        let key = BackgroundAnswers.Key.question(question, place: place, revision: state.revision)
        if let shared = handler.share(key, with: ticket) { return shared }
        let rendering = rendering()
        guard !rendering.exceedsLoopLimit else { return handler.give(rendering, to: ticket, for: client, as: key) }
        let response = rendering.make()
        keep(response, for: question, after: place, on: state)
        return .answer(response)
    }

    /// Keeps an answer for other callers with the same question.
    func keep(_ response: Response, for question: Question, after place: Revision, on state: State) {
        let entry = ResponseCache.Entry(
            place: place, revision: state.revision, cursor: state.cursor, response: response)
        handler.cache.keep(entry, for: question)
    }

    /// Answers a subscription with an answer that others may share. That ends it.
    private func respond(
        to ticket: Ticket, _ question: Question, after place: Revision = .zero, on state: State,
        _ rendering: () -> Rendering
    ) {
        let client = subscriptions[ticket]?.client.key
        respond(to: ticket, answer(question, after: place, on: state, to: ticket, for: client, rendering))
    }

    /// Answers a subscription with an answer of its own. That ends it.
    private func respond(to ticket: Ticket, _ rendering: Rendering) {
        respond(to: ticket, handler.give(rendering, to: ticket, for: subscriptions[ticket]?.client.key))
    }

    private func respond(to ticket: Ticket, _ handling: Handling) {
        remove(ticket)
        if case .answer(let response) = handling { handler.answer(ticket, response) }
    }
}
