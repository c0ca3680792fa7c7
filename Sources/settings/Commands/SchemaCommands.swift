import SettingsHTTP

/// The command `schema`, with its subcommands.
enum SchemaCommands {
    static let all = [schema]

    private static let schema = Command(
        name: "schema", operands: "show SUITE | check FILE | diff SUITE FILE | apply SUITE FILE | remove SUITE",
        summary: "Show, check, compare and put in force the schema of a suite.",
        details: """
            'check' finds what is wrong with a schema without a daemon. 'diff' shows what applying it would do to the values
            that are stored, and ends with 2 if it would change something, with 5 if it would be refused. FILE may be - for
            standard input.
            """,
        options: [
            Command.Option("at", "WHEN", "with 'show', the schema of then"),
            Command.Option(
                "on-conflict", "refuse|keep|reset", "what to do with stored values that do not fit (refuse)"),
        ] + Command.writing,
        examples: ["settings schema show app", "settings schema diff app app.json"]
    ) { arguments in
        guard let verb = arguments.operands.first else {
            throw ToolError.usage("say show, check, diff, apply or remove")
        }
        switch verb {
        case "show":
            try arguments.expect(2...2, "the suite")
            let schema = try arguments.client().blocking.send(
                .schema(of: try arguments.suite(1), at: try arguments.moment("at")))
            print(schema.document.text(style: .pretty))
            return .done
        case "check":
            try arguments.expect(2...2, "the file")
            return check(try InputFile.json(arguments.operands[1]))
        case "diff", "apply":
            try arguments.expect(3...3, "the suite or the file")
            return try apply(arguments, isDryRun: verb == "diff" || arguments.has("dry-run"))
        case "remove":
            try arguments.expect(2...2, "the suite")
            let options = try arguments.writeOptions()
            try arguments.client().blocking.send(.removeSchema(of: try arguments.suite(1), options))
            if options.isDryRun { print("(a dry run: nothing was changed)") }
            return .done
        default: throw ToolError.usage("there is no 'settings schema \(verb)'; say show, check, diff, apply or remove")
        }
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
        let (suite, document) = (try arguments.suite(1), try InputFile.json(arguments.operands[2]))
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
