internal import HTTPWire
package import SettingsAPI
package import SettingsModel

extension Endpoint where Output == ClientListing {
    /// The clients of a suite: the programs that have reported which state of the suite they have applied.
    ///
    /// - Parameter cursor: list only clients that have not applied this state; nil to list all clients.
    package static func clients(of suite: SuiteName, behind cursor: Cursor? = nil) -> Endpoint {
        Endpoint(
            Request(.get, RequestTarget("v1", "suites", suite.text, "clients").with("behind", cursor?.description)))
    }
}

extension Endpoint where Output == Convergence {
    /// The number of clients of a suite that have applied a state. The daemon answers when the given share of the
    /// present clients has applied the state, when a client could not apply the state, or when the wait is over. A
    /// client is present unless the daemon has not seen it for some time (status `gone`).
    ///
    /// - Parameters:
    ///   - target: the state, for example the cursor of a write.
    ///   - share: the share of the present clients, from 0 to 1.
    ///   - wait: the time to wait, in whole seconds; zero to answer at once.
    package static func convergence(
        of suite: SuiteName, for target: Cursor, share: Double, wait: Duration
    ) -> Endpoint {
        var request = Request(
            .get,
            RequestTarget("v1", "suites", suite.text, "clients").with("for", target.description)
                .with("share", "\(share)").with("wait", "\(wait.components.seconds)"))
        // If several daemons share a history, another daemon may have returned the cursor, and the daemon that gets
        // this request may not have the state yet. With this field, the daemon waits for the state. Otherwise, it would
        // refuse the request.
        request.fields.append("Settings-At-Least", text: target.description)
        return Endpoint(request, wait: wait)
    }
}

extension Endpoint where Output == ClientDescription {
    /// Reports which state of a suite a client has applied, or could not apply.
    package static func report(_ report: ClientReport, by client: ClientName, of suite: SuiteName) -> Endpoint {
        Endpoint(
            Request(
                .put, RequestTarget("v1", "suites", suite.text, "clients", client.text), body: report.jsonBytes()))
    }
}
