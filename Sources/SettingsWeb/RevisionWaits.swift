internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A copy of a request that waits until the daemon has published a revision (the number of a commit). Then the handler
/// serves the request.
struct RevisionWait {
    let head: RequestHead
    /// The bytes of the head. The ranges of `head` refer to this array.
    let bytes: [UInt8]
    /// The body; empty if `exchange` has a large body, which needs no copy.
    let body: [UInt8]
    let exchange: Exchange
    /// The client whose limit of watchers includes this request.
    let client: ClientCounts.Client
    /// The reservation of the memory of the copies.
    let reservation: MemoryBudget.Reservation
}

/// Requests with the field `Settings-At-Least`, which demands a state that includes a revision, or `Settings-Fresh`,
/// which demands a state that includes all commits of all daemons that share the history. A ticket identifies an
/// unanswered request on its event loop.
extension APIHandler {
    /// The seconds that a request waits for a revision if it has no parameter `wait`.
    private static let defaultRevisionWait = 5
    /// The maximum number of waiting requests that a loop iteration serves.
    private static let requestsPerIteration = 64

    /// Lets a request wait for the revision that its fields demand. Returns nil if the request need not wait.
    func waitForRevision(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling? {
        // A caller without grants must not learn the revision, neither from the answer nor from its delay.
        guard !hidesCursor(from: request.caller) else { return nil }
        let cursor = try request.minimumCursor(in: bytes)
        let freshnessSource = try request.demandsFreshState(in: bytes) ? service.peers : nil
        guard freshnessSource != nil || cursor.map({ !state.hasReached($0) }) ?? false else { return nil }
        guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
        let seconds = request.query.count(.wait) ?? Self.defaultRevisionWait
        guard seconds > 0 else { throw Problem(behindAt: state.cursor) }
        guard !isStopping else { throw .shuttingDown }
        let copiedBody = exchange.largeBody == nil ? body : Span()
        let size = request.head.length + copiedBody.count
        // Half of the budget remains for requests that do not wait.
        guard let reservation = service.budget.reserve(size, within: service.budget.capacity / 2) else {
            throw .tooManyBytesWaiting
        }
        let client: ClientCounts.Client
        do throws(WatcherCount.Excess) {
            client = try service.watchers.add(ClientKey(of: request.caller, exchange))
        } catch {
            throw Problem(error)
        }
        let id = exchange.ticket
        let wait = RevisionWait(
            head: request.head,
            bytes: bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) },
            body: copiedBody.withUnsafeBufferPointer { Array($0) }, exchange: exchange, client: client,
            reservation: reservation)
        setWaiting(id, for: .revisionWait(wait))
        // With `Settings-Fresh: true` and a shared log in etcd, the request waits for the end of the log, which is not
        // known until `setEndOfLog` is called.
        revisionQueue.append(id, until: freshnessSource == nil ? cursor : nil)
        loop.setAlarm(id, at: deadline(in: UInt64(seconds) * 1_000_000_000, of: request.caller))
        if let freshnessSource {
            let mailbox = mailbox
            freshnessSource.findEndOfLog { end in mailbox.run { $0.setEndOfLog(end, cursor, for: id) } }
        }
        // The revision may have been published after the state was read, so the queue is checked again.
        runLater { $0.serveRequestsWhoseRevisionIsPublished() }
        return .laterBlockingNextRequest
    }

    /// Continues a request with `Settings-Fresh` when the end of the shared log (the cursor of its last commit) is
    /// known. If the daemon could not read the end, `end` is nil, and the wait ends. `cursor` is the cursor of
    /// `Settings-At-Least`, if the request also has this field.
    private func setEndOfLog(_ end: Cursor?, _ cursor: Cursor?, for id: Ticket) {
        guard let entry = requests.entry(id), case .revisionWait(let wait) = entry.request else { return }
        guard let end else { return endWait(id, wait, of: entry.caller) }
        if let cursor { revisionQueue.extend(id, until: cursor) }
        revisionQueue.extend(id, until: end)
        serveRequestsWhoseRevisionIsPublished()
    }

    /// Serves the waiting requests whose revision is published. Subscribes to the next publication.
    func serveRequestsWhoseRevisionIsPublished() {
        guard !revisionQueue.isEmpty else { return }
        let cursor = notifier.readStateAndSubscribe().cursor
        let reached = revisionQueue.removeReached(at: cursor, atMost: Self.requestsPerIteration)
        for id in reached {
            guard let entry = requests.entry(id), case .revisionWait(let wait) = entry.request else { continue }
            serve(id, wait, of: entry.caller)
        }
        if reached.count == Self.requestsPerIteration { runLater { $0.serveRequestsWhoseRevisionIsPublished() } }
    }

    private func serve(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?) {
        // Removes the alarm.
        loop.setAlarm(id, at: .max)
        guard isAdmitted(caller) else { return refuse(id, wait, of: caller, because: .credentialEnded) }
        // Ends the wait, so that the request no longer counts as a watcher. As a `.serverOperation`, it stays in the
        // table until `serve` answers it or lets it wait for something else.
        setWaiting(id, for: .serverOperation)
        let (body, range) = wait.exchange.largeBody.map { ($0.bytes, $0.range) } ?? (wait.body, wait.body.indices)
        let handling = serve(
            wait.head, wait.bytes.span, body.span.extracting(range), wait.exchange, from: caller,
            hasAwaitedRevision: true)
        if case .answer(let response) = handling { answer(id, response) }
    }

    /// Ends a wait with an error: the credential is no longer valid, the revision is not published yet, or the daemon
    /// could not read the end of the log.
    func endWait(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?) {
        // A cursor for a caller that may not read everything contains a digest of the grants.
        let cursor = service.store.state.cursor.withGrantsDigest(of: caller?.restrictedGrants)
        refuse(id, wait, of: caller, because: isAdmitted(caller) ? Problem(behindAt: cursor) : .credentialEnded)
    }

    private func refuse(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?, because problem: Problem) {
        answer(id, Response(problem, to: wait.head, wait.bytes.span, cursor: cursor(for: caller)))
    }
}

extension Problem {
    /// The error for a revision that the daemon did not reach in time, or an end of the log that it could not read.
    fileprivate init(behindAt cursor: Cursor) {
        self.init(
            .behind, outcome: .notDone, retryAfterMs: 1000,
            "this daemon has not reached, or cannot determine, the state that Settings-At-Least or Settings-Fresh "
                + "demands; its cursor is \(cursor). Try again. If the cursor in Settings-At-Least is from another "
                + "history, for example because data was restored, send the request without Settings-At-Least")
        self.cursor = cursor
    }

    fileprivate static var tooManyBytesWaiting: Problem {
        Problem(
            .overloaded, outcome: .notDone, retryAfterMs: 1000,
            "the memory for requests that wait for a revision is exhausted; try again in a moment")
    }
}
