internal import SettingsModel
package import SettingsWeb

/// The parsed command line: a command, and the values of options.
package struct Arguments: Sendable {
    /// The command. Without a command on the command line, the program serves requests.
    package enum Command: Hashable, Sendable {
        case serve, help, version, checkConfiguration
        /// Prints every option with its value and its source, in columns or in JSON.
        case printConfiguration(json: Bool)
        /// Prints whether a data directory is undamaged.
        case check
        /// Prints what a repair would remove from a damaged data directory, and removes it if `isConfirmed` is true.
        case repair(isConfirmed: Bool)
        /// Fills an empty data directory from a backup. `file` is nil until its path has been parsed.
        case restore(file: String?)
        /// Creates, lists or revokes tokens.
        case token(TokenCommand)
        /// Inspects, imports or exports a commit log in etcd, or begins a new epoch (history) in it.
        case cluster(ClusterCommand)

        /// Returns whether the command accepts an option of the configuration.
        fileprivate func accepts(_ option: String) -> Bool {
            switch self {
            case .serve, .help, .version, .checkConfiguration, .printConfiguration: true
            case .check, .repair, .restore: option == "data"
            case .token: ["data", "access.tokens"].contains(option)
            case .cluster: ["etcd.endpoints", "etcd.prefix"].contains(option)
            }
        }
    }

    /// A command on a commit log in etcd. A property is nil until its word has been parsed.
    package struct ClusterCommand: Hashable, Sendable {
        package enum Verb: String, CaseIterable, Sendable {
            case status, `import`, export
            case newEpoch = "new-epoch"
        }

        package var verb: Verb?
        /// The data directory that `import` reads or `export` creates.
        package var directory: String?

        package init(verb: Verb? = nil, directory: String? = nil) {
            (self.verb, self.directory) = (verb, directory)
        }
    }

    /// A command on tokens. A property is nil until its word has been parsed.
    package struct TokenCommand: Hashable, Sendable {
        package enum Verb: String, CaseIterable, Sendable {
            case create, list, revoke
        }

        package var verb: Verb?
        package var name: String?
        package var grants: [String] = []
        package var expires: String?
        package var isJSON = false
    }

    package private(set) var command = Command.serve
    private var configurationFile: String?
    private let environment: [String: String]
    /// The values of options on the command line, by the names of the options.
    private var values: [String: [JSONValue]] = [:]
    /// A configuration to which the parser applies each value, only to validate the value.
    private var validatedConfiguration = Configuration()

    private var remainingWords: ArraySlice<String>
    /// True after the word `--`: all later words are operands, even if they begin with `-`.
    private var onlyOperandsFollow = false

    /// Parses the words after the name of the program.
    package init(_ words: [String], environment: [String: String] = [:]) throws(ProgramError) {
        self.environment = environment
        remainingWords = words[...]
        while let word = remainingWords.popFirst() {
            if onlyOperandsFollow || word.utf8.count < 2 || !word.hasBytePrefix("-") {
                try parse(operand: word)
            } else if word.hasSameBytes(as: "--") {
                onlyOperandsFollow = true
            } else if let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) {
                try parseOption(String(word[..<equals]), value: String(word[word.utf8.index(after: equals)...]))
            } else {
                try parseOption(word.hasSameBytes(as: "-h") ? "--help" : word, value: nil)
            }
        }
    }

    /// Returns the effective configuration. The command line overrides the environment, which overrides the
    /// configuration file, which overrides the defaults.
    package func configuration() throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        let variableFile = environment[Configuration.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        if let file = configurationFile ?? variableFile { try configuration.apply(fileAt: file) }
        try configuration.apply(environment: environment)
        for option in Option.all {
            guard let values = values[option.name], let value = values.last else { continue }
            try option.apply(
                option.isList ? .array(values) : value, named: option.flag, from: "flag \(option.flag)",
                to: &configuration)
        }
        try configuration.checkConsistency()
        return configuration
    }
}

extension Arguments {
    /// An option of the command line that is not in ``options``. Only `openToNetwork` also sets a configuration option.
    enum Flag: String, CaseIterable {
        case config, yes, grant, expires, json, help, version
        case printConfig = "print-config"
        case checkConfig = "check-config"
        case openToNetwork = "open-to-network"

        var name: String { "--\(rawValue)" }

        var help: String {
            switch self {
            case .config: "a file with options in JSON; the environment and the command line override it"
            case .yes: "repair: perform the repair"
            case .grant:
                "token create: suites and rights; 'app.*:read' is for suites that begin with app. (repeatable)"
            case .expires: "token create: the lifetime of the token, such as 90d or 12h"
            case .json: "print-config, token list: print JSON for programs"
            case .help: "print this help, also as -h"
            case .version: "print the version"
            case .printConfig: "print the effective configuration: every option with its value and its source"
            case .checkConfig: "check the configuration without starting the daemon"
            case .openToNetwork: "listen on network addresses without access control: every caller has full access"
            }
        }
    }

    /// The options of the configuration that the command line accepts with a value.
    static var options: [Option] { Option.all.filter { $0.placeholder != nil } }

    /// Parses an option and its value. `value` is the text after an equals sign; nil without an equals sign.
    private mutating func parseOption(_ name: String, value: String?) throws(ProgramError) {
        if let option = Self.options.first(where: { $0.flag.hasSameBytes(as: name) }) {
            return try parse(option, inlineValue: value)
        }
        guard let flag = Flag.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else {
            let all = Self.options.map(\.flag) + Flag.allCases.map(\.name)
            let nearest = NameSuggestion.nearest(to: name, among: all, limit: 1).first
            throw Self.usage(
                "unknown option \(Self.quoted(name))",
                nearest.map { "did you mean \($0)?" } ?? "settingsd --help lists the options")
        }
        if flag == .config {
            guard configurationFile == nil else { throw Self.duplicateOption(name) }
            configurationFile = try self.value(value, of: name, "FILE")
            return
        }
        if flag == .grant || flag == .expires { return try parseTokenFlag(flag, inlineValue: value) }
        if let value {
            throw Self.usage("\(name) accepts no value, but has the value \(Self.quoted(value))", "omit the value")
        }
        guard flag != .openToNetwork else {
            guard command.accepts("openToNetwork") else { throw Self.unsupportedOption(name) }
            guard values["openToNetwork"] == nil else { throw Self.duplicateOption(name) }
            values["openToNetwork"] = [.bool(true)]
            return
        }
        try apply(flag)
    }

    private mutating func parseTokenFlag(_ flag: Flag, inlineValue: String?) throws(ProgramError) {
        guard case .token(var token) = command, token.verb == .create else {
            throw Self.usage(
                "\(flag.name) applies to token create only", "write settingsd token create NAME \(flag.name) …")
        }
        let value = try value(inlineValue, of: flag.name, flag == .grant ? "'app.*:read'" : "90d")
        if flag == .grant {
            token.grants.append(value)
        } else {
            guard token.expires == nil else { throw Self.duplicateOption(flag.name) }
            token.expires = value
        }
        command = .token(token)
    }

    private mutating func parse(_ option: Option, inlineValue: String?) throws(ProgramError) {
        let text = try self.value(inlineValue, of: option.flag, option.placeholder ?? "")
        // The elements of a list are separated by commas, as in an environment variable.
        let elements = option.isList ? option.json(inVariable: text).array ?? [] : [.string(text)]
        guard !elements.isEmpty else {
            throw Self.usage("\(option.flag) is an empty list", "give it a value, or omit it")
        }
        guard command.accepts(option.name) else { throw Self.unsupportedOption(option.flag) }
        switch command {
        case .check, .repair, .restore:
            guard values[option.name] == nil else { throw Self.duplicateDirectory }
        default:
            guard values[option.name] == nil || option.isList else { throw Self.duplicateOption(option.flag) }
        }
        do throws(ConfigurationError) {
            for value in elements { try option.read(value, option.flag, &validatedConfiguration) }
        } catch {
            throw Self.usage(error.problem, error.remedy)
        }
        values[option.name, default: []] += elements
    }

    /// Changes the command according to a flag that has no value, such as `--help`.
    private mutating func apply(_ flag: Flag) throws(ProgramError) {
        switch (flag, command) {
        case (.help, .help): throw Self.duplicateOption(flag.name)
        case (.help, _): command = .help
        case (_, .help): break  // `--help` ignores the flags without a value after it.
        case (.version, .serve): command = .version
        case (.version, .version), (.json, .printConfiguration(json: true)): throw Self.duplicateOption(flag.name)
        case (.printConfig, .serve): command = .printConfiguration(json: false)
        case (.json, .printConfiguration): command = .printConfiguration(json: true)
        case (.json, .token(var token)) where token.verb == .list:
            guard !token.isJSON else { throw Self.duplicateOption(flag.name) }
            token.isJSON = true
            command = .token(token)
        case (.json, _):
            throw Self.usage(
                "cannot use --json here: it applies to --print-config and token list only",
                "write --print-config --json, or token list --json")
        case (.checkConfig, .serve): command = .checkConfiguration
        case (.yes, .repair): command = .repair(isConfirmed: true)
        case (.yes, _): throw Self.usage("--yes applies to repair only", "write settingsd repair DIR --yes")
        default:
            throw Self.usage(
                "\(flag.name) cannot be combined with the other options or the command", "omit one of them")
        }
    }

    private mutating func parse(operand text: String) throws(ProgramError) {
        switch command {
        case .serve where text.hasSameBytes(as: "check"): try startCommand(.check)
        case .serve where text.hasSameBytes(as: "repair"): try startCommand(.repair(isConfirmed: false))
        case .serve where text.hasSameBytes(as: "restore"): try startCommand(.restore(file: nil))
        case .restore(nil): command = .restore(file: text)
        case .serve where text.hasSameBytes(as: "token"): try startCommand(.token(TokenCommand()))
        case .token(let token): command = .token(try Self.add(text, to: token))
        case .serve where text.hasSameBytes(as: "cluster"): try startCommand(.cluster(ClusterCommand()))
        case .cluster(let cluster): command = .cluster(try Self.add(text, to: cluster))
        case .check, .repair:
            guard values["data"] == nil else { throw Self.duplicateDirectory }
            values["data"] = [.string(text)]
        case .help: break
        case .restore:
            throw Self.usage("unexpected word \(Self.quoted(text)) after the backup file", "omit \(Self.quoted(text))")
        case .printConfiguration, .checkConfiguration, .version:
            let flag: Flag =
                command == .version ? .version : command == .checkConfiguration ? .checkConfig : .printConfig
            throw Self.usage(
                "\(flag.name) accepts no command, but the command line has \(Self.quoted(text))",
                "omit \(Self.quoted(text))")
        default:
            let commands = ["check", "repair", "restore", "token", "cluster"]
            let nearest = NameSuggestion.nearest(to: text, among: commands, limit: 1).first
            throw Self.usage(
                "unknown command \(Self.quoted(text))",
                nearest.map { "did you mean \($0)?" }
                    ?? "it must be check, repair, restore, token or cluster; without a command, the daemon runs")
        }
    }

    /// Adds the next word to the command `token`: first the verb, then the name.
    private static func add(_ word: String, to token: TokenCommand) throws(ProgramError) -> TokenCommand {
        var token = token
        guard let verb = token.verb else {
            token.verb = try parseVerb(word, of: "token")
            return token
        }
        guard token.name == nil, verb != .list else { throw usage("unexpected word \(quoted(word))", "omit it") }
        token.name = word
        return token
    }

    /// Adds the next word to the command `cluster`: first the verb, then the directory.
    private static func add(_ word: String, to cluster: ClusterCommand) throws(ProgramError) -> ClusterCommand {
        var cluster = cluster
        guard let verb = cluster.verb else {
            cluster.verb = try parseVerb(word, of: "cluster")
            return cluster
        }
        guard cluster.directory == nil, verb == .import || verb == .export else {
            throw usage("unexpected word \(quoted(word))", "omit it")
        }
        cluster.directory = word
        return cluster
    }

    private static func parseVerb<Verb: CaseIterable & RawRepresentable<String>>(
        _ word: String, of command: String
    ) throws(ProgramError) -> Verb {
        if let verb = Verb.allCases.first(where: { word.hasSameBytes(as: $0.rawValue) }) { return verb }
        let verbs = Verb.allCases.map(\.rawValue)
        let nearest = NameSuggestion.nearest(to: word, among: verbs, limit: 1).first
        throw usage(
            "the command \(command) has no subcommand \(quoted(word))",
            nearest.map { "did you mean \($0)?" } ?? "it must be one of \(verbs.joined(separator: ", "))")
    }

    /// Sets the command. Throws if an option before the command does not apply to it.
    private mutating func startCommand(_ command: Command) throws(ProgramError) {
        if let unsupported = Option.all.first(where: { values[$0.name] != nil && !command.accepts($0.name) }) {
            throw Self.unsupportedOption(
                unsupported.name == "openToNetwork" ? Flag.openToNetwork.name : unsupported.flag)
        }
        self.command = command
    }

    /// Returns the value of an option: the text after its equals sign (`inlineValue`), otherwise the next word. A word
    /// that begins with `-` is not a value, so that an option without its value does not consume the next option.
    private mutating func value(
        _ inlineValue: String?, of name: String, _ placeholder: String
    ) throws(ProgramError) -> String {
        var value = inlineValue
        if value == nil, let next = remainingWords.first, !next.hasBytePrefix("-") {
            value = remainingWords.popFirst()
        }
        guard let value, !value.isEmpty else {
            throw Self.usage("\(name) has no value", "write \(name) \(placeholder)")
        }
        return value
    }

    private static var duplicateDirectory: ProgramError {
        usage("two data directories are given", "give one directory")
    }

    private static func unsupportedOption(_ name: String) -> ProgramError {
        usage("\(name) does not apply to this command", "omit it")
    }

    private static func duplicateOption(_ name: String) -> ProgramError {
        usage("\(name) is given twice", "give it once")
    }

    private static func usage(_ problem: String, _ remedy: String) -> ProgramError {
        ProgramError(.usage, problem, remedy: remedy)
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).briefPhrase }
}

extension Arguments {
    static var help: String {
        var lines = [
            "settingsd stores the settings of programs and serves them over HTTP.",
            "",
            "usage: settingsd [OPTION]...                 run the daemon",
            "       settingsd check [DIR]                 print whether a data directory is undamaged",
            "       settingsd repair [DIR] [--yes]        print what a repair would remove; with --yes, repair",
            "       settingsd restore FILE [--data DIR]   fill an empty data directory from a backup",
            "       settingsd token create NAME --grant GRANT... [--expires TIME]",
            "       settingsd token list [--json]",
            "       settingsd token revoke NAME           create, list, revoke tokens in the file of --access.tokens",
            "       settingsd cluster status              print what etcd contains, with --etcd.endpoints",
            "       settingsd cluster import|export DIR   copy a directory into etcd, or etcd into a directory",
            "       settingsd cluster new-epoch           make clients reload all settings, after etcd was restored",
            "",
            "options:",
        ]
        func add(_ name: String, _ argument: String?, _ help: String) {
            lines += ["  \(argument.map { "\(name) \($0)" } ?? name)", "        \(help)"]
        }
        let defaults = Configuration()
        for option in options {
            // Remove the Markdown of the manual: backquotes, and the reference to a section after the semicolon.
            let text = option.help.prefix { $0 != ";" }.filter { $0 != "`" }
            let value = option.write(defaults)
            let defaultText = value.array?.first?.string ?? value.string
            add(option.flag, option.placeholder, defaultText.map { "\(text) (default \($0))" } ?? text)
        }
        let placeholders: [Flag: String] = [.config: "FILE", .grant: "GRANT", .expires: "TIME"]
        for flag in Flag.allCases { add(flag.name, placeholders[flag], flag.help) }
        lines += [
            "",
            "options without a flag: set them in the file of --config or in the environment; --print-config shows",
            "         their values, and man settingsd.json describes them:",
        ]
        var line = "        "
        // The option openToNetwork has a flag, which is listed above.
        for name in Option.all.filter({ $0.placeholder == nil }).map(\.name) where name != "openToNetwork" {
            if line.count + name.count > 110 {
                lines.append(line)
                line = "        "
            }
            line += " " + name
        }
        lines += [
            line,
            "",
            "environment: each option has a variable, such as SETTINGSD_LIMITS_BUFFER_BYTES for limits.bufferBytes;",
            "         commas separate the elements of a list; SETTINGSD_CONFIG is the path of the file",
            "",
            "signals: TERM and INT stop the daemon cleanly; a second TERM or INT, or QUIT, stops it immediately;",
            "         HUP reads the configuration again; USR1 and USR2 do nothing",
            "",
            "exit codes:",
        ]
        for code in ExitCode.allCases {
            lines.append("  \(code.rawValue < 10 ? " " : "")\(code.rawValue)  \(code.meaning)")
        }
        return lines.joined(separator: "\n")
    }
}
