import Platform

/// A temporary file. Only its owner can read it.
struct TemporaryFile {
    let path: String
    private let text: String

    init(_ text: String, name: String, suffix: String = "json") throws(ToolError) {
        let directory = EnvironmentVariables.nonEmptyValue(of: "TMPDIR") ?? "/tmp"
        let unique = String(UInt64.random(in: 0 ... .max), radix: 36)
        path = "\(directory)/settings-\(name)-\(unique).\(suffix)"
        self.text = text
        do throws(FileError) {
            let file = try OpenFile(path, .new, in: POSIXFileSystem())
            do throws(FileError) {
                try file.write(text.utf8Span.span, at: 0)
            } catch {
                remove()
                throw error
            }
        } catch {
            throw ToolError(.failed, "cannot write \(path): \(error.reason)")
        }
    }

    /// True if the file differs from the text that was written, or cannot be read.
    var isChanged: Bool { (try? InputFile.bytes(of: path)).map { $0 != Array(text.utf8) } ?? true }

    func remove() { try? POSIXFileSystem().remove(path) }
}
