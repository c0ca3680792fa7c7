import Platform
import SettingsHTTP
import SettingsModel

/// The program: it finds the command, runs it, and ends with its code.
enum Tool {
    static let commands =
        ReadingCommands.all + WritingCommands.all + WatchingCommands.all + PastCommands.all + TransferCommands.all
        + DocumentCommands.all + PlanCommands.all + SchemaCommands.all + ServiceCommands.all + CompletionCommands.all

    static func run(_ words: [String]) async -> Never {
        do {
            if let position = ProcessArguments.firstInvalidPosition {
                throw ToolError.usage("argument \(position) is not UTF-8: '\(Terminal.plain(words[position - 1]))'")
            }
            let code = try await code(of: words)
            try Terminal.flush()
            CurrentProcess.exit(code: code.rawValue)
        } catch {
            fail(ToolError(describing: error))
        }
    }

    private static func code(of words: [String]) async throws -> ExitCode {
        let (options, rest) = Arguments.common(of: words)
        guard let first = rest.first else {
            // The last option may lack its value.
            _ = try Arguments(options, for: ReadingCommands.list)
            guard options.isEmpty else { throw ToolError.usage("the command is missing; 'settings help' lists them") }
            try Terminal.write("\(Help.overview)\n", to: .standardError)
            return .usage
        }
        if ["help", "--help", "-h"].contains(first) { return try help(rest.dropFirst().first) }
        if first == "--version" {
            print("settings \(Help.version)")
            return .done
        }
        if first == "complete" { return Completion.answer(Array(rest.dropFirst()), among: commands) }
        let words = [first] + options + rest.dropFirst()
        guard let command = commands.first(where: { $0.name == first }) else {
            // What follows a suite are options only: in `settings lst app`, a command is misspelt.
            let isSuite = rest.count == 1 || rest[1].hasPrefix("-")
            guard isSuite, !first.hasPrefix("-"), (try? SuiteName(first)) != nil else {
                // In `settings --server get app theme`, the command is the value of the option.
                _ = try Arguments(options, for: ReadingCommands.list).serverAddress()
                throw unknown(first, rest)
            }
            return try await list(words)
        }
        let arguments = try Arguments(words.dropFirst(), for: command)
        if arguments.has("help") { return try help(command.name) }
        return try await command.run(arguments)
    }

    /// Runs `settings SUITE`, which is short for `settings list SUITE`. A suite that is not there may be a command with a
    /// mistake in its name.
    private static func list(_ words: [String]) async throws -> ExitCode {
        do {
            return try await ReadingCommands.list.run(try Arguments(words, for: ReadingCommands.list))
        } catch let error as SettingsError where error.code == .unknownSuite {
            throw ToolError(.unknown, "there is no command and no suite '\(words[0])'\(suggestion(for: words[0]))")
        }
    }

    /// The names of the commands in other programs.
    private static let synonyms = [
        "ls": ["list"], "delete": ["unset"], "rm": ["unset"], "put": ["set"], "read": ["get"], "write": ["set"],
        "reset": ["unset"], "log": ["history"], "monitor": ["watch"], "rollback": ["undo", "restore"],
        "version": ["--version"], "-v": ["--version"], "-V": ["--version"],
    ]

    private static func unknown(_ name: String, _ words: [String] = []) -> ToolError {
        var suggestion = suggestion(for: name)
        if suggestion.isEmpty, words.count == 2, (try? KeyName(words[1])) != nil {
            suggestion = "; did you mean 'settings get \(name) \(words[1])'?"
        }
        return .usage("there is no command '\(name)'\(suggestion); 'settings help' lists them")
    }

    private static func suggestion(for name: String) -> String {
        let near = synonyms[name] ?? NameSuggestion.nearest(to: name, among: commands.map { $0.name })
        return near.isEmpty ? "" : "; did you mean \(near.joined(separator: " or "))?"
    }

    private static func help(_ name: String?) throws(ToolError) -> ExitCode {
        guard let name else {
            print(Help.overview)
            return .done
        }
        guard let command = commands.first(where: { $0.name == name }) else { throw unknown(name) }
        print(Help.text(of: command))
        return .done
    }

    private static func fail(_ error: ToolError) -> Never {
        Terminal.warn(error.message)
        CurrentProcess.exit(code: error.code.rawValue)
    }
}
