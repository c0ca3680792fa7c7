import Dispatch
import Platform
import SettingsHTTP
import Synchronization

/// Commands that wait for changes: `watch`, `wait`.
enum WatchingCommands {
    static let all = [watch, wait]

    private static let watch = Command(
        name: "watch",
        forms: [
            [.suite, .anyKeys], .init([.optionalSuite, .anyKeys], with: "suite"), .init([], with: "all"),
        ],
        summary: "Print each change as it happens, or run a program.",
        details: """
            The command misses no change and prints no change twice, also if the connection breaks. With --suite or --all, it
            watches several suites; --all includes suites that are created later.
            With --exec, the shell runs COMMAND for each key that changed, and no two runs at the same time. If a key changes
            several times during a run, the next run gets its newest value. The environment of COMMAND has SETTINGS_SUITE and
            SETTINGS_KEY, with --server the address as SETTINGS_URL, and as JSON SETTINGS_OLD and SETTINGS_NEW, which are
            missing if there is no value. A value of more than 100,000 bytes is in the file SETTINGS_OLD_FILE or
            SETTINGS_NEW_FILE instead, until the run ends.
            With --json, each line has a cursor, from which --since continues after that line. If the history does not reach
            back to the cursor of --since, the first line has "reset":true and the present values.
            """,
        options: Command.suiteSelection + [
            Command.Option("prefix", "PREFIX", "also keys that begin with PREFIX", isRepeatable: true),
            Command.Option("since", "CURSOR", "begin after this place in the history, not now"),
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
        var output = JSONChanges(place: start, showsSecrets: showsSecrets)
        // The daemon tells the observer of a list of suites about the creation of a suite, too.
        let changes = client.changes(
            of: selection.names ?? [], suitePrefixes: selection.names == nil ? [""] : [],
            since: start.map { .cursor($0) }, keys: selection.keys, prefixes: arguments.all("prefix"),
            latest: arguments.has("exec")
        ).tellingOfOutages
        var areRightsChecked = try await client.checkRights(to: selection)
        for try await observation in changes {
            if !areRightsChecked { areRightsChecked = try await client.checkRights(to: selection) }
            if arguments.has("json") {
                for line in try output.lines(of: observation, client) { print(line.text()) }
            } else if case .changes(let news) = observation {
                for change in news.changes {
                    if let command = arguments["exec"] {
                        run(command, for: change, server: arguments["server"])
                    } else {
                        let suite = selection.areSeveral ? "\(change.suite) " : ""
                        print("\(change.modified.short) \(suite)\(change.line)\(change.reason)")
                    }
                }
            } else if case .state(let state) = observation, state.isReset {
                Terminal.warn("history does not reach back that far; going on from the present state")
            }
            try Terminal.flush()
        }
        return .done
    }

    /// The largest value in an environment variable, in bytes. Linux limits a variable to 131,072 bytes.
    private static let maximumVariableSize = 100_000

    /// Runs a shell command and waits for its end. Reports a failure, so that the next change still has its run.
    private static func run(_ command: String, for change: Change, server: String?) {
        var shell = ShellCommand(command)
        shell.variables = ["SETTINGS_SUITE": change.suite.text, "SETTINGS_KEY": change.key.text]
        // The command may run `settings`, which then asks the same daemon.
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
            if code != 0 { Terminal.warn("'\(command)' failed for \(change.suite) \(change.key)") }
        } catch {
            Terminal.warn(
                "cannot run '\(command)' for \(change.suite) \(change.key): \(ToolError(describing: error).message)")
        }
    }

    private static let wait = Command(
        name: "wait", forms: [[.suite, Command.Operand("KEY=VALUE", .oneOrMore)]],
        summary: "Wait until settings have these values.",
        details: """
            KEY alone waits for any value, !KEY for no value, and KEY!=VALUE for another value or no value. The command ends
            with 8 if the time of --timeout is over first.
            """,
        options: [Command.Option("timeout", "TIME", "end after this time: seconds, or a span such as 2m (no limit)")],
        examples: ["settings wait app ready=true --timeout 60", "settings wait app leader"]
    ) { arguments in
        let suite = try arguments.suite()
        let conditions = try arguments.operands.dropFirst().map { try AwaitedValue($0) }
        let timeout = try arguments.duration("timeout")
        let wait = Wait(suite: suite, conditions: conditions, timeout: timeout)
        let client = try arguments.client(timeout: wait.firstDeadline - .now).withTimeout(.seconds(10))
        return try await withThrowingTaskGroup(of: ExitCode.self) { group in
            group.addTask { try await wait.run(client) }
            if let timeout { group.addTask { try await wait.end(after: timeout) } }
            defer { group.cancelAll() }
            return try await group.next() ?? .failed
        }
    }

    private struct AwaitedValue: Sendable {
        let key: KeyName
        /// Nil for any value.
        let word: String?

        /// True if the condition is that the setting has no such value.
        let isNegated: Bool

        init(_ text: String) throws(ToolError) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            word = parts.count > 1 ? String(parts[1]) : nil
            isNegated = word == nil ? parts[0].hasPrefix("!") : parts[0].hasSuffix("!")
            let name = !isNegated ? parts[0] : word == nil ? parts[0].dropFirst() : parts[0].dropLast()
            key = try .whole(String(name))
        }

        func holds(_ value: JSONValue?) -> Bool { matches(value) != isNegated }

        /// True if a value is the one that the word stands for, as a text or as JSON.
        private func matches(_ value: JSONValue?) -> Bool {
            guard let value else { return false }
            guard let word else { return true }
            if value.string == word { return true }
            return (try? JSONValue(parsing: word)) == value
        }
    }

    /// A wait for conditions of a suite, with one deadline for all its requests.
    private final class Wait: Sendable {
        private let suite: SuiteName
        private let conditions: [AwaitedValue]
        private let timeout: Duration?
        private let start = ContinuousClock.now
        /// True after the conditions were compared with the state of the suite, or the daemon did not answer.
        private let hasTried = Mutex(false)

        init(suite: SuiteName, conditions: [AwaitedValue], timeout: Duration?) {
            (self.suite, self.conditions, self.timeout) = (suite, conditions, timeout)
        }

        /// The deadline of the first comparison. The daemon gets at least a second for it, so that a timeout of zero is a
        /// test.
        var firstDeadline: ContinuousClock.Instant {
            start + max(.seconds(1), min(timeout ?? .seconds(10), .seconds(10)))
        }

        /// Waits for the end of the timeout, then throws.
        func end(after timeout: Duration) async throws -> ExitCode {
            try await Task.sleep(until: start + timeout, clock: .continuous)
            if !hasTried.withLock({ $0 }) { try await Task.sleep(until: firstDeadline, clock: .continuous) }
            throw lateError(timeout)
        }

        private func lateError(_ timeout: Duration) -> ToolError {
            ToolError(.late, "timed out after \(timeout) waiting for \(suite)")
        }

        /// Waits until all conditions hold.
        func run(_ client: DaemonClient) async throws -> ExitCode {
            if try await areMet(client) { return .done }
            var values: [KeyName: JSONValue] = [:]
            for try await observation in client.changes(of: suite, keys: conditions.map(\.key)).tellingOfOutages {
                switch observation {
                case .state(let state):
                    values = [:]
                    for entry in state.suites.flatMap(\.values) { values[entry.key] = entry.value }
                case .changes(let news):
                    for change in news.changes { values[change.key] = change.new }
                }
                if areMet(by: values) { return .done }
                try checkTime()
            }
            return .failed
        }

        /// Throws if the time is over. Call this after a comparison that found a difference, or a failed read.
        private func checkTime() throws(ToolError) {
            hasTried.withLock { $0 = true }
            if let timeout, ContinuousClock.now >= start + timeout { throw lateError(timeout) }
        }

        /// Reads each setting once, so that a missing right is an error. True if the reads show that all conditions hold.
        ///
        /// Several settings may change between the reads, so the reads show this only for a single setting, or if there is
        /// no suite.
        private func areMet(_ client: DaemonClient) async throws -> Bool {
            var values: [KeyName: JSONValue]?
            for key in conditions.map(\.key) {
                values = nil
                do {
                    let setting = try await client.send(.setting(key, in: suite))
                    guard !setting.isConcealed else {
                        throw ToolError(.unauthorized, "\(key) is a secret, which this caller may not read")
                    }
                    if conditions.count == 1 { values = setting.value.map { [key: $0] } ?? [:] }
                } catch let error as SettingsError where error.code != .forbidden && error.code != .unauthorized {
                    // Without a daemon, the other keys would wait for their timeouts, too.
                    guard error.problem != nil else {
                        try checkTime()
                        return false
                    }
                    let isUnset = error.code == .notSet && conditions.count == 1
                    if isUnset || error.code == .unknownSuite { values = [:] }
                }
            }
            guard let values else { return false }
            if areMet(by: values) { return true }
            try checkTime()
            return false
        }

        private func areMet(by values: [KeyName: JSONValue]) -> Bool {
            conditions.allSatisfy { $0.holds(values[$0.key]) }
        }
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

extension DaemonClient {
    /// Throws if the caller may not read one of the keys, or any suite. The daemon hides such keys and suites, so
    /// the command would wait without an end. Returns false if the daemon does not answer.
    fileprivate func checkRights(to selection: SelectedSuites) async throws -> Bool {
        do {
            if let suites = selection.names {
                for suite in suites { for key in selection.keys { try await checkRight(to: key, in: suite) } }
            } else {
                try await checkRightToAnySuite()
            }
            return true
        } catch let error as SettingsError {
            guard error.problem == nil else { throw error }
            return false
        }
    }

    private func checkRight(to key: KeyName, in suite: SuiteName) async throws(SettingsError) {
        do {
            try await send(.setting(key, in: suite))
        } catch {
            let isRefused = error.code == .forbidden || error.code == .unauthorized
            if isRefused || error.problem == nil { throw error }
        }
    }

    private func checkRightToAnySuite() async throws {
        guard try await !send(.caller).readablePatterns.isEmpty else {
            throw ToolError(.unauthorized, "this caller may not read any suite")
        }
    }
}

extension Change {
    /// Who made the change, and why, in parentheses.
    fileprivate var reason: String {
        let words = [by.map { "by \($0)" }, note.map { Terminal.plain($0) }].compactMap(\.self)
        return words.isEmpty ? "" : " (\(words.joined(separator: ": ")))"
    }
}

extension Arguments {
    fileprivate func cursor() throws(ToolError) -> Cursor? {
        guard let text = self["since"] else { return nil }
        guard let cursor = Cursor(text) else { throw .usage("--since takes a cursor such as 'settings status' shows") }
        return cursor
    }
}
