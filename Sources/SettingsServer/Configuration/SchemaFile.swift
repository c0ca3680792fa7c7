internal import Platform
internal import SettingsModel
internal import SettingsWeb

/// The schema of a suite (a named set of settings) from the file `SUITE.json` in the folder of the option `schemas`.
struct SchemaFile: Sendable {
    let suite: SuiteName
    let path: String
    let schema: Schema

    /// The maximum length of a file in bytes. It equals the default limit for a request body.
    private static let maximumLength = 16 << 20

    /// Reads the files `SUITE.json` of the configured folder. Returns nil if no folder is configured. Throws if the
    /// folder cannot be read, or if the name or the schema of a file is invalid.
    static func all(of configuration: Configuration) throws(ConfigurationError) -> [SchemaFile]? {
        guard let folder = configuration.schemas else { return nil }
        let names: [String]
        do throws(FileError) {
            names = try POSIXFileSystem().list(folder)
        } catch {
            throw ConfigurationError("schemas: \(error)", remedy: "give the path of a readable folder")
        }
        var files: [SchemaFile] = []
        // Skip names that begin with a dot: editors and mounted configuration folders create such files.
        for name in names.sorted() where name.utf8.suffix(5).elementsEqual(".json".utf8) && !name.hasBytePrefix(".") {
            files.append(
                try SchemaFile("\(folder)/\(name)", of: String(decoding: name.utf8.dropLast(5), as: UTF8.self)))
        }
        return files
    }

    private init(_ path: String, of name: String) throws(ConfigurationError) {
        self.path = path
        do throws(NameError) {
            suite = try SuiteName(name)
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "name the file after its suite, as app.json")
        }
        let bytes: [UInt8]
        do throws(ConfigurationError) {
            bytes = try Configuration.contents(of: path, maximumLength: Self.maximumLength)
        } catch {
            throw ConfigurationError("\(path): \(error.problem)", remedy: error.remedy)
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "correct the JSON in the file")
        }
        do throws(SchemaError) {
            schema = try Schema(document, text: String(decoding: bytes, as: UTF8.self))
        } catch {
            let remaining = error.problems.count - 1
            throw ConfigurationError(
                "\(path): \(error.problems.first?.description ?? "")\(remaining > 0 ? " (and \(remaining) more)" : "")",
                remedy: "correct the schema in the file")
        }
    }
}
