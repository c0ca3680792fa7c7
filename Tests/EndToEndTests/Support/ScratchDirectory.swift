import Foundation

/// A directory for one test, gone with it.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("settingsd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit {
        // What is left behind in a temporary directory harms nobody.
        try? FileManager.default.removeItem(atPath: path)
    }
}
