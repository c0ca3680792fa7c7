internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// Answers, on their way to the connection.
extension APIHandler {
    /// Gives the answer to a request that was to be answered later.
    func answer(_ ticket: Ticket, _ response: Response) {
        var response = response
        if takeConfidential(ticket) { response.forbidStorage() }
        finish(ticket, response)
        loop.respond(ticket, response)
    }

    /// Begins a stream, or the answer to HEAD for one. Returns false if there is nothing to push.
    @discardableResult
    func begin(_ ticket: Ticket, _ response: Response) -> Bool {
        var response = response
        if takeConfidential(ticket) { response.forbidStorage() }
        noteWaiting(ticket)
        finish(ticket, response)
        return loop.begin(ticket, response)
    }

    /// Notes that a request waits for a change. Of one that is not logged, nothing has to be known until its answer.
    func noteWaiting(_ ticket: Ticket) {
        guard lookedAt != ticket else { return current.isWaiting = true }
        guard var known = underWay.removeValue(forKey: ticket) else { return }
        known.request.isWaiting = true
        if policies.logging.mayLog(known.request) { underWay[ticket] = known }
    }

    private func finish(_ ticket: Ticket, _ response: Response) {
        if let known = underWay.removeValue(forKey: ticket) {
            note(response, known.request) { known.text }
        } else if lookedAt == ticket {
            lookedAt = nil
            begun = response
        } else if loop.peer(of: ticket) != .gone {
            // A request that waits and is not logged is not in `underWay`.
            figures.count(response.status, response.refusal)
        }
    }
}

/// Long answers.
extension APIHandler {
    /// Renders a short answer here, and a long one beside the loop, which has others to serve.
    ///
    /// - Parameters:
    ///   - key: names the answer for callers that share it.
    ///   - isOwed: true if it may not be refused, as the answer to a write that was done.
    ///   - held: the charge for what it is rendered from, if that is no data.
    ///   - queue: the queue on which a long one is rendered, if that is not the usual one.
    ///   - goesFirst: true if a long one goes before others: what it shows was searched beside the loop already.
    func give(
        _ rendering: Rendering, to ticket: Ticket, as key: LongAnswers.Key? = nil, isOwed: Bool = false,
        held: MemoryBudget.Reservation? = nil, on queue: BackgroundQueue? = nil, goesFirst: Bool = false
    ) -> Handling {
        guard rendering.exceedsLoopLimit else { return .answer(rendering.make()) }
        if let key, let shared = share(key, with: ticket) { return shared }
        guard isOwed || goesFirst || !(queue ?? service.renderer).isFull() else {
            return .answer(Response(Problem.tooManyLongAnswers, cursor: cursor(for: nil)))
        }
        make(
            rendering, key ?? .caller(ticket), for: ticket, isOwed: isOwed, held: held, on: queue, goesFirst: goesFirst)
        return .later
    }

    /// Answers with what another caller is being sent, or has the caller wait for an answer that is being made for others.
    /// Returns nil if no such answer is sent or being made.
    func share(_ key: LongAnswers.Key, with ticket: Ticket) -> Handling? {
        if let response = longAnswers.recent(key) { return .answer(response) }
        guard longAnswers.isBeingMade(key) else { return nil }
        _ = longAnswers.add(ticket, to: key)
        return .later
    }

    /// Makes a long answer beside the loop, once for all callers that come meanwhile.
    func make(
        _ rendering: Rendering, _ key: LongAnswers.Key, for ticket: Ticket, isOwed: Bool,
        held: MemoryBudget.Reservation? = nil, on queue: BackgroundQueue? = nil, goesFirst: Bool = false
    ) {
        guard let flag = longAnswers.add(ticket, to: key) else { return }
        let (mailbox, budget) = (mailbox, service.budget)
        let bytes = { @Sendable in rendering.bytesToReserve(of: budget.capacity) }
        var job = BackgroundQueue.Job(bytes: bytes, held: held) { charge in
            let made = LongAnswers.Made(rendering, charge)
            // Before the loop hears of the answer: to have both charged could cost the connection.
            held?.resize(to: 0)
            mailbox.run { $0.finish(made, key) }
        }
        job.goesFirst = goesFirst
        job.isWanted = { flag.isSet }
        if !isOwed {
            job.refuse = { problem in mailbox.run { $0.refuse(key, because: problem ?? .tooManyLongAnswers) } }
        }
        (queue ?? service.renderer).run(job)
    }

    /// Searches beside the loop for a caller, unless that is gone before it begins, and runs what the search returns on the
    /// loop.
    ///
    /// - Parameter goesFirst: true if it goes before others that wait.
    func search(
        for ticket: Ticket, goesFirst: Bool = false, _ work: @escaping @Sendable () -> @Sendable (APIHandler) -> Void
    ) {
        let key = LongAnswers.Key.caller(ticket)
        guard let flag = longAnswers.add(ticket, to: key) else { return }
        let mailbox = mailbox
        var job = BackgroundQueue.Job { _ in
            let found = work()
            mailbox.run { handler in
                _ = handler.longAnswers.finish(key)
                found(handler)
            }
        }
        job.goesFirst = goesFirst
        job.isWanted = { flag.isSet }
        service.renderer.run(job)
    }

    private func finish(_ made: LongAnswers.Made, _ key: LongAnswers.Key) {
        longAnswers.keep(made, for: key)
        for ticket in longAnswers.finish(key) {
            if case .question(let question, _, let revision) = key, question.form.isOfStream {
                watchers.sent(ticket, made.response, upTo: revision)
            } else {
                underWay[ticket]?.text?.rendering = made.time
                answer(ticket, made.response)
            }
        }
    }

    private func refuse(_ key: LongAnswers.Key, because problem: Problem) {
        let response = Response(problem, cursor: cursor(for: nil))
        for ticket in longAnswers.finish(key) { answer(ticket, response) }
    }
}
