internal import HTTPWire
package import SettingsAPI
internal import SettingsModel

extension Endpoint where Output == PendingListing {
    /// The pending actions that the caller may see, of one suite or of all suites, ordered by deadline.
    package static func pendingActions(of suite: SuiteName? = nil) -> Endpoint {
        Endpoint(Request(.get, RequestTarget("v1", "pending").with("suite", suite?.text)))
    }
}

extension Endpoint where Output == PendingDescription {
    /// A pending action. Throws `pendingEnded` with the outcome if the action has ended.
    package static func pendingAction(_ id: PendingID) -> Endpoint {
        Endpoint(Request(.get, RequestTarget("v1", "pending", id.description)))
    }
}

extension Endpoint where Output == Answer<WriteSummary> {
    /// Ends a pending action, or changes its deadline.
    package static func perform(
        _ request: PendingRequest, on id: PendingID, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.post, RequestTarget("v1", "pending", id.description), body: request.jsonBytes()), options)
    }
}
