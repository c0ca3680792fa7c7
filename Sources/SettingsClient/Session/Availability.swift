internal import SettingsHTTP

/// Tracks whether the daemon is likely to answer. A state machine without I/O.
struct Availability: Sendable {
    enum Phase: Equatable, Sendable {
        /// The daemon has carried out or refused the last request, or there was no request.
        case up
        /// The last request was not sent or had no answer, or the daemon temporarily refused a read. Requests that can
        /// wait are not sent before this moment.
        case unreachable(until: ContinuousClock.Instant)
        /// The daemon can be reached, but the writes have to wait: the daemon temporarily refuses them, or the outbox
        /// file cannot be written. The next write is sent at this moment.
        case refusing(until: ContinuousClock.Instant)
    }

    private(set) var phase = Phase.up
    /// The time of the first failure of the present outage. Nil if there is no outage.
    private var firstFailure: ContinuousClock.Instant?
    private var backOff = BackOff()

    /// Returns true during the pause of the phase `unreachable`. Getters then send no request, because each request
    /// would delay the getter.
    func isUnreachable(at now: ContinuousClock.Instant) -> Bool {
        if case .unreachable(let until) = phase { now < until } else { false }
    }

    /// Returns false if the outage has lasted longer than the timeout. The program should then not wait for the daemon.
    func mayAnswerInTime(_ timeout: Duration, at now: ContinuousClock.Instant) -> Bool {
        firstFailure.map { $0 + timeout > now } ?? true
    }

    /// Records an answer. Returns true if the daemon was unreachable until now. An answer to a read does not end the
    /// phase in which the daemon refuses writes.
    mutating func recordAnswer(toWrite isWrite: Bool) -> Bool {
        if case .refusing = phase, !isWrite { return false }
        let wasUnreachable = if case .unreachable = phase { true } else { false }
        phase = .up
        firstFailure = nil
        backOff.reset()
        return wasUnreachable
    }

    /// Records a failure, and returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - isReachable: true if the daemon can be reached, but the writes have to wait. The phase is then `refusing`.
    ///     False if the request was not sent or had no answer, or if the daemon temporarily refused a read. The phase
    ///     is then `unreachable`.
    ///   - requestedPause: the pause that the daemon asks for.
    mutating func recordFailure(
        isReachable: Bool, atLeast requestedPause: Duration = .zero, at now: ContinuousClock.Instant,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let pause = backOff.next(notBefore: requestedPause, using: &generator)
        phase = isReachable ? .refusing(until: now + pause) : .unreachable(until: now + pause)
        if firstFailure == nil { firstFailure = now }
        return pause
    }
}
