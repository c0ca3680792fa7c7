internal import HTTPServer
internal import HTTPWire
internal import SettingsEngine

/// The request that `APIHandler.handle` is processing, otherwise the last processed request. Owned by the event loop.
struct CurrentRequest {
    /// The ticket, which identifies the request; nil after the request has a response or `handle` has returned.
    private(set) var id: Ticket?
    /// The sender of the request. Nil until the credential is checked, and without access control.
    var caller: Caller?
    var timing: RequestTiming
    /// A response that was sent while `handle` was still running: an answer, or the beginning of a stream.
    private(set) var response: Response?

    /// - Parameters:
    ///   - id: nil for a request that is refused before its body is received.
    ///   - arrival: when the request arrived, by the clock of the event loop, in nanoseconds.
    init(id: Ticket? = nil, arrival: UInt64) {
        self.id = id
        timing = RequestTiming(arrival: arrival)
    }

    /// True if caches must not store the response, because it may contain secrets. False without access control, where
    /// every client may read the secrets.
    var forbidsCaching: Bool { caller?.grants.mayReadSecrets ?? false }

    /// Records the response of the request, which `handle` logs before it returns. Clears `id`.
    mutating func setResponse(_ response: Response) {
        id = nil
        self.response = response
    }

    /// Ends the processing. Releases the response, whose body may be large.
    mutating func endProcessing() {
        id = nil
        response = nil
    }
}

/// The data of a request that the metrics and the logs need.
struct RequestTiming: BitwiseCopyable {
    /// When the request arrived, by the clock of the event loop, in nanoseconds.
    let arrival: UInt64
    /// Nil until the route is known, and for a path that belongs to no resource.
    var route: RouteName?
    /// True if the request waits or has waited for an event that the daemon does not control, such as a commit of
    /// another client. The metrics then leave out the duration of the request.
    var waitsForEvent = false
}
