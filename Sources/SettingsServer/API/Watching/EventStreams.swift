internal import HTTPWire
internal import Platform
internal import SettingsModel

/// Streams of events.
extension Watchers {
    /// How much of what happened before is told at once; more when the reader has taken that.
    private static let piece = 256 << 10
    /// After so long without an event something is sent all the same.
    private static let silence: UInt64 = 15_000_000_000

    func stream(
        _ question: WatchQuestion, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !isStopping else { throw Problem.shuttingDown }
        let ticket = exchange.ticket
        let isMissing =
            switch finding {
            case .absent: true
            case .nothing: !state.isThere(question.subject)
            case .state, .commits, .undecided: false
            }
        if isMissing {
            try add(.stream(.missing), question.subject, after: state.revision, on: state, exchange)
            begin(ticket)
            tellMissing(ticket, question.subject, on: state)
            return .later
        }
        switch finding {
        case .state(let isReset):
            try add(
                .stream(.opening(isReset: isReset)), question.subject, after: state.revision, on: state, exchange)
        case .absent, .commits, .nothing, .undecided:
            let after = question.since?.revision ?? .zero
            try add(.stream(.catchingUp), question.subject, after: after, on: state, exchange)
        }
        begin(ticket)
        return .later
    }

    /// The head of a stream.
    static func head(at cursor: Cursor) -> Response {
        var head = Response(status: 200, contentType: .eventStream, fields: FieldBlock(cursor: cursor, tag: nil))
        head.fields.append("Vary", "Accept")
        // A proxy that collects answers would keep the events to itself.
        head.fields.append("X-Accel-Buffering", "no")
        return head
    }

    func begin(_ ticket: Ticket) {
        guard waiting[ticket] != nil else { return }
        loop.begin(ticket, handler.counted(Self.head(at: service.store.state.cursor)))
        push(EventText.opening, to: ticket)
        proceed(ticket)
    }

    /// The reader has taken what it was sent.
    func drained(_ ticket: Ticket) {
        proceed(ticket)
    }

    /// Goes on with a stream that is not at the present yet.
    func proceed(_ ticket: Ticket) {
        guard let watcher = waiting[ticket], case .stream(let progress) = watcher.purpose else { return }
        let state = service.store.state
        switch progress {
        case .live, .missing, .awaitingText: return
        case .opening(let isReset): open(ticket, watcher.subject, isReset: isReset, on: state)
        case .appearing:
            // It may be gone again by now: then the reader still knows what it was told, that the suite is missing.
            guard state.isThere(watcher.subject) else {
                waiting[ticket]?.after = state.revision
                waiting[ticket]?.purpose = .stream(.missing)
                return
            }
            open(ticket, watcher.subject, isReset: true, on: state)
        case .catchingUp:
            guard state.reaches(watcher.subject, after: watcher.after) else { return startAnew(ticket) }
            let (commits, reached) = state.nextCommits(
                for: watcher.subject, after: watcher.after, effort: WatcherEffort.onLoop, bytes: Self.piece)
            if let text = text(of: commits, for: ticket, watcher, upTo: reached, on: state) {
                told(ticket, text, upTo: reached)
            }
        }
    }

    /// Sends the state, as history does not reach back to where the stream is.
    func startAnew(_ ticket: Ticket) {
        waiting[ticket]?.purpose = .stream(.opening(isReset: true))
        proceed(ticket)
    }

    /// Tells the state, with which a stream begins, or begins anew; or that there is none.
    private func open(_ ticket: Ticket, _ subject: WatchSubject, isReset: Bool, on state: State) {
        guard state.isThere(subject) else {
            guard isReset else { return tellMissing(ticket, subject, on: state) }
            // A reader that knew something of the suite must hear that it is gone, though it is not known any more how.
            let end = StreamCommit(.one(schemaRevision: nil, isDropped: true), cursor: state.cursor, changes: [])
            return told(ticket, EventText.text(of: .commit(end)), upTo: state.revision)
        }
        let make: @Sendable () -> Response = {
            guard let observed = state.observed(subject, isReset: isReset) else { return Response(status: 200) }
            return Response(status: 200, body: EventText.text(of: .state(observed)))
        }
        guard state.weight(of: subject, upTo: Rendering.mostOnLoop) > Rendering.mostOnLoop else {
            return told(ticket, make().body, upTo: state.revision)
        }
        waiting[ticket]?.purpose = .stream(.awaitingText)
        let question = SharedQuestion(subject: subject, form: .opening(isReset: isReset))
        makeBeside(question, at: state.revision, for: ticket, make)
    }

    /// Tells that there is no suite; its stream waits for one.
    private func tellMissing(_ ticket: Ticket, _ subject: WatchSubject, on state: State) {
        waiting[ticket]?.after = state.revision
        waiting[ticket]?.purpose = .stream(.missing)
        push(EventText.text(of: .missing(subject.suites[0], state.cursor)), to: ticket)
    }

    /// A stream that is not at the present is told what there is up to a revision.
    func told(_ ticket: Ticket, _ text: [UInt8], upTo reached: Revision) {
        guard let watcher = waiting[ticket] else { return }
        if !text.isEmpty { push(text, to: ticket) }
        let after = max(watcher.after, reached)
        waiting[ticket]?.after = after
        // With so much to take, whoever was told what happens meanwhile would soon seem to lag behind.
        let isLong = text.count > Self.piece
        if !isLong, after >= service.store.state.revision {
            waiting[ticket]?.purpose = .stream(.live)
            return
        }
        waiting[ticket]?.purpose = .stream(.catchingUp)
        if text.isEmpty { handler.later { $0.watchers.proceed(ticket) } } else { loop.whenDrained(ticket) }
    }

    /// Tells a stream that is at the present what has just happened.
    func advance(_ ticket: Ticket, on state: State) {
        guard let watcher = waiting[ticket] else { return }
        guard state.reaches(watcher.subject, after: watcher.after) else { return startAnew(ticket) }
        let question = SharedQuestion(subject: watcher.subject, after: watcher.after, form: .events)
        var made = shared.answer(to: question, at: state.revision)?.body
        if made == nil {
            let commits = state.commits(for: watcher.subject, after: watcher.after) ?? []
            made = text(of: commits, for: ticket, watcher, upTo: state.revision, on: state)
            if let made { shared.keep(Response(status: 200, body: made), for: question, at: state.revision) }
        }
        guard let text = made else { return }
        waiting[ticket]?.after = max(watcher.after, state.revision)
        if !text.isEmpty { push(text, to: ticket) }
    }

    /// Commits as a stream tells them. Nil if that is much: then it is made beside the loop, for all who are told the same,
    /// and the stream goes on when it is there.
    private func text(
        of commits: [KeptCommit], for ticket: Ticket, _ watcher: Watcher, upTo reached: Revision, on state: State
    ) -> [UInt8]? {
        let subject = watcher.subject
        guard commits.weight > Rendering.mostOnLoop else { return Self.events(subject, commits, on: state) }
        waiting[ticket]?.purpose = .stream(.awaitingText)
        let question = SharedQuestion(subject: subject, after: watcher.after, form: .events)
        makeBeside(question, at: reached, for: ticket) {
            Response(status: 200, body: Self.events(subject, commits, on: state))
        }
        return nil
    }

    private static func events(_ subject: WatchSubject, _ commits: [KeptCommit], on state: State) -> [UInt8] {
        commits.flatMap { EventText.text(of: .commit(state.streamed(subject, $0.commit))) }
    }

    func keepAlive(_ ticket: Ticket, _ progress: Watcher.Progress) {
        guard progress.isPresent else { return loop.setAlarm(ticket, at: loop.now &+ Self.silence) }
        let state = service.store.state
        waiting[ticket]?.bringUp(to: seen)
        look(at: ticket, on: state)
        // What it is to be told in a moment must not be passed over.
        guard let watcher = waiting[ticket], case .stream(let progress) = watcher.purpose, progress.isPresent else {
            return
        }
        push(EventText.id(Cursor(epoch: state.epoch, revision: max(watcher.after, seen))), to: ticket)
    }

    private func push(_ text: [UInt8], to ticket: Ticket) {
        loop.push(ticket, text.span)
        loop.setAlarm(ticket, at: loop.now &+ Self.silence)
    }

    func endStream(_ ticket: Ticket, _ progress: Watcher.Progress, at place: Cursor) {
        remove(ticket)
        var told: Cursor?
        if progress.isPresent { told = place }
        let closing = EventText.closing(at: told, retryAfterMs: Int.random(in: 100...3000))
        loop.push(ticket, closing.span, isLast: true)
    }
}
