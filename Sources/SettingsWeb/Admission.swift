internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The checks of host, origin, credential and rate, before a request is served.
extension APIHandler {
    /// Answers a request, or records what the request waits for.
    func decide(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        // A read must see the earlier writes of its connection.
        if exchange.hasEarlierRequests, head.reads(in: bytes) { return .afterEarlierRequests }
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
            caller = try policies.access?.admit(
                head, bytes, user: exchange.user, recent: &recentTokens, found: &current.caller)
        } catch {
            if !exchange.hasEarlierRequests {
                noteRefusedCredential(error, head, from: exchange.peer, named: current.caller?.name)
            }
            // A guess at a token counts, too.
            let rate = exchange.hasEarlierRequests ? nil : rate(for: nil, exchange)
            let refusal = rate.flatMap { overrun(of: $0, head, bytes, ClientKey(of: nil, exchange)) }
            return refuse(refusal ?? error, head, bytes, exchange, at: cursor(for: current.caller))
        }
        guard let rate = rate(for: caller, exchange) else { return serve(head, bytes, body, exchange, from: caller) }
        let key = ClientKey(of: caller, exchange)
        if let refusal = overrun(of: rate, head, bytes, key) {
            return refuse(refusal, head, bytes, exchange, at: cursor(for: caller))
        }
        let handling = serve(head, bytes, body, exchange, from: caller)
        // The connection offers the request again, and the request counts then.
        if case .afterEarlierRequests = handling { service.meter.giveBack(key, rate) }
        return handling
    }

    /// The maximum rate of a caller; nil for a peer on this machine that needs no credential, because the peer is a program of a
    /// user of the machine.
    private func rate(for caller: Caller?, _ exchange: Exchange) -> RequestRate? {
        exchange.isLocal && !(caller?.isKnown ?? false) ? nil : policies.rate
    }

    /// Counts a request, unless it monitors the daemon. Returns the refusal of a request that exceeds the rate.
    private func overrun(
        of rate: RequestRate, _ head: RequestHead, _ bytes: Span<UInt8>, _ key: ClientKey
    ) -> Problem? {
        switch Route(head.path, in: bytes)?.resource {
        case .health, .ready, .metrics: return nil
        default: return service.meter.take(key, at: loop.now, rate).map { Problem(tooManyRequests: rate, wait: $0) }
        }
    }
}

/// Credentials of requests that wait.
extension APIHandler {
    /// True if the credential of a caller is still valid. A request that arrived without access control has no caller.
    func isAdmitted(_ caller: Caller?) -> Bool {
        guard let access = policies.access else { return true }
        return caller.map(access.stillHolds) ?? false
    }

    /// Returns the end of a wait, or the expiry of the caller's credential if that comes first.
    func deadline(in wait: UInt64, of caller: Caller?) -> UInt64 {
        guard let caller, let left = policies.access?.timeLeft(of: caller) else { return loop.now &+ wait }
        // An alarm does not come early, and the credential must have expired by then.
        return loop.now &+ min(wait, left + 1_000_000)
    }
}

extension RequestHead {
    /// True if the request only reads.
    fileprivate func reads(in bytes: Span<UInt8>) -> Bool {
        method.isSafe || method == .post && Route(path, in: bytes)?.resource.isRead(by: method) ?? false
    }
}
