internal import SettingsModel
package import SettingsWeb

/// A reader of the command line: what the program is to do, and the options that it gives.
package struct Arguments: Sendable {
    package enum Command: Hashable, Sendable {
        case serve, help, version, checkConfiguration
        /// Prints every option with its value and its source, in columns or in JSON.
        case printConfiguration(json: Bool)
        /// Says whether a data directory is sound.
        case check
        /// Says what of a damaged data directory would be cut off, and cuts it off if that is confirmed.
        case repair(isConfirmed: Bool)
        /// Fills an empty data directory from a backup, whose path is the next word.
        case restore(file: String?)
        /// Makes, lists or revokes tokens.
        case token(TokenCommand)
        /// Looks after a log in etcd.
        case cluster(ClusterCommand)
    }

    /// A command about a log in etcd, as far as it was read.
    package struct ClusterCommand: Hashable, Sendable {
        package enum Verb: String, CaseIterable, Sendable {
            case status, `import`, export
            case newEpoch = "new-epoch"
        }

        package var verb: Verb?
        /// The data directory that is read or made.
        package var directory: String?

        package init(verb: Verb? = nil, directory: String? = nil) {
            (self.verb, self.directory) = (verb, directory)
        }
    }

    /// A command about tokens, as far as it was read.
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
    /// The values of options as they were given, and the configuration that they make of the defaults.
    private var values: [String: [JSONValue]] = [:]
    private var checked = Configuration()

    private var rest: ArraySlice<String>
    private var areOperands = false

    /// Reads the words behind the program's name. `--` makes operands of all that follow it.
    ///
    /// - Parameter environment: the variables of the process.
    package init(_ words: [String], environment: [String: String] = [:]) throws(ProgramError) {
        self.environment = environment
        rest = words[...]
        while let word = rest.popFirst() {
            if areOperands || word.utf8.count < 2 || !word.hasBytePrefix("-") {
                try take(operand: word)
            } else if word.hasSameBytes(as: "--") {
                areOperands = true
            } else if let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) {
                try take(String(word[..<equals]), value: String(word[word.utf8.index(after: equals)...]))
            } else {
                try take(word.hasSameBytes(as: "-h") ? "--help" : word, value: nil)
            }
        }
    }

    /// Returns the configuration in force: the command line beats the environment, which beats the file, which beats the
    /// defaults.
    package func configuration() throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        let named = environment[Configuration.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        if let file = configurationFile ?? named { try configuration.apply(fileAt: file) }
        try configuration.apply(environment: environment)
        for option in Option.all {
            guard let values = values[option.name], let value = values.last else { continue }
            try option.take(
                option.isList ? .array(values) : value, called: option.flag, from: "flag \(option.flag)",
                into: &configuration)
        }
        try configuration.checkTogether()
        return configuration
    }
}

extension Arguments {
    /// An option of the program that is none of the configuration.
    enum Flag: String, CaseIterable {
        case config, yes, grant, expires, json, help, version
        case printConfig = "print-config"
        case checkConfig = "check-config"
        case openToNetwork = "open-to-network"

        var name: String { "--\(rawValue)" }

        var help: String {
            switch self {
            case .config: "a file with options in JSON; the environment and the command line beat it"
            case .yes: "repair: do what it says"
            case .grant: "token create: what it may do, as 'app.*:read,write'; may be given several times"
            case .expires: "token create: after how long it ends, as 90d or 12h"
            case .json: "print-config, token list: print JSON for programs"
            case .help: "print this, also as -h"
            case .version: "print the version"
            case .printConfig: "print the configuration in force: every option, its value, and where that is from"
            case .checkConfig: "check the configuration and start nothing"
            case .openToNetwork: "listen to the network without access control: every caller may do everything"
            }
        }
    }

    /// The options that the command line takes.
    static var options: [Option] { Option.all.filter { $0.argument != nil } }

    private mutating func take(_ name: String, value: String?) throws(ProgramError) {
        if let option = Self.options.first(where: { $0.flag.hasSameBytes(as: name) }) {
            return try take(option, value)
        }
        guard let flag = Flag.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else {
            let all = Self.options.map(\.flag) + Flag.allCases.map(\.name)
            let nearest = NameSuggestion.nearest(to: name, among: all, limit: 1).first
            throw Self.usage(
                "unknown option \(Self.quoted(name))",
                nearest.map { "did you mean \($0)?" } ?? "settingsd --help lists them")
        }
        if flag == .config {
            guard configurationFile == nil else { throw Self.repeated(name) }
            configurationFile = try self.value(value, of: name, "FILE")
            return
        }
        if flag == .grant || flag == .expires { return try take(flag, value) }
        if let value {
            throw Self.usage("\(name) takes no value, but has \(Self.quoted(value))", "leave it out")
        }
        guard flag != .openToNetwork else {
            values["openToNetwork"] = [.bool(true)]
            return
        }
        try take(flag)
    }

    private mutating func take(_ flag: Flag, _ given: String?) throws(ProgramError) {
        guard case .token(var token) = command, token.verb == .create else {
            throw Self.usage("\(flag.name) is for making a token", "write settingsd token create NAME \(flag.name) …")
        }
        let value = try value(given, of: flag.name, flag == .grant ? "'app.*:read'" : "90d")
        if flag == .grant {
            token.grants.append(value)
        } else {
            guard token.expires == nil else { throw Self.repeated(flag.name) }
            token.expires = value
        }
        command = .token(token)
    }

    private mutating func take(_ option: Option, _ given: String?) throws(ProgramError) {
        let text = try self.value(given, of: option.flag, option.argument ?? "")
        // As in the environment, a list has commas between its elements.
        let elements = option.isList ? option.json(inVariable: text).array ?? [] : [.string(text)]
        guard !elements.isEmpty else {
            throw Self.usage("\(option.flag) is an empty list", "give it a value or leave it out")
        }
        switch command {
        case .check, .repair, .restore:
            guard option.name == "data" else {
                throw Self.usage("\(option.flag) is for running the daemon", "leave it out")
            }
            guard values[option.name] == nil else { throw Self.twoDirectories }
        case .token where !Self.ofTokens.contains(option.name), .cluster where !Self.ofClusters.contains(option.name):
            throw Self.usage("\(option.flag) is for running the daemon", "leave it out")
        default:
            guard values[option.name] == nil || option.isList else { throw Self.repeated(option.flag) }
        }
        do throws(ConfigurationError) {
            for value in elements { try option.read(value, option.flag, &checked) }
        } catch {
            throw Self.usage(error.problem, error.remedy)
        }
        values[option.name, default: []] += elements
    }

    private mutating func take(_ flag: Flag) throws(ProgramError) {
        switch (flag, command) {
        case (.help, .help): throw Self.repeated(flag.name)
        case (.help, _): command = .help
        case (_, .help): break
        case (.version, .serve): command = .version
        case (.printConfig, .serve): command = .printConfiguration(json: false)
        case (.json, .printConfiguration): command = .printConfiguration(json: true)
        case (.json, .token(var token)) where token.verb == .list && !token.isJSON:
            token.isJSON = true
            command = .token(token)
        case (.json, _):
            throw Self.usage(
                "cannot use --json here: it applies to --print-config and token list only",
                "write --print-config --json, or token list --json")
        case (.checkConfig, .serve): command = .checkConfiguration
        case (.yes, .repair): command = .repair(isConfirmed: true)
        case (.yes, _): throw Self.usage("--yes confirms a repair only", "write settingsd repair DIR --yes")
        default: throw Self.usage("\(flag.name) does not go with what else is asked for", "give one of them")
        }
    }

    private mutating func take(operand text: String) throws(ProgramError) {
        switch command {
        case .serve where text.hasSameBytes(as: "check"): try begin(.check)
        case .serve where text.hasSameBytes(as: "repair"): try begin(.repair(isConfirmed: false))
        case .serve where text.hasSameBytes(as: "restore"): try begin(.restore(file: nil))
        case .restore(nil): command = .restore(file: text)
        case .serve where text.hasSameBytes(as: "token"): try begin(.token(TokenCommand()))
        case .token(let token): command = .token(try Self.add(text, to: token))
        case .serve where text.hasSameBytes(as: "cluster"): try begin(.cluster(ClusterCommand()))
        case .cluster(let cluster): command = .cluster(try Self.add(text, to: cluster))
        case .check, .repair:
            guard values["data"] == nil else { throw Self.twoDirectories }
            values["data"] = [.string(text)]
        case .help: break
        case .printConfiguration, .checkConfiguration, .version:
            let flag: Flag =
                command == .version ? .version : command == .checkConfiguration ? .checkConfig : .printConfig
            throw Self.usage(
                "\(flag.name) takes no command, but is followed by \(Self.quoted(text))",
                "leave \(Self.quoted(text)) out")
        default:
            let nearest = NameSuggestion.nearest(
                to: text, among: ["check", "repair", "restore", "token", "cluster"], limit: 1
            )
            .first
            throw Self.usage(
                "unknown command \(Self.quoted(text))",
                nearest.map { "did you mean \($0)?" }
                    ?? "it may be check, repair, restore, token or cluster; without one, the daemon runs")
        }
    }

    /// The options that a command about tokens takes.
    private static let ofTokens = ["data", "access.tokens"]

    /// Adds the next word to a command about tokens: first the verb, then the name.
    private static func add(_ word: String, to token: TokenCommand) throws(ProgramError) -> TokenCommand {
        var token = token
        guard token.verb != nil else {
            token.verb = TokenCommand.Verb.allCases.first { word.hasSameBytes(as: $0.rawValue) }
            if token.verb != nil { return token }
            let verbs = TokenCommand.Verb.allCases.map(\.rawValue)
            let nearest = NameSuggestion.nearest(to: word, among: verbs, limit: 1).first
            throw usage(
                "unknown command token \(quoted(word))",
                nearest.map { "did you mean \($0)?" } ?? "it may be \(verbs.joined(separator: ", "))")
        }
        guard token.name == nil, token.verb != .list else {
            throw usage(
                "\(quoted(word)) is too much", "write settingsd token \(token.verb?.rawValue ?? "") \(token.name ?? "")"
            )
        }
        token.name = word
        return token
    }

    /// The options that a command about a log in etcd takes.
    private static let ofClusters = ["etcd.endpoints", "etcd.prefix"]

    /// Adds the next word to a command about a log in etcd: first the verb, then the directory.
    private static func add(_ word: String, to cluster: ClusterCommand) throws(ProgramError) -> ClusterCommand {
        var cluster = cluster
        guard let verb = cluster.verb else {
            cluster.verb = ClusterCommand.Verb.allCases.first { word.hasSameBytes(as: $0.rawValue) }
            if cluster.verb != nil { return cluster }
            let verbs = ClusterCommand.Verb.allCases.map(\.rawValue)
            let nearest = NameSuggestion.nearest(to: word, among: verbs, limit: 1).first
            throw usage(
                "unknown command cluster \(quoted(word))",
                nearest.map { "did you mean \($0)?" } ?? "it may be \(verbs.joined(separator: ", "))")
        }
        guard cluster.directory == nil, verb == .import || verb == .export else {
            throw usage("\(quoted(word)) is too much", "leave it out")
        }
        cluster.directory = word
        return cluster
    }

    /// Begins a command on a data directory.
    private mutating func begin(_ command: Command) throws(ProgramError) {
        var known = ["data"]
        if case .token = command { known = Self.ofTokens }
        if case .cluster = command { known = Self.ofClusters }
        if let stranger = Option.all.first(where: { values[$0.name] != nil && !known.contains($0.name) }) {
            throw Self.usage("\(stranger.flag) is for running the daemon", "leave it out")
        }
        self.command = command
    }

    /// Returns the value of an option: what stands behind its equals sign, or else the next word. A word that looks like
    /// an option is no value, so that a value that was forgotten does not swallow the next option.
    private mutating func value(
        _ given: String?, of name: String, _ placeholder: String
    ) throws(ProgramError) -> String {
        var value = given
        if value == nil, let next = rest.first, !next.hasBytePrefix("-") { value = rest.popFirst() }
        guard let value, !value.isEmpty else {
            throw Self.usage("\(name) has no value", "write \(name) \(placeholder)")
        }
        return value
    }

    private static var twoDirectories: ProgramError { usage("two data directories are given", "give one") }

    private static func repeated(_ name: String) -> ProgramError { usage("\(name) is given twice", "give it once") }

    private static func usage(_ problem: String, _ remedy: String) -> ProgramError {
        ProgramError(.usage, problem, remedy: remedy)
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).briefPhrase }
}

extension Arguments {
    /// What `--help` prints.
    static var help: String {
        var lines = [
            "settingsd keeps the settings of programs and serves them over HTTP.",
            "",
            "usage: settingsd [OPTION]...                 run the daemon",
            "       settingsd check [DIR]                 say whether a data directory is sound",
            "       settingsd repair [DIR] [--yes]        say what a repair would cut off; with --yes, do it",
            "       settingsd restore FILE [--data DIR]   fill an empty data directory from a backup",
            "       settingsd token create NAME --grant GRANT... [--expires TIME]",
            "       settingsd token list [--json]",
            "       settingsd token revoke NAME           make, list and revoke tokens in the file of --access.tokens",
            "       settingsd cluster status              say what etcd has, with --etcd.endpoints",
            "       settingsd cluster import|export DIR   put the data of a daemon into etcd, or make a directory of it",
            "       settingsd cluster new-epoch           have clients begin anew, after etcd was restored",
            "",
            "options:",
        ]
        func add(_ name: String, _ argument: String?, _ help: String) {
            lines += ["  \(argument.map { "\(name) \($0)" } ?? name)", "        \(help)"]
        }
        let defaults = Configuration()
        for option in options {
            // The manual's marks and links mean nothing in a terminal.
            let text = option.help.prefix { $0 != ";" }.filter { $0 != "`" }
            let value = option.write(defaults)
            let shown = value.array?.first?.string ?? value.string
            add(option.flag, option.argument, shown.map { "\(text) (default \($0))" } ?? text)
        }
        let placeholders: [Flag: String] = [.config: "FILE", .grant: "GRANT", .expires: "TIME"]
        for flag in Flag.allCases { add(flag.name, placeholders[flag], flag.help) }
        lines += [
            "",
            "options without a flag: set them in the file of --config or in the environment; --print-config shows",
            "         their values, man settingsd.json describes them:",
        ]
        var line = "        "
        // The option openToNetwork has a flag, which is listed above.
        for name in Option.all.filter({ $0.argument == nil }).map(\.name) where name != "openToNetwork" {
            if line.count + name.count > 110 {
                lines.append(line)
                line = "        "
            }
            line += " " + name
        }
        lines += [
            line,
            "",
            "environment: an option of the file is a variable, too, as SETTINGSD_LIMITS_BUFFER_BYTES for limits.bufferBytes;",
            "         a list has commas between its elements, and SETTINGSD_CONFIG names the file",
            "",
            "signals: TERM and INT stop the daemon cleanly, a second one at once, as QUIT does;",
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
