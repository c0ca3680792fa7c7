internal import SettingsModel

/// What the words after the program's name ask for.
package struct CommandLineOptions: Sendable {
    /// What the program is to do.
    package enum Command: Hashable, Sendable {
        case serve, help, version, printConfiguration, checkConfiguration
        /// Look at a data directory and say whether it is sound.
        case check
        /// Cut off what is damaged: only said, unless it is confirmed.
        case repair(isConfirmed: Bool)
    }

    package private(set) var command = Command.serve
    package private(set) var configurationFile: String?
    package private(set) var listen: [ListenAddress] = []
    package private(set) var data: String?
    package private(set) var durability: Configuration.Durability?
    package private(set) var logLevel: Log.Level?

    /// Reads the words; those of the program's own name are left out.
    package init(_ arguments: [String]) throws(ProgramError) {
        var words = CommandLineWords(arguments)
        var given: Set<CommandLineOption> = []
        while let word = words.next() {
            switch word {
            case .operand(let text): try take(operand: text)
            case .option(let name, let value):
                let option = try CommandLineOption(named: name)
                guard given.insert(option).inserted || option == .listen else {
                    throw Self.usage("\(option.flag) is given twice", "give it once")
                }
                try take(option, value, &words)
            }
        }
        try checkTogether(given)
    }

    /// What of a configuration the command line decides itself.
    package func apply(to configuration: inout Configuration) {
        if !listen.isEmpty { configuration.listen = listen }
        if let data { configuration.data = data }
        if let durability { configuration.durability = durability }
        if let logLevel { configuration.logLevel = logLevel }
    }

    /// The configuration in force: the command line beats the file, the file beats the defaults.
    package func configuration() throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        if let configurationFile { try ConfigurationFile(configurationFile).apply(to: &configuration) }
        apply(to: &configuration)
        return configuration
    }

    static func usage(_ problem: String, _ remedy: String) -> ProgramError {
        ProgramError(.usage, problem, remedy: remedy)
    }
}

/// Taking words in.
extension CommandLineOptions {
    private mutating func take(operand text: String) throws(ProgramError) {
        switch command {
        case .serve where text.hasSameBytes(as: "check"): command = .check
        case .serve where text.hasSameBytes(as: "repair"): command = .repair(isConfirmed: false)
        case .check, .repair:
            guard data == nil else { throw Self.usage("two data directories are given", "give one") }
            data = try Self.path(text, called: "the data directory")
        default:
            let nearest = NameSuggestion.nearest(to: text, among: ["check", "repair"], limit: 1).first
            throw Self.usage(
                "unknown command \(Self.quoted(text))",
                nearest.map { "did you mean \($0)?" } ?? "it may be check or repair; without one, the daemon runs")
        }
    }

    private mutating func take(
        _ option: CommandLineOption, _ given: String?, _ words: inout CommandLineWords
    ) throws(ProgramError) {
        guard option.takesValue else {
            if let given {
                throw Self.usage("\(option.flag) takes no value, but has \(Self.quoted(given))", "leave it out")
            }
            return try take(flag: option)
        }
        guard let value = given ?? words.nextValue(), !value.isEmpty else {
            throw Self.usage("\(option.flag) has no value", "write \(option.usage)")
        }
        switch option {
        case .listen:
            do throws(ListenError) {
                listen.append(try ListenAddress(value))
            } catch {
                throw Self.usage(error.description, "as in --listen \(error.example)")
            }
        case .data:
            guard data == nil else { throw Self.usage("two data directories are given", "give one") }
            data = try Self.path(value, called: option.flag)
        case .config: configurationFile = try Self.path(value, called: option.flag)
        case .durability: durability = try Self.word(value, of: option)
        case .log: logLevel = try Self.word(value, of: option)
        default: break
        }
    }

    private mutating func take(flag: CommandLineOption) throws(ProgramError) {
        let asked: Command
        switch (flag, command) {
        case (.help, _): asked = .help
        case (_, .help): return
        case (.version, .serve): asked = .version
        case (.printConfig, .serve): asked = .printConfiguration
        case (.checkConfig, .serve): asked = .checkConfiguration
        case (.yes, .repair): asked = .repair(isConfirmed: true)
        case (.yes, _): throw Self.usage("--yes confirms a repair only", "write settingsd repair DIR --yes")
        default: throw Self.usage("\(flag.flag) does not go with what else is asked for", "give one of them")
        }
        command = asked
    }

    private func checkTogether(_ given: Set<CommandLineOption>) throws(ProgramError) {
        switch command {
        case .check, .repair:
            let strangers = CommandLineOption.allCases.filter { given.contains($0) && !$0.goesWithDirectories }
            if let stranger = strangers.first {
                throw Self.usage("\(stranger.flag) is for running the daemon", "leave it out")
            }
        default: break
        }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ value: String, of option: CommandLineOption
    ) throws(ProgramError) -> Word {
        do {
            return try ConfigurationMember.word(value, option.flag, shown: quoted(value))
        } catch {
            throw usage(error.problem, error.remedy)
        }
    }

    private static func path(_ text: String, called name: String) throws(ProgramError) -> String {
        do {
            return try DataLocation.path(text, called: name)
        } catch {
            throw usage(error.problem, error.remedy)
        }
    }

    static func quoted(_ text: String) -> String {
        JSONValue.string(text).briefPhrase
    }
}
