internal import Glibc
internal import Platform
internal import SettingsModel

/// A file that holds a configuration in JSON.
package struct ConfigurationFile: Sendable {
    package let path: String

    /// A configuration takes less; what is longer is another file.
    private static let longest = 1 << 20

    package init(_ path: String) {
        self.path = path
    }

    /// Takes in what the file says. What it does not name stays as it is.
    package func apply(to configuration: inout Configuration) throws(ConfigurationError) {
        do throws(ConfigurationError) {
            try configuration.apply(try document())
        } catch {
            throw error.inFile(path)
        }
    }

    private func document() throws(ConfigurationError) -> JSONValue {
        let bytes = try contents()
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError(error.description, remedy: "correct the JSON there")
        }
    }

    private func contents() throws(ConfigurationError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(SystemError(call: "open", code: errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(SystemError(call: "read", code: errno)) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= Self.longest else {
                throw ConfigurationError(
                    "the file is longer than \(Self.longest) bytes", remedy: "name a configuration file with --config")
            }
        }
    }

    private func unreadable(_ error: SystemError) -> ConfigurationError {
        ConfigurationError("cannot be read: \(error)", remedy: "name a file that can be read with --config")
    }
}
