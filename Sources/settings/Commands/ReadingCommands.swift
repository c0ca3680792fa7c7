import SettingsHTTP
import SettingsModel

/// Commands that read: `list`, `describe`, `find`; `get` has its own file.
enum ReadingCommands {
    static let all = [GetCommand.get, list, describe, find]

    static let list = Command(
        name: "list", forms: [[], [.suite, Command.Operand("PREFIX", .optional)]],
        summary: "List suites, or the settings of a suite.",
        details: """
            The list shows the value of each setting, the type that the schema names, and the source of the value. With PREFIX,
            it shows only keys that begin with PREFIX; player. and 'player.*' are the same. 'com.example.*' as the SUITE lists
            the suites whose names begin with com.example.
            """,
        options: [
            Command.Option("changed", nil, "only stored values that differ from the defaults"),
            Command.at,
        ] + ListOutput.options,
        exclusive: ListOutput.exclusive,
        examples: ["settings list", "settings list app player. --changed", "settings list app --format tsv --header"]
    ) { try listSettings($0) }

    // Not in the closure above, which is asynchronous (see `Command.run`): the optimizer of Swift 6.3.1 has crashed
    // with long asynchronous closures.
    @inline(never)
    private static func listSettings(_ arguments: Arguments) throws -> ExitCode {
        let client = try arguments.client()
        // The prefix of the keys if there is an operand PREFIX, otherwise the prefix of the suites.
        let keyOrSuitePrefix = arguments.operands.last.map { $0.hasSuffix("*") ? String($0.dropLast()) : $0 } ?? ""
        guard let first = arguments.operands.first, arguments.operands.count > 1 || !first.hasSuffix("*") else {
            return try listSuites(keyOrSuitePrefix, client, arguments)
        }
        let suite = try arguments.suite()
        let moment = try arguments.moment("at")
        var output = try ListOutput(
            arguments, columns: ListedSetting.columns, tableColumns: ListedSetting.tableColumns)
        let keyPrefix = arguments.operands.count > 1 ? keyOrSuitePrefix : nil
        try client.eachPage(of: suite, prefix: keyPrefix, at: moment) { page in
            output.print(
                page.filter { !arguments.has("changed") || $0.differsFromDefault }.map { ListedSetting(entry: $0) })
        }
        return .done
    }

    private static func listSuites(
        _ prefix: String, _ client: DaemonClient, _ arguments: Arguments
    ) throws -> ExitCode {
        guard !arguments.has("changed"), !arguments.has("at"), !arguments.has("secrets") else {
            throw ToolError.usage("--changed, --at and --secrets need a suite")
        }
        var output = try ListOutput(arguments, columns: ["suite", "keys", "revision", "schema"])
        try client.eachPageOfSuites(prefix: prefix) { output.print($0) }
        return .done
    }

    private static let describe = Command(
        name: "describe", forms: [[.suite, .key]],
        summary: "Explain a setting: its purpose, the allowed values, and the last change.",
        options: [Command.json, Command.secrets],
        examples: ["settings describe app launchCount", "settings describe app theme"]
    ) { arguments in
        let (suite, key) = (try arguments.suite(), try KeyName.whole(arguments.operands[1]))
        let showsSecrets = try arguments.showsSecrets()
        let client = try arguments.client()
        guard let entry = try client.entry(of: key, in: suite) else {
            // The error of this request says whether the key is unknown, and suggests similar keys.
            try client.blocking.send(.setting(key, in: suite))
            throw ToolError(.unknown, "\(suite) has no key \(key)")
        }
        let (setting, schema) = (entry.setting, entry.schema)
        let suiteSchema = entry.isWritable ? nil : try client.schema(of: suite)
        let keySchema = suiteSchema?.key(key.text)
        let isLocked = keySchema?.isLocked ?? false
        let obstacle =
            suiteSchema != nil && keySchema == nil
            ? "the schema does not allow the key" : "this caller lacks the right"
        guard !arguments.has("json") else {
            let members = JSONValue.members([
                "setting": setting.summary(showsSecrets: showsSecrets), "schema": schema,
                "locked": .bool(isLocked), "writable": .bool(entry.isWritable),
                "time": setting.modified.map { .string($0.description) }, "by": setting.by.map { .string($0) },
                "note": setting.note.map { .string($0) },
                "errors": setting.errors.isEmpty ? nil : .array(setting.errors.map { .string($0.detail) }),
            ])
            print(members.text())
            return .done
        }
        var lines: [(String, String?)] = [
            ("value", setting.shown), ("from", setting.source.name),
            ("allowed", ValueReader(key, schema).description), ("default", schema?["default"]?.text()),
            ("about", schema?["description"]?.string ?? schema?["title"]?.string),
            ("locked", isLocked ? "yes; --override writes locked keys" : nil),
            ("writable", entry.isWritable || isLocked ? nil : "no; \(obstacle)"),
            ("secret", setting.isSecret ? "yes" : nil),
        ]
        if setting.source.isStored {
            let caller = setting.by.map { " by \($0)" } ?? ""
            lines.append(("changed", "\(setting.modified.map(\.short) ?? "")\(caller), revision \(setting.revision)"))
            lines.append(("because", setting.note))
        }
        lines += setting.errors.map { ("wrong", $0.detail) }
        print(Terminal.styled("\(suite) \(key)", .strong))
        var table = Table(columns: 2)
        table.print(lines.compactMap { name, text in text.map { [Table.Cell("  \(name)", .faint), Table.Cell($0)] } })
        return .done
    }

    private static let find = Command(
        name: "find", forms: [[Command.Operand("TEXT")]],
        summary: "Find settings by a part of their name, value or description.",
        details: """
            The command ignores upper and lower case. If the description contains TEXT, the command also prints the description.
            The exit code is 4 if the command finds nothing.
            """,
        options: [
            Command.Option("suite", "SUITE", "only in this suite", isRepeatable: true)
        ] + ListOutput.options,
        exclusive: ListOutput.exclusive,
        examples: ["settings find volume", "settings find dark --suite app"]
    ) { try findSettings($0) }

    // Not in the closure above, which is asynchronous (see `Command.run`): the optimizer of Swift 6.3.1 has crashed
    // with long asynchronous closures.
    @inline(never)
    private static func findSettings(_ arguments: Arguments) throws -> ExitCode {
        let (client, text) = (try arguments.client(), arguments.operands[0].lowercased())
        var suites = try SuiteName.named(arguments.all("suite"))
        if suites.isEmpty { try client.eachPageOfSuites { suites += $0.map(\.suite) } }
        var output = try ListOutput(
            arguments, columns: FoundSetting.columns, tableColumns: FoundSetting.tableColumns)
        var isFound = false
        for suite in suites {
            try client.eachPage(of: suite) { page in
                let found = page.compactMap { entry -> FoundSetting? in
                    let description = entry.schema?["description"]?.string.flatMap {
                        $0.lowercased().contains(text) ? $0 : nil
                    }
                    let keyOrValueMatches = [entry.setting.key.text, entry.setting.shown]
                        .contains { $0.lowercased().contains(text) }
                    guard keyOrValueMatches || description != nil else { return nil }
                    return FoundSetting(setting: ListedSetting(entry: entry), suite: suite, description: description)
                }
                output.print(found)
                isFound = isFound || !found.isEmpty
            }
        }
        return isFound ? .done : .unknown
    }
}

extension DaemonClient {
    /// Reads the keys of a suite page by page.
    ///
    /// - Parameter atOneRevision: true to read all pages at the revision of the first page; false to read each page
    ///   from the newest state.
    func eachPage(
        of suite: SuiteName, prefix: String? = nil, at moment: Moment? = nil, atOneRevision: Bool = false,
        _ body: ([KeyListing.Entry]) throws -> Void
    ) throws {
        var (moment, after) = (moment, KeyName?.none)
        repeat {
            let page = try blocking.send(.keys(of: suite, prefix: prefix, after: after, limit: 1000, at: moment))
            try body(page.keys)
            after = page.next
            if atOneRevision { moment = moment ?? .revision(page.cursor.revision) }
        } while after != nil
    }

    /// Reads the list of suites page by page.
    func eachPageOfSuites(
        prefix: String? = nil, includesDropped: Bool = false, _ body: ([SuiteListing.Entry]) -> Void
    ) throws(SettingsError) {
        var after: SuiteName?
        repeat {
            let page = try blocking.send(
                .suites(prefix: prefix, after: after, limit: 1000, includesDropped: includesDropped))
            body(page.suites)
            after = page.next
        } while after != nil
    }

    /// Reads a setting with its schema; nil if the suite has no key with this name.
    func entry(of key: KeyName, in suite: SuiteName) throws(SettingsError) -> KeyListing.Entry? {
        // Keys are listed in the order of their bytes, so the key itself comes before all longer keys with this prefix.
        let page = try blocking.send(.keys(of: suite, prefix: key.text, limit: 1))
        return page.keys.first { $0.setting.key == key }
    }
}

extension SettingState {
    /// The value as text for a person. A stored secret is shown as dots. Without an effective value, the text is the
    /// invalid stored value, or empty.
    var shown: String {
        isSecret && source.isStored ? "•••" : value?.text() ?? stored.map { $0.text() } ?? ""
    }

    /// The setting as a JSON object, for `--json`.
    func summary(showsSecrets: Bool, description: String? = nil) -> JSONValue {
        .members([
            "suite": .string(suite.text), "key": .string(key.text),
            "value": isSecret && !showsSecrets ? nil : value, "secret": isSecret ? true : nil,
            "source": .string(source.name),
            "revision": .integer(revision.number), "description": description.map { .string($0) },
        ])
    }
}

extension KeyListing.Entry {
    /// True if a stored value differs from the default, or is invalid.
    var differsFromDefault: Bool {
        setting.source.isStored && (setting.value == nil || setting.value != schema?["default"])
    }
}
