import Platform
import SettingsHTTP
import SettingsModel

/// The file of `settings run --cache`: the last known environment variables, with which the program of the command
/// starts if the daemon does not answer.
struct VariableCache {
    let path: String
    /// The suites and the options that determine the variables. The file contains the options, so that ``load()``
    /// refuses the file of a command with other options.
    private let options: JSONValue

    init(path: String, suites: [SuiteName], mapping: VariableMapping) {
        self.path = path
        let names = mapping.names.sorted { $0.key < $1.key }.map { JSONValue.string("\($0.key.text)=\($0.value)") }
        options = .members([
            "suites": .array(suites.map { .string($0.text) }), "prefix": .string(mapping.keyPrefix),
            "only": .array(mapping.patterns.map { .string($0) }), "env-prefix": .string(mapping.namePrefix),
            "map": .array(names), "secrets": .bool(mapping.includesSecrets),
        ])
    }

    /// Reads the variables. Returns nil if the file does not exist. If the file is not usable, prints a warning and
    /// returns nil.
    func load() -> ProgramVariables? {
        do throws(FileError) {
            _ = try POSIXFileSystem().status(path)
        } catch {
            if error.isMissing { return nil }
        }
        do throws(ToolError) {
            let document = try InputFile.json(parsing: try InputFile.bytes(of: path))
            guard document["options"] == options, let members = document["variables"]?.object else {
                throw ToolError(.failed, "the file is for other suites or options")
            }
            var variables: ProgramVariables = [:]
            for member in members { variables[member.name] = member.value.string.map(UTF8Text.init) }
            return variables
        } catch {
            Terminal.warn("cannot use the cache \(path): \(error.message)")
            return nil
        }
    }

    /// Replaces the file, unless the file already has this content and this mode. Only the owner can read the file.
    func store(_ variables: ProgramVariables) throws {
        var members = JSONObject()
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            members.append(.init(name: name, value: .string(value.string)))
        }
        let document = JSONValue.members(["options": options, "variables": .object(members)])
        _ = try AtomicFile(path: path, mode: 0o600, keepsOwnerAndMode: false)
            .update(to: Array((document.text(style: .pretty) + "\n").utf8))
    }
}
