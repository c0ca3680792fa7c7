import ClientCostKeys
import Glibc
import SettingsClient
import SettingsClientTesting

/// How much memory an adapter takes that has read and written some keys, and follows its suite.
struct Memory {
    let bytesPerAdapter: Int
    private static let warmUp = 20

    init(port: UInt16?, adapters count: Int) throws {
        var adapters: [DefaultsAdapter<DefaultsKeys>] = []
        adapters.reserveCapacity(Self.warmUp + count)
        // What all share is made with the first ones.
        for number in 0..<Self.warmUp { adapters.append(try Self.adapter(port, number)) }
        let before = try Self.residentBytes()
        for number in 0..<count { adapters.append(try Self.adapter(port, Self.warmUp + number)) }
        bytesPerAdapter = (try Self.residentBytes() - before) / count
        guard adapters.allSatisfy({ $0.nickname == "a name" }) else { throw CostFailure("an adapter lost its value") }
    }

    private static func adapter(_ port: UInt16?, _ number: Int) throws -> DefaultsAdapter<DefaultsKeys> {
        let defaults =
            try port.map { try Writes.adapter($0, suite: "client-cost-\(number)") }
            ?? .inMemory(keyStore: DefaultsKeys())
        defaults.launchCount += 1
        defaults.nickname = "a name"
        defaults.libraries.append("a library")
        defaults.player.volume = 1
        defaults.window = Window(title: "The window", width: 800, height: 600)
        let read = defaults.volume + Double(defaults.player.equalizer.bands.count)
        guard defaults.theme == .light, defaults.username == nil, defaults[key: LooseKeys.bass] == 0, read == 0.5 else {
            throw CostFailure("an adapter begins with another value than the default")
        }
        return defaults
    }

    /// Resident memory of this program, as the kernel counts it.
    static func residentBytes() throws -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { throw CostFailure("the kernel does not say") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        let pages = line.withUnsafeMutableBufferPointer { room in
            fgets(room.baseAddress, Int32(room.count), file).flatMap { text in
                Int(String(cString: text).split(separator: " ")[1])
            }
        }
        guard let pages else { throw CostFailure("the kernel says something else") }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
