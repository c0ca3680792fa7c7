import SettingsHTTP
import SettingsModel

/// The command `get`.
enum GetCommand {
    static let get = Command(
        name: "get", forms: [[.suite, .someKeys], .init([.suite], with: "prefix")], summary: "Print values.",
        details: """
            Each value is a line: a text without quotes, any other value as JSON. KEY[0] prints an element of a list,
            and KEY[name] a member of an object; see 'settings help set'.
            With --prefix, the command prints a line for each setting that has a value: the key, a tab and the value,
            with the escapes of 'settings list --format tsv'. With --prefix and --json, it prints one JSON object with
            the keys and values.
            """,
        options: [
            Command.Option("json", nil, "print JSON, so that texts have quotes"),
            Command.Option("prefix", "PREFIX", "all keys that begin with PREFIX; '' for all keys of the suite"),
            Command.Option("default", "VALUE", "the text to print if the setting has no value"),
            Command.Option("source", nil, "print the source of the value: stored, default, unset or invalid"),
            Command.Option(
                "at", "WHEN", "the value at a revision, an instant, 2h (two hours ago) or yesterday (24 hours ago)"),
        ],
        exclusive: [["json", "source"], ["default", "source"], ["default", "prefix"]],
        examples: [
            "settings get app launchCount", "settings get app theme --default light",
            "settings get app --prefix player. --json",
        ]
    ) { try $0.has("prefix") ? printSettings($0) : printValues($0) }

    // Not in the closure above, which is asynchronous (see `Command.run`): the optimizer of Swift 6.3.1 has crashed
    // with long asynchronous closures.
    @inline(never)
    private static func printValues(_ arguments: Arguments) throws -> ExitCode {
        let (suite, paths) = (try arguments.suite(), try arguments.paths(from: 1))
        if let path = paths.first(where: \.isPattern) {
            let prefix = EnvironmentFile.quoted(String(path.description.dropLast()))
            throw path.patternError(
                "'settings get \(suite) --prefix \(prefix.isEmpty ? "''" : prefix)' prints the values of these keys")
        }
        let (client, moment) = (try arguments.client(), try arguments.moment("at"))
        for path in paths {
            do {
                let setting = try client.blocking.send(.setting(path.key, in: suite, at: moment))
                if arguments.has("source"), path.isWhole {
                    print(setting.source)
                } else if setting.isConcealed {
                    throw ToolError(concealed: path.key, in: suite)
                } else if let value = setting.value {
                    if arguments.has("source") {
                        print(value[path.pointer] == nil ? "unset" : setting.source.name)
                    } else if let fallback = arguments["default"], value[path.pointer] == nil {
                        print(fallback)
                    } else {
                        let part = try path.part(of: value, orEndWith: .notSet)
                        print(arguments.has("json") ? part.text() : Terminal.escapedAtTerminal(part.unquotedText))
                    }
                }
            } catch let error as SettingsError {
                switch error.code {
                case .notSet where arguments.has("source"): print("unset")
                case .invalidStored where arguments.has("source"): print("invalid")
                case .notSet, .unknownSuite:
                    guard let value = arguments["default"] else { throw error }
                    print(value)
                default: throw error
                }
            }
        }
        return .done
    }

    /// Prints the values, or the sources, of the keys that begin with a prefix. If one value cannot be read, prints no
    /// value, because otherwise a script would not notice that a value is missing.
    @inline(never)
    private static func printSettings(_ arguments: Arguments) throws -> ExitCode {
        let (suite, prefix) = (try arguments.suite(), arguments["prefix"] ?? "")
        let (client, moment) = (try arguments.client(), try arguments.moment("at"))
        var settings: [SettingState] = []
        try client.eachPage(of: suite, prefix: prefix, at: moment, atOneRevision: true) { page in
            settings += page.map(\.setting)
        }
        if arguments.has("source"), !settings.isEmpty {
            for setting in settings { print(ListOutput.line(of: [setting.key.text, setting.source.name])) }
            return .done
        }
        if let setting = settings.first(where: { $0.isConcealed && $0.source.isStored }) {
            throw ToolError(concealed: setting.key, in: suite)
        }
        // The error of this request describes the invalid value.
        if let setting = settings.first(where: { $0.source == .invalid }) {
            try client.blocking.send(.setting(setting.key, in: suite, at: moment))
        }
        let values = settings.compactMap { setting in
            setting.value.map { StoredSetting(key: setting.key, value: $0) }
        }
        guard !values.isEmpty else {
            throw ToolError(
                .notSet, "no setting of the suite \(suite) with a key that begins with '\(prefix)' has a value")
        }
        if arguments.has("json") {
            print(JSONValue.object(JSONObject(values)).text())
        } else {
            for setting in values { print(ListOutput.line(of: [setting.key.text, setting.value.unquotedText])) }
        }
        return .done
    }
}
