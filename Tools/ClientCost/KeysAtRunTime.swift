import ClientCostKeys
import Glibc
import SettingsClient
import SettingsClientTesting

/// The cost of keys with names that the program builds at run time. Each key is constructed for its read.
struct KeysAtRunTime {
    /// The seconds for the first reads of all keys together.
    let firstReads: Double
    /// The seconds for the second reads of all keys together.
    let secondReads: Double
    /// The resident memory that remains for each key after its first read.
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

    /// Reads each key once, and returns the duration in seconds.
    private static func read(_ count: Int, _ defaults: DefaultsAdapter<DefaultsKeys>) throws -> Double {
        let clock = ContinuousClock()
        var sum = 0
        let duration = clock.measure {
            for number in 0..<count { sum += defaults[key: DefaultsKey<Int>("k.\(number)", defaultValue: number)] }
        }
        guard sum == count * (count - 1) / 2 else {
            throw CostFailure("a read returned another value than the default")
        }
        return duration / .seconds(1)
    }
}
