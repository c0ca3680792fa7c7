internal import Foundation

/// A directory of a test, which only its owner may enter, gone with the object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "settingsd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = url.path(percentEncoded: false)
    }

    /// A copy of what is in a directory at this moment.
    package init(copyOf other: TemporaryDirectory) throws {
        path = other.path + "-copy"
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
    }

    deinit {
        remove()
    }

    /// For one that lives as long as the process.
    package func remove() {
        // A leftover in a temporary directory does no harm.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and returns its path.
    package func file(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: file))
        return file
    }
}
