import SettingsHTTP

/// The command `schema`, with its subcommands.
enum SchemaCommands {
    static let all = [schema]

    private static let schema = Command(
        name: "schema",
        operands:
            "export SUITE | check FILE | diff SUITE FILE | apply SUITE FILE | remove SUITE | generate swift|markdown [SUITE]",
        summary: "Print, check, compare and put in force the schema of a suite, or make code or a table of it.",
        details: """
            'check' finds what is wrong with a schema without a daemon. 'diff' shows what applying it would do to the values
            that are stored, and ends with 2 if it would change something, with 5 if it would be refused. FILE may be - for
            standard input. 'generate' prints the keys in Swift, for programs that use SettingsClient, or as a table in
            Markdown.
            """,
        options: options,
        examples: ["settings schema diff app app.json", "settings schema generate markdown app"]
    ) { arguments in
        guard let verb = arguments.operands.first else {
            throw ToolError.usage("say \(verbs)")
        }
        if let used = usedOptions[verb] {
            let unused = options.first { arguments.has($0.name) && !used.contains($0.name) }
            if let unused { throw ToolError.usage("settings schema \(verb) has no option --\(unused.name)") }
        }
        switch verb {
        case "export":
            try arguments.expect(2...2, "the suite")
            print(try document(of: try arguments.suite(1), arguments).text(style: .pretty))
            return .done
        case "generate":
            print(try generated(arguments), terminator: "")
            return .done
        case "check":
            try arguments.expect(2...2, "the file")
            return check(try InputFile.json(arguments.operands[1], arguments))
        case "diff", "apply":
            try arguments.expect(3...3, "the suite or the file")
            return try apply(arguments, isDryRun: verb == "diff" || arguments.has("dry-run"))
        case "remove":
            try arguments.expect(2...2, "the suite")
            let options = try arguments.writeOptions()
            try arguments.client().blocking.send(.removeSchema(of: try arguments.suite(1), options))
            if options.isDryRun { print("(a dry run: nothing was changed)") }
            return .done
        default: throw ToolError.usage("there is no 'settings schema \(verb)'; say \(verbs)")
        }
    }

    private static let options = [
        Command.Option("at", "WHEN", "with 'export' and 'generate', the schema at that time"),
        Command.Option("file", "FILE", "with 'generate', a schema from a file in place of a suite's", short: "f"),
        Command.Option(
            "on-conflict", "refuse|keep|reset",
            "with 'diff' and 'apply', what to do with stored values that do not fit (refuse)"),
        Command.Option("note", "TEXT", "with 'apply' and 'remove', why; it stands in the history", short: "m"),
        Command.Option("dry-run", nil, "with 'apply' and 'remove', show what would change, and change nothing"),
        Command.Option("quiet", nil, "with 'apply', print no changes"),
    ]

    /// The options that each verb uses.
    private static let usedOptions: [String: Set<String>] = [
        "export": ["at"], "generate": ["at", "file"], "check": [], "diff": ["on-conflict"],
        "apply": ["on-conflict", "note", "dry-run", "quiet"], "remove": ["note", "dry-run"],
    ]

    private static let verbs = "export, check, diff, apply, remove or generate"

    private static func document(of suite: SuiteName, _ arguments: Arguments) throws -> JSONValue {
        try arguments.client().blocking.send(.schema(of: suite, at: try arguments.moment("at"))).document
    }

    /// What `generate` makes of a schema.
    private static func generated(_ arguments: Arguments) throws -> String {
        let file = arguments["file"]
        guard arguments.operands.count > 1, ["swift", "markdown"].contains(arguments.operands[1]) else {
            throw ToolError.usage("say what to generate: swift or markdown")
        }
        guard file == nil || !arguments.has("at") else { throw ToolError.usage("--file and --at exclude each other") }
        try arguments.expect(file == nil ? 3...3 : 2...2, "the suite, or --file,")
        let name = try file.map(InputFile.name) ?? arguments.suite(2).text
        let document =
            try file.map { file throws(ToolError) in try InputFile.json(file, arguments) }
            ?? document(of: arguments.suite(2), arguments)
        let schema: Schema
        do {
            schema = try Schema(document)
        } catch {
            throw ToolError(.failed, "\(name) is no schema: \(error)")
        }
        if arguments.operands[1] == "swift" { return SwiftKeys.text(of: schema, from: name) }
        return SchemaTable.text(of: schema, titled: schema.document["title"]?.string ?? "Settings of \(name)")
    }

    private static func check(_ document: JSONValue) -> ExitCode {
        do {
            _ = try Schema(document)
            print("the schema is good")
            return .done
        } catch {
            print(error)
            return .refused
        }
    }

    private static func apply(_ arguments: Arguments, isDryRun: Bool) throws -> ExitCode {
        let (suite, document) = (try arguments.suite(1), try InputFile.json(arguments.operands[2], arguments))
        var policy = ConflictPolicy.refuse
        if let word = arguments["on-conflict"] {
            guard let named = ConflictPolicy(rawValue: word) else {
                throw ToolError.usage("--on-conflict takes refuse, keep or reset, not '\(word)'")
            }
            policy = named
        }
        var options = try arguments.writeOptions()
        options.isDryRun = isDryRun
        let summary = try arguments.client(timeout: .seconds(60)).blocking.send(
            .setSchema(document, of: suite, onConflict: policy, options))
        if isDryRun || !arguments.has("quiet") { for change in summary.changes { print(change.line) } }
        guard isDryRun else { return .done }
        print(summary.changed ? "the schema would change" : "the schema is in force already")
        return summary.changed ? .differs : .done
    }
}
