internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A copy of a request that waits until the daemon has published a revision, and is served then.
struct RevisionWait {
    let head: RequestHead
    let bytes: [UInt8]
    /// Empty if the body is large: the exchange has a large body.
    let body: [UInt8]
    let exchange: Exchange
    /// The client that the request counts for.
    let client: ClientCounts.Client
    /// The charge for the copies of the head and the body.
    let charge: MemoryBudget.Reservation
}

/// `Settings-At-Least` and `Settings-Fresh`: requests that must not be answered from an older state.
extension APIHandler {
    /// The seconds that a request without `wait` waits for a revision.
    private static let defaultRevisionWait = 5
    /// A loop iteration serves at most this many requests whose revision was published.
    private static let requestsPerIteration = 64

    /// Has a request wait for the revision that its fields demand. Returns nil if the state has the revision.
    func waitForRevision(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling? {
        // Neither the answer nor its delay may tell a stranger the revision.
        guard !isStranger(request.caller) else { return nil }
        let cursor = try request.leastPlace(in: bytes)
        let peers = try request.isFresh(in: bytes) ? service.peers : nil
        guard peers != nil || cursor.map({ !state.hasReached($0) }) ?? false else { return nil }
        guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
        let seconds = request.query.count(.wait) ?? Self.defaultRevisionWait
        guard seconds > 0 else { throw Problem(behindAt: state.cursor) }
        guard !isStopping else { throw .shuttingDown }
        let copied = exchange.largeBody == nil ? body : Span()
        let size = request.head.length + copied.count
        // The other half of the budget is left for requests that take less time.
        guard let charge = service.budget.reserve(size, within: service.budget.capacity / 2) else {
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
            body: copied.withUnsafeBufferPointer { Array($0) }, exchange: exchange, client: client, charge: charge)
        setWaiting(id, for: .revisionWait(wait))
        revisionQueue.append(id, until: peers == nil ? cursor : nil)
        loop.setAlarm(id, at: deadline(in: UInt64(seconds) * 1_000_000_000, of: request.caller))
        if let peers {
            let mailbox = mailbox
            peers.findEnd { end in mailbox.run { $0.setEnd(end, cursor, for: id) } }
        }
        // The loop gets no notification of a revision that was published after the state was read.
        runLater { $0.serveRequestsWithPublishedRevision() }
        return .laterExclusive
    }

    /// Sets the cursor that a request with `Settings-Fresh` waits for. Ends its wait if the end of the history is unknown.
    private func setEnd(_ end: Cursor?, _ cursor: Cursor?, for id: Ticket) {
        guard let entry = requests.entry(id), case .revisionWait(let wait) = entry.request else { return }
        guard let end else { return endWait(id, wait, of: entry.caller) }
        if let cursor { revisionQueue.extend(id, until: cursor) }
        revisionQueue.extend(id, until: end)
        serveRequestsWithPublishedRevision()
    }

    /// Serves the requests whose revision is published, and subscribes to the next publication if other requests wait.
    func serveRequestsWithPublishedRevision() {
        guard !revisionQueue.isEmpty else { return }
        let cursor = notifier.watchedState().cursor
        let reached = revisionQueue.removeReached(at: cursor, atMost: Self.requestsPerIteration)
        for id in reached {
            guard let entry = requests.entry(id), case .revisionWait(let wait) = entry.request else { continue }
            serve(id, wait, of: entry.caller)
        }
        if reached.count == Self.requestsPerIteration { runLater { $0.serveRequestsWithPublishedRevision() } }
    }

    private func serve(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?) {
        loop.setAlarm(id, at: .max)
        guard isAdmitted(caller) else { return refuse(id, wait, of: caller, because: .credentialEnded) }
        // From now on the request does not count as waiting, and its answer or its next wait replaces this record.
        setWaiting(id, for: .serviceCall)
        let (body, range) = wait.exchange.largeBody.map { ($0.bytes, $0.range) } ?? (wait.body, wait.body.indices)
        let handling = serve(
            wait.head, wait.bytes.span, body.span.extracting(range), wait.exchange, from: caller,
            hasAwaitedRevision: true)
        if case .answer(let response) = handling { answer(id, response) }
    }

    /// Ends the wait of a request whose revision was not published.
    func endWait(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?) {
        let cursor = service.store.state.cursor.marked(for: caller?.reader)
        refuse(id, wait, of: caller, because: isAdmitted(caller) ? Problem(behindAt: cursor) : .credentialEnded)
    }

    private func refuse(_ id: Ticket, _ wait: RevisionWait, of caller: Caller?, because problem: Problem) {
        answer(id, Response(problem, to: wait.head, wait.bytes.span, cursor: cursor(for: caller)))
    }
}

extension Problem {
    /// The error for a revision that the daemon did not reach in time.
    fileprivate init(behindAt cursor: Cursor) {
        self.init(
            .behind, outcome: .notDone, retryAfterMs: 1000,
            "this daemon has not reached the place that was asked for; it is at \(cursor). Try again, or, if that place is of "
                + "another history, without it")
        self.cursor = cursor
    }

    fileprivate static var tooManyBytesWaiting: Problem {
        Problem(
            .overloaded, outcome: .notDone, retryAfterMs: 1000,
            "too many bytes of requests wait for a place in history; try again in a moment")
    }
}
