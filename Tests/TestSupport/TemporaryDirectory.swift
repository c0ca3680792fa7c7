internal import Foundation

/// A temporary directory that only its owner may enter. The deinitializer removes the directory.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "settingsd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = url.path(percentEncoded: false)
    }

    /// Copies the current contents of a directory.
    package init(copyOf other: TemporaryDirectory) throws {
        path = other.path + "-copy"
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
    }

    deinit {
        remove()
    }

    /// Removes the directory. Only objects that live as long as the process need to call this method.
    package func remove() {
        // A leftover temporary directory does no harm.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and returns its path.
    package func file(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: file))
        return file
    }
}
