internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import SettingsStorage

/// Counting and logging of requests.
extension APIHandler {
    /// Counts a response. If the logging options require it, calls `copy` for a copy of the request, and logs the copy.
    func recordAnswer(_ response: borrowing Response, _ timing: RequestTiming, copy: () -> LoggedRequest?) {
        metrics.countAnswer(status: response.status, errorCodeNumber: response.errorCodeNumber)
        // Only the access log shows the duration of a request that has waited for an event, such as a long poll.
        guard !timing.waitsForEvent || policies.logging.access != .off else { return }
        let time = loop.clock.now() &- timing.arrival
        if let route = timing.route, !timing.waitsForEvent { metrics.addDuration(time, of: route) }
        let isSlow = policies.logging.isSlow(time) && !timing.waitsForEvent
        guard isSlow || policies.logging.access != .off, let request = copy() else { return }
        if policies.logging.access != .off {
            addLine(request, status: response.status, bodyLength: response.body.count, time)
        }
        guard isSlow else { return }
        metrics.slowRequests += 1
        service.warn(Self.description(of: request, response.status, time))
    }

    /// Logs the refusal of a credential: at most one line per second and event loop. `name` is the name of the
    /// caller (the sender of the request); nil if the credential is unknown.
    func logIfUnauthorized(_ problem: Problem, _ head: RequestHead, from peer: SocketAddress, named name: String?) {
        guard problem.code == .unauthorized, head.has(.authorization) || head.has(.apiKey) else { return }
        guard loop.now >= refusedCredentials.nextLine else { return refusedCredentials.unlogged += 1 }
        let unlogged = refusedCredentials.unlogged
        refusedCredentials = (0, loop.now + 1_000_000_000)
        let address = peer.isUnix ? "unix" : peer.host
        let client = name.map { "\($0) from \(address)" } ?? "a client at \(address)"
        let skipped = "\(unlogged) more \(unlogged == 1 ? "refusal" : "refusals")"
        service.warn(
            "cannot authenticate \(client): \(problem.detail)\(unlogged > 0 ? " (the log left out \(skipped))" : "")")
    }

    /// Logs a request whose connection closed before the response, with the status 499 of nginx. Removes the copy, so
    /// that the result of a write is not logged again.
    func logClosed(_ entry: inout UnfinishedRequests.Entry) {
        guard let request = entry.logCopy.take(), policies.logging.access != .off else { return }
        addLine(request, status: 499, bodyLength: 0, loop.clock.now() &- entry.timing.arrival)
    }

    private func addLine(_ request: LoggedRequest, status: Int, bodyLength: Int, _ nanoseconds: UInt64) {
        let entry = AccessLog.Entry(
            request: request, status: status, bodyLength: bodyLength, time: service.clock(), nanoseconds: nanoseconds)
        accessLog.append(entry, format: policies.logging.access)
    }

    /// The log line of a slow request, with the durations of the processing steps.
    private static func description(of request: LoggedRequest, _ status: Int, _ time: UInt64) -> String {
        var parts: [(String, UInt64)] = []
        if let times = request.times {
            parts.append(("waiting in the queue of writes", times.waiting))
            parts += [
                ("checking this write and the other writes of its batch", times.deciding), ("syncing", times.syncing),
            ]
        }
        if let rendering = request.rendering { parts.append(("rendering", rendering)) }
        let measured = parts.reduce(0) { $0 + $1.1 }
        let other = parts.isEmpty ? "waiting for the event loop and processing" : "other work"
        parts.append((other, time - min(time, measured)))
        let list = parts.map { "\($0.1 / 1_000_000) ms \($0.0)" }.joined(separator: ", ")
        let trace = request.traceParent.map { ", traceparent \($0)" } ?? ""
        return "slow request: \(request.method) \(request.target) took \(time / 1_000_000) ms (\(list)); "
            + "status \(status), id \(request.id)\(trace)"
    }
}
