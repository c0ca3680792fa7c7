import Platform
import SettingsAPI
import SettingsHTTP
import SettingsModel

/// The command `render`.
enum RenderCommand {
    static let render = Command(
        name: "render",
        forms: [[Command.Operand("FILE")], .init([], with: "config")],
        summary: "Make a configuration file from a template and settings.",
        details: """
            FILE is a template: {{ app.player.volume }} stands for the setting player.volume of the suite app; see
            docs/reference/templates.md for filters and blocks. Without --to, the command prints the result.
            With --to, the command replaces the file as a whole. If the file already has the content, the command writes nothing
            and runs nothing. If --check fails, the file is not replaced. If --reload fails, the old file is put back. The shell
            runs both commands; in --check, {} stands for the path of a file with the new content. A command that does not end
            within --command-timeout is stopped and has failed. The file keeps its owner and its mode.
            With --watch, the command follows the settings. After a failure, it tries again when the result changes; it
            also tries again regularly if the file could not be written.
            With --diff, the command writes nothing, prints the changes, and ends with exit code 2 if there are changes.
            The file of --config is a JSON array of objects such as {"template":"a.tmpl","to":"a.conf"}, which may also have
            "check", "reload" and "mode".
            """,
        options: [
            Command.Option("to", "FILE", "the file to write"),
            Command.Option("check", "COMMAND", "keep the old file if this command fails; {} is the new file"),
            Command.Option("reload", "COMMAND", "run this command after the file has changed"),
            Command.Option(
                "command-timeout", "TIME", "stop the command of --check or --reload after this time (default: 30s)"),
            Command.Option("mode", "MODE", "the mode of a new file (default: 0644, with --secrets 0600)"),
            Command.Option("config", "FILE", "a JSON file that lists templates, each with the file to write"),
            Command.Option("once", nil, "render once; this is the default"),
            Command.Option("watch", nil, "render again after each change"),
            Command.Option("diff", nil, "print the changes, and write nothing"),
            Command.Option("settle", "TIME", "with --watch: collect changes for this time (default: 200ms)"),
            Command.Option("timeout", "TIME", "wait this time for the daemon; without --watch (default: 10s)"),
            Command.Option("secrets", nil, "also render secrets"),
        ],
        exclusive: [["once", "watch", "diff"], ["watch", "timeout"]]
            + ["to", "check", "reload", "mode"].map { ["config", $0] },
        examples: [
            "settings render app.conf.tmpl",
            "settings render app.conf.tmpl --to app.conf --check 'test -s {}' --reload true",
            "settings render app.conf.tmpl --to app.conf --diff",
        ]
    ) { try await run($0) }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        guard arguments.has("watch") || !arguments.has("settle") else {
            throw ToolError.usage("--settle needs --watch")
        }
        let (settle, timeout) = (try arguments.duration("settle"), try arguments.duration("timeout") ?? .seconds(10))
        let tasks = try RenderTask.all(arguments)
        let suites = tasks.flatMap(\.template.suites).reduce(into: [SuiteName]()) { suites, suite in
            if !suites.contains(suite) { suites.append(suite) }
        }
        let client = try arguments.client()
        guard arguments.has("watch") else {
            let settings = try await SettingsSnapshot.read(suites, from: client, until: .now + timeout)
            return try renderOnce(tasks, settings, isDiff: arguments.has("diff"))
        }
        guard !suites.isEmpty else {
            throw ToolError.usage("--watch needs a template with a setting; without settings, nothing can change")
        }
        var service = RenderService(tasks: tasks)
        try await service.run(suites, client, settleTime: settle ?? .milliseconds(200))
        return .done
    }

    /// Renders every template, even if another template fails, and then throws all errors in one error.
    private static func renderOnce(
        _ tasks: [RenderTask], _ settings: SettingsSnapshot, isDiff: Bool
    ) throws -> ExitCode {
        var (errors, hasDifferences) = ([ToolError](), false)
        for task in tasks {
            do {
                let content = try task.renderedContent(settings)
                guard let file = task.file else {
                    try Terminal.write(content.span, to: .standardOutput)
                    continue
                }
                if isDiff {
                    let old = try file.content()
                    let difference = LineDiff(from: old ?? [], to: content).text(
                        oldName: old == nil ? "/dev/null" : task.path, newName: task.path)
                    if old != content { hasDifferences = true }
                    try Terminal.write(difference.span, to: .standardOutput)
                } else if try file.update(to: content) {
                    print("wrote \(Terminal.escaped(task.path))")
                }
            } catch {
                errors.append(ToolError(describing: error))
            }
        }
        guard let first = errors.first else { return hasDifferences ? .differs : .done }
        throw ToolError(first.code, errors.map(\.message).joined(separator: "\n"))
    }
}
