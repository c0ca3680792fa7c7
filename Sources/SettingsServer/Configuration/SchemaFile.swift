internal import Platform
internal import SettingsModel
internal import SettingsWeb

/// A schema that a file has for a suite: `SUITE.json` in the folder of the option `schemas`.
struct SchemaFile: Sendable {
    let suite: SuiteName
    let path: String
    let schema: Schema

    /// As the limit of bodies is by default.
    private static let longest = 16 << 20

    /// Reads all files of the folder that a configuration names; nil if it names none. Throws if one of them is no schema.
    static func all(of configuration: Configuration) throws(ConfigurationError) -> [SchemaFile]? {
        guard let folder = configuration.schemas else { return nil }
        let names: [String]
        do throws(FileError) {
            names = try POSIXFileSystem().list(folder)
        } catch {
            throw ConfigurationError("schemas: \(error)", remedy: "name a folder that can be read")
        }
        var files: [SchemaFile] = []
        // Names that begin with a dot are those of editors and of mounted configurations.
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
            bytes = try Configuration.contents(of: path, most: Self.longest)
        } catch {
            throw ConfigurationError("\(path): \(error.problem)", remedy: error.remedy)
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError("\(path): \(error)", remedy: "correct the JSON there")
        }
        do throws(SchemaError) {
            schema = try Schema(document, text: String(decoding: bytes, as: UTF8.self))
        } catch {
            let others = error.problems.count - 1
            throw ConfigurationError(
                "\(path): \(error.problems.first?.description ?? "")\(others > 0 ? " (and \(others) more)" : "")",
                remedy: "correct the schema there")
        }
    }
}
