internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A request that waits until a share of the present clients of a suite has applied a target state, or until a client
/// has failed to apply it. A client is present unless it is gone. A client that neither reports nor watches for some
/// time is gone (see ``ClientTable``). Owned by the event loop.
final class ConvergenceWait {
    let suite: SuiteName
    let target: Cursor
    /// The required share of the present clients, in billionths.
    let share: Int
    /// The time at which the wait is over, in nanoseconds of the clock of the event loop.
    let end: UInt64
    /// The caller, Unix user or address whose limit of watchers counts this request; nil before the request waits.
    fileprivate(set) var client: ClientCounts.Client?
    /// True if the next evaluation must answer, even if the share is not reached.
    var isOver: Bool
    fileprivate var requirement: CommitRequirement
    /// The version of the clients at the last evaluation (see ``ClientTable/version(of:)``), and the time of the
    /// evaluation.
    fileprivate var lastEvaluation: (version: UInt64, time: UInt64) = (0, 0)

    fileprivate init(
        _ requirement: CommitRequirement, for target: Cursor, share: Int, end: UInt64, isOver: Bool
    ) {
        (suite, self.requirement, self.target) = (requirement.suite, requirement, target)
        (self.share, self.end, self.isOver) = (share, end, isOver)
    }
}

/// Requests for the clients of a suite: the listing, and the wait for convergence.
extension APIHandler {
    /// The nanoseconds between two checks of a wait. The alarm for a check is up to 20 ms late. With this interval, the
    /// answer usually comes within 100 ms of the last report.
    private static let checkInterval: UInt64 = 30_000_000
    /// The nanoseconds after which a wait is evaluated although no client has reported, because clients may have become
    /// gone.
    private static let expiryInterval: UInt64 = 1_000_000_000
    /// Evaluations of waits use at most 1/20 of the time of an event loop: after an evaluation, the loop makes no other
    /// evaluation for 19 times the duration. The first and the last evaluation of a wait ignore this pause.
    private static let evaluationTimeDivisor: UInt64 = 20

    /// Lists the clients of a suite. If the request has the parameter `for=CURSOR`, does not list the clients, but
    /// waits until clients have applied the state of the cursor.
    func readClients(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let (name, query) = (try request.suite(in: bytes), request.query)
        guard let suite = state.suite(name) else {
            throw state.unknownSuite(name, for: request.caller?.restrictedGrants)
        }
        guard let target = try state.target(query, .target) else {
            // With a field such as Settings-At-Least, `wait` is allowed, because it limits the wait for the revision.
            for parameter in [Parameter.share, .wait]
            where query.has(parameter) && (parameter.name != Parameter.wait.name || !request.hasRevisionField) {
                throw Problem(
                    .badRequest,
                    "the parameter \"\(parameter.name)\" needs the parameter \"for\"; add for=CURSOR, or remove it")
            }
            let rendering = service.listing(of: name, behind: try state.target(query, .behind), on: state)
            return renderAnswer(rendering, to: exchange.ticket, for: ClientKey(of: request.caller, exchange))
        }
        guard !query.has(.behind) else {
            throw Problem(.badRequest, "the parameters \"for\" and \"behind\" cannot be combined; remove one of them")
        }
        let seconds = isStopping ? 0 : query.count(.wait) ?? 0
        let wait = ConvergenceWait(
            CommitRequirement(of: target.revision, in: suite, on: state), for: target,
            share: query.share(.share) ?? Query.wholeShare, end: loop.now &+ UInt64(seconds) * 1_000_000_000,
            isOver: seconds == 0)
        if let response = try evaluate(wait, of: request.caller) { return .answer(response) }
        guard isAdmitted(request.caller) else { throw .credentialEnded }
        do throws(WatcherCount.Excess) {
            wait.client = try service.watchers.add(ClientKey(of: request.caller, exchange))
        } catch {
            throw Problem(error)
        }
        setWaiting(exchange.ticket, for: .convergence(wait))
        scheduleCheck(of: wait, exchange.ticket, of: request.caller)
        return .later
    }

    private func scheduleCheck(of wait: ConvergenceWait, _ id: Ticket, of caller: Caller?) {
        let pause = max(Self.checkInterval, nextConvergenceEvaluation - min(loop.now, nextConvergenceEvaluation))
        loop.setAlarm(id, at: min(deadline(in: pause, of: caller), wait.end))
    }

    /// Evaluates a wait if its result may have changed, or if the wait is over.
    func checkConvergence(_ wait: ConvergenceWait, _ id: Ticket, of caller: Caller?) {
        guard isAdmitted(caller) else { return endUnauthorized(id) }
        if loop.now >= wait.end { wait.isOver = true }
        let isDue =
            wait.lastEvaluation.version != service.clients.version(of: wait.suite)
            || loop.now &- wait.lastEvaluation.time >= Self.expiryInterval
        guard wait.isOver || isDue && loop.now >= nextConvergenceEvaluation else {
            return scheduleCheck(of: wait, id, of: caller)
        }
        reevaluate(wait, id, of: caller)
    }

    /// Answers a wait with the present result, because the daemon stops or the HTTP client has half-closed the
    /// connection.
    func endConvergence(_ wait: ConvergenceWait, _ id: Ticket, of caller: Caller?) {
        wait.isOver = true
        reevaluate(wait, id, of: caller)
    }

    func endUnauthorized(_ id: Ticket) { answer(id, Response(.credentialEnded, cursor: nil)) }

    private func reevaluate(_ wait: ConvergenceWait, _ id: Ticket, of caller: Caller?) {
        guard isAdmitted(caller) else { return endUnauthorized(id) }
        do throws(Problem) {
            guard var response = try evaluate(wait, of: caller) else {
                return scheduleCheck(of: wait, id, of: caller)
            }
            response.closes = isStopping
            answer(id, response)
        } catch {
            answer(id, Response(error, cursor: cursor(for: caller)))
        }
    }

    /// Compares the clients with the target. Returns the answer; nil if the request must continue to wait.
    private func evaluate(_ wait: ConvergenceWait, of caller: Caller?) throws(Problem) -> Response? {
        let start = MonotonicClock.system.now()
        defer {
            let duration = MonotonicClock.system.now() &- start
            let next = loop.now &+ duration * (Self.evaluationTimeDivisor - 1)
            nextConvergenceEvaluation = max(nextConvergenceEvaluation, next)
        }
        // A cursor for a caller that may not read everything contains a digest of its grants (`restrictedGrants`).
        let state = service.store.state.withGrantsDigest(of: caller?.restrictedGrants)
        guard state.hasSuite(wait.suite) else { throw state.unknownSuite(wait.suite, for: caller?.restrictedGrants) }
        try state.check(wait.target, .target)
        wait.lastEvaluation = (service.clients.version(of: wait.suite), loop.now)
        var tally = tally(of: wait, on: state)
        if !tally.unsearchedSubjects.isEmpty {
            wait.requirement.search(tally.unsearchedSubjects, on: state)
            tally = self.tally(of: wait, on: state)
        }
        guard wait.isOver || tally.endsWait(forShare: wait.share) else { return nil }
        var convergence = tally.convergence(of: wait.suite, for: wait.target, share: wait.share)
        // The answer names the other daemons, because the tally also counts their clients.
        convergence.sources = service.clients.sources
        return Response(json: convergence.jsonBytes(), cursor: state.cursor)
    }

    private func tally(of wait: ConvergenceWait, on state: State) -> ConvergenceTally {
        service.clients.read(wait.suite, on: state) { table, now in
            var tally = ConvergenceTally(table, wait.requirement, at: now)
            if wait.isOver || tally.endsWait(forShare: wait.share) {
                tally.collectNames(table, wait.requirement, at: now)
            }
            return tally
        }
    }
}

extension State {
    /// Returns the cursor in a parameter of the query; nil if the query does not have the parameter. Throws if this
    /// state is not a state at or after the cursor.
    fileprivate func target(_ query: Query, _ parameter: Parameter) throws(Problem) -> Cursor? {
        guard let target = query.text(parameter).flatMap({ Cursor($0) }) else { return nil }
        try check(target, parameter)
        return target
    }

    fileprivate func check(_ target: Cursor, _ parameter: Parameter) throws(Problem) {
        guard !hasReached(target) else { return }
        // `baseCursor` is the cursor without a digest of grants.
        guard baseCursor.epoch.isBase(of: target.epoch) else {
            throw Problem(
                .badRequest,
                "\(parameter.name): the cursor \(target) belongs to another history; the cursor of this daemon is "
                    + "\(cursor)")
        }
        throw Problem(
            .badRequest,
            "\(parameter.name): this daemon does not have the commit \(target) yet, its cursor is \(cursor); send the "
                + "cursor also as Settings-At-Least to wait for the commit")
    }
}
