internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Checks the host, the origin, the credential and the request rate before a request is served. A caller is the sender
/// of a request, as the credential identifies it. `head` contains ranges of `bytes`, the received bytes of the request.
extension APIHandler {
    /// Checks and serves a request. The request is answered, recorded in the table of unfinished requests, or postponed
    /// until the earlier requests of the connection are answered.
    func checkAndServe(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        // A read must see the earlier writes of its connection, so the read is postponed until they are answered.
        if exchange.hasEarlierRequests, head.isRead(in: bytes) { return .afterEarlierRequests }
        do throws(Problem) {
            try hosts.check(head, bytes, from: exchange.peer)
        } catch {
            return refuse(error, head, bytes, exchange, at: cursor(for: nil))
        }
        if let preflight = origins.preflight(head, bytes, at: cursor(for: nil)) { return .answer(preflight) }
        guard policies.proxies.trusts(exchange.peer) else { return admit(head, bytes, body, exchange) }
        // The Unix user and the peer of the connection are the user and the address of the proxy, not of the client.
        var forwarded = exchange
        forwarded.user = nil
        forwarded.peer = policies.proxies.client(of: head, bytes, from: exchange.peer)
        return admit(head, bytes, body, forwarded)
    }

    /// Answers a request for a file of the web page. Serves any other request if its caller has the right that the
    /// method and the path require. Both kinds of requests count for the rate limit.
    private func admit(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        if policies.servesWebPage, let page = WebPage.answer(head, bytes, at: cursor(for: nil)) {
            let refusal = maximumRate(for: nil, exchange).flatMap {
                rateLimitRefusal(of: $0, head, bytes, ClientKey(of: nil, exchange))
            }
            return .answer(refusal.map { Response($0, cursor: cursor(for: nil)) } ?? page)
        }
        let caller: Caller?
        do throws(Problem) {
            caller = try policies.access?.admit(
                head, bytes, user: exchange.user, recent: &recentTokens, identified: &current.caller)
        } catch {
            // `admit` has set `current.caller`, unless the token is unknown or `Authorization` is malformed. If earlier
            // requests of the connection are unanswered, `refuse` postpones the request. The connection then passes the
            // request to the handler again, and only the last refusal is logged and counted.
            if !exchange.hasEarlierRequests {
                logIfUnauthorized(error, head, from: exchange.peer, named: current.caller?.name)
            }
            // A request with an invalid token counts for the rate limit, too, to slow down guessing.
            let rate = exchange.hasEarlierRequests ? nil : maximumRate(for: nil, exchange)
            let refusal = rate.flatMap { rateLimitRefusal(of: $0, head, bytes, ClientKey(of: nil, exchange)) }
            return refuse(refusal ?? error, head, bytes, exchange, at: cursor(for: current.caller))
        }
        guard let rate = maximumRate(for: caller, exchange) else {
            return serve(head, bytes, body, exchange, from: caller)
        }
        let key = ClientKey(of: caller, exchange)
        if let refusal = rateLimitRefusal(of: rate, head, bytes, key) {
            return refuse(refusal, head, bytes, exchange, at: cursor(for: caller))
        }
        let handling = serve(head, bytes, body, exchange, from: caller)
        // The connection passes a postponed request to the handler again. The rate limit must count the request once.
        if case .afterEarlierRequests = handling { service.rateLimiter.uncountRequest(of: key, rate) }
        return handling
    }

    /// The maximum request rate of a caller; nil if the rate is not limited. The rate of a program on this machine is
    /// limited only if grants are configured for its token or user (`hasOwnGrants`).
    private func maximumRate(for caller: Caller?, _ exchange: Exchange) -> RequestRate? {
        exchange.isLocal && !(caller?.hasOwnGrants ?? false) ? nil : policies.rate
    }

    /// Counts a request (not health, readiness, metrics) for the rate limit. Returns an error if it exceeds the limit.
    private func rateLimitRefusal(
        of rate: RequestRate, _ head: RequestHead, _ bytes: Span<UInt8>, _ key: ClientKey
    ) -> Problem? {
        switch Route(head.path, in: bytes)?.resource {
        case .health, .ready, .metrics: return nil
        default:
            return service.rateLimiter.countRequest(of: key, at: loop.now, rate)
                .map { Problem(tooManyRequests: rate, wait: $0) }
        }
    }
}

/// The credentials of requests that wait for an action of another client, such as a write.
extension APIHandler {
    /// True if the credential of a caller is still valid. The caller is nil if access control was off at the arrival.
    func isAdmitted(_ caller: Caller?) -> Bool {
        guard let access = policies.access else { return true }
        return caller.map(access.isCredentialValid(of:)) ?? false
    }

    /// Returns the time when a request must stop waiting: after `wait` nanoseconds, or when its credential expires.
    func deadline(in wait: UInt64, of caller: Caller?) -> UInt64 {
        guard let caller, let remaining = policies.access?.nanosecondsUntilExpiry(of: caller) else {
            return loop.now &+ wait
        }
        // The deadline is a millisecond after the expiry, so that the credential has expired when the deadline passes.
        return loop.now &+ min(wait, remaining + 1_000_000)
    }
}

extension RequestHead {
    fileprivate func isRead(in bytes: Span<UInt8>) -> Bool {
        method.isSafe || method == .post && Route(path, in: bytes)?.resource.isRead(by: method) ?? false
    }
}
