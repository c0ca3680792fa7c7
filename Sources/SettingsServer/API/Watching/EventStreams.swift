internal import HTTPWire
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
        switch finding {
        case .absent:
            guard question.waitsForSuite else { throw Self.absent(question.subject, on: state) }
            try add(
                .suite(isReset: true, thenStreams: true), question.subject, after: state.revision, on: state, exchange)
            setDeadline(ticket, seconds: question.wait)
            return .later
        case .state(let isReset):
            try add(
                .stream(.opening(isReset: isReset)), question.subject, after: state.revision, on: state, exchange)
        case .commits, .nothing, .undecided:
            let after = question.since?.revision ?? .zero
            try add(.stream(.catchingUp), question.subject, after: after, on: state, exchange)
        }
        begin(ticket)
        return .later
    }

    func begin(_ ticket: Ticket) {
        guard waiting[ticket] != nil else { return }
        let state = service.store.state
        var head = Response(status: 200, contentType: .eventStream, fields: FieldBlock(cursor: state.cursor, tag: nil))
        // A proxy that collects answers would keep the events to itself.
        head.fields.append("X-Accel-Buffering", "no")
        loop.begin(ticket, handler.counted(head))
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
        case .live: return
        case .opening(let isReset): open(ticket, watcher.subject, isReset: isReset, on: state)
        case .catchingUp:
            guard state.reaches(watcher.subject, after: watcher.after) else {
                waiting[ticket]?.purpose = .stream(.opening(isReset: true))
                return proceed(ticket)
            }
            let (commits, reached) = state.nextCommits(
                for: watcher.subject, after: watcher.after, effort: WatcherEffort.onLoop, bytes: Self.piece)
            if !commits.isEmpty { push(Self.events(watcher.subject, commits, on: state), to: ticket) }
            waiting[ticket]?.after = max(watcher.after, reached)
            if reached >= state.revision {
                waiting[ticket]?.purpose = .stream(.live)
            } else if commits.isEmpty {
                handler.later { $0.watchers.proceed(ticket) }
            } else {
                loop.whenDrained(ticket)
            }
        }
    }

    /// Tells the state, with which a stream begins, or begins anew.
    private func open(_ ticket: Ticket, _ subject: WatchSubject, isReset: Bool, on state: State) {
        let make: @Sendable () -> [UInt8] = {
            var text: [UInt8] = []
            // A suite that was dropped this very moment has nothing to tell.
            guard let observed = state.observed(subject, isReset: isReset) else { return text }
            EventText.append(.state(observed), to: &text)
            return text
        }
        guard state.weight(of: subject) > Rendering.mostOnLoop else {
            return opened(ticket, make(), at: state.revision)
        }
        handler.beside {
            let text = make()
            return { $0.watchers.opened(ticket, text, at: state.revision) }
        }
    }

    private func opened(_ ticket: Ticket, _ text: [UInt8], at revision: Revision) {
        guard waiting[ticket] != nil else { return }
        push(text, to: ticket)
        waiting[ticket]?.after = revision
        waiting[ticket]?.purpose = .stream(.catchingUp)
        if text.count > Self.piece { loop.whenDrained(ticket) } else { proceed(ticket) }
    }

    /// Tells a stream that is at the present what has just happened.
    func advance(_ ticket: Ticket, on state: State) {
        guard let watcher = waiting[ticket] else { return }
        guard state.reaches(watcher.subject, after: watcher.after) else {
            waiting[ticket]?.purpose = .stream(.opening(isReset: true))
            return proceed(ticket)
        }
        let question = SharedQuestion(subject: watcher.subject, after: watcher.after, form: .events)
        var text = shared.answer(to: question, at: state.revision)?.body
        if text == nil, let commits = state.commits(for: watcher.subject, after: watcher.after) {
            let made = commits.isEmpty ? [] : Self.events(watcher.subject, commits, on: state)
            shared.keep(Response(status: 200, body: made), for: question, at: state.revision)
            text = made
        }
        waiting[ticket]?.after = max(watcher.after, state.revision)
        if let text, !text.isEmpty { push(text, to: ticket) }
    }

    private static func events(_ subject: WatchSubject, _ commits: [KeptCommit], on state: State) -> [UInt8] {
        var text: [UInt8] = []
        for kept in commits { EventText.append(.commit(state.streamed(subject, kept.commit)), to: &text) }
        return text
    }

    func keepAlive(_ ticket: Ticket, _ progress: Watcher.Progress) {
        guard case .live = progress else { return loop.setAlarm(ticket, at: loop.now &+ Self.silence) }
        let state = service.store.state
        look(at: ticket, on: state)
        guard let watcher = waiting[ticket] else { return }
        push(EventText.id(Cursor(epoch: state.epoch, revision: max(watcher.after, seen))), to: ticket)
    }

    private func push(_ text: [UInt8], to ticket: Ticket) {
        loop.push(ticket, text.span)
        loop.setAlarm(ticket, at: loop.now &+ Self.silence)
    }

    func endStream(_ ticket: Ticket, _ progress: Watcher.Progress, at place: Cursor) {
        remove(ticket)
        var told: Cursor?
        if case .live = progress { told = place }
        let closing = EventText.closing(at: told, retryAfterMs: Int.random(in: 100...3000))
        loop.push(ticket, closing.span, isLast: true)
    }
}
