internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// The first evaluation of a request that watches, which means that it waits for changes of its subject: the suites,
/// keys and prefixes that it names. The request is answered at once if the state has something new for the client.
/// Otherwise the request becomes a watcher, which ``WatchNotifier`` evaluates after matching commits.
extension WatchNotifier {
    /// Answers a long poll, or turns it into a watcher. For a request for an event stream, begins the stream.
    func observe(_ request: WatchRequest, _ exchange: Exchange) -> Handling {
        // The grants of a caller that may not read everything; nil if the caller may read everything. Cursors for the
        // caller contain a digest of these grants, so that the cursors are not valid with other grants.
        let restrictedGrants = request.subject.restrictedGrants
        let state = readStateAndSubscribe().withGrantsDigest(of: restrictedGrants)
        do throws(Problem) {
            var request = request
            if let parameters = request.clientParameters {
                let filter = request.subject.filter
                let received = ReceivedReport(parameters, of: request.caller, exchange, watching: filter)
                request.clientWatch = try service.clients.watch(received, of: request.subject.suites, on: state)
            }
            switch state.watchReader.find(request.subject, since: request.since, within: .loopLimit) {
            // The search costs more than the event loop may spend. A stream searches in pieces.
            case .tooCostly where !request.isStream:
                try searchInBackground(request, exchange)
                return .later
            case let finding: return try answer(request, finding, on: state, exchange)
            }
        } catch {
            // The client resumes from the cursor. With a cursor after the evaluated state, it would miss commits. A
            // request with the style `refetchRequests` is for OpenFeature's event stream, whose errors have another
            // format.
            let resource = request.style == .refetchRequests ? Resource.evaluationEvents : .observation
            return .answer(Response(toWatchRequest: error, of: resource, cursor: state.cursor))
        }
    }

    /// Turns a GET with `wait` into a watcher. The watcher waits for an answer that differs from the answers that the
    /// client knows: `known` are their entity tags, nil if the client has sent no `If-None-Match`.
    func wait(
        for reading: Reading, of caller: Caller?, known: TagList?, _ clientWatch: ClientWatch?, seconds: Int,
        on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        let answerKind = AnswerKey.Kind.reading(
            reading, known: known, suiteExistedAtArrival: state.hasSuite(reading.suite))
        try register(
            exchange, AnswerKey(reading.subject, answerKind), of: caller, clientWatch, after: state.revision, on: state)
        setDeadline(exchange.ticket, seconds: seconds, of: caller)
        return .later
    }

    /// Sets the deadline of a watcher, at the latest when the credential of the caller expires. A wait of 10 seconds or
    /// more ends at a random time in its last tenth, so that simultaneous requests are not repeated simultaneously.
    private func setDeadline(_ id: Ticket, seconds: Int, of caller: Caller?) {
        let wait = UInt64(seconds) * 1_000_000_000
        // A hash distributes the deadlines as well as a random number would, and needs no system call.
        let reduction = seconds < 10 ? 0 : (UInt64(truncatingIfNeeded: id.hashValue) ^ loop.now) % (wait / 10 + 1)
        loop.setAlarm(id, at: handler.deadline(in: wait - reduction, of: caller))
    }

    /// Answers a request with the result of a search (`finding`), or turns it into a watcher.
    private func answer(
        _ request: WatchRequest, _ finding: Finding, on state: State, _ exchange: Exchange
    ) throws(Problem) -> Handling {
        guard !request.isStream else { return try beginStream(request, finding, on: state, exchange) }
        let subject = request.subject
        let revision = request.since?.revision ?? .zero
        let client = ClientKey(of: request.caller, exchange)
        let changesKey = AnswerKey(subject, .changes(limit: request.limit, mergesByKey: request.mergesByKey))
        let seconds = request.wait ?? WatchRequest.defaultWait
        switch finding {
        case .state(let isReset):
            let answerKey = AnswerKey(subject, .state(isReset: isReset))
            let waits =
                seconds > 0 && !handler.isStopping
                && state.watchReader.isUpToDate(subject, since: request.since, within: .loopLimit)
            guard waits else {
                return answer(answerKey, on: state, to: exchange.ticket, for: client) {
                    state.watchReader.rendering(of: subject, isReset: isReset)
                }
            }
            // `isUpToDate`: no watched setting has changed, but the cursor lacks the digest of the caller's grants. So
            // the request waits as usual, and gets the state and a cursor with the digest at the end of the wait.
            try register(exchange, answerKey, of: request.caller, request.clientWatch, after: state.revision, on: state)
        case .commits(let commits):
            return answer(changesKey, after: revision, on: state, to: exchange.ticket, for: client) {
                rendering(
                    of: subject, commits, after: revision, limit: request.limit, mergesByKey: request.mergesByKey,
                    on: state)
            }
        case .missingSuite:
            guard request.waitsForSuite, !handler.isStopping else {
                throw state.watchReader.missingSuiteError(for: subject)
            }
            let answerKey = AnswerKey(subject, .state(isReset: request.since != nil))
            try register(exchange, answerKey, of: request.caller, request.clientWatch, after: state.revision, on: state)
        case .nothing, .tooCostly:
            // `tooCostly` does not occur here: `observe` continues such a search in the background, without a limit.
            // The revision of the client is later than this state if the client got it from another daemon.
            let revision = max(revision, state.revision)
            guard seconds > 0, !handler.isStopping else {
                return .answer(noChanges(subject, after: revision, on: state))
            }
            try register(exchange, changesKey, of: request.caller, request.clientWatch, after: revision, on: state)
        }
        setDeadline(exchange.ticket, seconds: seconds, of: request.caller)
        return .later
    }

    /// Prepares the rendering of the changes in commits. A rendering in the background uses the state that is published
    /// when the rendering starts, because a reference to the present state would keep replaced values in memory.
    func rendering(
        of subject: WatchSubject, _ commits: [RetainedCommit], after revision: Revision, limit: Int?, mergesByKey: Bool,
        on state: State
    ) -> Rendering {
        let rendering = state.watchReader.rendering(
            of: subject, commits, after: revision, limit: limit, mergesByKey: mergesByKey)
        guard rendering.exceedsLoopLimit else { return rendering }
        let (epoch, store) = (state.epoch, service.store)
        return Rendering(cost: state.watchReader.renderingCost(ofChangesIn: commits), isUpperBound: true) {
            let state = store.state.withGrantsDigest(of: subject.restrictedGrants)
            let since = ResumePoint.cursor(Cursor(epoch: epoch, revision: revision))
            switch state.watchReader.find(subject, since: since) {
            case .commits(let commits):
                return state.watchReader.rendering(
                    of: subject, commits, after: revision, limit: limit, mergesByKey: mergesByKey
                )
                .make()
            case .state, .missingSuite: return state.watchReader.rendering(of: subject, isReset: true).make()
            case .nothing, .tooCostly:  // A search without a limit is never too costly.
                let noChanges = state.watchReader.observed(subject, [], from: revision)
                return Response(toWatchRequest: noChanges.jsonBytes(), cursor: state.cursor)
            }
        }
    }

    /// Searches the history for the commits that a request asks for, and renders the commits, in one background job.
    /// Between two separate jobs, the found commits would stay in memory even if the history evicts them.
    private func searchInBackground(_ request: WatchRequest, _ exchange: Exchange) throws(Problem) {
        let (id, client) = (exchange.ticket, ClientKey(of: request.caller, exchange))
        guard !service.renderingScheduler.isFull(for: client) else { throw Problem.tooMuchBackgroundWork }
        // Usually the commits of an answer have at most `maximumAnswerBytes`. The budget never admits work that needs
        // more than its capacity, so with a small budget the work reserves a quarter of the capacity.
        let reservedBytes = min(WatchReader.maximumAnswerBytes, service.budget.capacity / 4)
        handler.runInBackground(for: id, of: client, bytes: reservedBytes) { handler, problem in
            handler.answer(id, Response(toWatchRequest: problem, cursor: handler.cursor(for: request.caller)))
        } _: { [store = service.store] reservation in
            let (subject, since) = (request.subject, request.since)
            let state = store.state.withGrantsDigest(of: subject.restrictedGrants)
            let finding = state.watchReader.find(subject, since: since)
            guard case .commits(let commits) = finding else {
                return { $0.notifier.answerAfterSearch(of: request, finding, on: state, exchange) }
            }
            let rendering = state.watchReader.rendering(
                of: subject, commits, after: since?.revision ?? .zero, limit: request.limit,
                mergesByKey: request.mergesByKey)
            let computed = BackgroundAnswers.ComputedAnswer(rendering, reservation)
            return { $0.answer(id, computed.response) }
        }
    }

    /// Answers a request after the background search of `state`, or turns the request into a watcher.
    private func answerAfterSearch(of request: WatchRequest, _ finding: Finding, on state: State, _ exchange: Exchange)
    {
        let id = exchange.ticket
        var (finding, state) = (finding, state)
        if case .nothing = finding {
            // The published state may be newer now. Only the commits after the searched state remain to be searched.
            let searched = Cursor(epoch: state.epoch, revision: max(state.revision, request.since?.revision ?? .zero))
            state = readStateAndSubscribe().withGrantsDigest(of: request.subject.restrictedGrants)
            finding = state.watchReader.find(request.subject, since: .cursor(searched))
        }
        do throws(Problem) {
            if case .answer(let response) = try answer(request, finding, on: state, exchange) {
                handler.answer(id, response)
            }
        } catch {
            handler.answer(id, Response(toWatchRequest: error, cursor: state.cursor))
        }
        // A half-close or a stop during the search did not answer the request, because it was not a watcher yet. If the
        // request waits now, `peerHalfClosed` answers it in both cases.
        if loop.peerState(of: id) == .halfClosed || handler.isStopping { handler.peerHalfClosed(id) }
    }
}

extension WatchReader {
    /// Prepares the rendering of all watched settings. `isReset` tells the client to discard its earlier settings.
    func rendering(of subject: WatchSubject, isReset: Bool) -> Rendering {
        Rendering(cost: { self.renderingCost(of: subject, within: $0) }) {
            guard let observation = self.observed(subject, isReset: isReset) else {
                return Response(toWatchRequest: self.missingSuiteError(for: subject), cursor: self.state.cursor)
            }
            return Response(toWatchRequest: observation.jsonBytes(), cursor: self.state.cursor)
        }
    }

    /// Prepares the rendering of the changes in commits: at most about `limit` changes. `mergesByKey` is true if the
    /// answer combines all changes of a key into one change.
    func rendering(
        of subject: WatchSubject, _ commits: [RetainedCommit], after revision: Revision, limit: Int?, mergesByKey: Bool
    ) -> Rendering {
        Rendering(cost: renderingCost(ofChangesIn: commits), isUpperBound: true) {
            let changes = self.observed(subject, commits, from: revision, limit: limit, mergesByKey: mergesByKey)
            return Response(toWatchRequest: changes.jsonBytes(), cursor: self.state.cursor)
        }
    }

    /// Makes the error for a suite that does not exist. The client may retry, because the suite may be created later.
    func missingSuiteError(for subject: WatchSubject) -> Problem {
        var problem = state.unknownSuite(subject.suites[0], for: subject.restrictedGrants)
        problem.retryAfterMs = 1000
        return problem
    }
}

extension Response {
    init(toWatchRequest problem: Problem, of resource: Resource = .observation, cursor: Cursor?) {
        if resource.isOpenFeature {
            self.init(toFlagWatcher: problem, cursor: cursor)
        } else {
            self.init(problem, cursor: cursor)
        }
        fields.append("Vary", "Accept")
    }
}
