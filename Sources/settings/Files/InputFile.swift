import Platform
import SettingsHTTP

/// Reads whole files and standard input.
enum InputFile {
    private static let standardInput = ["-", "/dev/stdin", "/dev/fd/0"]

    /// The bytes of a file that the command line names, or of standard input if the path is `-`.
    static func bytes(of path: String, _ arguments: Arguments) throws(ToolError) -> [UInt8] {
        if standardInput.contains(path), let token = arguments.tokenPath, standardInput.contains(token) {
            let option = arguments.has("token-file") ? "--token-file \(token)" : "\(AccessToken.fileVariable)=\(token)"
            throw .usage("cannot read standard input twice: it also has the token (\(option))")
        }
        guard path == "-" else { return try bytes(of: path) }
        do throws(SystemError) {
            return try FileContents.readStandardInput()
        } catch {
            throw ToolError(.failed, "cannot read \(name(path)): \(error.reason)")
        }
    }

    /// The bytes of a file. The path `-` has no special meaning.
    static func bytes(of path: String) throws(ToolError) -> [UInt8] {
        do throws(SystemError) {
            return try FileContents.read(path)
        } catch {
            throw ToolError(.failed, "cannot read \(path): \(error.reason)")
        }
    }

    /// The JSON value of a file that the command line names, or of standard input if the path is `-`.
    static func json(_ path: String, _ arguments: Arguments) throws(ToolError) -> JSONValue {
        let bytes = try bytes(of: path, arguments)
        do throws(ToolError) {
            return try json(parsing: bytes)
        } catch {
            throw ToolError(error.code, "cannot read \(name(path)): \(error.message)")
        }
    }

    /// Parses a JSON text. The error does not name the file, so the calling code adds the name.
    static func json(parsing bytes: [UInt8]) throws(ToolError) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ToolError(.failed, "not valid JSON: \(error)")
        }
    }

    /// The name of a file, or of standard input, for messages.
    static func name(_ path: String) -> String { path == "-" ? "standard input" : path.withVisibleBytes }
}
