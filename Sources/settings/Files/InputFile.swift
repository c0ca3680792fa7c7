import Glibc
import SettingsHTTP

/// A reader of whole files; `-` stands for standard input.
enum InputFile {
    /// The bytes of a file.
    static func bytes(of path: String) throws(ToolError) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        defer { if path != "-", descriptor >= 0 { close(descriptor) } }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while descriptor >= 0 {
            let count = read(descriptor, &piece, piece.count)
            if count == 0 { return bytes }
            if count < 0, errno != EINTR { break }
            bytes += piece[..<max(0, count)]
        }
        throw ToolError(.failed, "\(name(path)) cannot be read: \(String(cString: strerror(errno)))")
    }

    /// The JSON value of a file.
    static func json(_ path: String) throws(ToolError) -> JSONValue {
        let bytes = try bytes(of: path)
        do throws(ToolError) {
            return try json(parsing: bytes)
        } catch {
            throw ToolError(error.code, "\(name(path)): \(error.message)")
        }
    }

    /// The JSON value of bytes.
    static func json(parsing bytes: [UInt8]) throws(ToolError) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ToolError(.failed, "it is not JSON: \(error)")
        }
    }

    /// The file in a message.
    static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
}
