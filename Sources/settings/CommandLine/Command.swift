/// A command of the program, declared once for the parser, the help, the manual page and the completion.
struct Command: Sendable {
    /// An option of a command.
    struct Option: Sendable {
        let name: String
        /// The placeholder for the value in the help, or the possible values with `|` between them; nil if the option
        /// has no value.
        let placeholder: String?
        let help: String
        /// True if a command line may have the option several times.
        let isRepeatable: Bool
        /// The letter of the short form, such as `s` for `-s`; nil if there is none.
        let short: Character?

        init(
            _ name: String, _ placeholder: String? = nil, _ help: String, isRepeatable: Bool = false,
            short: Character? = nil
        ) {
            (self.name, self.placeholder, self.help) = (name, placeholder, help)
            (self.isRepeatable, self.short) = (isRepeatable, short)
        }

        /// True if a word is the long or the short form of the option. The word does not include `=` and a value.
        func matches(_ word: some StringProtocol) -> Bool {
            word == "--\(name)" || short.map { word == "-\($0)" } ?? false
        }
    }

    /// One word, or two words for a command of a group: `schema diff` belongs to the group `schema`.
    let name: String
    /// The forms of the command line. The help has a usage line for each form.
    let forms: [Form]
    /// True if the command line has `--`, a program and the arguments of the program at its end.
    var takesProgram = false
    let summary: String
    var details = ""
    var options: [Option] = []
    /// Lists of options. A command line may have at most one option of each list.
    var exclusive: [[String]] = []
    let examples: [String]
    let run: @Sendable (Arguments) async throws -> ExitCode

    var words: [String] { name.split(separator: " ").map(String.init) }

    /// True if the name has two words, and the first word is this group.
    func belongs(toGroup group: String) -> Bool { words.count > 1 && words[0] == group }

    /// The words that a placeholder such as `keep|reset` allows; nil if it allows any text, such as
    /// `FILE|DIRECTORY`.
    static func choices(of placeholder: String) -> [String]? {
        guard placeholder.contains("|"), placeholder != placeholder.uppercased() else { return nil }
        return placeholder.split(separator: "|").map(String.init)
    }

    /// True if a placeholder stands for the name of a file or of a directory.
    static func isFileName(_ placeholder: String?) -> Bool {
        ["FILE", "FILE|DIRECTORY", "DIRECTORY"].contains(placeholder)
    }

    /// Throws if two options exclude each other, if the program after `--` is missing, if the command has no form with
    /// these operands, or if an operand or the value of an option is not one of the allowed words.
    func validate(_ arguments: Arguments) throws(ToolError) {
        for alternatives in exclusive {
            let given = alternatives.filter(arguments.has)
            guard given.count < 2 else { throw .usage("--\(given[0]) and --\(given[1]) exclude each other") }
        }
        guard !takesProgram || !arguments.program.isEmpty else {
            throw .usage("-- and the program are missing; the usage is \(usages().map { "'\($0)'" }.alternatives)")
        }
        for (operand, word) in zip(try validatedOperands(arguments), arguments.operands) {
            try Self.validate(word, as: operand.placeholder, of: "settings \(name)")
        }
        for option in options {
            guard let placeholder = option.placeholder else { continue }
            for word in arguments.all(option.name) { try Self.validate(word, as: placeholder, of: "--\(option.name)") }
        }
    }

    private static func validate(
        _ word: String, as placeholder: String, of subject: String
    ) throws(ToolError) {
        guard let choices = choices(of: placeholder), !choices.contains(word) else { return }
        throw .usage("\(subject) takes \(choices.alternatives), not '\(Terminal.escaped(word))'")
    }

    /// Options that every command has.
    static let common = [
        Option(
            "server", "URL",
            "http://HOST:PORT, https://HOST or unix:PATH (default: SETTINGS_URL, otherwise http://127.0.0.1:7070)",
            short: "s"),
        Option(
            "token-file", "FILE",
            "a file with a token, or - for standard input (default: the file in SETTINGS_TOKEN_FILE)"),
        Option("help", nil, "print this help", short: "h"),
    ]

    /// Options of commands that write.
    static let writing = [note, dryRun, override, quiet] + deadlines

    static let note = Option("note", "TEXT", "the reason for the change, which the history shows", short: "m")
    static let dryRun = Option("dry-run", nil, "print the changes, and store nothing")
    static let override = Option("override", nil, "also write keys that the schema locks")
    static let quiet = Option("quiet", nil, "do not print the changes")
    static let json = Option("json", nil, "print JSON")
    static let at = Option(
        "at", "WHEN", "the state at a revision, an instant, 2h (two hours ago) or yesterday (24 hours ago)")
    static let secrets = Option("secrets", nil, "with --json, also print secrets")
}
