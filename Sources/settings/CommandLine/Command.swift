import SettingsHTTP
import SettingsModel

/// A command of the program, declared once for the parser and the help.
struct Command: Sendable {
    /// An option of a command.
    struct Option: Sendable {
        let name: String
        /// What stands for its value in the help; nil if it takes none.
        var value: String?
        let help: String
        /// True if it may be given several times.
        var isRepeatable = false
        /// The letter of the short form.
        let short: Character?

        init(
            _ name: String, _ value: String? = nil, _ help: String, isRepeatable: Bool = false, short: Character? = nil
        ) {
            (self.name, self.value, self.help, self.isRepeatable) = (name, value, help, isRepeatable)
            self.short = short
        }

        /// True if a word before its value, or before `=`, is the option.
        func matches(_ word: some StringProtocol) -> Bool {
            word == "--\(name)" || short.map { word == "-\($0)" } ?? false
        }
    }

    let name: String
    /// What follows the name.
    let operands: String
    let summary: String
    var details = ""
    var options: [Option] = []
    let examples: [String]
    let run: @Sendable (Arguments) async throws -> ExitCode

    /// Options that every command has.
    static let common = [
        Option(
            "server", "URL",
            "the daemon: http://HOST:PORT, https://HOST, unix:PATH; else SETTINGS_URL, else http://127.0.0.1:7070",
            short: "s"),
        Option(
            "token-file", "FILE", "a file with a token, - for standard input; else SETTINGS_TOKEN_FILE, SETTINGS_TOKEN"),
        Option("help", nil, "print this help", short: "h"),
    ]

    /// Options of commands that write.
    static let writing = [
        Option("note", "TEXT", "why; it stands in the history", short: "m"),
        Option("dry-run", nil, "show what would change, and change nothing"),
        override, Option("quiet", nil, "print no changes"),
    ]

    static let override = Option("override", nil, "write keys that the schema locks, too")
    static let json = Option("json", nil, "print JSON")
    static let secrets = Option("secrets", nil, "with --json, print secrets, too")
}

/// The operands and options of a command.
struct Arguments: Sendable {
    private(set) var operands: [String] = []
    private var options: [String: [String]] = [:]

    /// Reads what follows the name of a command.
    ///
    /// An argument that begins with a dash is an option, unless it is `-` or a negative number, or follows `--`.
    init(_ words: some Sequence<String>, for command: Command) throws(ToolError) {
        let known = command.options + Command.common
        var words = Array(words)[...]
        var areOptionsOver = false
        while let word = words.popFirst() {
            guard !areOptionsOver, word.hasPrefix("-"), word != "-", Double(word) == nil else {
                operands.append(word)
                continue
            }
            if word == "--" {
                areOptionsOver = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = known.first(where: { $0.matches(parts[0]) }) else {
                let near = NameSuggestion.nearest(to: String(parts[0].dropFirst(2)), among: known.map(\.name)).map {
                    "--\($0)"
                }
                let suggestion = near.isEmpty ? "" : "; did you mean \(near.joined(separator: " or "))?"
                let remark = command.operands.contains("VALUE") ? "; -- stands before a value with a dash" : ""
                throw .usage(
                    "settings \(command.name) has no option \(word)\(suggestion)\(remark); "
                        + "'settings help \(command.name)' lists them")
            }
            let name = option.name
            var value = parts.count > 1 ? String(parts[1]) : nil
            if option.value == nil {
                guard value == nil else { throw .usage("--\(name) takes no value") }
            } else if value == nil {
                value = words.popFirst()
                guard value != nil else { throw .usage("--\(name) needs a value: --\(name) \(option.value ?? "")") }
            }
            guard options[name] == nil || option.isRepeatable else { throw .usage("--\(name) is given twice") }
            options[name, default: []].append(value ?? "")
        }
    }

    /// Takes the options before a command apart from the rest: those that every command has, with a value.
    static func common(of words: some Sequence<String>) -> (options: [String], rest: [String]) {
        var (options, rest) = ([String](), Array(words)[...])
        while let word = rest.first {
            let name = word.prefix { $0 != "=" }
            guard Command.common.contains(where: { $0.matches(name) && $0.value != nil }) else { break }
            options.append(rest.removeFirst())
            if !word.contains("="), let value = rest.popFirst() { options.append(value) }
        }
        return (options, Array(rest))
    }

    /// True if an option is given.
    func has(_ name: String) -> Bool { options[name] != nil }

    /// The value of an option.
    subscript(name: String) -> String? { options[name]?.last }

    /// All values of a repeatable option.
    func all(_ name: String) -> [String] { options[name] ?? [] }

    /// The number that an option gives.
    func number(_ name: String) throws(ToolError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), number >= 0 else { throw .usage("--\(name) takes a number, not '\(text)'") }
        return number
    }

    /// True if the command prints secrets.
    func showsSecrets() throws(ToolError) -> Bool {
        guard has("json") || !has("secrets") else { throw .usage("--secrets needs --json") }
        return has("secrets")
    }

    /// Throws unless there are as many operands as the command takes.
    func expect(_ count: ClosedRange<Int>, _ wanted: String) throws(ToolError) {
        if operands.count < count.lowerBound { throw .usage("\(wanted) is missing") }
        if operands.count > count.upperBound {
            throw .usage("'\(operands[count.upperBound])' is one argument too many")
        }
    }

    /// The suite that an operand names.
    func suite(_ position: Int = 0) throws(ToolError) -> SuiteName {
        guard operands.count > position else { throw .usage("the suite is missing; 'settings list' shows all") }
        return try .named(operands[position])
    }

    /// The whole keys that the operands from a position on name.
    func keys(from position: Int) throws(ToolError) -> [KeyName] {
        var keys: [KeyName] = []
        for word in operands.dropFirst(position) { keys.append(try .whole(word)) }
        return keys
    }
}

extension SuiteName {
    static func named(_ text: String) throws(ToolError) -> SuiteName {
        do {
            return try SuiteName(text)
        } catch {
            throw .usage("'\(Terminal.plain(text))': \(error)")
        }
    }
}

extension KeyName {
    static func named(_ text: String) throws(ToolError) -> KeyName {
        do {
            return try KeyName(text)
        } catch {
            throw .usage("'\(Terminal.plain(text))': \(error)")
        }
    }
}
