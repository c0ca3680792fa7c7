import Foundation

/// A directory for one test, gone with it.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("settingsd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    /// What is in a directory at this moment, as after the machine went down.
    init(copyOf other: ScratchDirectory) throws {
        path = other.path + "-copy"
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
    }

    deinit {
        // What is left behind in a temporary directory harms nobody.
        try? FileManager.default.removeItem(atPath: path)
    }
}
