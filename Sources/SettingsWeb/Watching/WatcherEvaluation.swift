internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage

/// The evaluation of watchers against a published state, and their answers. A ``Watcher`` is a request that waits for
/// commits that match its subject: the suites, keys and prefixes that it names. It is a GET with `wait`, or a
/// ``WatchRequest``: a long poll or an event stream. An answer of `Response(toWatchRequest:)` has `Vary: Accept`.
/// `isReset` tells the client to discard the settings that it has. `mergesByKey` merges all changes of a key into one
/// change.
extension WatchNotifier {
    /// Answers a watcher if the state has something new for the client.
    func evaluate(_ watcher: Watcher, on state: State) {
        let (answerKey, subject, revision) = (watcher.answerKey, watcher.topic.subject, watcher.revision)
        // Cursors for a caller that may not read everything contain a digest of its grants (`restrictedGrants`).
        let state = state.withGrantsDigest(of: subject.restrictedGrants)
        watcher.needsEvaluation = false
        switch watcher.answerKind {
        case .changes(let limit, let mergesByKey):
            guard state.watchReader.hasHistory(for: subject, after: revision) else {
                return answerWithState(watcher, on: state)
            }
            let commits = state.watchReader.commits(for: subject, after: revision) ?? []
            guard !commits.isEmpty else { return }
            answer(watcher, answerKey, after: revision, on: state) {
                rendering(of: subject, commits, after: revision, limit: limit, mergesByKey: mergesByKey, on: state)
            }
        case .state(let isReset):
            guard state.watchReader.hasState(for: subject) else { return }
            answer(watcher, answerKey, on: state) { state.watchReader.rendering(of: subject, isReset: isReset) }
        case .reading(let reading, let known, let suiteExistedAtArrival):
            do throws(Problem) {
                let result = try reading.result(on: state)
                // A result without a tag means that the suite does not exist.
                let isSuiteRemoved = suiteExistedAtArrival && result.tag == nil
                guard isSuiteRemoved || !result.isKnown(by: known) else { return }
                answer(watcher, answerKey, on: state) { result.rendering }
            } catch {
                handler.answer(watcher.id, Response(error, cursor: state.cursor))
            }
        case .stateEvent, .commitEvents: sendNewEvents(to: watcher, on: state)
        // No watcher waits for an answer of these kinds.
        case .noChanges, .flags: break
        }
    }

    /// Answers a long poll with the state, because the history does not contain all commits after the revision of the
    /// client. If the suite does not exist any more, the long poll waits for a new suite with that name.
    private func answerWithState(_ watcher: Watcher, on state: State) {
        let subject = watcher.topic.subject
        let answerKey = AnswerKey(subject, .state(isReset: true))
        guard state.watchReader.hasState(for: subject) else {
            watcher.answerKind = answerKey.kind
            return
        }
        answer(watcher, answerKey, on: state) { state.watchReader.rendering(of: subject, isReset: true) }
    }

    /// Answers a long poll or a GET with `wait` because its deadline has passed, its client has half-closed the
    /// connection, or the daemon stops. Usually the answer is that nothing has changed.
    func endWait(of watcher: Watcher) {
        // The notifier has compared all commits up to `comparedRevision` with the subject. If a commit matched, the
        // watcher still needs an evaluation, and `advance` does nothing.
        watcher.advance(to: comparedRevision)
        // The evaluation and the answer below use the same state. With a newer state, the answer could have a cursor
        // after a commit that was not evaluated, and the client would miss this commit.
        var state = service.store.state
        evaluate(watcher, on: state)
        // The evaluation may have answered the request.
        guard handler.requests.watcher(watcher.id) === watcher else { return }
        let subject = watcher.topic.subject
        state = state.withGrantsDigest(of: subject.restrictedGrants)
        switch watcher.answerKind {
        case .state:
            // The suite does not exist: otherwise `evaluate` would have answered with the state.
            let problem = state.watchReader.missingSuiteError(for: subject)
            answer(watcher, Rendering(Response(toWatchRequest: problem, cursor: state.cursor)))
        case .reading(let reading, let known, _):
            do throws(Problem) {
                answer(watcher, try reading.result(on: state).answer(to: known, state.cursor))
            } catch {
                answer(watcher, Rendering(Response(error, cursor: state.cursor)))
            }
        case .changes, .noChanges, .stateEvent, .commitEvents, .flags:
            answer(watcher, Rendering(noChanges(subject, after: watcher.revision, on: state)))
        }
    }

    /// Ends a watcher whose credential is no longer valid: answers 401, or ends the stream.
    func endUnauthorized(_ watcher: Watcher) {
        guard !watcher.isStream else { return endStream(watcher, with: []) }
        handler.answer(watcher.id, Response(toWatchRequest: .credentialEnded, cursor: nil))
    }

    /// Returns the answer that nothing has changed after the revision, or the error for a suite that does not exist.
    func noChanges(_ subject: WatchSubject, after revision: Revision, on state: State) -> Response {
        guard state.watchReader.hasState(for: subject) else {
            return Response(toWatchRequest: state.watchReader.missingSuiteError(for: subject), cursor: state.cursor)
        }
        var changes = state.watchReader.observed(subject, [], from: revision)
        guard !handler.isStopping else {
            // Each client gets a different delay, so that the clients do not reconnect at the same time.
            changes.retryAfterMs = Int64.random(in: 100...3000)
            var response = Response(toWatchRequest: changes.jsonBytes(), cursor: state.cursor)
            response.closes = true
            return response
        }
        let answerKey = AnswerKey(subject, .noChanges)
        // The cursor in the body has the larger one of the client's revision and the state's revision. So all clients
        // with revisions up to the revision of the state share the answer.
        let revision = max(revision, state.revision)
        if let response = handler.cache.response(to: answerKey, after: revision, at: state.revision) { return response }
        let response = Response(toWatchRequest: changes.jsonBytes(), cursor: state.cursor)
        cache(response, for: answerKey, after: revision, on: state)
        return response
    }
}

/// Shared answers: requests with the same answer key get the same response. An answer key is the subject and the kind
/// of the answer.
extension WatchNotifier {
    /// Answers a request from the cache, or renders the answer: on the event loop if that is cheap, otherwise in the
    /// background. The client knows all commits up to `revision`, which is zero if the answer does not depend on it.
    func answer(
        _ answerKey: AnswerKey, after revision: Revision = .zero, on state: State, to id: Ticket,
        for client: ClientKey?, _ rendering: () -> Rendering
    ) -> Handling {
        if let response = handler.cache.response(to: answerKey, after: revision, at: state.revision) {
            return .answer(response)
        }
        let key = BackgroundAnswers.Key.answerKey(answerKey, clientRevision: revision, revision: state.revision)
        if let shared = handler.shareAnswer(key, with: id) { return shared }
        let rendering = rendering()
        guard !rendering.exceedsLoopLimit else { return handler.renderAnswer(rendering, to: id, for: client, as: key) }
        let response = rendering.make()
        cache(response, for: answerKey, after: revision, on: state)
        return .answer(response)
    }

    func cache(_ response: Response, for answerKey: AnswerKey, after revision: Revision, on state: State) {
        let entry = ResponseCache.Entry(
            clientRevision: revision, revision: state.revision, cursor: state.cursor, response: response)
        handler.cache.insert(entry, for: answerKey)
    }

    /// Answers a watcher with an answer that other watchers may share.
    private func answer(
        _ watcher: Watcher, _ answerKey: AnswerKey, after revision: Revision = .zero, on state: State,
        _ rendering: () -> Rendering
    ) {
        let handling = answer(answerKey, after: revision, on: state, to: watcher.id, for: watcher.client.key, rendering)
        if case .answer(let response) = handling { handler.answer(watcher.id, response) }
    }

    /// Answers a watcher with an answer that no other request shares.
    private func answer(_ watcher: Watcher, _ rendering: Rendering) {
        let handling = handler.renderAnswer(rendering, to: watcher.id, for: watcher.client.key)
        if case .answer(let response) = handling { handler.answer(watcher.id, response) }
    }
}
