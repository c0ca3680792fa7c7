import TestSupport
import Testing

@testable import SettingsClient

/// The availability of a server, with time as an argument.
struct AvailabilityTests {
    private var availability = Availability()
    private var random = SeededGenerator(seed: 1)
    private let start = ContinuousClock.now

    @Test mutating func `A failure without an answer pauses reads until its time, or until any answer`() {
        #expect(availability.phase == .up && !availability.isUnreachable(at: start))
        let pause = availability.recordFailure(isAnswer: false, at: start, using: &random)
        #expect(pause > .zero && availability.phase != .up)
        #expect(availability.isUnreachable(at: start) && !availability.isUnreachable(at: start + pause))
        var wasAway = availability.recordAnswer(toWrite: false)
        #expect(wasAway && availability.phase == .up)
        wasAway = availability.recordAnswer(toWrite: false)
        #expect(!wasAway)
    }

    @Test mutating func `A server that refuses writes answers reads, and only an answer to a write ends that`() {
        let asked = Duration.seconds(60)
        let pause = availability.recordFailure(isAnswer: true, atLeast: asked, at: start, using: &random)
        #expect(pause >= asked && availability.phase != .up && !availability.isUnreachable(at: start))
        var wasAway = availability.recordAnswer(toWrite: false)
        #expect(!wasAway && availability.phase != .up)
        wasAway = availability.recordAnswer(toWrite: true)
        #expect(!wasAway && availability.phase == .up)
    }

    @Test mutating func `A caller waits for a server that has failed for less than the caller's timeout`() {
        #expect(availability.mayAnswerInTime(.seconds(2), at: start))
        for second in 0..<3 {
            let now = start + .seconds(second)
            _ = availability.recordFailure(isAnswer: false, at: now, using: &random)
            #expect(availability.mayAnswerInTime(.seconds(2), at: now) == (second < 2))
        }
        _ = availability.recordAnswer(toWrite: true)
        #expect(availability.mayAnswerInTime(.seconds(2), at: start + .seconds(3)))
    }

    @Test mutating func `Pauses grow until an answer`() {
        let pauses = (0..<8).map { _ in availability.recordFailure(isAnswer: false, at: start, using: &random) }
        #expect(pauses[7] > pauses[0] * 4)
        _ = availability.recordAnswer(toWrite: false)
        #expect(availability.recordFailure(isAnswer: false, at: start, using: &random) < pauses[7])
    }
}
