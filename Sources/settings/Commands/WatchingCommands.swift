import Dispatch
import Platform
import SettingsHTTP
import Synchronization

/// Commands that wait for changes: `watch`; `wait`, `run` and `render` have their own files.
enum WatchingCommands {
    static let all = [watch, WaitCommand.wait, RunCommand.run, RenderCommand.render]

    private static let watch = Command(
        name: "watch",
        forms: [
            [.suite, .anyKeys], .init([.optionalSuite, .anyKeys], with: "suite"), .init([], with: "all"),
        ],
        summary: "Print each change as it happens, or run a program.",
        details: """
            The command prints each change once, also if the connection breaks. --all includes suites that are created later.
            With --exec, the shell runs COMMAND for each key that changed, one run at a time. If a key changes during a run, the
            next run gets its newest value. The environment of COMMAND has SETTINGS_SUITE and SETTINGS_KEY, and the values as
            JSON in SETTINGS_OLD and SETTINGS_NEW; a variable is missing if there is no value. For a value of more than
            100,000 bytes, SETTINGS_OLD_FILE or SETTINGS_NEW_FILE has the path of a file with the value, until the run ends.
            With --server, SETTINGS_URL has the address of the daemon.
            With --json, each line has a cursor for --since. If the history no longer has the changes after the cursor of
            --since, the first line has "reset":true and the present values.
            """,
        options: Command.suiteSelection + [
            Command.Option("prefix", "PREFIX", "also keys that begin with PREFIX", isRepeatable: true),
            Command.Option("since", "CURSOR", "begin after the changes up to this cursor"),
            Command.Option("exec", "COMMAND", "run this command for each key that changed"), Command.json,
            Command.secrets,
        ],
        exclusive: [["all", "suite"], ["exec", "json"]],
        examples: [
            "settings watch app", "settings watch --all",
            "settings watch app theme --exec 'echo $SETTINGS_KEY is $SETTINGS_NEW'",
        ]
    ) { arguments in
        let (selection, client) = (try arguments.selectedSuites(), try arguments.client())
        let (showsSecrets, start) = (try arguments.showsSecrets(), try arguments.cursor())
        var output = JSONChanges(cursor: start, showsSecrets: showsSecrets)
        // The request has a list of suites even for one suite, because the daemon then also reports the creation of the
        // suite. With `latest`, an observation has only the last change of each key, so that COMMAND gets the newest
        // value.
        let changes = client.changes(
            of: selection.names ?? [], suitePrefixes: selection.names == nil ? [""] : [],
            since: start.map { .cursor($0) }, keys: selection.keys, prefixes: arguments.all("prefix"),
            latest: arguments.has("exec")
        ).withOutageWarnings
        let prefixes = arguments.all("prefix")
        // `checkRights` returns false if the daemon does not answer. The rights are then checked when the next
        // observation arrives.
        var areRightsChecked = try await client.checkRights(to: selection, prefixes)
        for try await observation in changes {
            if !areRightsChecked { areRightsChecked = try await client.checkRights(to: selection, prefixes) }
            if arguments.has("json") {
                for line in try output.lines(of: observation, client) { print(line.text()) }
            } else if case .changes(let observed) = observation {
                for change in observed.changes {
                    if let command = arguments["exec"] {
                        run(command, for: change, server: arguments["server"])
                    } else {
                        let suite = selection.areSeveral ? "\(change.suite) " : ""
                        print("\(change.modified.short) \(suite)\(change.line)\(change.callerAndNote)")
                    }
                }
            } else if case .state(let state) = observation, state.isReset {
                Terminal.warn(
                    "the daemon cannot return the changes after the cursor; the command continues with the present state"
                )
            }
            try Terminal.flush()
        }
        return .done
    }

    /// The largest value in an environment variable, in bytes. Linux limits a variable to 131,072 bytes.
    private static let maximumVariableSize = 100_000

    /// Runs a shell command and waits for its end. A failure is a warning, so that the command also runs for later
    /// changes.
    private static func run(_ command: String, for change: Change, server: String?) {
        var shell = ShellCommand(command)
        shell.variables = ["SETTINGS_SUITE": change.suite.text, "SETTINGS_KEY": change.key.text]
        // If the command runs `settings`, that program must use the same daemon.
        if let server { shell.variables[ServerAddress.variable] = server }
        var files: [MemoryFile] = []
        do {
            for (name, value) in [("SETTINGS_OLD", change.old), ("SETTINGS_NEW", change.new)] {
                var (text, path) = (value?.text(), String?.none)
                if let large = text, large.utf8.count > maximumVariableSize {
                    let file = try MemoryFile(large.utf8Span.span)
                    files.append(file)
                    (text, path) = (nil, file.path)
                }
                shell.variables[name] = text
                shell.variables["\(name)_FILE"] = path
            }
            let code = try withExtendedLifetime(files) { try shell.exitCode() }
            if code != 0 {
                Terminal.warn("'\(command)' ended with exit code \(code) for \(change.suite) \(change.key)")
            }
        } catch {
            Terminal.warn(
                "cannot run '\(command)' for \(change.suite) \(change.key): \(ToolError(describing: error).message)")
        }
    }
}

extension Observations {
    /// The same observations, but with a warning to the user each time the daemon stops answering. The observations try
    /// again until the daemon answers.
    var withOutageWarnings: Observations {
        var observations = self
        observations.onOutage = {
            Terminal.warn("\(ToolError(describing: $0).message); trying until the daemon answers")
        }
        return observations
    }
}

extension Change {
    /// The caller and the note of the change in parentheses; empty if the change has neither.
    fileprivate var callerAndNote: String {
        let words = [by.map { "by \($0)" }, note.map { Terminal.escaped($0) }].compactMap(\.self)
        return words.isEmpty ? "" : " (\(words.joined(separator: ": ")))"
    }
}

extension Arguments {
    fileprivate func cursor() throws(ToolError) -> Cursor? {
        guard let text = self["since"] else { return nil }
        guard let cursor = Cursor(text) else {
            throw .usage("--since takes a cursor; 'settings status' prints the present cursor")
        }
        return cursor
    }
}
