import TestSupport
import Testing

@testable import SettingsClient

/// The availability of a server. The tests pass the time as an argument, so they need no clock. A failure with
/// `isReachable: true` is a temporary refusal of a write. The phase `up` means that the daemon is reachable and does
/// not refuse writes temporarily.
struct AvailabilityTests {
    private var availability = Availability()
    private var random = SeededGenerator(seed: 1)
    private let start = ContinuousClock.now

    @Test mutating func `A failure without an answer pauses reads until the pause ends or until any answer`() {
        #expect(availability.phase == .up && !availability.isUnreachable(at: start))
        let pause = availability.recordFailure(isReachable: false, at: start, using: &random)
        #expect(pause > .zero && availability.phase != .up)
        #expect(availability.isUnreachable(at: start) && !availability.isUnreachable(at: start + pause))
        var wasUnreachable = availability.recordAnswer(toWrite: false)
        #expect(wasUnreachable && availability.phase == .up)
        wasUnreachable = availability.recordAnswer(toWrite: false)
        #expect(!wasUnreachable)
    }

    @Test mutating func `A temporary refusal of a write does not pause reads, and ends with an answer to a write`() {
        let retryAfter = Duration.seconds(60)
        let pause = availability.recordFailure(isReachable: true, atLeast: retryAfter, at: start, using: &random)
        #expect(pause >= retryAfter && availability.phase != .up && !availability.isUnreachable(at: start))
        var wasUnreachable = availability.recordAnswer(toWrite: false)
        #expect(!wasUnreachable && availability.phase != .up)
        wasUnreachable = availability.recordAnswer(toWrite: true)
        #expect(!wasUnreachable && availability.phase == .up)
    }

    @Test mutating func `A caller waits for a server that has failed for less than the caller's timeout`() {
        #expect(availability.mayAnswerInTime(.seconds(2), at: start))
        for second in 0..<3 {
            let now = start + .seconds(second)
            _ = availability.recordFailure(isReachable: false, at: now, using: &random)
            #expect(availability.mayAnswerInTime(.seconds(2), at: now) == (second < 2))
        }
        _ = availability.recordAnswer(toWrite: true)
        #expect(availability.mayAnswerInTime(.seconds(2), at: start + .seconds(3)))
    }

    @Test mutating func `Pauses grow with each failure, and an answer makes the next pause short`() {
        let pauses = (0..<8).map { _ in availability.recordFailure(isReachable: false, at: start, using: &random) }
        #expect(pauses[7] > pauses[0] * 4)
        _ = availability.recordAnswer(toWrite: false)
        #expect(availability.recordFailure(isReachable: false, at: start, using: &random) < pauses[7])
    }
}
