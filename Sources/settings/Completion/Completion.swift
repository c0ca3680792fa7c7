import Dispatch
import Platform
import SettingsHTTP
import Synchronization

/// Finds the words to which a shell can complete the word at its cursor: from the declarations of the commands, and
/// from the daemon.
///
/// The completion scripts of the shells run `settings complete WORDS…`, with the words between the name of the program
/// and the cursor. Each line of the output is a word, a tab and the meaning of the word.
struct Completion {
    /// A word that the shell may insert.
    struct Candidate: Sendable {
        let word: String
        var meaning = ""
    }

    /// A line of output after which the shell itself completes the name of a file.
    private static let files = Candidate(word: "", meaning: "files")
    /// The time limit of a completion with all its requests and the name resolution.
    private static let timeLimit = Duration.milliseconds(100)
    /// The maximum number of keys that a completion reads.
    private static let maximumKeys = 500

    /// The options and the operands before the word at the cursor.
    private let words: [String]
    /// The characters of the word at the cursor that are before the cursor. May be empty.
    private let typed: String
    private let command: Command
    private let arguments: Arguments
    private let deadline: ContinuousClock.Instant

    /// Prints the candidates for the last word. Prints no error message, because the message would appear within the
    /// line that the user types.
    static func printCandidates(for words: [String], among commands: [Command]) -> ExitCode {
        let typed = words.last ?? ""
        for candidate in candidatesInTime(words, commands)
        where candidate.word.hasBytePrefix(typed) || candidate.meaning == files.meaning {
            guard !candidate.word.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                continue
            }
            print(
                candidate.meaning.isEmpty ? candidate.word : "\(candidate.word)\t\(Terminal.escaped(candidate.meaning))"
            )
        }
        return .done
    }

    /// Passes candidates from the thread that finds them to the main thread.
    private final class Inbox: Sendable {
        let candidates = Mutex<[Candidate]?>(nil)
        let arrival = DispatchSemaphore(value: 0)
    }

    /// Finds candidates on another thread, because name resolution and the file system have no timeout. If the thread
    /// does not finish in time, returns the candidates that need no daemon.
    private static func candidatesInTime(_ words: [String], _ commands: [Command]) -> [Candidate] {
        let (inbox, deadline) = (Inbox(), ContinuousClock.now + timeLimit)
        try? DetachedThread.start {
            let found = try? candidates(words, commands, by: deadline)
            inbox.candidates.withLock { $0 = found ?? [] }
            inbox.arrival.signal()
        }
        _ = inbox.arrival.wait(timeout: .after(deadline - .now))
        return inbox.candidates.withLock { $0 } ?? (try? candidates(words, commands, by: .now)) ?? []
    }

    private static func candidates(
        _ words: [String], _ commands: [Command], by deadline: ContinuousClock.Instant
    ) throws -> [Candidate] {
        let (options, rest) = Tool.splitCommonOptions(of: Array(words.dropLast()))
        let typed = words.last ?? ""
        guard let name = rest.first else {
            // After an option with a value, such as `--server`, the word is this value, not a command.
            if let option = Command.common.first(where: { $0.matches(options.last ?? "") }) {
                return Command.isFileName(option.placeholder) ? [files] : []
            }
            if typed.hasPrefix("-") { return Command.common.map { Candidate(word: "--\($0.name)", meaning: $0.help) } }
            // A suite may stand in the place of a command: `settings SUITE` is short for `settings list SUITE`.
            let list = try Completion(options, typed, ReadingCommands.list, deadline)
            return names(commands) + [Candidate(word: "help", meaning: "Explain a command.")]
                + ((try? list.suites()) ?? [])
        }
        if name == "help" { return names(commands, after: Array(rest.dropFirst())) }
        guard let (command, wordsAfterName) = Tool.command(of: rest) else {
            if Tool.isGroup(name) { return names(commands, after: rest) }
            // The name may be a suite, because `settings SUITE` is short for `settings list SUITE`.
            let words = options + rest.dropFirst()
            return typed.hasPrefix("-") ? try Completion(words, typed, ReadingCommands.list, deadline).options() : []
        }
        return try Completion(options + wordsAfterName, typed, command, deadline).candidates()
    }

    /// The words that may follow the first words of the name of a command.
    private static func names(_ commands: [Command], after words: [String] = []) -> [Candidate] {
        var candidates: [Candidate] = []
        for command in commands {
            let name = command.words
            guard name.count > words.count, name.starts(with: words) else { continue }
            let isGroup = name.count > words.count + 1
            guard !isGroup || candidates.last?.word != name[words.count] else { continue }
            let meaning = isGroup ? "Commands of the group \(name[0])." : command.summary
            candidates.append(Candidate(word: name[words.count], meaning: meaning))
        }
        return candidates
    }

    private init(
        _ words: [String], _ typed: String, _ command: Command, _ deadline: ContinuousClock.Instant
    ) throws {
        (self.words, self.typed, self.command, self.deadline) = (words, typed, command, deadline)
        // The last word may be an option whose value is the word at the cursor. Without its value, the option is an
        // error.
        arguments =
            try (try? Arguments(self.words, for: command))
            ?? Arguments(self.words.dropLast(), for: command)
    }

    private func candidates() throws -> [Candidate] {
        if let option = (command.options + Command.common).first(where: { $0.matches(words.last ?? "") }),
            let placeholder = option.placeholder
        {
            return try candidates(for: placeholder, after: [])
        }
        if typed.hasPrefix("-") {
            let parts = typed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count > 1 else { return options() }
            let option = (command.options + Command.common).first { $0.matches(parts[0]) }
            guard let placeholder = option?.placeholder else { return [] }
            return try candidates(for: placeholder, after: []).map {
                $0.meaning == Self.files.meaning ? $0 : Candidate(word: "\(parts[0])=\($0.word)", meaning: $0.meaning)
            }
        }
        if command.takesProgram, words.contains("--") { return [Self.files] }
        let operands = arguments.operands
        var candidates: [Candidate] = []
        // A form is a usage line of the command, with a placeholder for each operand.
        for form in command.selectedForms(arguments).joined() {
            guard let operand = form.operand(at: operands.count) else { continue }
            let word = operand.placeholder
            // If another form has offered the keys already, do not offer the keys with an equals sign, too.
            if word == "KEY=VALUE", !candidates.isEmpty { continue }
            candidates += try self.candidates(for: word, after: operands)
        }
        var seen: Set<String> = []
        return candidates.filter { seen.insert($0.word).inserted }
    }

    private func options() -> [Candidate] {
        (command.options + Command.common).filter { $0.isRepeatable || !arguments.has($0.name) }
            .map { Candidate(word: "--\($0.name)", meaning: $0.help) }
    }

    /// Finds the words for a placeholder: of a usage line, or of the value of an option. `operands` are the operands
    /// before the word at the cursor; empty for an option.
    private func candidates(for placeholder: String, after operands: [String]) throws -> [Candidate] {
        switch placeholder {
        case "SUITE": return try suites()
        // The operand KEY is a path, in which a key with `[` or `=` has quotes and brackets. A prefix is no path.
        case "KEY": return try keys(word: SettingPath.word(for:))
        case "PREFIX": return try keys(word: \.text)
        case "KEY=VALUE": return try pairs()
        // `set SUITE KEY VALUE`: the second operand is the key of the value.
        case "VALUE" where operands.count > 1 && !operands[1].contains("="):
            return try values(of: try .named(operands[1]), in: try arguments.suite())
        case _ where Command.isFileName(placeholder): return [Self.files]
        default:
            return (Command.choices(of: placeholder) ?? []).map { Candidate(word: $0) }
        }
    }

    private func suites() throws -> [Candidate] {
        var suites: [Candidate] = []
        try client().eachPageOfSuites(prefix: typed) { page in
            suites += page.map { Candidate(word: $0.suite.text, meaning: "suite") }
        }
        return suites
    }

    private func client() throws -> DaemonClient {
        // This check comes first, because the check of the path can hang on a broken file system.
        let timeout = deadline - .now
        guard timeout > .zero else { throw ToolError(.timedOut, "the time is over") }
        // If completion read the token from standard input or a pipe, the command itself could not read it again.
        if let path = arguments.tokenPath, path == "-" || FileContents.isPipe(path) {
            throw ToolError(.unauthorized, "completion does not read the token from a pipe: the command needs it")
        }
        return try arguments.client(timeout: timeout)
    }

    /// Finds the keys that begin with the typed characters. `word` returns the word that names a key.
    private func keys(word: (KeyName) -> String) throws -> [Candidate] {
        try client().blocking.send(
            .keys(of: try arguments.suite(), prefix: typed.isEmpty ? nil : typed, limit: Self.maximumKeys)
        ).keys.map { entry in
            Candidate(word: word(entry.setting.key), meaning: entry.schema?["description"]?.string ?? "")
        }
    }

    /// Finds keys, each with an equals sign. If the word at the cursor has an equals sign, finds the values of its key.
    private func pairs() throws -> [Candidate] {
        guard let equals = typed.firstIndex(of: "=") else {
            return try keys(word: SettingPath.word(for:)).map { Candidate(word: "\($0.word)=", meaning: $0.meaning) }
        }
        let name = String(typed[..<equals])
        return try values(of: try .named(name), in: try arguments.suite()).map {
            Candidate(word: "\(name)=\($0.word)")
        }
    }

    private func values(of key: KeyName, in suite: SuiteName) throws -> [Candidate] {
        guard let schema = try client().entry(of: key, in: suite)?.schema else { return [] }
        let values =
            schema["enum"]?.array ?? schema["const"].map { [$0] }
            ?? (ValueReader(key, schema).acceptsBooleans ? [.bool(true), .bool(false)] : [])
        return values.map { Candidate(word: $0.unquotedText) }
    }
}
