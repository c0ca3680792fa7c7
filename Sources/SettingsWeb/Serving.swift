internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Serves requests whose callers (senders) have the rights that their methods and paths require. `head` and `request`
/// contain ranges of `bytes`, the received bytes of the request.
extension APIHandler {
    /// Serves a request of an admitted caller, or of any caller without access control.
    ///
    /// - Parameter hasAwaitedRevision: true if the request has waited until the revision that it demands was published.
    func serve(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, from caller: Caller?,
        hasAwaitedRevision: Bool = false
    ) -> Handling {
        // Faster paths for plain reads, without a query or conditions, of a setting and of a flag of OpenFeature.
        // `restrictedGrants` is nil if the caller may read everything.
        if let setting = plainSetting(head, bytes, for: caller?.restrictedGrants) {
            current.timing.route = RouteName(method: head.method, resource: .setting)
            return .answer(setting)
        }
        if let flag = plainEvaluation(head, bytes, body, for: caller?.restrictedGrants) {
            current.timing.route = RouteName(method: .post, resource: .evaluation)
            return .answer(flag)
        }
        // A refusal must contain the cursor (epoch and revision) of the state on which it is based. If the caller has
        // `restrictedGrants`, the cursor contains a digest of the grants.
        let state = service.store.state.withGrantsDigest(of: caller?.restrictedGrants)
        do throws(Problem) {
            return try serve(
                head, bytes, body, exchange, from: caller, hasAwaitedRevision: hasAwaitedRevision, on: state)
        } catch {
            return refuse(error, head, bytes, exchange, at: hidesCursor(from: caller) ? nil : state.cursor)
        }
    }

    private func serve(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, from caller: Caller?,
        hasAwaitedRevision: Bool, on state: State
    ) throws(Problem) -> Handling {
        if head.hasAsteriskForm {
            return .answer(
                Response(allowing: Resource.methodsOfAllResources, hidesCursor(from: caller) ? nil : state.cursor))
        }
        let route = try Route(head, in: bytes)
        current.timing.route = RouteName(method: head.method, resource: route.resource)
        if let suite = plainSuite(route, head, bytes, for: caller?.restrictedGrants, on: state) {
            return .answer(suite)
        }
        let request = try APIRequest(head, route, in: bytes, from: caller, exchange.user)
        if head.method == .options {
            return .answer(Response(allowing: route.resource.allowed, hidesCursor(from: caller) ? nil : state.cursor))
        }
        try request.checkGrants(in: bytes)
        if !hasAwaitedRevision, request.hasRevisionField,
            let waiting = try waitForRevision(request, bytes, body, exchange, on: state)
        {
            return waiting
        }
        guard head.method.isSafe else {
            // The evaluation of a flag is a POST that only reads.
            if route.resource.isRead(by: head.method) { return try evaluate(request, bytes, body, exchange, on: state) }
            if route.resource == .reload { return try reload(body, exchange, for: caller) }
            if route.resource == .client { return try recordReport(request, bytes, body, exchange) }
            let target = try WriteTarget(request, bytes, on: state)
            // With an `Idempotency-Key`, the store checks whether the target is locked: a repeated write must get the
            // answer to the first write even if the target is locked now, and only the store knows the first write.
            if !head.has(.idempotencyKey) { try request.checkLock(target, on: state) }
            return try write(request, target, bytes, body, exchange, on: state)
        }
        let handling = try read(request, bytes, exchange, on: state)
        // The answer may come from a state that is published later. This state must not contain writes of the next
        // requests of the connection, so the connection processes these requests only after the answer.
        if case .later = handling { return .laterBlockingNextRequest }
        return handling
    }

    /// Refuses a request. If earlier requests of the connection are not answered yet, the handler instead gets the
    /// request again after their answers.
    func refuse(
        _ problem: Problem, _ head: RequestHead, _ bytes: Span<UInt8>, _ exchange: Exchange, at cursor: Cursor?
    ) -> Handling {
        // An earlier write of the connection may remove the reason for the refusal, for example a lock.
        exchange.hasEarlierRequests
            ? .afterEarlierRequests : .answer(Response(problem, to: head, bytes, cursor: cursor))
    }

    private func reload(_ body: Span<UInt8>, _ exchange: Exchange, for caller: Caller?) throws(Problem) -> Handling {
        guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
        guard body.isEmpty, exchange.largeBody == nil else {
            throw Problem(.badRequest, "a reload must not have a body: the daemon reads its own configuration again")
        }
        let (mailbox, id) = (mailbox, exchange.ticket)
        setWaiting(id, for: .serverOperation)
        service.reload { result in
            mailbox.run { handler in
                let cursor = handler.cursor(for: caller)
                let response =
                    switch result {
                    case .success(let report): Response(json: report.jsonBytes(), cursor: cursor)
                    case .failure(let problem): Response(problem, cursor: cursor)
                    }
                handler.answer(id, response)
            }
        }
        return .laterBlockingNextRequest
    }
}
