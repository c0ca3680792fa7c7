import Testing

@testable import SettingsServer

struct DeadlineWheelTests {
    private static let tick: UInt64 = 250_000_000

    private let second = TransportLimits.second

    @Test func `A name comes out once its time has passed, within a tick`() {
        var wheel = DeadlineWheel(tick: Self.tick, now: 5 * second)
        let tick = wheel.file(7, at: 15 * second, now: 5 * second)
        #expect(wheel.due(now: 15 * second) == nil)
        let due = wheel.due(now: 15 * second + Self.tick)
        #expect(due?.tick == tick)
        #expect(due?.names == [7])
        #expect(wheel.due(now: 100 * second) == nil)
        #expect(wheel.wakeTime == DeadlineWheel.never)
    }

    @Test func `It wakes for the earliest`() {
        var wheel = DeadlineWheel(tick: Self.tick, now: 0)
        _ = wheel.file(1, at: 75 * second, now: 0)
        _ = wheel.file(2, at: 10 * second, now: 0)
        #expect(wheel.wakeTime == 10 * second + Self.tick)
        #expect(wheel.due(now: 11 * second)?.names == [2])
        #expect(wheel.wakeTime == 75 * second + Self.tick)
    }

    @Test func `A deadline beyond the ring comes out early, never late`() {
        var wheel = DeadlineWheel(tick: Self.tick, now: 0)
        var tick = wheel.file(1, at: 1000 * second, now: 0)
        var now: UInt64 = 0
        while tick < 1000 * second / Self.tick {
            now = wheel.wakeTime
            #expect(now <= 1000 * second)
            #expect(wheel.due(now: now)?.names == [1])
            tick = wheel.file(1, at: 1000 * second, now: now)
        }
        #expect(wheel.due(now: 1000 * second) == nil)
        #expect(wheel.due(now: 1001 * second)?.names == [1])
    }

    @Test func `Against a plain list, names come out when they should`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = Numbers(state: seed)
        var wheel = DeadlineWheel(tick: Self.tick, now: 0)
        var expected: [UInt64: UInt64] = [:]
        var now: UInt64 = 0
        for name in UInt64(0)..<5000 {
            now += UInt64.random(in: 0..<second, using: &generator)
            let deadline = now + UInt64.random(in: 0..<(100 * second), using: &generator)
            expected[name] = wheel.file(name, at: deadline, now: now)
            while let (tick, names) = wheel.due(now: now) {
                for name in names {
                    #expect(expected.removeValue(forKey: name) == tick, "seed \(seed)")
                }
            }
            let late = expected.values.contains { ($0 + 1) * Self.tick <= now }
            #expect(!late, "seed \(seed)")
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
