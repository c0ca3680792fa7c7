internal import SettingsHTTP

/// A state machine that says whether the daemon of a suite is likely to answer. It does no input and output.
struct Availability: Sendable {
    enum Phase: Equatable, Sendable {
        case up
        /// The last request had no answer. Requests that can wait are not sent before this moment.
        case away(until: ContinuousClock.Instant)
        /// The daemon answers, but accepts no writes before this moment.
        case refusing(until: ContinuousClock.Instant)
    }

    private(set) var phase = Phase.up
    /// The first failure since the last answer.
    private var firstFailure: ContinuousClock.Instant?
    private var backOff = BackOff()

    /// True if a request had no answer a moment ago. Another request at each read would delay each read.
    func isAway(at now: ContinuousClock.Instant) -> Bool {
        if case .away(let until) = phase { now < until } else { false }
    }

    /// Returns true if a caller may wait for the daemon: it has failed for less time than the caller waits.
    func isWorthWaiting(_ timeout: Duration, at now: ContinuousClock.Instant) -> Bool {
        firstFailure.map { $0 + timeout > now } ?? true
    }

    /// Notes an answer. Returns true if the daemon was away until now. An answer to a read says nothing about writes that the
    /// daemon refuses.
    mutating func noteAnswer(toWrite isWrite: Bool) -> Bool {
        if case .refusing = phase, !isWrite { return false }
        let wasAway = if case .away = phase { true } else { false }
        phase = .up
        firstFailure = nil
        backOff.reset()
        return wasAway
    }

    /// Notes a failure, and returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - isAnswer: true if the daemon answered that it does not accept a write at present.
    ///   - requestedPause: the pause that the daemon asks for.
    mutating func noteFailure(
        isAnswer: Bool, atLeast requestedPause: Duration = .zero, at now: ContinuousClock.Instant,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let pause = backOff.next(notBefore: requestedPause, using: &generator)
        phase = isAnswer ? .refusing(until: now + pause) : .away(until: now + pause)
        if firstFailure == nil { firstFailure = now }
        return pause
    }
}
