internal import HTTPServer
internal import HTTPWire
package import SettingsAPI
internal import SettingsEngine
package import SettingsModel
package import SettingsStorage

/// The other daemons with the same history, as far as the interface asks about them. A daemon that is alone has none.
package struct Peers: Sendable {
    /// Asks for the end of the history, as it is after the call. Calls `completion` once, on any queue, with nil if the
    /// end cannot be found out. Those who ask have deadlines of their own.
    package var findEnd: @Sendable (_ completion: @escaping @Sendable (Cursor?) -> Void) -> Void
    /// Describes the daemons: the members of `GET /v1/cluster`. Calls `completion` once, on any queue.
    package var describe: @Sendable (_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) -> Void
    /// The figures of the log that they share.
    package var figures: @Sendable () -> LogFigures.Contents

    package init(
        findEnd: @escaping @Sendable (_ completion: @escaping @Sendable (Cursor?) -> Void) -> Void,
        describe: @escaping @Sendable (_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) -> Void,
        figures: @escaping @Sendable () -> LogFigures.Contents
    ) {
        (self.findEnd, self.describe, self.figures) = (findEnd, describe, figures)
    }
}

extension APIHandler {
    /// Answers `/v1/cluster`.
    func describePeers(_ id: Ticket, for caller: Caller?) -> Handling {
        guard let peers = service.peers else {
            return .answer(Response(json: JSONValue.object(["daemons": 1]).bytes(), cursor: cursor(for: caller)))
        }
        setWaiting(id, for: .serviceCall)
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
    /// Has every answer say since how many seconds the daemon has not heard of the end of the history; nil once it has.
    /// From any thread, about once a second.
    package func setStale(_ seconds: Int?) {
        for loop in loops { loop.run { $0.setStale(seconds) } }
    }
}
