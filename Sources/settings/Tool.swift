import Platform
import SettingsHTTP
import SettingsModel

/// The program: it finds the command, runs it, and ends with the exit code of the command.
enum Tool {
    static let commands =
        ReadingCommands.all + WritingCommands.all + WatchingCommands.all + PastCommands.all + TransferCommands.all
        + DocumentCommands.all + PlanCommands.all + PendingCommands.all + SchemaCommands.all + ServiceCommands.all
        + ClientCommands.all + CompletionCommands.all

    static func run(_ words: [String]) async -> Never {
        do {
            let code = try await runCommand(words)
            try Terminal.flush()
            CurrentProcess.exit(code: code.rawValue)
        } catch {
            fail(ToolError(describing: error))
        }
    }

    /// Separates the common options with a value, such as `--server URL`, that stand before the command, or between the
    /// two words of its name as in `settings schema --server URL show`. Returns these options, and all other words.
    static func splitCommonOptions(of words: [String]) -> (options: [String], rest: [String]) {
        let (options, rest) = Arguments.splitLeadingCommonOptions(of: words)
        guard let first = rest.first, isGroup(first) else { return (options, rest) }
        let parts = Arguments.splitLeadingCommonOptions(of: rest.dropFirst())
        return (options + parts.options, [first] + parts.rest)
    }

    /// True if the word is the first word of a command whose name has two words.
    static func isGroup(_ word: String) -> Bool { commands.contains { $0.belongs(toGroup: word) } }

    /// Returns the command whose name is at the beginning of the words, and the words after the name.
    static func command(of words: [String]) -> (command: Command, rest: [String])? {
        guard let command = commands.first(where: { words.starts(with: $0.words) }) else { return nil }
        return (command, Array(words.dropFirst(command.words.count)))
    }

    /// Runs the command that the words name, and returns the exit code.
    private static func runCommand(_ words: [String]) async throws -> ExitCode {
        let (options, rest) = splitCommonOptions(of: words)
        guard let first = rest.first else {
            // Throws if the last option lacks its value.
            _ = try Arguments(options, for: ReadingCommands.list)
            guard options.isEmpty else {
                throw ToolError.usage("the command is missing; 'settings help' lists the commands")
            }
            try Terminal.write("\(Help.overview)\n", to: .standardError)
            return .usage
        }
        if ["help", "--help", "-h"].contains(first) {
            try Arguments.requireUTF8(words)
            return try printHelp(Array(rest.dropFirst()))
        }
        if first == "--version" {
            try Arguments.requireUTF8(words)
            print("settings \(Help.version)")
            return .done
        }
        // The completion functions of shells run this command, which the help does not list.
        if first == "complete" { return Completion.printCandidates(for: Array(rest.dropFirst()), among: commands) }
        guard let (command, wordsAfterName) = command(of: rest) else {
            if isGroup(first) { return try runGroup(rest, options) }
            // In the short form `settings SUITE`, only options can follow the suite. In `settings lst app`, `lst` is
            // therefore not a suite, but a misspelt command.
            let isSuite = rest.count == 1 || rest[1].hasPrefix("-")
            guard isSuite, !first.hasPrefix("-"), (try? SuiteName(first)) != nil else {
                // In `settings --server get app theme`, `--server` has the value `get`. The error about this address is
                // more helpful than an error about a command `app`.
                _ = try Arguments(options, for: ReadingCommands.list).serverAddress()
                throw unknownCommandError(first, rest)
            }
            return try await runList([first] + options + rest.dropFirst())
        }
        let arguments: Arguments
        do throws(ToolError) {
            arguments = try Arguments(options + wordsAfterName, for: command)
            if arguments.has("help") { return try printHelp([command.name]) }
            try command.validate(arguments)
        } catch {
            throw ToolError(error.code, error.message + suiteHint(rest, options))
        }
        return try await command.run(arguments)
    }

    /// Prints the help of a group if `--help` follows its name. Otherwise throws, because a command of the group is
    /// missing or unknown.
    private static func runGroup(_ words: [String], _ options: [String]) throws -> ExitCode {
        let name = words[0]
        if words.count > 1, ["--help", "-h"].contains(words[1]) { return try printHelp([name]) }
        guard words.count > 1, !words[1].hasPrefix("-") else {
            throw ToolError.usage(
                "the command after '\(name)' is missing; 'settings help \(name)' lists the commands"
                    + suiteHint(words, options))
        }
        throw unknownCommandError("\(name) \(words[1])")
    }

    /// Returns a hint if the user may have meant a suite that has the name of a command, as in `settings get` with a
    /// suite `get`. Waits at most 0.5 s for the answer of the daemon.
    private static func suiteHint(_ words: [String], _ options: [String]) -> String {
        guard let arguments = try? Arguments([words[0]] + options + words.dropFirst(), for: ReadingCommands.list),
            arguments.operands.count == 1, let suite = try? arguments.suite(),
            let client = try? arguments.client(timeout: .milliseconds(500)),
            (try? client.blocking.send(.keys(of: suite, limit: 1))) != nil
        else { return "" }
        return "\n'settings list \(suite)' lists the settings of the suite \(suite)"
    }

    /// Runs `settings SUITE`, which is short for `settings list SUITE`. If the suite does not exist, its name may be a
    /// misspelt command.
    private static func runList(_ words: [String]) async throws -> ExitCode {
        let arguments = try Arguments(words, for: ReadingCommands.list)
        if arguments.has("help") { return try printHelp([ReadingCommands.list.name]) }
        do {
            try ReadingCommands.list.validate(arguments)
            return try await ReadingCommands.list.run(arguments)
        } catch let error as SettingsError where error.code == .unknownSuite {
            throw ToolError(.unknown, "there is no command and no suite '\(words[0])'\(suggestion(for: words[0]))")
        }
    }

    /// Names that other programs use for commands, each with the commands of this program.
    private static let synonyms = [
        "ls": ["list"], "delete": ["unset"], "rm": ["unset"], "put": ["set"], "read": ["get"], "write": ["set"],
        "reset": ["unset"], "log": ["history"], "monitor": ["watch"], "rollback": ["undo", "restore"],
        "show": ["list", "get"], "cat": ["get"], "del": ["unset"], "remove": ["unset"], "add": ["set"],
        "tail": ["watch"],
        "dump": ["export"], "load": ["import"], "version": ["--version"], "-v": ["--version"], "-V": ["--version"],
        "schema export": ["schema show"], "schema get": ["schema show"], "schema set": ["schema apply"],
    ]

    /// - Parameter words: the words of the command line, for a suggestion of `settings get`.
    private static func unknownCommandError(_ name: String, _ words: [String] = []) -> ToolError {
        var suggestion = suggestion(for: name)
        if suggestion.isEmpty, words.count == 2, (try? KeyName(words[1])) != nil {
            suggestion = "; did you mean 'settings get \(name) \(words[1])'?"
        }
        return .usage("there is no command '\(name)'\(suggestion); 'settings help' lists the commands")
    }

    private static func suggestion(for name: String) -> String {
        let similarNames = synonyms[name] ?? NameSuggestion.nearest(to: name, among: commands.map { $0.name })
        return similarNames.isEmpty ? "" : "; did you mean \(similarNames.joined(separator: " or "))?"
    }

    private static func printHelp(_ words: [String]) throws(ToolError) -> ExitCode {
        let name = words.joined(separator: " ")
        if words.isEmpty {
            print(Help.overview)
        } else if isGroup(name) {
            print(Help.text(ofGroup: name))
        } else if let command = commands.first(where: { $0.name == name }) {
            print(Help.text(of: command))
        } else {
            throw unknownCommandError(name)
        }
        return .done
    }

    private static func fail(_ error: ToolError) -> Never {
        Terminal.warn(error.message)
        CurrentProcess.exit(code: error.code.rawValue)
    }
}
