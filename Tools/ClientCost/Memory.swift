import ClientCostKeys
import Glibc
import SettingsClient
import SettingsClientTesting

/// The resident memory of an adapter that has read and written some keys, and follows the changes of its suite.
struct Memory {
    let bytesPerAdapter: Int
    /// The number of adapters that are created before the measurement.
    private static let warmUp = 20

    init(port: UInt16?, adapters count: Int) throws {
        var adapters: [DefaultsAdapter<DefaultsKeys>] = []
        adapters.reserveCapacity(Self.warmUp + count)
        // The first adapters create the objects that all adapters share.
        for number in 0..<Self.warmUp { adapters.append(try Self.adapter(port, number)) }
        let before = try Self.residentBytes()
        for number in 0..<count { adapters.append(try Self.adapter(port, Self.warmUp + number)) }
        bytesPerAdapter = (try Self.residentBytes() - before) / count
        guard adapters.allSatisfy({ $0.nickname == "a name" }) else { throw CostFailure("an adapter lost its value") }
    }

    private static func adapter(_ port: UInt16?, _ number: Int) throws -> DefaultsAdapter<DefaultsKeys> {
        let defaults =
            try port.map { try Writes.adapter($0, suite: "client-cost-\(number)", writes: .background) }
            ?? .inMemory(keyStore: DefaultsKeys())
        defaults.launchCount += 1
        defaults.nickname = "a name"
        defaults.libraries.append("a library")
        defaults.player.volume = 1
        defaults.window = Window(title: "The window", width: 800, height: 600)
        let sumOfDefaults = defaults.volume + Double(defaults.player.equalizer.bands.count)
        // The default of `volume` is 0.5, and the default of `bands` is an empty array.
        guard defaults.theme == .light, defaults.username == nil, defaults[key: LooseKeys.bass] == 0,
            sumOfDefaults == 0.5
        else {
            throw CostFailure("a new adapter has another value than the default")
        }
        return defaults
    }

    /// Returns the resident memory of this process.
    static func residentBytes() throws -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { throw CostFailure("cannot open /proc/self/statm") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        let pages = line.withUnsafeMutableBufferPointer { buffer in
            fgets(buffer.baseAddress, Int32(buffer.count), file).flatMap { text in
                Int(String(cString: text).split(separator: " ")[1])
            }
        }
        guard let pages else { throw CostFailure("cannot read the resident memory from /proc/self/statm") }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
