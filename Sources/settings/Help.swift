import SettingsAPI

/// The help texts, made from the declarations of the commands.
enum Help {
    static let version = ServiceDescription.programVersion

    static var overview: String {
        let codes = ExitCode.allCases.map { (String($0.rawValue), $0.meaning) }
        return """
            Reads, changes and watches the settings of a settingsd daemon.

            usage: settings COMMAND [ARGUMENTS] [OPTIONS]
                   settings SUITE [OPTIONS]                 the same as 'settings list SUITE'

            commands:
            \(lines(of: Tool.commands))

            'settings help COMMAND' explains a command, with examples.

            exit codes:
            \(columns(codes))
            """
    }

    static func text(ofGroup group: String) -> String {
        """
        usage: settings \(group) COMMAND [ARGUMENTS] [OPTIONS]

        commands:
        \(lines(of: Tool.commands.filter { $0.belongs(toGroup: group) }))

        'settings help \(group) COMMAND' explains a command, with examples.
        """
    }

    static func text(of command: Command) -> String {
        var parts = [
            "\(command.summary)\n\nusage: " + command.usages(suffix: " [OPTIONS]").joined(separator: "\n       ")
        ]
        if !command.details.isEmpty { parts.append(command.details) }
        parts.append("options:\n" + lines(of: command.options + Command.common))
        parts.append("examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        return parts.joined(separator: "\n\n")
    }

    private static func lines(of commands: [Command]) -> String {
        columns(commands.map { ($0.name, $0.summary) })
    }

    private static func lines(of options: [Command.Option]) -> String {
        columns(
            options.map { option in
                let short = option.short.map { "-\($0), " } ?? ""
                return (short + "--\(option.name)" + (option.placeholder.map { " \($0)" } ?? ""), option.help)
            })
    }

    private static func columns(_ rows: [(name: String, meaning: String)]) -> String {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { "  \($0.name.padded(to: width))  \($0.meaning)" }.joined(separator: "\n")
    }
}
