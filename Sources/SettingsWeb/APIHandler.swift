// The target SettingsWeb answers HTTP requests from the store. It contains the resources and their parameters, access
// control, watchers, the evaluation of flags for OpenFeature, and the web page.
//
// The target does not know sockets, journals, or the protocol of etcd.
//
// Read this file first, then Requests/Resource.swift, Reads.swift, Writes.swift and Watchers.swift. Access/ contains
// callers, tokens and the audit file.

package import HTTPServer
package import HTTPWire
package import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A request handler that answers the requests of one loop from the store.
///
/// Reads are answered at once from the published state. Writes are collected while a batch of events lasts and queued
/// together; their results come back together, too. Runs on its loop.
package final class APIHandler: RequestHandler {
    let service: Service
    let loop: EventLoop
    let mailbox: LoopMailbox
    private(set) var policies: Policies
    private var hosts: HostCheck
    private var origins: CrossOrigin
    var cache = ResponseCache()
    /// Writes of the present batch of events.
    var collected: [PendingWrite] = []
    var unansweredWrites = UnansweredWrites()
    var backgroundAnswers = BackgroundAnswers()
    var held = HeldRequests()
    var backups: [Ticket: SentBackup] = [:]
    var figures = LoopFigures()
    /// The request that is looked at, or was last.
    var current = RequestLookedAt(since: 0)
    /// Its caller; nil if the caller is not known.
    private var caller: Caller?
    private var recentTokens = RecentTokens()
    /// Requests that are answered later to callers that may read secrets.
    private var confidential: Set<Ticket> = []
    /// Requests that are answered later, except those that wait for a change and are not logged.
    var underWay: [Ticket: RequestUnderWay] = [:]
    /// The ticket of the request that is looked at; nil once it is answered.
    var lookedAt: Ticket?
    /// The answer that was begun to the request that is looked at, as a stream is.
    var begun: Response?
    var accessLog = AccessLog()
    /// The last body of an evaluation that was found to have a context.
    var knownContext: [UInt8] = Array("{\"context\":{}}".utf8)
    /// The number of refused credentials since the last line about one, and the earliest time of the next line.
    var refusedCredentials = (unlogged: 0, nextLine: UInt64(0))
    private var requestCount = 0
    private let listener: ListenerID
    /// The field that every answer has while the daemon is behind the others; nil while it is not.
    private var staleness: FieldBlock?
    private(set) lazy var watchers = Watchers(service, on: loop, for: self, listener)

    package init(_ service: Service, on loop: EventLoop) {
        self.service = service
        self.loop = loop
        mailbox = LoopMailbox(loop)
        policies = service.policies.join(mailbox)
        hosts = HostCheck(policies.hosts)
        origins = CrossOrigin(policies.hosts)
        listener = service.store.addListener(mailbox)
        mailbox.handler = self
    }

    /// Takes over policies that a reload brought. What waits for a caller whose credential has ended is answered.
    func take(_ policies: Policies) {
        self.policies = policies
        recentTokens = RecentTokens()
        hosts = HostCheck(policies.hosts)
        origins = CrossOrigin(policies.hosts, after: origins)
        loop.renewFields()
        watchers.endRevokedSubscriptions()
        endHolds(ofRevoked: true)
    }

    /// Has every answer say since how many seconds the daemon has not heard of the end of the history; nil for no longer.
    package func setStale(_ seconds: Int?) {
        staleness = seconds.map { seconds in
            var fields = FieldBlock()
            fields.append("Settings-Stale", integer: seconds)
            return fields
        }
        loop.renewFields()
    }

    deinit {
        service.store.removeListener(listener)
        service.policies.leave(mailbox)
    }

    package var moreFields: [FieldBlock] {
        var common = FieldBlock()
        if policies.access == nil {
            common.append("Cache-Control", "no-cache")
        } else {
            common.append("Cache-Control", "private, no-cache")
            common.append("Vary", "Authorization, X-API-Key")
        }
        common.append("X-Content-Type-Options", "nosniff")
        if let staleness { common.append(staleness) }
        return origins.fields.map { fields in
            var fields = fields
            fields.append(common)
            return fields
        }
    }

    package func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        origins.position(of: head, bytes)
    }

    package func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        current = RequestLookedAt(since: exchange.arrived)
        (lookedAt, begun) = (exchange.ticket, nil)
        caller = nil
        defer { lookedAt = nil }
        let handling = decide(head, bytes, body, exchange)
        let isConfidential = caller?.grants.mayReadSecrets ?? false
        switch handling {
        case .answer(var response):
            note(response, current) { text(of: head, bytes, exchange) }
            guard isConfidential else { break }
            response.forbidStorage()
            return .answer(response)
        case .later, .laterAlone:
            if let begun {
                self.begun = nil
                note(begun, current) { text(of: head, bytes, exchange) }
                break
            }
            if isConfidential { confidential.insert(exchange.ticket) }
            let logged = policies.logging.mayLog(current) ? text(of: head, bytes, exchange) : nil
            // Where thousands wait, an entry would be a tenth of what each takes.
            guard logged != nil || !current.isWaiting else { break }
            underWay[exchange.ticket] = RequestUnderWay(request: current, text: logged)
        case .notYet: break
        }
        return handling
    }

    /// Returns true if the caller of the request may read secrets. Forgets a request that was answered later.
    func takeConfidential(_ ticket: Ticket) -> Bool {
        lookedAt == ticket ? caller?.grants.mayReadSecrets ?? false : confidential.remove(ticket) != nil
    }

    private func text(of head: RequestHead, _ bytes: Span<UInt8>, _ exchange: Exchange) -> LoggedRequest {
        LoggedRequest(
            head, bytes, from: exchange.peer, by: caller?.name, number: nextNumber())
    }

    /// Returns a number that no other request has.
    func nextNumber() -> (loop: Int, count: Int) {
        requestCount += 1
        return (loop.index, requestCount)
    }

    /// Decides on a request: answers it, or has it answered later.
    private func decide(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        // A read must see what its connection wrote before.
        if exchange.isBehind, head.reads(in: bytes) { return .notYet }
        do throws(Problem) {
            try hosts.check(head, bytes, from: exchange.peer)
        } catch {
            return refuse(error, head, bytes, exchange, at: cursor(for: nil))
        }
        if let preflight = origins.preflight(head, bytes, at: cursor(for: nil)) {
            return .answer(preflight)
        }
        guard policies.proxies.trusts(exchange.peer) else { return admit(head, bytes, body, exchange) }
        var seen = exchange
        seen.user = nil
        seen.peer = policies.proxies.client(of: head, bytes, from: exchange.peer)
        return admit(head, bytes, body, seen)
    }

    /// Serves a request if its caller has the rights that it needs.
    private func admit(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        if policies.servesPage, let page = Page.answer(head, bytes, at: cursor(for: nil)) {
            let refusal = rate(for: nil, exchange).flatMap {
                overrun(of: $0, head, bytes, ClientKey(of: nil, exchange))
            }
            return .answer(refusal.map { Response($0, cursor: cursor(for: nil)) } ?? page)
        }
        let caller: Caller?
        do throws(Problem) {
            caller = try policies.access?.admit(head, bytes, user: exchange.user, recent: &recentTokens, found: &self.caller)
        } catch {
            if !exchange.isBehind { noteRefusedCredential(error, head, from: exchange.peer, named: self.caller?.name) }
            // A guess at a token counts, too.
            let rate = exchange.isBehind ? nil : rate(for: nil, exchange)
            let refusal = rate.flatMap { overrun(of: $0, head, bytes, ClientKey(of: nil, exchange)) }
            return refuse(refusal ?? error, head, bytes, exchange, at: cursor(for: self.caller))
        }
        guard let rate = rate(for: caller, exchange) else { return serve(head, bytes, body, exchange, from: caller) }
        let key = ClientKey(of: caller, exchange)
        if let refusal = overrun(of: rate, head, bytes, key) {
            return refuse(refusal, head, bytes, exchange, at: cursor(for: caller))
        }
        let handling = serve(head, bytes, body, exchange, from: caller)
        // It is offered again, and counts then.
        if case .notYet = handling { service.meter.giveBack(key, rate) }
        return handling
    }

    /// The place in history for an answer to a caller; nil for a stranger.
    func cursor(for caller: Caller?) -> Cursor? {
        isStranger(caller) ? nil : service.store.state.cursor.marked(for: caller?.reader)
    }

    /// True for a caller without any grant, and for a caller that was not asked for a credential. Such a caller is not told
    /// the place in history, which shows how often something is written.
    func isStranger(_ caller: Caller?) -> Bool {
        policies.access != nil && caller?.grants.list.isEmpty ?? true
    }

    /// The rate that a caller is held to; nil if it is free, as peers on this machine that need no credential are: they are
    /// its users' own programs.
    private func rate(for caller: Caller?, _ exchange: Exchange) -> RequestRate? {
        exchange.isLocal && !(caller?.isKnown ?? false) ? nil : policies.rate
    }

    /// Counts a request, unless it looks after the daemon. Returns the refusal of one that is too many.
    private func overrun(
        of rate: RequestRate, _ head: RequestHead, _ bytes: Span<UInt8>, _ key: ClientKey
    ) -> Problem? {
        switch Route(head.path, in: bytes)?.resource {
        case .health, .ready, .metrics: return nil
        default: return service.meter.take(key, at: loop.now, rate).map { Problem(tooManyRequests: rate, wait: $0) }
        }
    }

    /// Serves a request whose caller may send it.
    ///
    /// - Parameter isHeld: true if it was held until the place that it asks for was there.
    func serve(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, from caller: Caller?,
        isHeld: Bool = false
    ) -> Handling {
        if let setting = plainSetting(head, bytes, for: caller?.reader) {
            current.route = RouteName(method: head.method, resource: .setting)
            return .answer(setting)
        }
        if let flag = plainEvaluation(head, bytes, body, for: caller?.reader) {
            current.route = RouteName(method: .post, resource: .evaluation)
            return .answer(flag)
        }
        // A refusal has the cursor of the state that it was decided on.
        let state = service.store.state.withCursors(for: caller?.reader)
        do throws(Problem) {
            return try serve(head, bytes, body, exchange, from: caller, isHeld: isHeld, on: state)
        } catch {
            return refuse(error, head, bytes, exchange, at: isStranger(caller) ? nil : state.cursor)
        }
    }

    private func serve(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, from caller: Caller?,
        isHeld: Bool, on state: State
    ) throws(Problem) -> Handling {
        if head.isServerWide {
            return .answer(Response(allowing: Resource.allowedSomewhere, isStranger(caller) ? nil : state.cursor))
        }
        let route = try Route(head, in: bytes)
        current.route = RouteName(method: head.method, resource: route.resource)
        if let suite = plainSuite(route, head, bytes, for: caller?.reader, on: state) {
            return .answer(suite)
        }
        let request = try APIRequest(head, route, in: bytes, from: caller, exchange.user)
        if head.method == .options {
            return .answer(Response(allowing: route.resource.allowed, isStranger(caller) ? nil : state.cursor))
        }
        try request.checkGrants(in: bytes)
        if !isHeld, request.namesPlace, let held = try hold(request, bytes, body, exchange, on: state) { return held }
        guard head.method.isSafe else {
            if route.resource.isRead(by: head.method) { return try evaluate(request, bytes, body, exchange, on: state) }
            if route.resource == .reload { return try reload(body, exchange, for: caller) }
            let target = try WriteTarget(request, bytes, on: state)
            // A request with a key may repeat a request from before the lock, which only the decide stage knows.
            if !head.has(.idempotencyKey) { try request.checkLock(target, on: state) }
            return try write(request, target, bytes, body, exchange, on: state)
        }
        let handling = try read(request, bytes, exchange, on: state)
        // Requests that the connection sends after this one must not change its answer.
        if case .later = handling { return .laterAlone }
        return handling
    }

    private func refuse(
        _ problem: Problem, _ head: RequestHead, _ bytes: Span<UInt8>, _ exchange: Exchange, at cursor: Cursor?
    ) -> Handling {
        // An earlier write of the connection may lift a lock, or move the cursor.
        exchange.isBehind ? .notYet : .answer(Response(problem, to: head, bytes, cursor: cursor))
    }

    package func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Response {
        caller = nil
        var problem = Problem(rejection)
        if case .request(.bodyTooLarge) = rejection, let head {
            problem = refusal(before: head, bytes, from: peer, user) ?? problem
        }
        return refused(problem, head, bytes, from: peer)
    }

    package func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision {
        caller = nil
        if let problem = refusal(before: head, bytes, from: peer, user) {
            return .refuse(refused(problem, head, bytes, from: peer))
        }
        if let caller, caller.isKnown { return .receive(from: .caller(caller.name)) }
        guard policies.proxies.trusts(peer) else { return .receive(from: ClientKey(peer, user?.id)) }
        return .receive(from: ClientKey(policies.proxies.client(of: head, bytes, from: peer), nil))
    }

    private func refused(
        _ problem: Problem, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress
    ) -> Response {
        let cursor = cursor(for: caller)
        let response =
            head.map { Response(problem, to: $0, bytes, cursor: cursor) } ?? Response(problem, cursor: cursor)
        note(response, RequestLookedAt(since: loop.now)) {
            head.map {
                LoggedRequest(
                    $0, bytes, from: peer, by: caller?.name, number: (loop: loop.index, count: 0))
            }
        }
        return response
    }

    /// Returns the refusal of a request that comes before its body is looked at, as 403 does.
    private func refusal(
        before head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Problem? {
        guard !head.isServerWide else { return nil }
        do throws(Problem) {
            try hosts.check(head, bytes, from: peer)
            let user = policies.proxies.trusts(peer) ? nil : user
            let caller = try policies.access?.admit(
                head, bytes, user: user, recent: &recentTokens, found: &self.caller)
            let request = try APIRequest(head, Route(head, in: bytes), in: bytes, from: caller, user)
            try request.checkGrants(in: bytes)
            let state = service.store.state
            if !request.route.resource.isRead(by: head.method), !head.has(.idempotencyKey) {
                try request.checkLock(WriteTarget(request, bytes, on: state), on: state)
            }
            return nil
        } catch {
            let client = policies.proxies.client(of: head, bytes, from: peer)
            noteRefusedCredential(error, head, from: client, named: self.caller?.name)
            return error
        }
    }

    package func batchEnded() {
        enqueueCollectedWrites()
        guard !accessLog.lines.isEmpty else { return }
        service.accessLog.append(accessLog.takeLines())
    }

    package func wasSlow(nanoseconds: UInt64) {
        figures.slowBatches += 1
        let last = current.route.map { "; the last request was \($0.method.name) \($0.resource.rawValue)" } ?? ""
        service.debug("loop \(loop.index) was busy for \(nanoseconds / 1_000_000) ms\(last)")
    }

    package func closed(_ ticket: Ticket) {
        noteClosed(ticket)
        confidential.remove(ticket)
        // A write that was handed over is done all the same.
        watchers.remove(ticket)
        forgetHeld(ticket)
        backgroundAnswers.remove(ticket)
        endBackup(ticket)
    }

    package func peerHalfClosed(_ ticket: Ticket) {
        if !endHold(ticket) { watchers.end(ticket) }
    }

    package func alarm(_ ticket: Ticket) {
        if !endHold(ticket) { watchers.alarm(ticket) }
    }

    package func drained(_ ticket: Ticket) {
        if let backup = backups[ticket] { backup.proceed() } else { watchers.proceed(ticket) }
    }

    package func stopping() {
        watchers.stopping()
        endHolds(ofRevoked: false)
        abortBackups()
    }
}

extension APIHandler {
    /// Answers once the daemon has read its configuration again.
    private func reload(
        _ body: Span<UInt8>, _ exchange: Exchange, for caller: Caller?
    ) throws(Problem) -> Handling {
        guard !exchange.isBehind else { return .notYet }
        guard body.isEmpty, exchange.largeBody == nil else {
            throw Problem(.badRequest, "a reload has no body: it reads the configuration of the daemon again")
        }
        let (mailbox, ticket) = (mailbox, exchange.ticket)
        service.reload { result in
            mailbox.run { handler in
                let cursor = handler.cursor(for: caller)
                let response =
                    switch result {
                    case .success(let report): Response(json: report.jsonBytes(), cursor: cursor)
                    case .failure(let problem): Response(problem, cursor: cursor)
                    }
                handler.answer(ticket, response)
            }
        }
        return .laterAlone
    }

    /// Runs work on the loop when others had their turn.
    func later(_ work: @escaping @Sendable (APIHandler) -> Void) {
        mailbox.run(work)
    }
}

extension RequestHead {
    /// True if the request only reads.
    fileprivate func reads(in bytes: Span<UInt8>) -> Bool {
        method.isSafe || method == .post && Route(path, in: bytes)?.resource.isRead(by: method) ?? false
    }
}
