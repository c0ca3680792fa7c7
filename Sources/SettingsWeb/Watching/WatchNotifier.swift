internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Wakes up the watchers (requests that wait for changes) of one event loop: evaluates a watcher when a commit matches
/// its topic. To evaluate a watcher is to answer it if the published state has something new for its client. A topic is
/// all watchers with the same subject: the suites, keys and prefixes that they watch.
///
/// A request becomes a watcher if the published state has nothing new for the request. `readStateAndSubscribe` returns
/// this state and subscribes to the next publication in one step, so no commit is missed in between. One iteration
/// of the event loop wakes up a limited number of watchers, so that thousands of watchers do not delay other requests.
/// The watchers are stored in the table of unfinished requests. Owned by the event loop.
final class WatchNotifier {
    let service: Service
    let loop: EventLoop
    unowned let handler: APIHandler
    private let listener: ListenerID
    private var index: TopicIndex
    private var watcherCount = 0
    /// The revision (the number of a commit) up to which all commits were compared with the topics.
    private(set) var comparedRevision = Revision.zero
    /// The tickets (identifiers of requests) of the watchers to wake up, in the order in which they became due.
    private var dueWatchers = Deque<Ticket>()
    /// True if the next loop iteration wakes up further watchers.
    private var isWakeUpScheduled = false
    /// The search for the topics that new commits match; nil if no search continues in the next loop iteration.
    private var search: TopicSearch?
    /// True if another state was published since the search began.
    private var isSearchOutdated = false

    /// The maximum number of watchers that one loop iteration wakes up. Each iteration wakes up threads that send its
    /// answers (`ParallelSend`). With a quarter of this number, waking up 10,000 watchers takes a third longer.
    private static let watchersPerIteration = 2048
    /// The maximum duration of waking up watchers in one loop iteration, in nanoseconds.
    private static let maximumDuration: UInt64 = 3_000_000

    init(_ service: Service, on loop: EventLoop, for handler: APIHandler, _ listener: ListenerID) {
        self.service = service
        self.loop = loop
        self.handler = handler
        self.listener = listener
        index = TopicIndex(service.budget)
    }

    /// Returns the published state, and subscribes the event loop to the next publication.
    func readStateAndSubscribe() -> State { service.store.watch(listener) }

    /// Makes a request a watcher. Throws 401 if the credential is no longer valid, 429 if there are too many watchers,
    /// and 503 if there is no memory for the names that the request watches.
    ///
    /// - Parameters:
    ///   - answerKey: the subject, and the kind of the answer that the watcher waits for.
    ///   - revision: the revision up to which the client has every matching commit.
    ///   - clientWatch: the object that keeps the reporting client present in each suite that the request names; nil
    ///     for a request without a report.
    ///   - phase: the phase of an event stream; nil for a request that gets one answer.
    @discardableResult
    func register(
        _ exchange: Exchange, _ answerKey: AnswerKey, of caller: Caller?, _ clientWatch: ClientWatch?,
        after revision: Revision, phase: Watcher.StreamPhase? = nil, on state: State
    ) throws(Problem) -> Watcher {
        guard handler.isAdmitted(caller) else { throw .credentialEnded }
        let client: ClientCounts.Client
        do throws(WatcherCount.Excess) {
            client = try service.watchers.add(ClientKey(of: caller, exchange))
        } catch {
            throw Problem(error)
        }
        // Without watchers, the notifier compares no commits, so `comparedRevision` may be out of date.
        if watcherCount == 0 { comparedRevision = state.revision }
        let topic: Topic
        let position: Int
        do throws(Problem) {
            (topic, position) = try index.add(exchange.ticket, answerKey.subject)
        } catch {
            service.watchers.remove(client)
            throw error
        }
        let watcher = Watcher(
            id: exchange.ticket, topic: topic, topicPosition: position, client: client, clientWatch: clientWatch,
            revision: revision, answerKind: answerKey.kind, phase: phase)
        watcherCount += 1
        handler.setWaiting(exchange.ticket, for: phase == nil ? .watcher(watcher) : .stream(watcher))
        return watcher
    }

    /// Removes a watcher from the index of topics and from the count of its client.
    func unregister(_ watcher: Watcher) {
        if case .rendering(let key)? = watcher.phase { handler.backgroundAnswers.remove(watcher.id, from: key) }
        // To fill the gap in the members, the index may have moved the last watcher of the topic.
        if let moved = index.remove(watcher.topic, Int(watcher.topicPosition)) {
            handler.requests.watcher(moved)?.topicPosition = watcher.topicPosition
        }
        watcherCount -= 1
        service.watchers.remove(watcher.client)
    }
}

extension WatchNotifier {
    /// Wakes up the watchers whose topics match the newly published commits.
    func notifyWatchers() {
        guard watcherCount > 0 else { return }
        guard search == nil else {
            isSearchOutdated = true
            return
        }
        let state = readStateAndSubscribe()
        if state.history.oldestAvailable <= comparedRevision {
            search = TopicSearch(state.history.commits(after: comparedRevision), upTo: state.revision)
            continueSearch()
        } else {
            // The history lacks a commit, for example because the commit was too large. This commit may match any
            // topic.
            wakeUp(index.allTopics, upTo: state.revision)
        }
    }

    private func continueSearch() {
        guard var search = search.take() else { return }
        search.run(in: index)
        guard search.isDone else {
            self.search = search
            return handler.runLater { $0.notifier.continueSearch() }
        }
        wakeUp(search.topics.values, upTo: search.lastRevision)
        guard isSearchOutdated else { return }
        isSearchOutdated = false
        notifyWatchers()
    }

    private func wakeUp(_ topics: some Sequence<Topic>, upTo revision: Revision) {
        for topic in topics {
            for id in topic.members { appendDue(id) }
        }
        comparedRevision = revision
        wakeUpDueWatchers()
    }

    private func appendDue(_ id: Ticket) {
        guard let watcher = handler.requests.watcher(id), !watcher.needsEvaluation else { return }
        // `comparedRevision` is still the revision before the new commits. No commit up to it matched the watcher.
        watcher.advance(to: comparedRevision)
        watcher.needsEvaluation = true
        handler.metrics.wakeUps += 1
        dueWatchers.append(id)
    }

    private func wakeUpDueWatchers() {
        guard !isWakeUpScheduled, !dueWatchers.isEmpty else { return }
        let state = service.store.state
        let deadline = MonotonicClock.system.now() + Self.maximumDuration
        var lastAnswer: WatcherAnswer?
        for count in 1...Self.watchersPerIteration {
            guard let id = dueWatchers.popFirst() else {
                dueWatchers = Deque()
                return
            }
            guard let watcher = handler.requests.watcher(id) else { continue }
            if let lastAnswer, lastAnswer.isValid(for: watcher) {
                handler.answer(id, lastAnswer.response)
            } else if let cached = cachedAnswer(to: watcher, on: state) {
                lastAnswer = cached
                handler.answer(id, cached.response)
            } else {
                evaluate(watcher, on: state)
                // One evaluation may take a millisecond, so the clock is read after each evaluation.
                if MonotonicClock.system.now() > deadline { break }
            }
            // An answer without an evaluation takes little time, so the clock is read after every 16 watchers.
            if count % 16 == 0, MonotonicClock.system.now() > deadline { break }
        }
        isWakeUpScheduled = true
        handler.runLater { handler in
            handler.notifier.isWakeUpScheduled = false
            handler.notifier.wakeUpDueWatchers()
        }
    }

    /// Returns the cached answer to a watcher; nil if there is none, and for a stream.
    private func cachedAnswer(to watcher: Watcher, on state: State) -> WatcherAnswer? {
        guard !watcher.isStream else { return nil }
        return handler.cache.response(to: watcher.answerKey, after: watcher.revision, at: state.revision)
            .map { WatcherAnswer(to: watcher, $0) }
    }
}

/// An answer that is valid for all watchers with the same topic, kind of answer and revision.
private struct WatcherAnswer {
    private let topic: Topic
    private let answerKind: AnswerKey.Kind
    private let revision: Revision
    let response: Response

    init(to watcher: Watcher, _ response: Response) {
        (topic, answerKind, revision) = (watcher.topic, watcher.answerKind, watcher.revision)
        self.response = response
    }

    func isValid(for watcher: Watcher) -> Bool {
        !watcher.isStream && watcher.topic === topic && watcher.revision == revision
            && watcher.answerKind == answerKind
    }
}
