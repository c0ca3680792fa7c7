import ClientCostKeys
import SettingsClient
import Synchronization

/// Counts how often the client decodes a Codable value that is read many times after each of its changes: by key path,
/// as a member of the adapter, and by key.
struct Decoding {
    /// The number of changes of the value.
    let changeCount = 200
    /// The number of times that the value was decoded.
    let decodes: Int

    init() throws {
        let key = DefaultsKeys().window
        let before = Window.decodes.load(ordering: .relaxed)
        for width in 1...changeCount {
            Defaults.window = Window(title: "The window", width: width, height: 800)
            for _ in 0..<100 {
                guard Defaults[\.window]?.width == width, Defaults.window?.width == width,
                    Defaults[key: key]?.width == width
                else { throw CostFailure("a read returned another value than the last written value") }
            }
        }
        decodes = Window.decodes.load(ordering: .relaxed) - before
    }
}
