import SettingsHTTP
import SettingsModel

/// Commands that read: `get`, `list`, `describe`, `find`.
enum ReadingCommands {
    static let all = [get, list, describe, find]

    private static let get = Command(
        name: "get", operands: "SUITE KEY…", summary: "Print values.",
        details: """
            A text is printed as it is, all else as JSON. Several keys are printed in a line each. KEY[0] prints an element of
            a list, and KEY[name] a member of an object; see 'settings help set'.
            """,
        options: [
            Command.Option("json", nil, "print texts as JSON, too"),
            Command.Option("default", "VALUE", "what to print if the setting has no value"),
            Command.Option("source", nil, "print where the value is from: stored, default, unset or invalid"),
            Command.Option("at", "WHEN", "the value of then: a revision, an instant, yesterday, 2h"),
        ],
        examples: ["settings get app launchCount", "settings get app theme --default light"]
    ) { arguments in
        let (suite, paths) = (try arguments.suite(), try arguments.paths(from: 1))
        guard !arguments.has("json") || !arguments.has("source") else {
            throw ToolError.usage("--json and --source exclude each other")
        }
        guard !arguments.has("default") || !arguments.has("source") else {
            throw ToolError.usage("--default and --source exclude each other; --source prints unset for no value")
        }
        guard !paths.isEmpty else { throw ToolError.usage("the key is missing; 'settings list \(suite)' shows all") }
        if let path = paths.first(where: \.isPattern) {
            let prefix = path.description.dropLast()
            let operand = prefix.isEmpty ? "" : " \(EnvironmentFile.quoted(String(prefix)))"
            throw path.patternError("'settings list \(suite)\(operand)' lists these keys")
        }
        let (client, moment) = (try arguments.client(), try arguments.moment("at"))
        for path in paths {
            do {
                let setting = try client.blocking.send(.setting(path.key, in: suite, at: moment))
                if arguments.has("source"), path.isWhole {
                    print(setting.source)
                } else if setting.isConcealed {
                    throw ToolError(.unauthorized, "\(suite) \(path.key) is a secret, which this caller may not read")
                } else if let value = setting.value {
                    if arguments.has("source") {
                        print(value[path.pointer] == nil ? "unset" : setting.source.name)
                    } else if let fallback = arguments["default"], value[path.pointer] == nil {
                        print(fallback)
                    } else {
                        let part = try path.part(of: value, orEndWith: .notSet)
                        print(arguments.has("json") ? part.text() : Terminal.safe(part.bare))
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

    static let list = Command(
        name: "list", operands: "[SUITE [PREFIX]]", summary: "List suites, or the settings of one.",
        details: """
            A setting is shown with its value, the type that its schema names, and where the value is from. PREFIX lists the
            keys that begin so; player. and 'player.*' are the same. 'com.example.*' as the SUITE lists suites.
            """,
        options: [
            Command.Option("changed", nil, "only what is stored, and differs from defaults"),
            Command.Option("at", "WHEN", "as it was then: a revision, an instant, yesterday, 2h"), Command.json,
            Command.secrets,
        ],
        examples: ["settings list", "settings list app player. --changed"]
    ) { try listSettings($0) }

    @inline(never)
    private static func listSettings(_ arguments: Arguments) throws -> ExitCode {
        try arguments.expect(0...2, "the suite")
        let showsSecrets = try arguments.showsSecrets()
        let client = try arguments.client()
        let prefix = arguments.operands.last.map { $0.hasSuffix("*") ? String($0.dropLast()) : $0 } ?? ""
        guard let first = arguments.operands.first, arguments.operands.count > 1 || !first.hasSuffix("*") else {
            return try listSuites(prefix, client, arguments)
        }
        let suite = try arguments.suite()
        let moment = try arguments.moment("at")
        var table = Table(columns: 4)
        try client.eachPage(of: suite, prefix: arguments.operands.count > 1 ? prefix : nil, at: moment) { page in
            let entries = page.filter { !arguments.has("changed") || $0.differs }
            if arguments.has("json") {
                for entry in entries { print(entry.setting.summary(showsSecrets: showsSecrets).text()) }
            } else {
                table.print(entries.map(\.row))
            }
        }
        return .done
    }

    private static func listSuites(
        _ prefix: String, _ client: DaemonClient, _ arguments: Arguments
    ) throws -> ExitCode {
        guard !arguments.has("changed"), !arguments.has("at"), !arguments.has("secrets") else {
            throw ToolError.usage("--changed, --at and --secrets need a suite")
        }
        var table = Table(columns: 4)
        try client.eachPageOfSuites(prefix: prefix) { suites in
            if arguments.has("json") {
                for suite in suites { print(suite.summary.text()) }
            } else {
                table.print(
                    suites.map { suite in
                        [
                            Table.Cell(suite.suite.text, .strong),
                            Table.Cell("\(suite.keyCount) \(suite.keyCount == 1 ? "key" : "keys")"),
                            Table.Cell("revision \(suite.revision)"),
                            Table.Cell(suite.hasSchema ? "" : "no schema", .faint),
                        ]
                    })
            }
        }
        return .done
    }

    private static let describe = Command(
        name: "describe", operands: "SUITE KEY",
        summary: "Explain a setting: what it is for, what is allowed, who changed it.",
        options: [Command.json, Command.secrets],
        examples: ["settings describe app launchCount", "settings describe app theme"]
    ) { arguments in
        try arguments.expect(2...2, "the key")
        let (suite, key) = (try arguments.suite(), try KeyName.whole(arguments.operands[1]))
        let showsSecrets = try arguments.showsSecrets()
        let client = try arguments.client()
        guard let entry = try client.entry(of: key, in: suite) else {
            // The refusal of this says if the key is unknown, and which are near.
            try client.blocking.send(.setting(key, in: suite))
            throw ToolError(.unknown, "\(suite) has no key \(key)")
        }
        let (setting, schema) = (entry.setting, entry.schema)
        let isLocked = try !entry.isWritable && client.schema(of: suite)?.key(key.text)?.isLocked ?? false
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
            ("locked", isLocked ? "yes; --override writes it all the same" : nil),
            ("writable", entry.isWritable || isLocked ? nil : "no; this caller lacks the right"),
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
        name: "find", operands: "TEXT", summary: "Find settings by a part of their name, value or description.",
        details: """
            Upper and lower case are the same. A description is shown if the text is in it. The command ends with 4 if it finds
            nothing.
            """,
        options: [
            Command.Option("suite", "SUITE", "only in this suite", isRepeatable: true), Command.json, Command.secrets,
        ],
        examples: ["settings find volume", "settings find dark --suite app"]
    ) { try findSettings($0) }

    @inline(never)
    private static func findSettings(_ arguments: Arguments) throws -> ExitCode {
        try arguments.expect(1...1, "the text")
        let showsSecrets = try arguments.showsSecrets()
        let (client, wanted) = (try arguments.client(), arguments.operands[0].lowercased())
        var suites: [SuiteName] = []
        for name in arguments.all("suite") { suites.append(try .named(name)) }
        if suites.isEmpty { try client.eachPageOfSuites { suites += $0.map(\.suite) } }
        var (table, isFound) = (Table(columns: 6), false)
        for suite in suites {
            try client.eachPage(of: suite) { page in
                let found = page.compactMap { entry -> (entry: KeyListing.Entry, description: String?)? in
                    let description = entry.schema?["description"]?.string.flatMap {
                        $0.lowercased().contains(wanted) ? $0 : nil
                    }
                    let isFound = [entry.setting.key.text, entry.setting.shown]
                        .contains { $0.lowercased().contains(wanted) }
                    return isFound || description != nil ? (entry, description) : nil
                }
                if arguments.has("json") {
                    for (entry, description) in found {
                        print(entry.setting.summary(showsSecrets: showsSecrets, description: description).text())
                    }
                } else {
                    table.print(
                        found.map { entry, description in
                            [Table.Cell(suite.text, .faint)] + entry.row + [Table.Cell(description ?? "", .faint)]
                        })
                }
                isFound = isFound || !found.isEmpty
            }
        }
        return isFound ? .done : .unknown
    }
}

extension DaemonClient {
    /// Reads the keys of a suite page by page.
    ///
    /// - Parameter isOneMoment: true to read all pages as of the first; else each is as new as can be.
    func eachPage(
        of suite: SuiteName, prefix: String? = nil, at moment: Moment? = nil, isOneMoment: Bool = false,
        _ body: ([KeyListing.Entry]) throws -> Void
    ) throws {
        var (moment, after) = (moment, KeyName?.none)
        repeat {
            let page = try blocking.send(.keys(of: suite, prefix: prefix, after: after, limit: 1000, at: moment))
            try body(page.keys)
            after = page.next
            if isOneMoment { moment = moment ?? .revision(page.cursor.revision) }
        } while after != nil
    }

    /// Reads the list of suites page by page.
    func eachPageOfSuites(
        prefix: String? = nil, _ body: ([SuiteListing.Entry]) -> Void
    ) throws(SettingsError) {
        var after: SuiteName?
        repeat {
            let page = try blocking.send(.suites(prefix: prefix, after: after, limit: 1000))
            body(page.suites)
            after = page.next
        } while after != nil
    }

    /// A setting with its schema; nil if the suite has no such key.
    func entry(of key: KeyName, in suite: SuiteName) throws(SettingsError) -> KeyListing.Entry? {
        let page = try blocking.send(.keys(of: suite, prefix: key.text, limit: 1))
        return page.keys.first { $0.setting.key == key }
    }
}

extension SettingState {
    /// The value as a line shows it.
    var shown: String {
        isSecret && source.isStored ? "•••" : value?.text() ?? stored.map { $0.text() } ?? ""
    }

    fileprivate func summary(showsSecrets: Bool, description: String? = nil) -> JSONValue {
        .members([
            "suite": .string(suite.text), "key": .string(key.text),
            "value": isSecret && !showsSecrets ? nil : value, "secret": isSecret ? true : nil,
            "source": .string(source.name),
            "revision": .integer(revision.number), "description": description.map { .string($0) },
        ])
    }
}

extension SuiteListing.Entry {
    fileprivate var summary: JSONValue {
        .members([
            "suite": .string(suite.text), "keys": .integer(keyCount), "revision": .integer(revision.number),
            "schema": .bool(hasSchema),
        ])
    }
}

extension KeyListing.Entry {
    /// True if something is stored that is not the default.
    var differs: Bool {
        setting.source.isStored && (setting.value == nil || setting.value != schema?["default"])
    }

    fileprivate var row: [Table.Cell] {
        let types = schema?["type"]
        let type =
            types?.string ?? types?.array?.compactMap(\.string).joined(separator: "|")
            ?? (schema?["enum"] == nil ? "" : "enum")
        let source = setting.source == .stored ? "" : setting.source.name
        let style: Terminal.Style? = setting.source == .invalid ? .bad : setting.source == .stored ? nil : .faint
        return [
            Table.Cell(setting.key.text), Table.Cell(type, .faint), Table.Cell(source, style),
            Table.Cell(setting.shown, style),
        ]
    }
}
