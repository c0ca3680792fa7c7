import Dispatch
import Platform
import SettingsHTTP

/// Commands that wait for changes: `watch`, `wait`.
enum WatchingCommands {
    static let all = [watch, wait]

    private static let watch = Command(
        name: "watch", operands: "SUITE [KEY…]", summary: "Print each change as it happens, or run a program.",
        details: """
            Nothing is missed and nothing comes twice, whatever the network does. With --exec a program is run by the shell,
            one run at a time: the next run has what changed meanwhile, with the newest value of each key. It finds
            SETTINGS_SUITE, SETTINGS_KEY, SETTINGS_OLD and SETTINGS_NEW in its environment; the latter two are JSON, and
            missing where there is no value.
            """,
        options: [
            Command.Option("prefix", "PREFIX", "keys that begin so, too", isRepeatable: true),
            Command.Option("since", "CURSOR", "from this place in history; else from now"),
            Command.Option("exec", "COMMAND", "run this for each key that changed"), Command.json,
        ],
        examples: ["settings watch app", "settings watch app theme --exec 'echo $SETTINGS_KEY is $SETTINGS_NEW'"]
    ) { arguments in
        let (suite, keys, client) = (try arguments.suite(), try arguments.keys(from: 1), try arguments.client())
        let changes = client.changes(
            of: suite, since: try arguments.place(), keys: keys, prefixes: arguments.all("prefix"),
            latest: arguments.has("exec")
        ).tellingOfOutages
        for try await observation in changes {
            guard case .changes(let news) = observation else {
                if case .state(let state) = observation, state.isReset {
                    Terminal.warn("history does not reach back that far; going on from the present state")
                }
                continue
            }
            for change in news.changes {
                if let command = arguments["exec"] {
                    try run(command, for: change)
                } else {
                    print(arguments.has("json") ? change.summary.text() : "\(change.modified.short) \(change.line)")
                }
            }
            try? Terminal.flush()
        }
        return .done
    }

    /// Runs a command of the shell and waits for its end. One that fails is reported, and the next change is still handled.
    private static func run(_ command: String, for change: Change) throws(ToolError) {
        var shell = ShellCommand(command)
        shell.variables = [
            "SETTINGS_SUITE": change.suite.text, "SETTINGS_KEY": change.key.text,
            "SETTINGS_OLD": change.old?.text(), "SETTINGS_NEW": change.new?.text(),
        ]
        if try shell.exitCode() != 0 { Terminal.warn("'\(command)' failed for \(change.key)") }
    }

    private static let wait = Command(
        name: "wait", operands: "SUITE KEY=VALUE…", summary: "Wait until settings have these values.",
        details: "KEY alone waits for any value. It ends with 8 if --timeout is over before that.",
        options: [Command.Option("timeout", "SECONDS", "give up after so long (never)")],
        examples: ["settings wait app ready=true --timeout 60", "settings wait app leader"]
    ) { arguments in
        let suite = try arguments.suite()
        let conditions = try arguments.operands.dropFirst().map { try AwaitedValue($0) }
        guard !conditions.isEmpty else { throw ToolError.usage("KEY=VALUE is missing") }
        let client = try arguments.client()
        let seconds = try arguments.number("timeout")
        return try await withThrowingTaskGroup(of: ExitCode.self) { group in
            group.addTask { try await isReached(conditions, of: suite, client) }
            if let seconds {
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    throw ToolError(.late, "\(suite) was not like that within \(seconds) s")
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .failed
        }
    }

    private struct AwaitedValue: Sendable {
        let key: KeyName
        /// Nil for any value.
        let word: String?

        init(_ text: String) throws(ToolError) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            key = try .named(String(parts[0]))
            word = parts.count > 1 ? String(parts[1]) : nil
        }

        /// True if a value is the one that the word stands for, as a text or as JSON.
        func holds(_ value: JSONValue?) -> Bool {
            guard let value else { return false }
            guard let word else { return true }
            if value.string == word { return true }
            return (try? JSONValue(parsing: word)) == value
        }
    }

    private static func isReached(
        _ conditions: [AwaitedValue], of suite: SuiteName, _ client: DaemonClient
    ) async throws -> ExitCode {
        var values: [KeyName: JSONValue] = [:]
        for try await observation in client.changes(of: suite, keys: conditions.map(\.key)).tellingOfOutages {
            switch observation {
            case .state(let state):
                values = [:]
                for entry in state.suites.flatMap(\.values) { values[entry.key] = entry.value }
            case .changes(let news):
                for change in news.changes { values[change.key] = change.new }
            }
            if conditions.allSatisfy({ $0.holds(values[$0.key]) }) { return .done }
        }
        return .failed
    }
}

extension Observations {
    /// The same, with a message when the daemon does not answer. It is asked until it does.
    fileprivate var tellingOfOutages: Observations {
        var telling = self
        telling.onOutage = { Terminal.warn("\(ToolError(describing: $0).message); trying until it answers") }
        return telling
    }
}

extension Arguments {
    fileprivate func place() throws(ToolError) -> ResumePoint? {
        guard let text = self["since"] else { return nil }
        guard let cursor = Cursor(text) else { throw .usage("--since takes a cursor such as 'settings status' shows") }
        return .cursor(cursor)
    }
}
