import ClientCostKeys
import SettingsClient
import Synchronization

/// How often a Codable value is decoded while it is read many times at each of its revisions, by its path, as a member
/// and by its key.
struct Decoding {
    let revisions = 200
    let decodes: Int

    init() throws {
        let key = DefaultsKeys().window
        let before = Window.decodes.load(ordering: .relaxed)
        for width in 1...revisions {
            Defaults.window = Window(title: "The window", width: width, height: 800)
            for _ in 0..<100 {
                guard Defaults[\.window]?.width == width, Defaults.window?.width == width,
                    Defaults[key: key]?.width == width
                else { throw CostFailure("a read did not see what was written before") }
            }
        }
        decodes = Window.decodes.load(ordering: .relaxed) - before
    }
}
