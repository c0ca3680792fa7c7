import Platform
import SettingsHTTP

/// A reader of whole files; `-` stands for standard input.
enum InputFile {
    /// The bytes of a file.
    static func bytes(of path: String) throws(ToolError) -> [UInt8] {
        do throws(SystemError) {
            return path == "-" ? try FileContents.readStandardInput() : try FileContents.read(path)
        } catch {
            throw ToolError(.failed, "\(name(path)) cannot be read: \(error.reason)")
        }
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
