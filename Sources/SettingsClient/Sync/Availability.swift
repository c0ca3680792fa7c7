internal import SettingsHTTP

/// A state machine that says if the server of a suite is worth asking. It does no input and output.
///
/// Every answer and every failure is reported to it. Code that would ask again, or wait for an answer, goes by it.
struct Availability: Sendable {
    enum Phase: Equatable, Sendable {
        case up
        /// The last request had no answer. What can wait is not asked for before this time.
        case away(until: ContinuousClock.Instant)
        /// The server answers, but takes no writes before this time.
        case refusing(until: ContinuousClock.Instant)
    }

    private(set) var phase = Phase.up
    private var backOff = BackOff()

    /// True if reads and writes may be sent.
    var isUp: Bool { phase == .up }

    /// True if there was no answer a moment ago: asking at each read would hold up each.
    func isAway(at now: ContinuousClock.Instant = .now) -> Bool {
        if case .away(let until) = phase { now < until } else { false }
    }

    /// Notes an answer. True if the server was away until now. That it answers a read says nothing about writes that it
    /// refuses.
    mutating func noteAnswer(toWrite isWrite: Bool) -> Bool {
        if case .refusing = phase, !isWrite { return false }
        let wasAway = if case .away = phase { true } else { false }
        phase = .up
        backOff.reset()
        return wasAway
    }

    /// Notes a failure, and returns how long to wait with the next attempt.
    ///
    /// - Parameters:
    ///   - isAnswer: true if the server answered that it does not take a write at present.
    ///   - asked: how long the server asks to be left alone.
    mutating func noteFailure(
        isAnswer: Bool, atLeast asked: Duration = .zero, at now: ContinuousClock.Instant = .now,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let pause = backOff.next(notBefore: asked, using: &generator)
        phase = isAnswer ? .refusing(until: now + pause) : .away(until: now + pause)
        return pause
    }
}
