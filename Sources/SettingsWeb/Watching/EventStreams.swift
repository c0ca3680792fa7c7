internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// Event streams. A ``Watcher``, which is a request that waits for changes of its subject (the suites, keys and
/// prefixes that it names), is a stream if it gets server-sent events until the connection closes.
///
/// A stream catches up first: it sends the state, or the commits after the revision that the client knows, in pieces,
/// each piece when the kernel has accepted the previous piece. Then the stream is live: it sends each event at once.
/// `isCatchingUp` is true until the stream is live: in the phases `catchingUp` and `rendering`. The `answerKind` of a
/// watcher is the content of the next piece: the state (`stateEvent`) or commits (`commitEvents`). `isReset` tells the
/// client to discard the settings that it has. The style of the events is `settings`, or `refetchRequests` for
/// OpenFeature: each event only asks the client to fetch the flags again. A cursor is an epoch, which names a history,
/// and a revision, which is the number of a commit. The notifier has compared all commits up to `comparedRevision` with
/// all subjects. To evaluate a stream is to send its new events. `needsEvaluation` is true if a compared commit matches
/// and may be unsent.
extension WatchNotifier {
    /// The size of a piece in bytes. A larger event is sent as one piece.
    private static let pieceBytes = 64 << 10
    /// The nanoseconds without an event after which a stream sends the cursor, because proxies close idle connections.
    private static let keepAliveInterval: UInt64 = 15_000_000_000

    /// Begins a stream. `finding` is the result of the search for matching commits after the cursor of the client. If
    /// the search was `tooCostly`, the stream searches in pieces.
    func beginStream(
        _ request: WatchRequest, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !handler.isStopping else { throw Problem.shuttingDown }
        let (subject, style, id) = (request.subject, request.style, exchange.ticket)
        var answerKey = AnswerKey(subject, .commitEvents(style))
        var revision = request.since?.revision ?? .zero
        // An OpenFeature client fetches the flags before it opens a stream, so the stream begins without an event.
        let beginsLive = style == .refetchRequests && request.since == nil
        if case .state(let isReset) = finding {
            if !beginsLive { answerKey = AnswerKey(subject, .stateEvent(isReset: isReset, style)) }
            revision = state.revision
        }
        let isSuiteMissing =
            switch finding {
            case .missingSuite: true
            case .nothing: !state.watchReader.hasState(for: subject)
            case .state, .commits, .tooCostly: false
            }
        let watcher = try register(
            exchange, answerKey, of: request.caller, request.clientWatch, after: revision, phase: .catchingUp,
            on: state)
        // For a caller that may not read everything, the epoch contains a digest of its grants. `state` has this epoch.
        let cursor = service.store.state.cursor.withGrantsDigest(of: subject.restrictedGrants)
        handler.beginStreamedResponse(id, Self.head(at: cursor))
        push(EventText.opening, to: watcher)
        // The client needs a cursor to resume from after a reconnection, and no event contains one yet.
        if beginsLive { push(EventText.idField(state.cursor), to: watcher) }
        if isSuiteMissing {
            sendMissingSuite(to: watcher, isKnown: beginsLive, on: state)
        } else {
            sendNextPiece(to: watcher)
        }
        return .later
    }

    static func head(at cursor: Cursor) -> Response {
        var head = Response(status: 200, contentType: .eventStream, fields: FieldBlock(cursor: cursor, tag: nil))
        head.fields.append("Vary", "Accept")
        // nginx buffers responses without this field.
        head.fields.append("X-Accel-Buffering", "no")
        return head
    }

    func sendNextPiece(to watcher: Watcher) {
        guard case .catchingUp? = watcher.phase else { return }
        let subject = watcher.topic.subject
        let state = service.store.state.withGrantsDigest(of: subject.restrictedGrants)
        if case .stateEvent(let isReset, _) = watcher.answerKind {
            return sendState(to: watcher, isReset: isReset, on: state)
        }
        guard state.watchReader.hasHistory(for: subject, after: watcher.revision) else {
            return restartWithState(watcher)
        }
        let (commits, reached) = state.watchReader.nextCommits(
            for: subject, after: watcher.revision, within: .loopLimit, bytes: Self.pieceBytes)
        if let text = renderEvents(commits, for: watcher, upTo: reached, on: state) {
            sendPiece(Response(status: 200, body: text), to: watcher, upTo: reached)
        }
    }

    /// Sends the state, because the history does not contain all commits after the revision of the client.
    private func restartWithState(_ watcher: Watcher) {
        watcher.answerKind = .stateEvent(isReset: true, watcher.answerKind.style)
        watcher.phase = .catchingUp
        sendNextPiece(to: watcher)
    }

    private func sendState(to watcher: Watcher, isReset: Bool, on state: State) {
        let subject = watcher.topic.subject
        guard watcher.answerKind.style == .settings else {
            let text = EventText.refetch(subject, on: state)
            return sendPiece(Response(status: 200, body: text), to: watcher, upTo: state.revision)
        }
        guard state.watchReader.hasState(for: subject) else {
            guard isReset else { return sendMissingSuite(to: watcher, on: state) }
            // The history no longer contains the commit that removed the suite. The client gets this event in place of
            // the event of that commit: `.one` means that the subject is one suite, which was removed (`isDropped`).
            let removal = StreamCommit(.one(schemaRevision: nil, isDropped: true), cursor: state.cursor, changes: [])
            let response = Response(status: 200, body: EventText.text(of: .commit(removal)))
            return sendPiece(response, to: watcher, upTo: state.revision)
        }
        let rendering = Rendering(cost: { state.watchReader.renderingCost(of: subject, within: $0) }) {
            guard let observed = state.watchReader.observed(subject, isReset: isReset) else {
                return Response(status: 200)
            }
            return Response(status: 200, body: EventText.text(of: .state(observed)))
        }
        guard rendering.exceedsLoopLimit else { return sendPiece(rendering.make(), to: watcher, upTo: state.revision) }
        renderInBackground(
            rendering, AnswerKey(subject, .stateEvent(isReset: isReset, .settings)), for: watcher, upTo: state.revision)
    }

    /// Renders a costly piece in the background; the handler then calls `sendPiece`. If a connection is still sending
    /// an equal piece, sends that piece at once. `mustAnswer` forbids a refusal, because the response has begun.
    private func renderInBackground(
        _ rendering: Rendering, _ answerKey: AnswerKey, after revision: Revision = .zero, for watcher: Watcher,
        upTo reached: Revision
    ) {
        let key = BackgroundAnswers.Key.answerKey(answerKey, clientRevision: revision, revision: reached)
        watcher.answerKind = answerKey.kind
        watcher.phase = .rendering(key)
        if let response = handler.backgroundAnswers.answerBeingSent(key) {
            return sendPiece(response, to: watcher, upTo: reached)
        }
        handler.renderInBackground(rendering, key, for: watcher.id, of: watcher.client.key, mustAnswer: true)
    }

    /// Tells the client that the suite does not exist, unless the client knows this already (`isKnown`). The stream
    /// waits for the suite.
    private func sendMissingSuite(to watcher: Watcher, isKnown: Bool = false, on state: State) {
        let (subject, style) = (watcher.topic.subject, watcher.answerKind.style)
        watcher.revision = state.revision
        watcher.answerKind = .stateEvent(isReset: true, style)
        watcher.phase = .live
        guard !isKnown else { return }
        // Only a subject with a single suite can be missing: the state of several suites lists the missing suites.
        let missing = EventText.text(of: .missing(subject.suites[0], state.cursor))
        push(style == .settings ? missing : EventText.refetch(subject, on: state), to: watcher)
    }

    /// Sends a piece to a stream that catches up. The client then has all events up to the revision `reached`.
    func sendPiece(_ piece: Response, to watcher: Watcher, upTo reached: Revision) {
        let text = piece.body
        if !text.isEmpty { push(text, owner: piece.bodyOwner, to: watcher) }
        watcher.revision = max(watcher.revision, reached)
        watcher.answerKind = .commitEvents(watcher.answerKind.style)
        // After a larger piece, further events could exceed the limit of unsent bytes, so the stream waits.
        let isLive = text.count <= Self.pieceBytes && watcher.revision >= service.store.state.revision
        watcher.phase = isLive ? .live : .catchingUp
        if isLive {
            if watcher.endsWhenLive { endStream(watcher, on: service.store.state) }
        } else if text.isEmpty {
            // An empty piece needs no acceptance by the kernel, so `drained` would not be called.
            handler.runLater { [id = watcher.id] handler in
                if let watcher = handler.requests.watcher(id) { handler.notifier.sendNextPiece(to: watcher) }
            }
        } else {
            loop.notifyWhenDrained(watcher.id)
        }
    }

    /// Sends new events to a live stream. Returns false if there are no new events, or if the stream is not live yet.
    @discardableResult
    func sendNewEvents(to watcher: Watcher, on state: State) -> Bool {
        guard !watcher.isCatchingUp else { return false }
        let (subject, revision) = (watcher.topic.subject, watcher.revision)
        if case .stateEvent = watcher.answerKind {
            // The stream waits for the suite. The suite may have been created and removed again.
            guard state.watchReader.hasState(for: subject) else { return false }
            sendState(to: watcher, isReset: true, on: state)
            return true
        }
        guard state.watchReader.hasHistory(for: subject, after: revision) else {
            restartWithState(watcher)
            return true
        }
        let answerKey = watcher.answerKey
        var rendered = handler.cache.response(to: answerKey, after: revision, at: state.revision)?.body
        if rendered == nil {
            let commits = state.watchReader.commits(for: subject, after: revision) ?? []
            rendered = renderEvents(commits, for: watcher, upTo: state.revision, on: state)
            if let rendered { cache(Response(status: 200, body: rendered), for: answerKey, after: revision, on: state) }
        }
        guard let text = rendered else { return true }
        watcher.revision = max(revision, state.revision)
        if !text.isEmpty { push(text, to: watcher) }
        return !text.isEmpty
    }

    /// Renders commits as events. If that is too costly for the event loop, renders in the background and returns nil.
    private func renderEvents(
        _ commits: [RetainedCommit], for watcher: Watcher, upTo reached: Revision, on state: State
    ) -> [UInt8]? {
        let subject = watcher.topic.subject
        guard watcher.answerKind.style == .settings else {
            return commits.flatMap { EventText.refetch(subject, after: $0.commit, in: state.epoch) }
        }
        let rendering = Rendering(cost: state.watchReader.renderingCost(ofChangesIn: commits), isUpperBound: true) {
            Response(status: 200, body: Self.events(subject, commits, on: state))
        }
        guard rendering.exceedsLoopLimit else { return rendering.make().body }
        renderInBackground(
            rendering, AnswerKey(subject, .commitEvents(.settings)), after: watcher.revision, for: watcher,
            upTo: reached)
        return nil
    }

    private static func events(_ subject: WatchSubject, _ commits: [RetainedCommit], on state: State) -> [UInt8] {
        commits.flatMap { EventText.text(of: .commit(state.watchReader.streamed(subject, $0.commit))) }
    }

    /// Sends new events to a live stream that was idle for the keep-alive interval, or only the cursor if there are no
    /// new events. The events of all commits up to a cursor must be sent before the cursor, because a client resumes
    /// after the last cursor that it got.
    func sendKeepAlive(to watcher: Watcher) {
        guard !watcher.isCatchingUp else { return setKeepAlive(watcher) }
        let state = service.store.state.withGrantsDigest(of: watcher.topic.subject.restrictedGrants)
        // `advance` skips commits that do not match. It does nothing if a matching commit is not sent yet.
        watcher.advance(to: comparedRevision)
        watcher.needsEvaluation = false
        guard !sendNewEvents(to: watcher, on: state) else { return }
        let revision = max(watcher.revision, comparedRevision)
        push(EventText.idField(Cursor(epoch: state.epoch, revision: revision)), to: watcher)
    }

    private func push(_ text: [UInt8], owner: (any AnyObject & Sendable)? = nil, to watcher: Watcher) {
        loop.push(watcher.id, text, owner: owner)
        setKeepAlive(watcher)
    }

    /// Sets the alarm of the stream to the end of the keep-alive interval or the expiry of the credential, if earlier.
    private func setKeepAlive(_ watcher: Watcher) {
        let caller = handler.requests.entry(watcher.id)?.caller
        loop.setAlarm(watcher.id, at: handler.deadline(in: Self.keepAliveInterval, of: caller))
    }

    /// Ends a stream because the daemon stops, or because the client has half-closed the connection. Unless the daemon
    /// stops, the stream first sends all published events.
    func endStream(_ watcher: Watcher) {
        watcher.advance(to: comparedRevision)
        let state = service.store.state
        evaluate(watcher, on: state)
        if watcher.isCatchingUp, !handler.isStopping {
            watcher.endsWhenLive = true
        } else {
            endStream(watcher, on: state)
        }
    }

    /// Ends a stream. Tells the client a random delay for the reconnection, so that not all clients reconnect at once,
    /// and the cursor if the client has all events up to it.
    private func endStream(_ watcher: Watcher, on state: State) {
        let epoch = state.withGrantsDigest(of: watcher.topic.subject.restrictedGrants).epoch
        let cursor = watcher.isCatchingUp ? nil : Cursor(epoch: epoch, revision: watcher.revision)
        endStream(watcher, with: EventText.closing(at: cursor, retryAfterMs: Int.random(in: 100...3000)))
    }

    func endStream(_ watcher: Watcher, with piece: [UInt8]) {
        guard let entry = handler.requests.remove(watcher.id) else { return }
        handler.release(entry.request, watcher.id)
        loop.push(watcher.id, piece, isLast: true)
    }
}
