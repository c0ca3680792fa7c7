import TestSupport
import Testing

@testable import HTTPServer

@Suite(.ownThread)
struct DeadlineWheelTests {
    // All times are in nanoseconds.
    private let second = TransportLimits.second
    private let tick: UInt64 = 250_000_000

    private func makeWheel(_ now: UInt64) -> DeadlineWheel {
        DeadlineWheel(now: now, tickLength: tick, tickCount: 512)
    }

    @Test
    func `A deadline beyond the range of the wheel is returned early and never late`() {
        var wheel = makeWheel(0)
        var dueTick = wheel.insert(1, at: 1000 * second, now: 0)
        var now: UInt64 = 0
        while dueTick < 1000 * second / tick {
            now = wheel.wakeTime
            #expect(now <= 1000 * second)
            #expect(wheel.removeExpired(now: now)?.identifiers == [1])
            dueTick = wheel.insert(1, at: 1000 * second, now: now)
        }
        #expect(wheel.removeExpired(now: 1000 * second) == nil)
        #expect(wheel.removeExpired(now: 1001 * second)?.identifiers == [1])
    }

    @Test
    func `Many distant deadlines are not returned before the first deadline`() {
        let fine: UInt64 = 10_000_000
        var wheel = DeadlineWheel(now: 0, tickLength: fine, tickCount: 8192)
        for name in UInt64(0)..<10_000 { _ = wheel.insert(name, at: 30 * second + name * fine / 10, now: name) }
        #expect(wheel.wakeTime == 30 * second + fine)
        #expect(wheel.removeExpired(now: 30 * second + fine)?.identifiers == Array(0..<10))
        #expect(wheel.wakeTime == 30 * second + 2 * fine)
    }

    @Test
    func `The wheel returns the same identifiers as a plain list`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        var wheel = makeWheel(0)
        var expected: [UInt64: UInt64] = [:]
        var now: UInt64 = 0
        for name in UInt64(0)..<5000 {
            now += UInt64.random(in: 0..<second, using: &generator)
            let deadline = now + UInt64.random(in: 0..<(100 * second), using: &generator)
            let dueTick = wheel.insert(name, at: deadline, now: now)
            #expect(dueTick == deadline / tick, "seed \(seed)")
            expected[name] = dueTick
            while let (tick, names) = wheel.removeExpired(now: now) {
                for name in names {
                    #expect(expected.removeValue(forKey: name) == tick, "seed \(seed)")
                }
            }
            let late = expected.values.contains { ($0 + 1) * tick <= now }
            #expect(!late, "seed \(seed)")
        }
    }
}
