internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// Streams of events, which are subscriptions that stay.
///
/// A stream begins with the state, or with the commits after the place that the client knows. It catches up piece by piece,
/// as the client takes them, and is live from then on.
extension Watchers {
    /// The bytes that are sent at once while a stream catches up.
    private static let pieceBytes = 64 << 10
    /// The nanoseconds without an event after which the client is sent its place, to keep the connection alive.
    private static let silence: UInt64 = 15_000_000_000

    /// Begins a stream.
    func stream(
        _ request: ObserveRequest, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !isStopping else { throw Problem.shuttingDown }
        let (subject, style, ticket) = (request.subject, request.style, exchange.ticket)
        var question = Question(subject, .commitEvents(style))
        var place = request.since?.revision ?? .zero
        // Flags are fetched before their stream is begun, so nothing has to be told at its beginning.
        let beginsLive = style == .refetches && request.since == nil
        if case .state(let isReset) = finding {
            if !beginsLive { question = Question(subject, .stateEvent(isReset: isReset, style)) }
            place = state.revision
        }
        let isMissing =
            switch finding {
            case .absent: true
            case .nothing: !state.isThere(subject)
            case .state, .commits, .undecided: false
            }
        try subscribe(
            exchange, question, of: request.caller, after: place, sink: .stream(.catchingUp), on: state)
        handler.begin(ticket, Self.head(at: service.store.state.cursor.marked(for: subject.reader)))
        push(EventText.opening, to: ticket)
        // No event gives the client a place yet.
        if beginsLive { push(EventText.id(state.cursor), to: ticket) }
        if isMissing { sendMissing(ticket, subject, isKnown: beginsLive, on: state) } else { proceed(ticket) }
        return .later
    }

    /// The head of a stream.
    static func head(at cursor: Cursor) -> Response {
        var head = Response(status: 200, contentType: .eventStream, fields: FieldBlock(cursor: cursor, tag: nil))
        head.fields.append("Vary", "Accept")
        // Keeps nginx from buffering the events.
        head.fields.append("X-Accel-Buffering", "no")
        return head
    }

    /// Sends the next piece to a stream that catches up. Also called when the client has taken the last one.
    func proceed(_ ticket: Ticket) {
        guard let subscription = subscriptions[ticket], case .stream(.catchingUp) = subscription.sink else { return }
        let (subject, place) = (subscription.topic.subject, subscription.place)
        let state = service.store.state.withCursors(for: subject.reader)
        if case .stateEvent(let isReset, _) = subscription.form {
            return sendState(ticket, subject, isReset: isReset, on: state)
        }
        guard state.reaches(subject, after: place) else { return startAnew(ticket) }
        let (commits, reached) = state.nextCommits(
            for: subject, after: place, within: .loopLimit, bytes: Self.pieceBytes)
        if let text = text(of: commits, for: subscription, upTo: reached, on: state) {
            sent(ticket, Response(status: 200, body: text), upTo: reached)
        }
    }

    /// Sends the state to a stream whose place history does not reach back to.
    private func startAnew(_ ticket: Ticket) {
        change(ticket, .stateEvent(isReset: true, style(of: ticket)), .catchingUp)
        proceed(ticket)
    }

    private func style(of ticket: Ticket) -> EventStyle { subscriptions[ticket]?.form.style ?? .changes }

    private func sendState(_ ticket: Ticket, _ subject: WatchSubject, isReset: Bool, on state: State) {
        guard style(of: ticket) == .changes else {
            let text = EventText.refetch(subject, on: state)
            return sent(ticket, Response(status: 200, body: text), upTo: state.revision)
        }
        guard state.isThere(subject) else {
            guard isReset else { return sendMissing(ticket, subject, on: state) }
            // A client that knew the suite must hear that it is gone, though history no longer says how.
            let end = StreamCommit(.one(schemaRevision: nil, isDropped: true), cursor: state.cursor, changes: [])
            let response = Response(status: 200, body: EventText.text(of: .commit(end)))
            return sent(ticket, response, upTo: state.revision)
        }
        let rendering = Rendering(cost: { state.renderingCost(of: subject, within: $0) }) {
            guard let observed = state.observed(subject, isReset: isReset) else { return Response(status: 200) }
            return Response(status: 200, body: EventText.text(of: .state(observed)))
        }
        guard rendering.exceedsLoopLimit else { return sent(ticket, rendering.make(), upTo: state.revision) }
        renderInBackground(
            rendering, Question(subject, .stateEvent(isReset: isReset, .changes)), for: ticket, upTo: state.revision)
    }

    /// Renders an expensive piece of a stream in the background. The stream goes on by itself when it is there.
    private func renderInBackground(
        _ rendering: Rendering, _ question: Question, after place: Revision = .zero, for ticket: Ticket,
        upTo reached: Revision
    ) {
        change(ticket, question.form, .rendering)
        let key = BackgroundAnswers.Key.question(question, place: place, revision: reached)
        if let response = handler.backgroundAnswers.recent(key) { return sent(ticket, response, upTo: reached) }
        handler.make(rendering, key, for: ticket, of: subscriptions[ticket]?.client.key, isOwed: true)
    }

    /// Sends the event that there is no suite, unless the client knows that. The stream waits for one.
    private func sendMissing(_ ticket: Ticket, _ subject: WatchSubject, isKnown: Bool = false, on state: State) {
        let style = style(of: ticket)
        subscriptions.update(ticket) { $0.place = state.revision }
        change(ticket, .stateEvent(isReset: true, style), .live)
        guard !isKnown else { return }
        let missing = EventText.text(of: .missing(subject.suites[0], state.cursor))
        push(style == .changes ? missing : EventText.refetch(subject, on: state), to: ticket)
    }

    /// Sends a piece to a stream that catches up, after which its place is at a revision.
    func sent(_ ticket: Ticket, _ piece: Response, upTo reached: Revision) {
        guard let subscription = subscriptions[ticket] else { return }
        let text = piece.body
        if !text.isEmpty { push(text, owner: piece.owner, to: ticket) }
        let place = max(subscription.place, reached)
        subscriptions.update(ticket) { $0.place = place }
        // A client with a long piece to take would soon be closed as one that lags behind if events came on top.
        let isLive = text.count <= Self.pieceBytes && place >= service.store.state.revision
        change(ticket, .commitEvents(style(of: ticket)), isLive ? .live : .catchingUp)
        guard !isLive else {
            if let live = subscriptions[ticket], live.isEnding { endStream(live, on: service.store.state) }
            return
        }
        if text.isEmpty { handler.later { $0.watchers.proceed(ticket) } } else { loop.whenDrained(ticket) }
    }

    private func change(_ ticket: Ticket, _ form: Question.Form, _ phase: Subscription.Phase) {
        subscriptions.update(ticket) { subscription in
            subscription.form = form
            subscription.sink = .stream(phase)
        }
    }

    /// Sends a live stream what has just happened. Returns false if there was nothing to send.
    @discardableResult
    func lookAtStream(_ subscription: Subscription, on state: State) -> Bool {
        guard !subscription.isBehind else { return false }
        let (ticket, subject, place) = (subscription.ticket, subscription.topic.subject, subscription.place)
        if case .stateEvent = subscription.form {
            // It waits for a suite that was missing. That is sent as this state has it: by now it may be gone again.
            guard state.isThere(subject) else { return false }
            sendState(ticket, subject, isReset: true, on: state)
            return true
        }
        guard state.reaches(subject, after: place) else {
            startAnew(ticket)
            return true
        }
        let question = subscription.question
        var made = handler.cache.response(to: question, after: place, at: state.revision)?.body
        if made == nil {
            let commits = state.commits(for: subject, after: place) ?? []
            made = text(of: commits, for: subscription, upTo: state.revision, on: state)
            if let made { keep(Response(status: 200, body: made), for: question, after: place, on: state) }
        }
        guard let text = made else { return true }
        subscriptions.update(ticket) { $0.place = max(place, state.revision) }
        if !text.isEmpty { push(text, to: ticket) }
        return !text.isEmpty
    }

    /// Renders commits as events. Returns nil if that is expensive: the events are then rendered in the
    /// background, and the stream continues once they are there.
    private func text(
        of commits: [KeptCommit], for subscription: Subscription, upTo reached: Revision, on state: State
    ) -> [UInt8]? {
        let (subject, ticket) = (subscription.topic.subject, subscription.ticket)
        guard subscription.form.style == .changes else {
            return commits.flatMap { EventText.refetch(subject, after: $0.commit, in: state.epoch) }
        }
        let rendering = Rendering(cost: state.renderingCost(ofChangesIn: commits), isUpperBound: true) {
            Response(status: 200, body: Self.events(subject, commits, on: state))
        }
        guard rendering.exceedsLoopLimit else { return rendering.make().body }
        renderInBackground(
            rendering, Question(subject, .commitEvents(.changes)), after: subscription.place, for: ticket,
            upTo: reached)
        return nil
    }

    private static func events(_ subject: WatchSubject, _ commits: [KeptCommit], on state: State) -> [UInt8] {
        commits.flatMap { EventText.text(of: .commit(state.streamed(subject, $0.commit))) }
    }

    /// Sends a live stream its place after some silence, or instead the event that is due: the place must not pass it.
    func keepAlive(_ subscription: Subscription) {
        let ticket = subscription.ticket
        guard !subscription.isBehind else { return setAlarm(ticket) }
        let state = service.store.state.withCursors(for: subscription.topic.subject.reader)
        subscriptions.update(ticket) { subscription in
            subscription.advance(to: matched)
            subscription.isDue = false
        }
        guard let current = subscriptions[ticket], !lookAtStream(current, on: state) else { return }
        let place = subscriptions[ticket]?.place ?? current.place
        push(EventText.id(Cursor(epoch: state.epoch, revision: max(place, matched))), to: ticket)
    }

    private func push(_ text: [UInt8], owner: (any AnyObject & Sendable)? = nil, to ticket: Ticket) {
        loop.push(ticket, text, owner: owner)
        setAlarm(ticket)
    }

    private func setAlarm(_ ticket: Ticket) {
        loop.setAlarm(ticket, at: alarm(in: Self.silence, of: subscriptions[ticket]?.caller))
    }

    /// Ends a stream when the daemon stops. A live one is sent its place.
    func endStream(_ subscription: Subscription, on state: State) {
        remove(subscription.ticket)
        let epoch = state.withCursors(for: subscription.topic.subject.reader).epoch
        let place = subscription.isBehind ? nil : Cursor(epoch: epoch, revision: subscription.place)
        let closing = EventText.closing(at: place, retryAfterMs: Int.random(in: 100...3000))
        loop.push(subscription.ticket, closing, isLast: true)
    }
}
