internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// Recording and answering unfinished requests, which are requests that are not answered at once. A ticket is the
/// identifier of an unanswered request on its event loop.
extension APIHandler {
    /// Records what a request waits for: adds the request that the handler is processing to the table of unfinished
    /// requests, or updates a request in the table. A request whose connection has closed is no longer in the table,
    /// except a write that still takes effect.
    ///
    /// - Returns: false if the request is no longer in the table, because its connection has closed.
    @discardableResult
    func setWaiting(_ id: Ticket, for request: UnfinishedRequest) -> Bool {
        if current.id == id {
            if request.waitsForEvent { current.timing.waitsForEvent = true }
            requests.insert(id, request, from: current)
            return true
        }
        let previous = requests.update(id) { entry in
            let previous = entry.request
            entry.request = request
            if request.waitsForEvent {
                entry.timing.waitsForEvent = true
                if !policies.logging.mayLog(entry.timing) { entry.logCopy = nil }
            }
            return previous
        }
        guard let previous else { return false }
        release(previous, id)
        return true
    }

    func answer(_ id: Ticket, _ response: Response) {
        let entry = requests.remove(id)
        if let entry { release(entry.request, id) }
        if let response = countAndLog(response, to: id, entry) { loop.respond(id, response) }
    }

    /// Begins a response whose body is sent in pieces. Returns false for HEAD, and if the connection has closed. The
    /// metrics and the log of slow requests ignore the duration (`waitsForEvent`), because it depends on clients.
    @discardableResult
    func beginStreamedResponse(_ id: Ticket, _ response: Response) -> Bool {
        if current.id == id { current.timing.waitsForEvent = true }
        let entry = requests.entry(id)
        guard let response = countAndLog(response, to: id, entry) else { return false }
        if entry != nil { requests.update(id) { $0.logCopy = nil } }
        return loop.beginStream(id, response)
    }

    /// Counts and logs a response. Returns the response with all header fields; nil if the connection has closed.
    private func countAndLog(_ response: Response, to id: Ticket, _ entry: UnfinishedRequests.Entry?) -> Response? {
        var response = response
        if current.id == id {
            if current.forbidsCaching { response.forbidCaching() }
            // `handle`, which is still running, logs the response.
            current.setResponse(response)
            return response
        }
        guard let entry, entry.isConnected else { return nil }
        if entry.forbidsCaching { response.forbidCaching() }
        recordAnswer(response, entry.timing) { entry.logCopy }
        return response
    }
}

/// Answers that are rendered in the background.
extension APIHandler {
    /// Answers a request: renders a cheap answer at once, and a costly answer in the background.
    ///
    /// - Parameters:
    ///   - client: the client in whose queue background work waits; nil for the queue of the daemon itself.
    ///   - key: identifies the answer for requests that share it; nil if the answer is not shared.
    ///   - mustAnswer: true if rendering must not be refused, because the answer reports a completed write.
    ///   - input: the memory reservation of the data from which the answer is rendered; nil if the data is part of the
    ///     stored state.
    ///   - scheduler: renders a costly answer; nil for `service.renderingScheduler`.
    func renderAnswer(
        _ rendering: Rendering, to id: Ticket, for client: ClientKey?, as key: BackgroundAnswers.Key? = nil,
        mustAnswer: Bool = false, input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil
    ) -> Handling {
        guard rendering.exceedsLoopLimit else { return .answer(rendering.make()) }
        if let key, let shared = shareAnswer(key, with: id) { return shared }
        guard mustAnswer || !(scheduler ?? service.renderingScheduler).isFull(for: client) else {
            // The caller is not known here. Without a caller, an answer has no cursor if access control is on.
            return .answer(Response(Problem.tooMuchBackgroundWork, cursor: cursor(for: nil)))
        }
        let key = key ?? .request(id)
        if setWaiting(id, for: .backgroundWork(key)) {
            renderInBackground(rendering, key, for: id, of: client, mustAnswer: mustAnswer, input: input, on: scheduler)
        }
        return .later
    }

    /// Answers with the body that another connection is sending, or lets the request wait for an answer that a
    /// scheduler is computing. Returns nil if no connection is sending the answer and no scheduler is computing it.
    func shareAnswer(_ key: BackgroundAnswers.Key, with id: Ticket) -> Handling? {
        if let response = backgroundAnswers.answerBeingSent(key) { return .answer(response) }
        guard backgroundAnswers.isPending(key) else { return nil }
        if setWaiting(id, for: .backgroundWork(key)) { _ = backgroundAnswers.add(id, to: key) }
        return .later
    }

    /// Renders an answer in the background, once for all requests with the key. Call `setWaiting` first. `add` returns
    /// nil if a scheduler already computes the answer, otherwise a flag that is set while a request wants the answer.
    func renderInBackground(
        _ rendering: Rendering, _ key: BackgroundAnswers.Key, for id: Ticket, of client: ClientKey?, mustAnswer: Bool,
        input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil
    ) {
        guard let wanted = backgroundAnswers.add(id, to: key) else { return }
        let (mailbox, budget) = (mailbox, service.budget)
        var work = WorkScheduler.Work(
            client: client, bytes: { rendering.bytesToReserve(of: budget.capacity) }, input: input
        ) { reservation in
            let answer = BackgroundAnswers.ComputedAnswer(rendering, reservation)
            // The input is no longer needed. Its reservation ends before the event loop sends the answer.
            input?.resize(to: 0)
            mailbox.run { $0.answerRequests(with: answer, for: key) }
        }
        work.isWanted = { wanted.isSet }
        if !mustAnswer {
            // The scheduler refuses work that waits too long, or that needs more memory than the whole budget has.
            work.refuse = { refusal in
                mailbox.run { $0.refuse(key, because: Problem(refusal, ifTimedOut: .tooMuchBackgroundWork)) }
            }
        }
        (scheduler ?? service.renderingScheduler).submit(work)
    }

    /// Does work for a request in the background. The work returns a continuation, which runs on the event loop. If the
    /// connection closes before the work starts, neither the work nor the continuation runs. If the connection closes
    /// later, the continuation does not run.
    ///
    /// - Parameters:
    ///   - client: the client in whose queue the work waits; nil for the queue of the daemon itself.
    ///   - bytes: the memory that the work takes.
    ///   - refuse: runs on the event loop if the scheduler refuses the work; nil if the work must not be refused.
    func runInBackground(
        for id: Ticket, of client: ClientKey?, bytes: Int = 0,
        refuse: (@Sendable (APIHandler, Problem) -> Void)? = nil,
        _ work: @escaping @Sendable (MemoryBudget.Reservation) -> @Sendable (APIHandler) -> Void
    ) {
        let key = BackgroundAnswers.Key.request(id)
        guard setWaiting(id, for: .backgroundWork(key)), let wanted = backgroundAnswers.add(id, to: key)
        else { return }
        let resume = { @Sendable [mailbox] (continuation: @escaping @Sendable (APIHandler) -> Void) in
            mailbox.run { handler in
                if !handler.backgroundAnswers.removeJob(key).isEmpty { continuation(handler) }
            }
        }
        var item = WorkScheduler.Work(client: client, bytes: { bytes }) { reservation in resume(work(reservation)) }
        item.isWanted = { wanted.isSet }
        if let refuse {
            item.refuse = { refusal in
                resume { refuse($0, Problem(refusal, ifTimedOut: .tooMuchBackgroundWork)) }
            }
        }
        service.renderingScheduler.submit(item)
    }

    private func answerRequests(
        with computed: BackgroundAnswers.ComputedAnswer, for key: BackgroundAnswers.Key
    ) {
        backgroundAnswers.insert(computed, for: key)
        for id in backgroundAnswers.removeJob(key) {
            // For an event stream, the computed answer is the next piece of the stream.
            if case .answerKey(_, _, let revision) = key, case .stream(let watcher)? = requests[id] {
                notifier.sendPiece(computed.response, to: watcher, upTo: revision)
            } else {
                requests.update(id) { $0.logCopy?.rendering = computed.duration }
                answer(id, computed.response)
            }
        }
    }

    private func refuse(_ key: BackgroundAnswers.Key, because problem: Problem) {
        // The requests may have different callers, so the answer has no cursor if access control is on.
        let response = Response(problem, cursor: cursor(for: nil))
        for id in backgroundAnswers.removeJob(key) { answer(id, response) }
    }
}
