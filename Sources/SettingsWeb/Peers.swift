internal import HTTPServer
internal import HTTPWire
package import SettingsAPI
internal import SettingsEngine
package import SettingsModel
package import SettingsStorage

/// Access to the other daemons, if several daemons share a commit log and therefore have the same history.
package struct Peers: Sendable {
    /// Reads the end of the shared log, which is the cursor of the last commit of any daemon. Calls `completion` once,
    /// on any queue, with nil if the end cannot be read. The call may take long, so the calling code needs
    /// its own deadline.
    package var findEndOfLog: @Sendable (_ completion: @escaping @Sendable (Cursor?) -> Void) -> Void
    /// Describes the daemons. The object is the answer to `GET /v1/cluster`. Calls `completion` once, on any queue.
    package var describe: @Sendable (_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) -> Void
    /// Returns the counters and histograms of the shared log.
    package var metrics: @Sendable () -> LogMetrics.Contents

    package init(
        findEndOfLog: @escaping @Sendable (_ completion: @escaping @Sendable (Cursor?) -> Void) -> Void,
        describe: @escaping @Sendable (_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) -> Void,
        metrics: @escaping @Sendable () -> LogMetrics.Contents
    ) {
        (self.findEndOfLog, self.describe, self.metrics) = (findEndOfLog, describe, metrics)
    }
}

extension APIHandler {
    /// Answers `/v1/cluster` with a description of all daemons. Without access control, `caller` is nil; otherwise the
    /// caller has the right `metrics`.
    func describePeers(_ id: Ticket, for caller: Caller?) -> Handling {
        guard let peers = service.peers else {
            return .answer(Response(json: JSONValue.object(["daemons": 1]).bytes(), cursor: cursor(for: caller)))
        }
        setWaiting(id, for: .serverOperation)
        let mailbox = mailbox
        peers.describe { result in
            mailbox.run { handler in
                let cursor = handler.cursor(for: caller)
                switch result {
                case .success(let members):
                    handler.answer(id, Response(json: JSONValue.object(members).bytes(), cursor: cursor))
                case .failure(let problem): handler.answer(id, Response(problem, cursor: cursor))
                }
            }
        }
        return .later
    }
}

extension PolicyBoard {
    /// Sets `Settings-Stale` of all answers: the seconds since the daemon last read the end of the shared log. Nil
    /// removes the field. The board copies policies to all event loops, so it has their mailboxes. Thread-safe.
    package func setStale(_ seconds: Int?) {
        for mailbox in mailboxes { mailbox.run { $0.setStale(seconds) } }
    }
}
