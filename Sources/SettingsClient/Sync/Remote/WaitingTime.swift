/// The time from which a getter or setter counts its timeout: all requests that it makes on its thread share one.
enum WaitingTime {
    @TaskLocal private static var start: ContinuousClock.Instant?

    /// When a request that is made now must be answered.
    static func deadline(after timeout: Duration) -> ContinuousClock.Instant {
        (start ?? .now) + timeout
    }

    /// Runs a body whose requests share one timeout. Within another such body, they share that one's.
    ///
    /// - Parameter spent: how much of the timeout was spent before.
    static func sharing<Result, Failure: Error>(
        spent: Duration = .zero, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard start == nil else { return try body() }
        let result = $start.withValue(.now - spent) {
            Swift.Result { () throws(Failure) in try body() }
        }
        return try result.get()
    }

    /// Runs a body whose requests have a timeout of their own. A task that it starts inherits what is task-local, and would
    /// otherwise count its timeouts from the start of a getter that is long over.
    static func apart(_ body: () -> Void) {
        $start.withValue(nil, operation: body)
    }

    /// Runs a body, and says how long that took.
    static func measuring<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> (result: Result, spent: Duration) {
        let begin = ContinuousClock.now
        let result = try sharing(body)
        return (result, .now - begin)
    }
}
