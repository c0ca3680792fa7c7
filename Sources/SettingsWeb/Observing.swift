internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// Requests that come in: answered at once if there is something new, else subscribed.
extension Watchers {
    /// Answers a request to observe, or subscribes it.
    func observe(_ request: ObserveRequest, _ exchange: Exchange) -> Handling {
        let reader = request.subject.reader
        let state = watchedState().withCursors(for: reader)
        do throws(Problem) {
            switch state.find(request.subject, since: request.since, within: .loopLimit) {
            case .undecided where !request.isStream:
                try searchInBackground(request, exchange)
                return .later
            case let finding: return try answer(request, finding, on: state, exchange)
            }
        } catch {
            // With the cursor of the state that was looked at: from a later one the client would miss commits.
            let resource = request.style == .refetches ? Resource.evaluationEvents : .observation
            return .answer(Response(toObserver: error, of: resource, cursor: state.cursor))
        }
    }

    /// Subscribes a GET until it has another answer than the one that the caller knows.
    func wait(
        for reading: Reading, of caller: Caller?, known: TagList?, seconds: Int, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        let form = Question.Form.reading(reading, known: known, hadSuite: state.hasSuite(reading.suite))
        try subscribe(exchange, Question(reading.subject, form), of: caller, after: state.revision, on: state)
        setDeadline(exchange.ticket, seconds: seconds, of: caller)
        return .later
    }

    private func answer(
        _ request: ObserveRequest, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !request.isStream else { return try stream(request, finding, on: state, exchange) }
        let subject = request.subject
        let place = request.since?.revision ?? .zero
        let client = ClientKey(of: request.caller, exchange)
        let changes = Question(subject, .changes(limit: request.limit, keepsLatest: request.keepsLatest))
        let seconds = request.wait ?? ObserveRequest.defaultWait
        switch finding {
        case .state(let isReset):
            let question = Question(subject, .state(isReset: isReset))
            let waits =
                seconds > 0 && !isStopping
                && state.isUpToDate(subject, since: request.since, within: .loopLimit)
            guard waits else {
                return answer(question, on: state, to: exchange.ticket, for: client) {
                    state.rendering(of: subject, isReset: isReset)
                }
            }
            // The watcher's next cursor is one of another epoch, so the answer is the state even after the wait.
            try subscribe(exchange, question, of: request.caller, after: state.revision, on: state)
        case .commits(let commits):
            return answer(changes, after: place, on: state, to: exchange.ticket, for: client) {
                rendering(
                    of: subject, commits, after: place, limit: request.limit, keepsLatest: request.keepsLatest,
                    on: state)
            }
        case .absent:
            guard request.waitsForSuite, !isStopping else { throw state.absence(of: subject) }
            let question = Question(subject, .state(isReset: request.since != nil))
            try subscribe(exchange, question, of: request.caller, after: state.revision, on: state)
        case .nothing, .undecided:
            let place = max(place, state.revision)
            guard seconds > 0, !isStopping else {
                return .answer(noChanges(subject, after: place, on: state))
            }
            try subscribe(exchange, changes, of: request.caller, after: place, on: state)
        }
        setDeadline(exchange.ticket, seconds: seconds, of: request.caller)
        return .later
    }

    /// The body with the changes of commits. If it is rendered in the background, it shows the state at that time: keeping this state until then
    /// would keep everything in memory that is replaced meanwhile.
    func rendering(
        of subject: WatchSubject, _ commits: [KeptCommit], after place: Revision, limit: Int?, keepsLatest: Bool,
        on state: State
    ) -> Rendering {
        let rendering = state.rendering(
            of: subject, commits, after: place, limit: limit, keepsLatest: keepsLatest)
        guard rendering.exceedsLoopLimit else { return rendering }
        let (epoch, store) = (state.epoch, service.store)
        return Rendering(cost: state.renderingCost(ofChangesIn: commits), isUpperBound: true) {
            let state = store.state.withCursors(for: subject.reader)
            let since = ResumePoint.cursor(Cursor(epoch: epoch, revision: place))
            switch state.find(subject, since: since) {
            case .commits(let commits):
                return state.rendering(of: subject, commits, after: place, limit: limit, keepsLatest: keepsLatest)
                    .make()
            case .state, .absent: return state.rendering(of: subject, isReset: true).make()
            case .nothing, .undecided:
                let nothing = state.observed(subject, [], from: place)
                return Response(toObserver: nothing.jsonBytes(), cursor: state.cursor)
            }
        }
    }

    /// Searches the history for the commits that a request asks for, and renders them. Both are one piece of work: keeping the commits until another
    /// one starts would keep everything in memory that is dropped from the history meanwhile.
    private func searchInBackground(_ request: ObserveRequest, _ exchange: Exchange) throws(Problem) {
        let (ticket, client) = (exchange.ticket, ClientKey(of: request.caller, exchange))
        guard !service.rendering.isFull(for: client) else { throw Problem.tooMuchBackgroundWork }
        let bytes = min(State.mostObserved, service.budget.capacity / 4)
        handler.runInBackground(for: ticket, of: client, bytes: bytes) { handler, problem in
            handler.answer(ticket, Response(toObserver: problem, cursor: handler.cursor(for: request.caller)))
        } _: { [store = service.store] reservation in
            let (subject, since) = (request.subject, request.since)
            let state = store.state.withCursors(for: subject.reader)
            let finding = state.find(subject, since: since)
            guard case .commits(let commits) = finding else {
                return { $0.watchers.finish(request, finding, on: state, exchange) }
            }
            let rendering = state.rendering(
                of: subject, commits, after: since?.revision ?? .zero, limit: request.limit,
                keepsLatest: request.keepsLatest)
            let made = BackgroundAnswers.Made(rendering, reservation)
            return { $0.answer(ticket, made.response) }
        }
    }

    /// Continues with a request for which the history was searched in the background, on a state that may not be the newest any more.
    private func finish(_ request: ObserveRequest, _ finding: Finding, on state: State, _ exchange: Exchange) {
        let peer = loop.peer(of: exchange.ticket)
        // The loop will not report the end of a connection that has gone already, so it must not be subscribed.
        guard peer != .gone else { return }
        defer { if peer == .ended || isStopping { end(exchange.ticket) } }
        var (finding, state) = (finding, state)
        if case .nothing = finding {
            let place = Cursor(epoch: state.epoch, revision: max(state.revision, request.since?.revision ?? .zero))
            state = watchedState().withCursors(for: request.subject.reader)
            finding = state.find(request.subject, since: .cursor(place))
        }
        do throws(Problem) {
            if case .answer(let response) = try answer(request, finding, on: state, exchange) {
                handler.answer(exchange.ticket, response)
            }
        } catch {
            handler.answer(exchange.ticket, Response(toObserver: error, cursor: state.cursor))
        }
    }
}

/// What observers are answered.
extension State {
    /// The body with the state of everything that is watched.
    func rendering(of subject: WatchSubject, isReset: Bool) -> Rendering {
        Rendering(cost: { self.renderingCost(of: subject, within: $0) }) {
            guard let observed = self.observed(subject, isReset: isReset) else {
                return Response(toObserver: self.absence(of: subject), cursor: self.cursor)
            }
            return Response(toObserver: observed.jsonBytes(), cursor: self.cursor)
        }
    }

    /// The body with the changes of commits.
    func rendering(
        of subject: WatchSubject, _ commits: [KeptCommit], after place: Revision, limit: Int?, keepsLatest: Bool
    ) -> Rendering {
        Rendering(cost: renderingCost(ofChangesIn: commits), isUpperBound: true) {
            let changes = self.observed(subject, commits, from: place, limit: limit, keepsLatest: keepsLatest)
            return Response(toObserver: changes.jsonBytes(), cursor: self.cursor)
        }
    }

    /// The error for a suite that does not exist, which is worth asking for again.
    func absence(of subject: WatchSubject) -> Problem {
        var problem = unknownSuite(subject.suites[0], for: subject.reader)
        problem.retryAfterMs = 1000
        return problem
    }
}

extension Response {
    /// An error for an observer.
    init(toObserver problem: Problem, of resource: Resource = .observation, cursor: Cursor?) {
        if resource.isOpenFeature {
            self.init(toFlagObserver: problem, cursor: cursor)
        } else {
            self.init(problem, cursor: cursor)
        }
        fields.append("Vary", "Accept")
    }
}
