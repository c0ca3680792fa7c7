internal import HTTPWire
internal import SettingsModel

/// When something happens.
extension Watchers {
    /// How many are looked at before others have their turn.
    private static let turn = 512

    /// Another state is published. Makes those due whom it concerns.
    func published() {
        guard !waiting.isEmpty else { return shared.forget() }
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

    private func makeDue(_ ticket: Ticket) {
        if waiting[ticket]?.becomeDue(seen) == true { due.append(ticket) }
    }

    private func takeTurn() {
        guard !isTurnDue, !due.isEmpty else { return }
        let state = service.store.state
        for _ in 0..<Self.turn {
            guard let ticket = due.popFirst() else { return shared.forget() }
            look(at: ticket, on: state)
        }
        isTurnDue = true
        handler.later { handler in
            handler.watchers.isTurnDue = false
            handler.watchers.takeTurn()
        }
    }

    /// Tells a watcher what there is to tell on a state, if there is something.
    func look(at ticket: Ticket, on state: State) {
        guard let watcher = waiting[ticket] else { return }
        let subject = watcher.subject
        var question: SharedQuestion?
        if case .changes(let limit, let keepsLatest) = watcher.purpose {
            let asked = SharedQuestion(
                subject: subject, after: watcher.after, form: .changes(limit: limit, keepsLatest: keepsLatest))
            // Mostly somebody before has been told the same.
            if let response = shared.answer(to: asked, at: state.revision) {
                remove(ticket)
                return loop.respond(ticket, handler.counted(response))
            }
            question = asked
        }
        waiting[ticket]?.isDue = false
        switch watcher.purpose {
        case .changes(let limit, let keepsLatest):
            guard state.reaches(subject, after: watcher.after) else { return reset(ticket, subject, on: state) }
            guard let question, let commits = state.commits(for: subject, after: watcher.after), !commits.isEmpty else {
                return
            }
            give(question, on: state, to: ticket) {
                tell(subject, commits, after: watcher.after, limit: limit, keepsLatest: keepsLatest, on: state)
            }
        case .suite(let isReset):
            guard state.isThere(subject) else { return }
            giveState(subject, isReset: isReset, on: state, to: ticket)
        case .reading(let reading, let known, let hadSuite):
            read(reading, known: known, hadSuite: hadSuite, for: ticket, on: state)
        case .stream(.live): advance(ticket, on: state)
        case .stream(.missing):
            guard state.isThere(subject) else { return }
            waiting[ticket]?.purpose = .stream(.appearing)
            proceed(ticket)
        case .stream: break
        }
    }

    private func read(_ reading: Reading, known: TagList?, hadSuite: Bool, for ticket: Ticket, on state: State) {
        do throws(Problem) {
            let shown = try reading.shown(on: state)
            let isGone = hadSuite && shown.tag == nil
            guard isGone || !shown.isKnown(by: known) else { return }
            let question = SharedQuestion(subject: reading.subject, form: .reading(reading))
            give(question, on: state, to: ticket) { shown.rendering }
        } catch {
            give(Rendering(Response(error, cursor: state.cursor)), to: ticket)
        }
    }

    private func reset(_ ticket: Ticket, _ subject: WatchSubject, on state: State) {
        guard !state.isThere(subject) else { return giveState(subject, isReset: true, on: state, to: ticket) }
        // It is gone, and how it went is not known any more: the watcher waits for another of its name.
        waiting[ticket]?.purpose = .suite(isReset: true)
    }
}
