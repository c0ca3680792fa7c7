import TestSupport
import Testing

@testable import SettingsClient

/// The availability of a server, with time as an argument.
struct AvailabilityTests {
    private var availability = Availability()
    private var random = SeededGenerator(seed: 1)
    private let start = ContinuousClock.now

    @Test mutating func `A failure without an answer pauses reads until its time, or until any answer`() {
        #expect(availability.isUp && !availability.isAway(at: start))
        let pause = availability.noteFailure(isAnswer: false, at: start, using: &random)
        #expect(pause > .zero && !availability.isUp)
        #expect(availability.isAway(at: start) && !availability.isAway(at: start + pause))
        var wasAway = availability.noteAnswer(toWrite: false)
        #expect(wasAway && availability.isUp)
        wasAway = availability.noteAnswer(toWrite: false)
        #expect(!wasAway)
    }

    @Test mutating func `A server that refuses writes answers reads, and only an answer to a write ends that`() {
        let asked = Duration.seconds(60)
        let pause = availability.noteFailure(isAnswer: true, atLeast: asked, at: start, using: &random)
        #expect(pause >= asked && !availability.isUp && !availability.isAway(at: start))
        var wasAway = availability.noteAnswer(toWrite: false)
        #expect(!wasAway && !availability.isUp)
        wasAway = availability.noteAnswer(toWrite: true)
        #expect(!wasAway && availability.isUp)
    }

    @Test mutating func `Pauses grow until an answer`() {
        let pauses = (0..<8).map { _ in availability.noteFailure(isAnswer: false, at: start, using: &random) }
        #expect(pauses[7] > pauses[0] * 4)
        _ = availability.noteAnswer(toWrite: false)
        #expect(availability.noteFailure(isAnswer: false, at: start, using: &random) < pauses[7])
    }
}
