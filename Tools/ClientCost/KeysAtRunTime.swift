import ClientCostKeys
import Glibc
import SettingsClient
import SettingsClientTesting

/// What keys cost whose names are made while the program runs: each is made for its read.
struct KeysAtRunTime {
    /// Seconds for all.
    let firstReads: Double
    let secondReads: Double
    let bytesPerKey: Int

    init(count: Int) throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        let warmUp = DefaultsKey<Int>("k", defaultValue: 0)
        guard defaults[key: warmUp] == 0 else { throw CostFailure("the suite is not empty") }
        let before = try Memory.residentBytes()
        firstReads = try Self.read(count, defaults)
        bytesPerKey = (try Memory.residentBytes() - before) / count
        secondReads = try Self.read(count, defaults)
    }

    private static func read(_ count: Int, _ defaults: DefaultsAdapter<DefaultsKeys>) throws -> Double {
        let clock = ContinuousClock()
        var sum = 0
        let duration = clock.measure {
            for number in 0..<count { sum += defaults[key: DefaultsKey<Int>("k.\(number)", defaultValue: number)] }
        }
        guard sum == count * (count - 1) / 2 else { throw CostFailure("a read gave another value than the default") }
        return duration / .seconds(1)
    }
}
