internal import HTTPWire
internal import SettingsModel

/// Those on one loop who wait for something to happen.
///
/// Whoever comes in is told what there is to tell. If there is nothing, it is put into the index under the state at which
/// there was nothing: that state is taken together with the wish to hear of the next publication, so nothing falls between
/// the two. A publication makes those due whom it concerns; they are looked at in turns, so that thousands of them do not
/// keep the loop from others. Whoever has been answered is forgotten; a stream stays.
///
/// Confined to its loop, like the handler that owns it.
final class Watchers {
    private let service: Service
    private unowned let loop: EventLoop
    private unowned let handler: APIHandler
    private let listener: ListenerID
    private var waiting: [Ticket: Watcher] = [:]
    private var index = WatcherIndex()
    /// The index was held against all commits up to this one.
    private var seen = Revision.zero
    private var due = DueLine()
    private var shared = SharedAnswers()
    /// Streams to begin, which has to wait for the end of the batch.
    private var beginning: [Ticket] = []
    private(set) var isStopping = false

    /// How many are looked at before others have their turn.
    private static let turn = 256

    init(_ service: Service, on loop: EventLoop, for handler: APIHandler, _ listener: ListenerID) {
        self.service = service
        self.loop = loop
        self.handler = handler
        self.listener = listener
    }

    /// The state, with the promise to hear of the next one.
    func watchedState() -> State {
        service.store.watch(listener)
    }

    /// Takes in somebody who observes.
    func observe(_ question: WatchQuestion, _ exchange: Exchange) throws(Problem) -> Handling {
        let state = watchedState()
        switch state.find(question.subject, since: question.since, effort: WatcherEffort.onLoop) {
        case .undecided where question.form != .stream:
            // Looked for beside the loop, without a bound.
            handler.beside {
                let finding = state.find(question.subject, since: question.since)
                return { handler in handler.watchers.decided(question, finding, on: state, exchange) }
            }
            return .later
        case let finding: return try answer(question, finding, on: state, exchange)
        }
    }

    /// Waits for another answer than the one that is known.
    func wait(
        for reading: Reading, known: TagList?, seconds: Int, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        try add(.reading(reading, known: known), reading.subject, after: state.revision, on: state, exchange)
        setDeadline(exchange.ticket, seconds: seconds)
        return .later
    }

    private func answer(
        _ question: WatchQuestion, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard case .poll(_, let limit, let keepsLatest) = question.form else {
            return try stream(question, finding, on: state, exchange)
        }
        let ticket = exchange.ticket
        let position = question.since?.revision ?? .zero
        switch finding {
        case .state(let isReset):
            return handler.give(Self.state(question.subject, isReset: isReset, on: state), to: ticket)
        case .commits(let commits):
            let shared = SharedQuestion(
                subject: question.subject, after: position, form: .answer(limit: limit, keepsLatest: keepsLatest))
            return tell(shared, commits, on: state, to: ticket)
        case .absent:
            guard question.waitsForSuite, !isStopping else { throw Self.absent(question.subject, on: state) }
            let isReset = question.since != nil
            try add(
                .suite(isReset: isReset, thenStreams: false), question.subject, after: state.revision, on: state,
                exchange)
        case .nothing, .undecided:
            let after = max(position, state.revision)
            guard question.wait > 0, !isStopping else {
                return .answer(handler.counted(try quiet(question.subject, after: after, on: state)))
            }
            try add(
                .changes(limit: limit, keepsLatest: keepsLatest), question.subject, after: after, on: state, exchange)
        }
        setDeadline(ticket, seconds: question.wait)
        return .later
    }

    /// What was looked for beside the loop was found, or not, in a state that may have been followed by others.
    private func decided(_ question: WatchQuestion, _ finding: Finding, on state: State, _ exchange: Exchange) {
        do throws(Problem) {
            var (finding, state) = (finding, state)
            if case .nothing = finding {
                let position = Cursor(
                    epoch: state.epoch, revision: max(state.revision, question.since?.revision ?? .zero))
                state = watchedState()
                finding = state.find(question.subject, since: .cursor(position))
            }
            if case .answer(let response) = try answer(question, finding, on: state, exchange) {
                loop.respond(exchange.ticket, response)
            }
        } catch {
            loop.respond(exchange.ticket, handler.counted(Response(error, cursor: state.cursor)))
        }
    }
}

/// How much is looked at for one watcher while others wait.
enum WatcherEffort {
    static let onLoop = 4096
}

/// Coming and going.
extension Watchers {
    private func add(
        _ purpose: Watcher.Purpose, _ subject: WatchSubject, after: Revision, on state: State, _ exchange: Exchange
    ) throws(Problem) {
        let peer = exchange.peer.withoutPort
        if let excess = service.watchers.add(peer) { throw Problem(excess) }
        if waiting.isEmpty { seen = state.revision }
        let (topic, place) = index.add(exchange.ticket, subject)
        waiting[exchange.ticket] = Watcher(topic: topic, place: place, peer: peer, purpose: purpose, after: after)
    }

    /// Forgets a watcher: it was answered, or is gone.
    private func remove(_ ticket: Ticket) {
        guard let watcher = waiting.removeValue(forKey: ticket) else { return }
        if let moved = index.remove(watcher.topic, watcher.place) { waiting[moved]?.place = watcher.place }
        service.watchers.remove(watcher.peer)
    }

    /// The end of the wait. Long ones are spread, so that those who came together do not all come back together.
    private func setDeadline(_ ticket: Ticket, seconds: Int) {
        let wait = UInt64(seconds) * 1_000_000_000
        let shortest = seconds >= 10 ? wait / 10 * 9 : wait
        loop.setAlarm(ticket, at: loop.now &+ UInt64.random(in: shortest...wait))
    }

    /// The connection is gone.
    func closed(_ ticket: Ticket) {
        remove(ticket)
    }

    /// The time is up, for a stream to be kept alive or for anybody else to be answered.
    func alarm(_ ticket: Ticket) {
        guard let watcher = waiting[ticket] else { return }
        guard case .stream(let progress) = watcher.purpose else { return end(ticket) }
        keepAlive(ticket, progress)
    }

    /// The peer will send nothing more: whatever it waits for, it is answered now.
    func peerHalfClosed(_ ticket: Ticket) {
        end(ticket)
    }

    /// The daemon is going down: everybody is answered, and nobody waits any more.
    func stopping() {
        isStopping = true
        for ticket in Array(waiting.keys) { end(ticket) }
    }

    /// Answers a watcher with what there is, which mostly is nothing.
    private func end(_ ticket: Ticket) {
        look(at: ticket, on: service.store.state)
        guard let watcher = waiting[ticket] else { return }
        let state = service.store.state
        do throws(Problem) {
            switch watcher.purpose {
            case .changes:
                give(Rendering(try quiet(watcher.subject, after: watcher.after, on: state)), to: ticket)
            case .suite: throw Self.absent(watcher.subject, on: state)
            case .reading(let reading, let known):
                give(try reading.shown(on: state).answer(to: known, state.cursor), to: ticket)
            case .stream: endStream(ticket)
            }
        } catch {
            give(Rendering(Response(error, cursor: state.cursor)), to: ticket)
        }
    }

    /// Answers a watcher and forgets it.
    private func give(_ rendering: Rendering, to ticket: Ticket) {
        remove(ticket)
        if case .answer(let response) = handler.give(rendering, to: ticket) { loop.respond(ticket, response) }
    }
}

/// When something happens.
extension Watchers {
    /// Another state is published. Makes those due whom it concerns.
    func published() {
        guard !waiting.isEmpty else { return }
        let state = watchedState()
        var topics: [ObjectIdentifier: Topic] = [:]
        if state.history.floor <= seen {
            for kept in state.history.commits(after: seen) { index.collect(kept.commit, into: &topics) }
        } else {
            // Some of what happened was too large to be kept: everybody looks.
            for topic in index.all { topics[ObjectIdentifier(topic)] = topic }
        }
        for topic in topics.values {
            for ticket in topic.members { makeDue(ticket) }
        }
        seen = state.revision
        takeTurn()
    }

    /// Until now nothing has happened to a watcher who is not due yet: so all of a topic share one answer, whenever they
    /// came.
    private func makeDue(_ ticket: Ticket) {
        guard let watcher = waiting[ticket], !watcher.isDue else { return }
        waiting[ticket]?.isDue = true
        if !watcher.isBehind { waiting[ticket]?.after = max(watcher.after, seen) }
        due.append(ticket)
    }

    private func takeTurn() {
        guard !due.isEmpty else { return }
        let state = service.store.state
        for _ in 0..<Self.turn {
            guard let ticket = due.popFirst() else { return shared.forget() }
            look(at: ticket, on: state)
        }
        handler.later { $0.watchers.takeTurn() }
    }

    /// Tells a watcher what there is to tell on a state, if there is something.
    private func look(at ticket: Ticket, on state: State) {
        guard var watcher = waiting[ticket] else { return }
        watcher.isDue = false
        waiting[ticket]?.isDue = false
        switch watcher.purpose {
        case .changes(let limit, let keepsLatest):
            guard state.reaches(watcher.subject, after: watcher.after) else {
                return reset(ticket, watcher.subject, on: state)
            }
            guard let commits = state.commits(for: watcher.subject, after: watcher.after), !commits.isEmpty else {
                return
            }
            let question = SharedQuestion(
                subject: watcher.subject, after: watcher.after, form: .answer(limit: limit, keepsLatest: keepsLatest))
            remove(ticket)
            if case .answer(let response) = tell(question, commits, on: state, to: ticket) {
                loop.respond(ticket, response)
            }
        case .suite(let isReset, let thenStreams):
            guard state.hasSuite(watcher.subject.suites[0]) else { return }
            guard thenStreams else { return give(Self.state(watcher.subject, isReset: isReset, on: state), to: ticket) }
            waiting[ticket]?.purpose = .stream(.opening(isReset: isReset))
            begin(ticket)
        case .reading(let reading, let known): read(reading, known: known, for: ticket, on: state)
        case .stream(.live): advance(ticket, on: state)
        case .stream: break
        }
    }

    private func read(_ reading: Reading, known: TagList?, for ticket: Ticket, on state: State) {
        do throws(Problem) {
            let shown = try reading.shown(on: state)
            if !shown.isKnown(by: known) { give(shown.rendering, to: ticket) }
        } catch {
            give(Rendering(Response(error, cursor: state.cursor)), to: ticket)
        }
    }

    private func reset(_ ticket: Ticket, _ subject: WatchSubject, on state: State) {
        guard subject.isOne, !state.hasSuite(subject.suites[0]) else {
            return give(Self.state(subject, isReset: true, on: state), to: ticket)
        }
        // It is gone, and how it went is not known any more: the watcher waits for another of its name.
        waiting[ticket]?.purpose = .suite(isReset: true, thenStreams: false)
    }
}

/// The answers.
extension Watchers {
    /// The answer that tells of these commits. A long one is made beside the loop, for all who ask the same.
    private func tell(
        _ question: SharedQuestion, _ commits: [KeptCommit], on state: State, to ticket: Ticket
    ) -> Handling {
        if let response = shared.answer(to: question, at: state.revision) { return .answer(handler.counted(response)) }
        guard case .answer(let limit, let keepsLatest) = question.form else { return .later }
        let make: @Sendable () -> Response = {
            let told = state.observed(
                question.subject, commits, from: question.after, limit: limit, keepsLatest: keepsLatest)
            return Response(json: told.jsonBytes(), cursor: state.cursor)
        }
        let weight = commits.reduce(0) { $0 + 1 + $1.commit.changes.count }
        guard weight > Rendering.mostOnLoop else {
            let response = make()
            shared.keep(response, for: question, at: state.revision)
            return .answer(handler.counted(response))
        }
        if shared.enqueue(ticket, for: question, at: state.revision) {
            handler.beside {
                let response = make()
                return { $0.watchers.made(response, for: question, at: state.revision) }
            }
        }
        return .later
    }

    private func made(_ response: Response, for question: SharedQuestion, at revision: Revision) {
        for ticket in shared.take(question, at: revision) { loop.respond(ticket, handler.counted(response)) }
    }

    /// That nothing has happened up to now.
    private func quiet(_ subject: WatchSubject, after: Revision, on state: State) throws(Problem) -> Response {
        if subject.isOne, !state.hasSuite(subject.suites[0]) { throw Self.absent(subject, on: state) }
        var told = state.observed(subject, [], from: after)
        var response = Response(json: [], cursor: told.cursor)
        if isStopping {
            told.retryAfterMs = Int64.random(in: 100...3000)
            response.closes = true
        }
        response.body = told.jsonBytes()
        return response
    }

    private static func state(_ subject: WatchSubject, isReset: Bool, on state: State) -> Rendering {
        Rendering(weight: state.weight(of: subject)) {
            guard let observed = state.observed(subject, isReset: isReset) else {
                return Response(absent(subject, on: state), cursor: state.cursor)
            }
            return Response(json: observed.jsonBytes(), cursor: state.cursor)
        }
    }

    /// That there is no such suite, and that it is worth while to ask again.
    private static func absent(_ subject: WatchSubject, on state: State) -> Problem {
        var problem = state.unknownSuite(subject.suites[0])
        problem.retryAfterMs = 1000
        return problem
    }
}

/// Streams of events.
extension Watchers {
    /// How much of what happened before is told at once; more when the reader has taken that.
    private static let piece = 256 << 10
    /// After so long without an event something is sent all the same.
    private static let silence: UInt64 = 15_000_000_000

    private func stream(
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
        beginning.append(ticket)
        return .later
    }

    /// The batch ends: answers may be begun.
    func batchEnded() {
        guard !beginning.isEmpty else { return }
        let tickets = beginning
        beginning = []
        for ticket in tickets { begin(ticket) }
    }

    private func begin(_ ticket: Ticket) {
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
    private func proceed(_ ticket: Ticket) {
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
    private func advance(_ ticket: Ticket, on state: State) {
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

    private func keepAlive(_ ticket: Ticket, _ progress: Watcher.Progress) {
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

    private func endStream(_ ticket: Ticket) {
        remove(ticket)
        loop.push(ticket, EventText.closing(retryAfterMs: Int.random(in: 100...3000)).span, isLast: true)
    }
}
