internal import HTTPWire
internal import Platform
internal import SettingsModel

/// Those on one loop who wait for something to happen.
///
/// Whoever comes in is told what there is to tell. If there is nothing, it is put into the index under the state at which
/// there was nothing: that state is taken together with the wish to hear of the next publication, so nothing falls between
/// the two. A publication makes those due whom it concerns; they are looked at in turns, so that thousands of them do not
/// keep the loop from others. Whoever has been answered is forgotten; a stream stays.
///
/// Confined to its loop, like the handler that owns it. What it does stands in files of its own: `WatcherTurns`,
/// `WatcherAnswers`, `EventStreams`.
final class Watchers {
    let service: Service
    unowned let loop: EventLoop
    unowned let handler: APIHandler
    private let listener: ListenerID
    var waiting = WatcherTable()
    var index = WatcherIndex()
    /// The index was held against all commits up to this one.
    var seen = Revision.zero
    var due = DueLine()
    /// The next turn of those who are due is to come, when others had theirs.
    var isTurnDue = false
    var shared = SharedAnswers()
    private var spread = Spread()
    fileprivate(set) var isStopping = false

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
    func observe(_ question: WatchQuestion, _ exchange: Exchange) -> Handling {
        let state = watchedState()
        do throws(Problem) {
            return try observe(question, on: state, exchange)
        } catch {
            // The cursor must be that of what was looked at: whoever goes on from a later one would miss something.
            return .answer(handler.counted(Response(toObserver: error, cursor: state.cursor)))
        }
    }

    private func observe(
        _ question: WatchQuestion, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        switch state.find(question.subject, since: question.since, effort: WatcherEffort.onLoop) {
        case .undecided where question.form != .stream:
            guard !service.longAnswers.isFull else { throw APIHandler.tooManyLongAnswers }
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
        let hasSuite = state.hasSuite(reading.subject.suites[0])
        try add(
            .reading(reading, known: known, hadSuite: hasSuite), reading.subject, after: state.revision, on: state,
            exchange)
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
            let shared = SharedQuestion(subject: question.subject, form: .state(isReset: isReset))
            return answer(shared, on: state, to: ticket) { Self.state(question.subject, isReset: isReset, on: state) }
        case .commits(let commits):
            let shared = SharedQuestion(
                subject: question.subject, after: position, form: .changes(limit: limit, keepsLatest: keepsLatest))
            return answer(shared, on: state, to: ticket) {
                tell(question.subject, commits, after: position, limit: limit, keepsLatest: keepsLatest, on: state)
            }
        case .absent:
            guard question.waitsForSuite, !isStopping else { throw Self.absent(question.subject, on: state) }
            try add(
                .suite(isReset: question.since != nil), question.subject, after: state.revision, on: state, exchange)
        case .nothing, .undecided:
            let after = max(position, state.revision)
            guard question.wait > 0, !isStopping else {
                return .answer(handler.counted(quiet(question.subject, after: after, on: state)))
            }
            try add(
                .changes(limit: limit, keepsLatest: keepsLatest), question.subject, after: after, on: state, exchange)
        }
        setDeadline(ticket, seconds: question.wait)
        return .later
    }

    /// What was looked for beside the loop was found, or not, in a state that may have been followed by others.
    private func decided(_ question: WatchQuestion, _ finding: Finding, on state: State, _ exchange: Exchange) {
        let peer = loop.peer(of: exchange.ticket)
        // Of one that went meanwhile nothing more will be heard, so it must not begin to wait.
        guard peer != .gone else { return }
        // Nor of one that has said all.
        defer { if peer == .ended || isStopping { end(exchange.ticket) } }
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
            loop.respond(exchange.ticket, handler.counted(Response(toObserver: error, cursor: state.cursor)))
        }
    }
}

/// How much is looked at for one watcher while others wait.
enum WatcherEffort {
    static let onLoop = 4096
}

/// Coming and going.
extension Watchers {
    func add(
        _ purpose: Watcher.Purpose, _ subject: WatchSubject, after: Revision, on state: State, _ exchange: Exchange
    ) throws(Problem) {
        let peer: WatcherCount.Peer
        do throws(WatcherCount.Excess) {
            peer = try service.watchers.add(exchange.peer.withoutPort)
        } catch {
            throw Problem(error)
        }
        if waiting.isEmpty { seen = state.revision }
        let (topic, place) = index.add(exchange.ticket, subject)
        waiting[exchange.ticket] = Watcher(topic: topic, place: place, peer: peer, purpose: purpose, after: after)
    }

    /// Forgets a watcher: it was answered, or is gone.
    func remove(_ ticket: Ticket) {
        guard let watcher = waiting.remove(ticket) else { return }
        if let moved = index.remove(watcher.topic, watcher.place) { waiting[moved]?.place = watcher.place }
        service.watchers.remove(watcher.peer)
    }

    /// The end of the wait. Long ones are spread, so that those who came together do not all come back together.
    func setDeadline(_ ticket: Ticket, seconds: Int) {
        let wait = UInt64(seconds) * 1_000_000_000
        let shortest = seconds >= 10 ? wait / 10 * 9 : wait
        loop.setAlarm(ticket, at: loop.now &+ UInt64.random(in: shortest...wait, using: &spread))
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
        for ticket in waiting.all { end(ticket) }
    }

    /// Answers a watcher with what there is, which mostly is nothing.
    func end(_ ticket: Ticket) {
        // The same state for both: what is published in between was not looked at.
        let state = service.store.state
        waiting[ticket]?.bringUp(to: seen)
        look(at: ticket, on: state)
        guard let watcher = waiting[ticket] else { return }
        switch watcher.purpose {
        case .changes:
            give(Rendering(quiet(watcher.subject, after: watcher.after, on: state)), to: ticket)
        case .suite: give(Rendering(absence(of: watcher.subject, on: state)), to: ticket)
        case .reading(let reading, let known, _):
            do throws(Problem) {
                give(try reading.shown(on: state).answer(to: known, state.cursor), to: ticket)
            } catch {
                give(Rendering(Response(error, cursor: state.cursor)), to: ticket)
            }
        case .stream(let progress):
            endStream(ticket, progress, at: Cursor(epoch: state.epoch, revision: watcher.after))
        }
    }

    /// Answers a watcher with what is for nobody else, and forgets it.
    func give(_ rendering: Rendering, to ticket: Ticket) {
        remove(ticket)
        if case .answer(let response) = handler.give(rendering, to: ticket) { loop.respond(ticket, response) }
    }

    /// Answers a watcher with what all are told who ask the same, and forgets it.
    func give(_ question: SharedQuestion, on state: State, to ticket: Ticket, _ rendering: () -> Rendering) {
        remove(ticket)
        if case .answer(let response) = answer(question, on: state, to: ticket, rendering) {
            loop.respond(ticket, response)
        }
    }

    func giveState(_ subject: WatchSubject, isReset: Bool, on state: State, to ticket: Ticket) {
        let question = SharedQuestion(subject: subject, form: .state(isReset: isReset))
        give(question, on: state, to: ticket) { Self.state(subject, isReset: isReset, on: state) }
    }
}

/// Numbers to spread what would otherwise happen all at once. Nobody gains by guessing them, so they need not cost a call of
/// the system each.
struct Spread: RandomNumberGenerator {
    private var state = UInt64.random(in: .min ... .max)

    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
