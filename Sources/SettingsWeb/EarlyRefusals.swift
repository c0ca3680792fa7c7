package import HTTPServer
package import HTTPWire
package import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Answers to requests before their bodies are received.
///
/// The HTTP server *rejects* a request that it cannot process, for example because the request is malformed or too
/// large. The API *refuses* a valid request because of its head, for example if the caller (its sender) lacks rights,
/// or if the setting is locked.
extension APIHandler {
    /// Returns the answer to a request that the HTTP server rejects. If the body is too large, a refusal takes
    /// precedence, so that only callers who may send the request learn the size limit.
    package func responseToRejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Response {
        current = CurrentRequest(arrival: loop.now)
        var problem = Problem(rejection)
        if case .request(.bodyTooLarge) = rejection, let head {
            problem = refusal(of: head, bytes, from: peer, user) ?? problem
        }
        return recordedResponse(problem, head, bytes, from: peer)
    }

    /// Decides whether the HTTP server receives the large body of a request. If it does, also returns the client whose
    /// share of the memory for large bodies the body uses.
    package func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision {
        current = CurrentRequest(arrival: loop.now)
        if let problem = refusal(of: head, bytes, from: peer, user) {
            return .refuse(recordedResponse(problem, head, bytes, from: peer))
        }
        // A caller without configured grants is not limited by its name, but by its Unix user or its address, like
        // callers without a credential.
        if let caller = current.caller, caller.hasOwnGrants { return .receive(from: .caller(caller.name)) }
        guard policies.proxies.trusts(peer) else { return .receive(from: ClientKey(peer, user?.id)) }
        return .receive(from: ClientKey(policies.proxies.client(of: head, bytes, from: peer), nil))
    }

    /// Makes the answer to a rejected or refused request, and records the answer in the logs and metrics.
    private func recordedResponse(
        _ problem: Problem, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress
    ) -> Response {
        let cursor = cursor(for: current.caller)
        let response =
            head.map { Response(problem, to: $0, bytes, cursor: cursor) } ?? Response(problem, cursor: cursor)
        // The count is 0, because a request gets a number only in `handle`.
        recordAnswer(response, current.timing) {
            head.map {
                LoggedRequest($0, bytes, from: peer, by: current.caller?.name, number: (loop: loop.index, count: 0))
            }
        }
        return response
    }

    /// Returns the error if the head of a request shows that the request must be refused; otherwise nil. Logs a refused
    /// credential.
    private func refusal(
        of head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Problem? {
        // `OPTIONS *` concerns the whole server and has no path to check.
        guard !head.hasAsteriskForm else { return nil }
        do throws(Problem) {
            try hosts.check(head, bytes, from: peer)
            let user = policies.proxies.trusts(peer) ? nil : user
            let caller = try policies.access?.admit(
                head, bytes, user: user, recent: &recentTokens, identified: &current.caller)
            let request = try APIRequest(head, Route(head, in: bytes), in: bytes, from: caller, user)
            try request.checkGrants(in: bytes)
            let state = service.store.state
            // A write with an `Idempotency-Key` may repeat an earlier write, and then gets the earlier answer even if
            // the setting is locked now. So the store checks the lock, after it has searched for an earlier write.
            // The report of a client (`.client`) changes no setting.
            if !request.route.resource.isRead(by: head.method), request.route.resource != .client,
                !head.has(.idempotencyKey)
            {
                try request.checkLock(WriteTarget(request, bytes, on: state), on: state)
            }
            return nil
        } catch {
            let client = policies.proxies.client(of: head, bytes, from: peer)
            logIfUnauthorized(error, head, from: client, named: current.caller?.name)
            return error
        }
    }
}
