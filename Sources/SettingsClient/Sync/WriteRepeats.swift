internal import SettingsHTTP
internal import SettingsModel

/// Whether a write is sent again that was not answered, under the same request key. It does no input and output.
struct WriteRepeats: Sendable {
    /// Whether it is worth waiting for a server that is not there: it may be about to come back.
    let waitsForServer: Bool
    /// Whether one of the attempts may have been done.
    private(set) var mayBeDone = false
    /// Why nobody was reached, the last time that this could be said.
    private var reason: String?
    private var attempts = 0
    private var backOff = BackOff()

    init(waitsForServer: Bool) {
        self.waitsForServer = waitsForServer
    }

    /// When to send it again, after an attempt that failed; nil for never.
    mutating func pause(
        after error: SettingsError, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        attempts += 1
        if error.outcome == .unknown { mayBeDone = true }
        switch error {
        case .unreachable(let reason, _):
            self.reason = reason
            guard mayBeDone || waitsForServer else { return nil }
            // A server that lost a connection is likely to be there.
            return attempts == 1 && mayBeDone ? .zero : backOff.next(using: &generator)
        case .problem(let problem, _):
            guard problem.isTransient else { return nil }
            let asked = BackOff.asked(milliseconds: problem.retryAfterMs)
            return backOff.next(notBefore: asked, using: &generator)
        case .timedOut, .malformedAnswer, .cancelled: return nil
        }
    }

    /// The last failure, with what is known of all attempts. What is refused for what it is, is known: if an earlier attempt
    /// had been done, its answer would have been given again.
    func summary(of error: SettingsError) -> SettingsError {
        let outcome = mayBeDone ? .unknown : error.outcome
        // That the time is over in the middle of an attempt says less than why those before it failed.
        if case .timedOut = error, let reason { return .unreachable(reason, outcome: outcome) }
        guard mayBeDone else { return error }
        return switch error {
        case .unreachable(let reason, _): .unreachable(reason, outcome: .unknown)
        case .timedOut(let reason, _): .timedOut(reason, outcome: .unknown)
        case .malformedAnswer(let reason, _): .malformedAnswer(reason, outcome: .unknown)
        case .cancelled: .cancelled(outcome: .unknown)
        case .problem(let problem, let revision): .problem(problem.afterAttemptThatMayBeDone, revision: revision)
        }
    }
}
