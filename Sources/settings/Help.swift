import SettingsAPI

/// The help texts, made of the commands' declarations.
enum Help {
    static let version = ServiceDescription.programVersion

    static var overview: String {
        let width = Tool.commands.map { $0.name.count }.max() ?? 0
        let commands = Tool.commands.map { "  \($0.name.padded(to: width))  \($0.summary)" }
        let codes = ExitCode.allCases.map { "  \(String($0.rawValue).padded(to: width))  \($0.meaning)" }
        return """
            Reads, changes and watches the settings of a settingsd daemon.

            usage: settings COMMAND [ARGUMENTS] [OPTIONS]
                   settings SUITE [OPTIONS]                 the same as 'settings list SUITE'

            commands:
            \(commands.joined(separator: "\n"))

            'settings help COMMAND' explains a command, with examples.

            exit codes:
            \(codes.joined(separator: "\n"))
            """
    }

    static func text(of command: Command) -> String {
        var parts = ["\(command.summary)\n\nusage: settings \(command.name) \(command.operands)"]
        if !command.details.isEmpty { parts.append(command.details) }
        parts.append("options:\n" + lines(of: command.options + Command.common))
        parts.append("examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        return parts.joined(separator: "\n\n")
    }

    private static func lines(of options: [Command.Option]) -> String {
        let names = options.map { option in
            (option.short.map { "-\($0), " } ?? "") + "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
        }
        let width = names.map(\.count).max() ?? 0
        return zip(names, options).map { "  \($0.padded(to: width))  \($1.help)" }.joined(separator: "\n")
    }
}
