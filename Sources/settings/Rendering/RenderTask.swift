import Platform
import SettingsHTTP
import SettingsModel

/// A template, and the file to which the result is written.
struct RenderTask: Sendable {
    let template: Template
    /// Nil for standard output.
    let file: AtomicFile?
    /// The path of the file as the command line or the configuration names it; empty for standard output.
    let path: String
    private let showsSecrets: Bool

    /// The names of the members of an object in the configuration file. All names but `template` are also names of
    /// options of the command line.
    private enum Member: String, CaseIterable {
        case template, to, check, reload, mode
    }

    /// - Parameters:
    ///   - template: the path of the template.
    ///   - timeout: the time limit of each command (`AtomicFile.Commands.timeout`); nil for the default.
    ///   - option: returns the value of a member from the configuration file, or of the option with the same name.
    private init(
        template: String, _ arguments: Arguments, timeout: Duration?, _ option: (Member) -> String?
    ) throws(ToolError) {
        self.template = try Template(try InputFile.bytes(of: template, arguments), name: InputFile.name(template))
        showsSecrets = arguments.has("secrets")
        guard let path = option(.to) else {
            (file, self.path) = (nil, "")
            return
        }
        self.path = path.withVisibleBytes
        var commands = AtomicFile.Commands(check: option(.check), reload: option(.reload))
        if let timeout { commands.timeout = timeout }
        if let check = commands.check, !check.contains("{}") {
            throw .usage(
                "the check '\(Terminal.escaped(check))' must contain {}, which stands for the path of the new file")
        }
        let mode = try option(.mode).map { text throws(ToolError) in try Self.mode(text) }
        file = try AtomicFile(
            path: path, mode: mode ?? (showsSecrets ? 0o600 : 0o644), keepsOwnerAndMode: true, commands: commands)
    }

    /// Renders the template.
    func renderedContent(_ settings: SettingsSnapshot) throws(ToolError) -> [UInt8] {
        try template.render(settings, showsSecrets: showsSecrets)
    }

    private static func mode(_ text: String) throws(ToolError) -> UInt32 {
        // `UInt32` accepts a sign, so the first character must be a digit.
        guard let mode = UInt32(text, radix: 8), mode <= 0o777, text.utf8.count >= 3, text.first?.isNumber ?? false
        else {
            throw .usage("a mode is an octal number such as 0644, not '\(Terminal.escaped(text))'")
        }
        return mode
    }

    /// The tasks of a command line.
    static func all(_ arguments: Arguments) throws(ToolError) -> [RenderTask] {
        // A mistake in this option is a mistake of the command line, also with --config.
        let timeout = try arguments.duration("command-timeout")
        if let configuration = arguments["config"] { return try all(in: configuration, arguments, timeout: timeout) }
        if !arguments.has("to") {
            for name in ["check", "reload", "mode", "command-timeout", "diff", "watch"] where arguments.has(name) {
                throw .usage("--\(name) needs --to FILE or --config FILE")
            }
        }
        return [try RenderTask(template: arguments.operands[0], arguments, timeout: timeout) { arguments[$0.rawValue] }]
    }

    /// The tasks of a configuration file.
    private static func all(
        in path: String, _ arguments: Arguments, timeout: Duration?
    ) throws(ToolError) -> [RenderTask] {
        guard let elements = try InputFile.json(path, arguments).array else {
            throw ToolError(.failed, "cannot read \(InputFile.name(path)): expected an array of objects")
        }
        var tasks: [RenderTask] = []
        for (index, element) in elements.enumerated() {
            do throws(ToolError) {
                let members = try members(of: element)
                guard let template = members[.template], members[.to] != nil else {
                    throw ToolError(.failed, "\"template\" and \"to\" are required")
                }
                let task = try RenderTask(template: template, arguments, timeout: timeout) { members[$0] }
                if let file = task.file, let other = tasks.firstIndex(where: { $0.file?.isSameFile(as: file) ?? false })
                {
                    throw ToolError(
                        .failed, "element \(other + 1) writes the same file, \(Terminal.escaped(tasks[other].path))")
                }
                tasks.append(task)
            } catch {
                // The mistake is in the configuration file, so the exit code must not blame the command line.
                let code = error.code == .usage ? ExitCode.failed : error.code
                throw ToolError(code, "cannot use element \(index + 1) of \(InputFile.name(path)): \(error.message)")
            }
        }
        return tasks
    }

    private static func members(of element: JSONValue) throws(ToolError) -> [Member: String] {
        guard let object = element.object else {
            throw ToolError(.failed, "expected an object, found \(element.kindPhrase)")
        }
        var members: [Member: String] = [:]
        for (name, value) in object.map({ ($0.name, $0.value) }) {
            guard let member = Member(rawValue: name) else {
                let names = Member.allCases.map(\.rawValue)
                throw ToolError(
                    .failed,
                    "unknown member '\(Terminal.escaped(name))'\(NameSuggestion.phrase(for: name, among: names)); "
                        + "the members are \(names.joined(separator: ", "))")
            }
            guard let text = value.string else {
                throw ToolError(.failed, "\"\(name)\" must be a string, found \(value.kindPhrase)")
            }
            members[member] = text
        }
        return members
    }
}
