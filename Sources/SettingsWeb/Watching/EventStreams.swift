internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// Event streams: watchers that stay after an answer.
///
/// A stream begins with the state, or with the commits after the revision that the client knows. It catches up in pieces,
/// and sends the next piece when the client has received the last piece. Afterwards it is live: events are sent at once.
extension WatchNotifier {
    /// The size of the pieces in which a stream catches up.
    private static let pieceBytes = 64 << 10
    /// The nanoseconds without an event after which the client is sent its cursor, to keep the connection alive.
    private static let keepAliveInterval: UInt64 = 15_000_000_000

    /// Begins a stream.
    func stream(
        _ request: WatchRequest, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !handler.isStopping else { throw Problem.shuttingDown }
        let (subject, style, id) = (request.subject, request.style, exchange.ticket)
        var question = Question(subject, .commitEvents(style))
        var revision = request.since?.revision ?? .zero
        // The client has fetched the flags before it begins their stream, so the stream begins without an event.
        let beginsLive = style == .refetches && request.since == nil
        if case .state(let isReset) = finding {
            if !beginsLive { question = Question(subject, .stateEvent(isReset: isReset, style)) }
            revision = state.revision
        }
        let isMissing =
            switch finding {
            case .absent: true
            case .nothing: !state.watchReader.isThere(subject)
            case .state, .commits, .undecided: false
            }
        let watcher = try register(
            exchange, question, of: request.caller, after: revision, phase: .catchingUp, on: state)
        handler.begin(id, Self.head(at: service.store.state.cursor.marked(for: subject.reader)))
        push(EventText.opening, to: watcher)
        // No event gives the client a cursor yet.
        if beginsLive { push(EventText.id(state.cursor), to: watcher) }
        if isMissing {
            sendMissing(to: watcher, isKnown: beginsLive, on: state)
        } else {
            sendNextPiece(to: watcher)
        }
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

    /// Sends the next piece to a stream that catches up.
    func sendNextPiece(to watcher: Watcher) {
        guard case .catchingUp? = watcher.phase else { return }
        let subject = watcher.topic.subject
        let state = service.store.state.withCursors(for: subject.reader)
        if case .stateEvent(let isReset, _) = watcher.form {
            return sendState(to: watcher, isReset: isReset, on: state)
        }
        guard state.watchReader.reaches(subject, after: watcher.revision) else { return restart(watcher) }
        let (commits, reached) = state.watchReader.nextCommits(
            for: subject, after: watcher.revision, within: .loopLimit, bytes: Self.pieceBytes)
        if let text = text(of: commits, for: watcher, upTo: reached, on: state) {
            send(Response(status: 200, body: text), to: watcher, upTo: reached)
        }
    }

    /// Sends the state, because the history does not reach back to the revision of the client.
    private func restart(_ watcher: Watcher) {
        watcher.form = .stateEvent(isReset: true, watcher.form.style)
        watcher.phase = .catchingUp
        sendNextPiece(to: watcher)
    }

    private func sendState(to watcher: Watcher, isReset: Bool, on state: State) {
        let subject = watcher.topic.subject
        guard watcher.form.style == .changes else {
            let text = EventText.refetch(subject, on: state)
            return send(Response(status: 200, body: text), to: watcher, upTo: state.revision)
        }
        guard state.watchReader.isThere(subject) else {
            guard isReset else { return sendMissing(to: watcher, on: state) }
            // A client that knew the suite must be notified that the suite was removed, although the history does not
            // contain the removal any more.
            let end = StreamCommit(.one(schemaRevision: nil, isDropped: true), cursor: state.cursor, changes: [])
            let response = Response(status: 200, body: EventText.text(of: .commit(end)))
            return send(response, to: watcher, upTo: state.revision)
        }
        let rendering = Rendering(cost: { state.watchReader.renderingCost(of: subject, within: $0) }) {
            guard let observed = state.watchReader.observed(subject, isReset: isReset) else {
                return Response(status: 200)
            }
            return Response(status: 200, body: EventText.text(of: .state(observed)))
        }
        guard rendering.exceedsLoopLimit else { return send(rendering.make(), to: watcher, upTo: state.revision) }
        renderInBackground(
            rendering, Question(subject, .stateEvent(isReset: isReset, .changes)), for: watcher, upTo: state.revision)
    }

    /// Renders an expensive piece of a stream in the background. The handler sends the piece when it is rendered.
    private func renderInBackground(
        _ rendering: Rendering, _ question: Question, after revision: Revision = .zero, for watcher: Watcher,
        upTo reached: Revision
    ) {
        let key = BackgroundAnswers.Key.question(question, place: revision, revision: reached)
        watcher.form = question.form
        watcher.phase = .rendering(key)
        if let response = handler.backgroundAnswers.recentAnswer(key) {
            return send(response, to: watcher, upTo: reached)
        }
        handler.render(rendering, key, for: watcher.id, of: watcher.client.key, isOwed: true)
    }

    /// Sends the event that there is no suite, unless the client knows that. The stream waits for a suite.
    private func sendMissing(to watcher: Watcher, isKnown: Bool = false, on state: State) {
        let (subject, style) = (watcher.topic.subject, watcher.form.style)
        watcher.revision = state.revision
        watcher.form = .stateEvent(isReset: true, style)
        watcher.phase = .live
        guard !isKnown else { return }
        let missing = EventText.text(of: .missing(subject.suites[0], state.cursor))
        push(style == .changes ? missing : EventText.refetch(subject, on: state), to: watcher)
    }

    /// Sends a piece to a stream that catches up.
    ///
    /// - Parameter reached: the client has all events up to this revision after the piece.
    func send(_ piece: Response, to watcher: Watcher, upTo reached: Revision) {
        let text = piece.body
        if !text.isEmpty { push(text, owner: piece.owner, to: watcher) }
        watcher.revision = max(watcher.revision, reached)
        watcher.form = .commitEvents(watcher.form.style)
        // Further events after a large piece could exceed the limit of a client that lags behind.
        let isLive = text.count <= Self.pieceBytes && watcher.revision >= service.store.state.revision
        watcher.phase = isLive ? .live : .catchingUp
        if isLive {
            if watcher.isEnding { endStream(watcher, on: service.store.state) }
        } else if text.isEmpty {
            handler.runLater { [id = watcher.id] handler in
                if let watcher = handler.requests.watcher(id) { handler.notifier.sendNextPiece(to: watcher) }
            }
        } else {
            loop.notifyWhenDrained(watcher.id)
        }
    }

    /// Sends new events to a live stream. Returns false if there are none.
    @discardableResult
    func sendNewEvents(to watcher: Watcher, on state: State) -> Bool {
        guard !watcher.isBehind else { return false }
        let (subject, revision) = (watcher.topic.subject, watcher.revision)
        if case .stateEvent = watcher.form {
            // The stream waits for a suite. This state may be without the suite again.
            guard state.watchReader.isThere(subject) else { return false }
            sendState(to: watcher, isReset: true, on: state)
            return true
        }
        guard state.watchReader.reaches(subject, after: revision) else {
            restart(watcher)
            return true
        }
        let question = watcher.question
        var made = handler.cache.response(to: question, after: revision, at: state.revision)?.body
        if made == nil {
            let commits = state.watchReader.commits(for: subject, after: revision) ?? []
            made = text(of: commits, for: watcher, upTo: state.revision, on: state)
            if let made { cache(Response(status: 200, body: made), for: question, after: revision, on: state) }
        }
        guard let text = made else { return true }
        watcher.revision = max(revision, state.revision)
        if !text.isEmpty { push(text, to: watcher) }
        return !text.isEmpty
    }

    /// Renders commits as events. Returns nil if that is expensive: the events are then rendered in the
    /// background, and the stream continues afterwards.
    private func text(
        of commits: [KeptCommit], for watcher: Watcher, upTo reached: Revision, on state: State
    ) -> [UInt8]? {
        let subject = watcher.topic.subject
        guard watcher.form.style == .changes else {
            return commits.flatMap { EventText.refetch(subject, after: $0.commit, in: state.epoch) }
        }
        let rendering = Rendering(cost: state.watchReader.renderingCost(ofChangesIn: commits), isUpperBound: true) {
            Response(status: 200, body: Self.events(subject, commits, on: state))
        }
        guard rendering.exceedsLoopLimit else { return rendering.make().body }
        renderInBackground(
            rendering, Question(subject, .commitEvents(.changes)), after: watcher.revision, for: watcher,
            upTo: reached)
        return nil
    }

    private static func events(_ subject: WatchSubject, _ commits: [KeptCommit], on state: State) -> [UInt8] {
        commits.flatMap { EventText.text(of: .commit(state.watchReader.streamed(subject, $0.commit))) }
    }

    /// Sends new events to a live stream that was silent, or the cursor if there are no events: the cursor must not be after an
    /// event that the client has not been sent.
    func sendKeepAlive(to watcher: Watcher) {
        guard !watcher.isBehind else { return setKeepAlive(watcher) }
        let state = service.store.state.withCursors(for: watcher.topic.subject.reader)
        watcher.advance(to: comparedRevision)
        watcher.isDue = false
        guard !sendNewEvents(to: watcher, on: state) else { return }
        let revision = max(watcher.revision, comparedRevision)
        push(EventText.id(Cursor(epoch: state.epoch, revision: revision)), to: watcher)
    }

    private func push(_ text: [UInt8], owner: (any AnyObject & Sendable)? = nil, to watcher: Watcher) {
        loop.push(watcher.id, text, owner: owner)
        setKeepAlive(watcher)
    }

    private func setKeepAlive(_ watcher: Watcher) {
        let caller = handler.requests.entry(watcher.id)?.caller
        loop.setAlarm(watcher.id, at: handler.deadline(in: Self.keepAliveInterval, of: caller))
    }

    /// Ends a stream because the daemon stops or the client sends nothing more. A stream that is behind catches up first, unless
    /// the daemon stops.
    func end(_ watcher: Watcher) {
        watcher.advance(to: comparedRevision)
        let state = service.store.state
        evaluate(watcher, on: state)
        if watcher.isBehind, !handler.isStopping {
            watcher.isEnding = true
        } else {
            endStream(watcher, on: state)
        }
    }

    /// Ends a stream with a delay for the next request. A client that has been sent all events also gets its cursor.
    private func endStream(_ watcher: Watcher, on state: State) {
        let epoch = state.withCursors(for: watcher.topic.subject.reader).epoch
        let cursor = watcher.isBehind ? nil : Cursor(epoch: epoch, revision: watcher.revision)
        endStream(watcher, with: EventText.closing(at: cursor, retryAfterMs: Int.random(in: 100...3000)))
    }

    /// Ends a stream with a last piece.
    func endStream(_ watcher: Watcher, with piece: [UInt8]) {
        guard let entry = handler.requests.remove(watcher.id) else { return }
        handler.release(entry.request, watcher.id)
        loop.push(watcher.id, piece, isLast: true)
    }
}
