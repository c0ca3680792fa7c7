import TestSupport
import Testing

@testable import HTTPServer

/// A wheel divides the time into ticks. After the end of a tick, the wheel returns the identifiers of the deadlines in
/// this tick.
@Suite(.ownThread)
struct DeadlineWheelTests {
    // All times are in nanoseconds.
    private let second = TransportLimits.second
    private let tickLength: UInt64 = 250_000_000

    /// A wheel with a range of 512 ticks: 128 seconds.
    private func makeWheel(_ now: UInt64) -> DeadlineWheel {
        DeadlineWheel(now: now, tickLength: tickLength, tickCount: 512)
    }

    @Test
    func `A deadline beyond the range of the wheel is returned early and never late`() {
        var wheel = makeWheel(0)
        var dueTick = wheel.insert(1, at: 1000 * second, now: 0)
        var now: UInt64 = 0
        while dueTick < 1000 * second / tickLength {
            now = wheel.wakeTime
            #expect(now <= 1000 * second)
            #expect(wheel.removeExpired(now: now)?.identifiers == [1])
            dueTick = wheel.insert(1, at: 1000 * second, now: now)
        }
        #expect(wheel.removeExpired(now: 1000 * second) == nil)
        #expect(wheel.removeExpired(now: 1001 * second)?.identifiers == [1])
    }

    @Test
    func `The wheel wakes at the first of many distant deadlines, and returns only the deadlines of its tick`() {
        let shortTickLength: UInt64 = 10_000_000
        var wheel = DeadlineWheel(now: 0, tickLength: shortTickLength, tickCount: 8192)
        // Ten deadlines are in each tick.
        for number in UInt64(0)..<10_000 {
            _ = wheel.insert(number, at: 30 * second + number * shortTickLength / 10, now: number)
        }
        #expect(wheel.wakeTime == 30 * second + shortTickLength)
        #expect(wheel.removeExpired(now: 30 * second + shortTickLength)?.identifiers == Array(0..<10))
        #expect(wheel.wakeTime == 30 * second + 2 * shortTickLength)
    }

    @Test
    func `The wheel returns each identifier once, after the tick of its deadline and without delay`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        var wheel = makeWheel(0)
        var expectedTicks: [UInt64: UInt64] = [:]
        var now: UInt64 = 0
        for identifier in UInt64(0)..<5000 {
            now += UInt64.random(in: 0..<second, using: &generator)
            let deadline = now + UInt64.random(in: 0..<(100 * second), using: &generator)
            let dueTick = wheel.insert(identifier, at: deadline, now: now)
            #expect(dueTick == deadline / tickLength, "seed \(seed)")
            expectedTicks[identifier] = dueTick
            while let (tick, identifiers) = wheel.removeExpired(now: now) {
                #expect((tick + 1) * tickLength <= now, "seed \(seed)")
                for identifier in identifiers {
                    #expect(expectedTicks.removeValue(forKey: identifier) == tick, "seed \(seed)")
                }
            }
            let hasMissedDeadline = expectedTicks.values.contains { ($0 + 1) * tickLength <= now }
            #expect(!hasMissedDeadline, "seed \(seed)")
        }
    }
}
