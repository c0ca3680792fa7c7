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

/// Answers that are rendered in the background.
extension APIHandler {
    /// Renders a cheap answer here, and an expensive answer in the background.
    ///
    /// - Parameters:
    ///   - client: the client that the work is done for.
    ///   - key: names the answer for callers that share it.
    ///   - isOwed: true if the answer may not be refused, as the answer to a write that was done.
    ///   - input: the reservation of what is rendered, if that is not stored.
    ///   - scheduler: the scheduler that renders an expensive answer; nil for the usual one.
    func give(
        _ rendering: Rendering, to ticket: Ticket, for client: ClientKey?, as key: BackgroundAnswers.Key? = nil,
        isOwed: Bool = false, input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil
    ) -> Handling {
        guard rendering.exceedsLoopLimit else { return .answer(rendering.make()) }
        if let key, let shared = share(key, with: ticket) { return shared }
        guard isOwed || !(scheduler ?? service.rendering).isFull(for: client) else {
            return .answer(Response(Problem.tooMuchBackgroundWork, cursor: cursor(for: nil)))
        }
        make(
            rendering, key ?? .caller(ticket), for: ticket, of: client, isOwed: isOwed, input: input, on: scheduler)
        return .later
    }

    /// Answers with what another caller is being sent, or has the caller wait for an answer that is being made for others.
    /// Returns nil if no such answer is sent or being made.
    func share(_ key: BackgroundAnswers.Key, with ticket: Ticket) -> Handling? {
        if let response = backgroundAnswers.recent(key) { return .answer(response) }
        guard backgroundAnswers.isBeingMade(key) else { return nil }
        _ = backgroundAnswers.add(ticket, to: key)
        return .later
    }

    /// Renders an answer in the background, once for all callers that ask for it meanwhile.
    func make(
        _ rendering: Rendering, _ key: BackgroundAnswers.Key, for ticket: Ticket, of client: ClientKey?, isOwed: Bool,
        input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil
    ) {
        guard let flag = backgroundAnswers.add(ticket, to: key) else { return }
        let (mailbox, budget) = (mailbox, service.budget)
        var work = WorkScheduler.Work(
            client: client, bytes: { rendering.bytesToReserve(of: budget.capacity) }, input: input
        ) { reservation in
            let made = BackgroundAnswers.Made(rendering, reservation)
            // Before the loop sends the answer: the input is not needed any more.
            input?.resize(to: 0)
            mailbox.run { $0.finish(made, key) }
        }
        work.isWanted = { flag.isSet }
        if !isOwed {
            work.refuse = { refusal in
                mailbox.run { $0.refuse(key, because: Problem(refusal, orTimeout: .tooMuchBackgroundWork)) }
            }
        }
        (scheduler ?? service.rendering).submit(work)
    }

    /// Does work for a caller in the background, unless the caller is gone before the work begins, and then runs what the work returns on the loop.
    ///
    /// - Parameters:
    ///   - client: the client whose queue the work waits in; nil for the queue of work that looks after the daemon.
    ///   - bytes: the memory that the work takes.
    ///   - refuse: runs on the loop instead; nil if the work may not be refused.
    func runInBackground(
        for ticket: Ticket, of client: ClientKey?, bytes: Int = 0,
        refuse: (@Sendable (APIHandler, Problem) -> Void)? = nil,
        _ work: @escaping @Sendable (MemoryBudget.Reservation) -> @Sendable (APIHandler) -> Void
    ) {
        let key = BackgroundAnswers.Key.caller(ticket)
        guard let flag = backgroundAnswers.add(ticket, to: key) else { return }
        let finish = { @Sendable [mailbox] (continuation: @escaping @Sendable (APIHandler) -> Void) in
            mailbox.run { handler in
                _ = handler.backgroundAnswers.finish(key)
                continuation(handler)
            }
        }
        var item = WorkScheduler.Work(client: client, bytes: { bytes }) { reservation in finish(work(reservation)) }
        item.isWanted = { flag.isSet }
        if let refuse {
            item.refuse = { refusal in
                finish { refuse($0, Problem(refusal, orTimeout: .tooMuchBackgroundWork)) }
            }
        }
        service.rendering.submit(item)
    }

    private func finish(_ made: BackgroundAnswers.Made, _ key: BackgroundAnswers.Key) {
        backgroundAnswers.keep(made, for: key)
        for ticket in backgroundAnswers.finish(key) {
            if case .question(let question, _, let revision) = key, question.form.isOfStream {
                watchers.sent(ticket, made.response, upTo: revision)
            } else {
                underWay[ticket]?.text?.rendering = made.time
                answer(ticket, made.response)
            }
        }
    }

    private func refuse(_ key: BackgroundAnswers.Key, because problem: Problem) {
        let response = Response(problem, cursor: cursor(for: nil))
        for ticket in backgroundAnswers.finish(key) { answer(ticket, response) }
    }
}
