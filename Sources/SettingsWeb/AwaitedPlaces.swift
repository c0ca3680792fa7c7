internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// `Settings-At-Least` and `Settings-Fresh`: requests that must not be answered from an older state.
extension APIHandler {
    /// The seconds that a request is held which does not say how long.
    private static let usualHold = 5
    /// How many held requests go on in one turn.
    private static let mostAtOnce = 64

    /// Holds a request until the daemon has the place in history that it asks for. Returns nil if the state has it.
    func hold(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling? {
        // Neither the answer nor its delay may tell a stranger the place in history.
        guard !isStranger(request.caller) else { return nil }
        let place = try request.leastPlace(in: bytes)
        let peers = try request.isFresh(in: bytes) ? service.peers : nil
        guard peers != nil || place.map({ !state.hasReached($0) }) ?? false else { return nil }
        guard !exchange.isBehind else { return .notYet }
        let seconds = request.query.count(.wait) ?? Self.usualHold
        guard seconds > 0 else { throw Problem(behindAt: state.cursor) }
        guard !watchers.isStopping else { throw .shuttingDown }
        let copied = exchange.largeBody == nil ? body : Span()
        let size = request.head.length + copied.count
        // The other half is left for what takes less long.
        guard let charge = service.budget.reserve(size, within: service.budget.capacity / 2) else { throw .tooMuchHeld }
        let client: ClientCounts.Client
        do throws(WatcherCount.Excess) {
            client = try service.watchers.add(ClientKey(of: request.caller, exchange))
        } catch {
            throw Problem(error)
        }
        let ticket = exchange.ticket
        held.insert(
            HeldRequest(
                head: request.head,
                bytes: bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) },
                body: copied.withUnsafeBufferPointer { Array($0) }, exchange: exchange, caller: request.caller,
                client: client, charge: charge, place: peers == nil ? place : nil))
        noteWaiting(ticket)
        loop.setAlarm(ticket, at: watchers.alarm(in: UInt64(seconds) * 1_000_000_000, of: request.caller))
        if let peers {
            let mailbox = mailbox
            peers.findEnd { end in mailbox.run { $0.heardOfEnd(end, place, for: ticket) } }
        }
        // What was published since the state was taken is not reported any more.
        later { $0.releaseReached() }
        return .laterAlone
    }

    private func heardOfEnd(_ end: Cursor?, _ place: Cursor?, for ticket: Ticket) {
        guard let end else {
            endHold(ticket)
            return
        }
        if let place { held.wait(ticket, for: place) }
        held.wait(ticket, for: end)
        releaseReached()
    }

    /// Serves the held requests whose place is published, and hears of the next publication if there are others.
    func releaseReached() {
        guard !held.isEmpty else { return }
        let cursor = watchers.watchedState().cursor
        let reached = held.takeReached(at: cursor, most: Self.mostAtOnce)
        for request in reached {
            service.watchers.remove(request.client)
            goOn(with: request)
        }
        if reached.count == Self.mostAtOnce { later { $0.releaseReached() } }
    }

    private func goOn(with request: HeldRequest) {
        let ticket = request.exchange.ticket
        loop.setAlarm(ticket, at: .max)
        guard watchers.isAdmitted(request.caller) else { return refuse(request, .credentialEnded) }
        let (body, range) =
            request.exchange.largeBody.map { ($0.bytes, $0.range) } ?? (request.body, request.body.indices)
        let handling = serve(
            request.head, request.bytes.span, body.span.extracting(range), request.exchange, from: request.caller,
            isHeld: true)
        if case .answer(let response) = handling { answer(ticket, response) }
    }

    /// Ends the wait of a request, if it is held: the place was not reached in time. Returns false if it is not.
    @discardableResult
    func endHold(_ ticket: Ticket) -> Bool {
        guard let request = held.remove(ticket) else { return false }
        service.watchers.remove(request.client)
        let isAdmitted = watchers.isAdmitted(request.caller)
        let cursor = service.store.state.cursor.marked(for: request.caller?.reader)
        refuse(request, isAdmitted ? Problem(behindAt: cursor) : .credentialEnded)
        return true
    }

    /// Ends the waits of all held requests, or of those whose callers' credentials have ended.
    func endHolds(ofRevoked: Bool) {
        for request in held.all where !ofRevoked || !watchers.isAdmitted(request.caller) {
            endHold(request.exchange.ticket)
        }
    }

    /// Forgets a request whose connection is gone.
    func forgetHeld(_ ticket: Ticket) {
        if let request = held.remove(ticket) { service.watchers.remove(request.client) }
    }

    private func refuse(_ request: HeldRequest, _ problem: Problem) {
        let cursor = cursor(for: request.caller)
        answer(request.exchange.ticket, Response(problem, to: request.head, request.bytes.span, cursor: cursor))
    }
}

extension Problem {
    /// The error for a place in history that the daemon did not reach in time.
    fileprivate init(behindAt cursor: Cursor) {
        self.init(
            .behind, outcome: .notDone, retryAfterMs: 1000,
            "this daemon has not reached the place that was asked for; it is at \(cursor). Try again, or, if that place is of "
                + "another history, without it")
        self.cursor = cursor
    }

    fileprivate static var tooMuchHeld: Problem {
        Problem(
            .overloaded, outcome: .notDone, retryAfterMs: 1000,
            "too many bytes of requests wait for a place in history; try again in a moment")
    }
}
